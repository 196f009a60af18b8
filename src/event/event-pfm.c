/* libpfm4's names: BR_INST_RETIRED:CONDITIONAL, amd64_fam19h_zen3::RETIRED_OPS …
 *
 * libpfm4 looks for the CPU itself and encodes only for that one; of the others
 * it can list the names, which is enough to tell an event of another CPU from one
 * that does not exist.
 *
 * It is loaded by the first name that nobody else knows: its tables are 5 MB full of
 * pointers, and a program that links it pays for their relocation at every start.
 */
#include "event-room.h"
#include "pfm-abi.h"

#include "buf.h"
#include "clocale.h"
#include "why.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SONAME "libpfm.so.4"

#define X(name, result, arguments) static result(*call_##name) arguments;
PFM_ABI_CALLS(X)
#undef X

static bool works;
static char missing[192];

static bool find_calls(void *lib)
{
	bool all = true;

#define X(name, result, arguments) all &= (*(void **)&call_##name = dlsym(lib, #name)) != NULL;
	PFM_ABI_CALLS(X)
#undef X
	return all;
}

static void start(void)
{
	void *const lib = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		const char *const text = dlerror();
		snprintf(missing, sizeof(missing), "%s", text ? text : SONAME);
		return;
	}
	works = find_calls(lib) && call_pfm_initialize() == PFM_ABI_SUCCESS;
	if (!works)
		snprintf(missing, sizeof(missing), "%s: cannot be used", SONAME);
}

static bool ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start);
	return works;
}

const char *event_pfm_missing(void)
{
	return ready() ? NULL : missing;
}

/* Intel's files write EVENT.UMASK, libpfm4 EVENT:UMASK. */
static bool spell(const char *name, char *out, size_t size)
{
	const size_t len = strlen(name);

	if (len >= size)
		return false;
	for (size_t i = 0; i <= len; i++)
		out[i] = name[i] == '.' ? ':' : name[i];
	return true;
}

int event_pfm_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		   struct tare_why *why)
{
	/* The library writes an attr of its own, possibly larger, size. */
	union {
		struct perf_event_attr attr;
		char room[512];
	} out = { .attr = { .size = sizeof(out.attr) } };
	const struct perf_event_attr *const attr = &out.attr;
	struct pfm_abi_encode arg = { .attr = &out.attr, .size = sizeof(arg) };
	char spelt[192];

	if (!ready() || !event_is_here(cpu) || !spell(name, spelt, sizeof(spelt)))
		return EVENT_NOT_MINE;
	const int modes = PFM_ABI_PLM0 | PFM_ABI_PLM3 | PFM_ABI_PLMH;
	const int err = call_pfm_get_os_event_encoding(spelt, modes, PFM_ABI_OS_PERF_EVENT, &arg);
	if (err == PFM_ABI_ERR_UMASK || err == PFM_ABI_ERR_FEATCOMB)
		return why_set(why, TARE_E_SYNTAX, "%s: libpfm4 says: %s", name, call_pfm_strerror(err));
	if (err != PFM_ABI_SUCCESS)
		return EVENT_NOT_MINE;
	ev->base.type = attr->type;
	ev->base.config = attr->config;
	ev->base.config1 = attr->config1;
	ev->base.config2 = attr->config2;
	if (attr->exclude_user || attr->exclude_kernel) {	/* …:u=1 in libpfm4's own way */
		ev->base.exclude_user = attr->exclude_user;
		ev->base.exclude_kernel = attr->exclude_kernel;
		ev->base.exclude_hv = attr->exclude_hv;
	}
	return EVENT_FOUND;
}

#define MOST_PMUS 4096		/* there are some 400; a library must not keep us for ever */

/* The first PMU of a processor core with a number of at least *i. Numbers may have gaps;
 * how many there are, only the library that was loaded knows. */
