/* The part of libpfm4's binary interface that event-pfm.c uses, so that a build needs
 * neither its header nor the library: it is loaded at run time where it is installed.
 *
 * The layouts are those that libpfm4 calls ABI0; every structure carries its size, and
 * the library rejects one that it does not know. tests/unit/event-pfm-abi.c compares
 * them with libpfm4's own header where that is installed.
 */
#ifndef EVENT_PFM_ABI_H
#define EVENT_PFM_ABI_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PFM_ABI_SUCCESS = 0,
	PFM_ABI_ERR_INVAL = -2,		/* of pfm_get_pmu_info(): no more PMUs */
	PFM_ABI_ERR_FEATCOMB = -5,
	PFM_ABI_ERR_UMASK = -6,
};
enum { PFM_ABI_PLM0 = 0x01, PFM_ABI_PLM3 = 0x08, PFM_ABI_PLMH = 0x10 };
enum { PFM_ABI_OS_NONE = 0, PFM_ABI_OS_PERF_EVENT = 1 };
enum { PFM_ABI_PMU_TYPE_CORE = 1 };
enum { PFM_ABI_ATTR_UMASK = 1 };

struct pfm_abi_encode {			/* pfm_perf_encode_arg_t */
	struct perf_event_attr *attr;
	char **fstr;
	size_t size;
	int idx, cpu, flags, pad0;
};

struct pfm_abi_pmu {			/* pfm_pmu_info_t */
	const char *name, *desc;
	size_t size;
	int pmu, type, nevents, first_event, max_encoding, num_cntrs, num_fixed_cntrs;
	unsigned is_present : 1, is_dfl : 1, reserved_bits : 30;
};

struct pfm_abi_event {			/* pfm_event_info_t */
	const char *name, *desc, *equiv;
	size_t size;
	uint64_t code;
	int pmu, dtype, idx, nattrs, reserved;
	unsigned bits;
};

struct pfm_abi_attr {			/* pfm_event_attr_info_t */
	const char *name, *desc, *equiv;
	size_t size;
	uint64_t code;
	int type, idx, ctrl;
	unsigned bits;
	uint64_t dfl;
};

/* X(name, result, arguments): the functions that are called */
#define PFM_ABI_CALLS(X)                                                                   \
	X(pfm_initialize, int, (void))                                                     \
	X(pfm_strerror, const char *, (int code))                                          \
	X(pfm_get_os_event_encoding, int, (const char *text, int plm, int os, void *arg))  \
	X(pfm_get_pmu_info, int, (int pmu, struct pfm_abi_pmu *out))                       \
	X(pfm_get_event_next, int, (int event))                                            \
	X(pfm_get_event_info, int, (int event, int os, struct pfm_abi_event *out))         \
	X(pfm_get_event_attr_info, int,                                                    \
	  (int event, int attr, int os, struct pfm_abi_attr *out))

#endif