static bool next_core_pmu(int *i, struct pfm_abi_pmu *pmu)
{
	for (; *i < MOST_PMUS; (*i)++) {
		*pmu = (struct pfm_abi_pmu){ .size = sizeof(*pmu) };
		const int err = call_pfm_get_pmu_info(*i, pmu);
		if (err == PFM_ABI_ERR_INVAL)
			return false;
		if (err == PFM_ABI_SUCCESS && pmu->type == PFM_ABI_PMU_TYPE_CORE)
			return true;
	}
	return false;
}

/* Whether NAME[:UMASK…] is an event of that PMU, by name. */
static bool pmu_has(const struct pfm_abi_pmu *pmu, const char *name)
{
	const size_t len = strcspn(name, ":");

	for (int i = pmu->first_event; i != -1; i = call_pfm_get_event_next(i)) {
		struct pfm_abi_event info = { .size = sizeof(info) };
		if (call_pfm_get_event_info(i, PFM_ABI_OS_NONE, &info) != PFM_ABI_SUCCESS ||
		    clocale_ncasecmp(info.name, name, len) || info.name[len])
			continue;
		if (!name[len])
			return true;
		const char *const umask = name + len + 1;
		for (int a = 0; a < info.nattrs; a++) {
			struct pfm_abi_attr attr = { .size = sizeof(attr) };
			const int err = call_pfm_get_event_attr_info(i, a, PFM_ABI_OS_NONE, &attr);
			if (err == PFM_ABI_SUCCESS &&
			    attr.type == PFM_ABI_ATTR_UMASK && !clocale_casecmp(attr.name, umask))
				return true;
		}
		return false;
	}
	return false;
}

int event_pfm_elsewhere(const char *name, const struct tare_cpu *cpu, struct tare_why *why)
{
	struct buf pmus = { 0 };
	char spelt[192];
	size_t n = 0;

	if (!ready() || !spell(name, spelt, sizeof(spelt)))
		return EVENT_NOT_MINE;
	const bool here = event_is_here(cpu);
	struct pfm_abi_pmu pmu;
	for (int i = 0; next_core_pmu(&i, &pmu); i++) {
		if ((pmu.is_present && here) || !pmu_has(&pmu, spelt))
			continue;
		if (n++ < 4)
			buf_printf(&pmus, " %s", pmu.name);
	}
	int err = EVENT_NOT_MINE;
	if (n)
		err = why_set(why, TARE_E_EVENT_NOT_ON_CPU,
			      "%s: not an event of %s; libpfm4 has it for%s%s", name,
			      event_cpu_name(cpu), pmus.data ? pmus.data : " others",
			      n > 4 ? " and others" : "");
	buf_free(&pmus);
	return err;
}

static void each_umask(int event, const struct pfm_abi_event *info,
		       void (*each)(const char *name, const char *note, void *arg), void *arg)
{
	bool any = false;

	for (int a = 0; a < info->nattrs; a++) {
		struct pfm_abi_attr attr = { .size = sizeof(attr) };
		const int err = call_pfm_get_event_attr_info(event, a, PFM_ABI_OS_NONE, &attr);
		if (err != PFM_ABI_SUCCESS || attr.type != PFM_ABI_ATTR_UMASK)
			continue;
		struct buf name = { 0 };
		buf_printf(&name, "%s:%s", info->name, attr.name);
		if (name.data)
			each(name.data, attr.desc ? attr.desc : "", arg);
		buf_free(&name);
		any = true;
	}
	if (!any)
		each(info->name, info->desc ? info->desc : "", arg);
}

void event_pfm_each(const struct tare_cpu *cpu,
		    void (*each)(const char *name, const char *note, void *arg), void *arg)
{
	if (!ready() || !event_is_here(cpu))
		return;
	struct pfm_abi_pmu pmu;
	for (int i = 0; next_core_pmu(&i, &pmu); i++) {
		if (!pmu.is_present)
			continue;
		for (int e = pmu.first_event; e != -1; e = call_pfm_get_event_next(e)) {
			struct pfm_abi_event info = { .size = sizeof(info) };
			if (call_pfm_get_event_info(e, PFM_ABI_OS_NONE, &info) == PFM_ABI_SUCCESS)
				each_umask(e, &info, each, arg);
		}
	}
}
