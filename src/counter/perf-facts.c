/* Reading the facts out of /proc and /sys, below any root. */
#include "perf-facts.h"

#include <tare/cpu.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAP_SYS_ADMIN_BIT 21
#define CAP_PERFMON_BIT 38

/* The first `size` - 1 bytes of a file, NUL-terminated, no trailing newline. */
static bool read_text(const char *root, const char *path, char *out, size_t size)
{
	char full[PATH_MAX];
	out[0] = '\0';
	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return false;
	const int fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size_t len = 0;
	while (len < size - 1) {
		const ssize_t n = read(fd, out + len, size - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	close(fd);
	while (len && (out[len - 1] == '\n' || out[len - 1] == ' '))
		len--;
	out[len] = '\0';
	return true;
}

static int read_int(const char *root, const char *path, int missing)
{
	char text[32];
	if (!read_text(root, path, text, sizeof(text)))
		return missing;
	char *end;
	const long v = strtol(text, &end, 10);
	return end == text ? missing : (int)v;
}

/* The text after "Name:" at the start of a line of a status file. */
static const char *status_field(const char *text, const char *name)
{
	const size_t len = strlen(name);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			return line + len + 1;
		if (!*line)
			break;
	}
	return NULL;
}

static void read_self(struct perf_facts *f, const char *root)
{
	char text[4096];
	f->seccomp = -1;
	if (!read_text(root, "/proc/self/status", text, sizeof(text)))
		return;
	const char *caps = status_field(text, "CapEff");
	if (caps) {
		const uint64_t bits = strtoull(caps, NULL, 16);
		f->cap_perfmon = bits >> CAP_PERFMON_BIT & 1 || bits >> CAP_SYS_ADMIN_BIT & 1;
	}
	const char *seccomp = status_field(text, "Seccomp");
	if (seccomp)
		f->seccomp = (int)strtol(seccomp, NULL, 10);
}

/* cpuid's twelve letters are often a name said several times: "KVMKVMKVM". */
static void say_once(char *name)
{
	const size_t len = strlen(name);
	for (size_t part = 2; part <= len / 2; part++) {
		if (len % part || memcmp(name, name + part, len - part) != 0)
			continue;
		name[part] = '\0';
		return;
	}
}

static void ask_cpu(struct perf_facts *f, const char *root)
{
	struct tare_cpu cpu;
	if (root[0])
		return;			/* a tree of files has no CPU to ask */
	tare_cpu_detect(&cpu);
	if (strcmp(cpu.hypervisor, "unknown") == 0)
		return;
	snprintf(f->hypervisor_name, sizeof(f->hypervisor_name), "%s", cpu.hypervisor);
	say_once(f->hypervisor_name);
}

static void ask_counters(struct perf_facts *f, const char *root)
{
	struct tare_cpu cpu;
	if (root[0])
		return;			/* a tree of files has no CPU to ask */
	tare_cpu_detect(&cpu);
	f->gp_counters = cpu.gp_counters;
	f->fixed_counters = cpu.vendor == TARE_VENDOR_INTEL ? cpu.fixed_counters : 0;
}

static void read_hypervisor(struct perf_facts *f, const char *root)
{
	char text[4096];
	if (read_text(root, "/sys/hypervisor/type", text, sizeof(text)) && text[0]) {
		f->hypervisor = true;
		snprintf(f->hypervisor_name, sizeof(f->hypervisor_name), "%.31s", text);
		return;
	}
	if (read_text(root, "/proc/cpuinfo", text, sizeof(text)) && strstr(text, " hypervisor"))
		f->hypervisor = true;
	/* arm64 has no such flag. QEMU's `virt` machine, and others after it, have this
	 * name; with ACPI instead of a device tree the vendor is all there is. */
	if ((read_text(root, "/proc/device-tree/compatible", text, sizeof(text)) &&
	     strcmp(text, "linux,dummy-virt") == 0) ||
	    (read_text(root, "/sys/class/dmi/id/sys_vendor", text, sizeof(text)) &&
	     strcmp(text, "QEMU") == 0)) {
		f->hypervisor = true;
		snprintf(f->hypervisor_name, sizeof(f->hypervisor_name), "QEMU");
		return;
	}
	if (f->hypervisor &&
	    read_text(root, "/sys/class/dmi/id/sys_vendor", text, sizeof(text)))
		snprintf(f->hypervisor_name, sizeof(f->hypervisor_name), "%.31s", text);
	if (f->hypervisor && !f->hypervisor_name[0])
		ask_cpu(f, root);
}

/* Names the kernel gives to the PMUs inside a core, as opposed to uncore ones. */
static bool is_core_name(const char *root, const char *name)
{
	if (strcmp(name, "cpu") == 0 || strncmp(name, "cpu_", 4) == 0)
		return true;
	if (strncmp(name, "armv8_", 6) == 0 || strncmp(name, "armv9_", 6) == 0 ||
	    strncmp(name, "apple_", 6) == 0)
		return true;
	/* Other ARM PMUs serve a list of CPUs ("cpus"); uncore ones have a
	 * "cpumask" with the one CPU that does the counting. */
	char path[PATH_MAX], text[8];
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/cpus", name);
	return read_text(root, path, text, sizeof(text));
}

static void read_pmu(struct perf_pmu *p, const char *root, const char *name)
{
	char path[PATH_MAX], text[64];
	snprintf(p->name, sizeof(p->name), "%.31s", name);
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", name);
	p->type = (uint32_t)read_int(root, path, PERF_TYPE_RAW);
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/rdpmc", name);
	p->rdpmc = read_int(root, path, -1);
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/rdpmc", name);
	p->user_access = read_text(root, path, text, sizeof(text));
	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/cpus", name);
	read_text(root, path, p->cpus, sizeof(p->cpus));
}

static void read_pmus(struct perf_facts *f, const char *root)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/sys/bus/event_source/devices", root);
	DIR *const d = opendir(path);
	if (!d)
		return;
	for (const struct dirent *e; f->n_pmus < PERF_FACTS_PMUS && (e = readdir(d));)
		if (e->d_name[0] != '.' && is_core_name(root, e->d_name))
			read_pmu(&f->pmus[f->n_pmus++], root, e->d_name);
	closedir(d);
}

#define CPU_PMU "/sys/bus/event_source/devices/cpu/"

static bool exists(const char *root, const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s" CPU_PMU "%s", root, name);
	return access(path, F_OK) == 0;
}

bool perf_is_virtual(const char *root)
{
	return exists(root, "tare_simulated");
}

static void read_simulated(struct perf_facts *f, const char *root)
{
	char text[256];
	if (!perf_is_virtual(root))
		return;
	f->simulated = exists(root, "tare_exact") ? PERF_SIM_EXACT : PERF_SIM_FLAWS;
	f->kernel_as_user = exists(root, "tare_kernel_as_user");
	if (!exists(root, "tare_cycles") || !read_text(root, CPU_PMU "tare_cycles", text, sizeof(text)))
		return;
	for (const char *p = text; f->n_cycles < 8;) {
		char *end;
		const uint64_t code = strtoull(p, &end, 16);
		if (end == p)
			break;
		f->cycles[f->n_cycles++] = code;
		p = end;
	}
}

/* Intel's architectural codes (SDM volume 3, 20.2.1.2) that a row may have with another code, and
 * 0x04c4, all branches before Ice Lake. */
static bool is_architectural(uint64_t code)
{
	return code == 0x00c0 || code == 0x00c4 || code == 0x04c4;
}

/* A virtual PMU lets every code be opened; what one without a row counts has no meaning. */
static bool is_named(uint64_t code)
{
	struct tare_cpu cpu;
	tare_cpu_detect(&cpu);
	if (!cpu.uarch || is_architectural(code))
		return true;
	for (size_t i = 0; i < cpu.uarch->n_events; i++)
		if (cpu.uarch->events[i].has_raw && cpu.uarch->events[i].raw == code)
			return true;
	return false;
}

enum perf_simulated perf_facts_simulated(const struct perf_facts *f,
					 const struct perf_event_attr *a)
{
	if (f->simulated != PERF_SIM_EXACT)
		return f->simulated;
	if (f->kernel_as_user && !a->exclude_kernel)
		return PERF_SIM_FLAWS;
	const uint32_t generic = (uint32_t)a->config;
	if (f->n_cycles && a->type == PERF_TYPE_HARDWARE &&
	    (generic == PERF_COUNT_HW_CPU_CYCLES || generic == PERF_COUNT_HW_REF_CPU_CYCLES))
		return PERF_SIM_FLAWS;
	for (unsigned i = 0; a->type == PERF_TYPE_RAW && i < f->n_cycles; i++)
		if (f->cycles[i] == a->config)
			return PERF_SIM_FLAWS;
	return a->type != PERF_TYPE_RAW || is_named(a->config) ? PERF_SIM_EXACT : PERF_SIM_FLAWS;
}

/* What stays as it is while this process runs, so that it is read once: the hypervisor, and that
 * there is no core PMU. (A PMU is read each time: its rdpmc file may be written.) */
static struct {
	bool hypervisor;
	char hypervisor_name[32];
	bool no_pmus;
} kept;
enum { NOT_KEPT, BEING_WRITTEN, KEPT };
static int kept_state;		/* one of these; atomic */

static void take_kept(struct perf_facts *f, const char *root)
{
	f->hypervisor = kept.hypervisor;
	memcpy(f->hypervisor_name, kept.hypervisor_name, sizeof(f->hypervisor_name));
	if (!kept.no_pmus)
		read_pmus(f, root);
}

static void keep(const struct perf_facts *f)
{
	int none = NOT_KEPT;
	if (f->no_files || !__atomic_compare_exchange_n(&kept_state, &none, BEING_WRITTEN, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	kept.hypervisor = f->hypervisor;
	memcpy(kept.hypervisor_name, f->hypervisor_name, sizeof(f->hypervisor_name));
	kept.no_pmus = !f->n_pmus;
	__atomic_store_n(&kept_state, KEPT, __ATOMIC_RELEASE);
}

void perf_facts_read(struct perf_facts *f, const char *root)
{
	memset(f, 0, sizeof(*f));
	errno = 0;
	f->paranoid = read_int(root, "/proc/sys/kernel/perf_event_paranoid", INT_MIN);
	f->has_perf = f->paranoid != INT_MIN;
	f->no_files = !f->has_perf && (errno == EMFILE || errno == ENFILE);
	if (!f->has_perf)
		f->paranoid = -1;
	f->nmi_watchdog = read_int(root, "/proc/sys/kernel/nmi_watchdog", -1);
	f->user_access = read_int(root, "/proc/sys/kernel/perf_user_access", -1);
	read_self(f, root);
	if (!root[0] && __atomic_load_n(&kept_state, __ATOMIC_ACQUIRE) == KEPT) {
		take_kept(f, root);
	} else {
		read_hypervisor(f, root);
		read_pmus(f, root);
		if (!root[0])
			keep(f);
	}
	read_simulated(f, root);
	ask_counters(f, root);
}

bool perf_type_is_core(const struct perf_facts *f, uint32_t type)
{
	if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW)
		return true;
	for (unsigned i = 0; i < f->n_pmus; i++)
		if (f->pmus[i].type == type)
			return true;
	return false;
}

const struct perf_pmu *perf_facts_pmu(const struct perf_facts *f, uint32_t type,
				      uint64_t config)
{
	if (!perf_type_is_core(f, type))
		return NULL;
	const bool generic = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE;
	const uint32_t want = generic ? (uint32_t)(config >> 32) : type;
	for (unsigned i = 0; i < f->n_pmus; i++)
		if (want && f->pmus[i].type == want)
			return &f->pmus[i];
	return f->n_pmus == 1 ? &f->pmus[0] : NULL;
}

bool perf_cpulist_has(const char *list, unsigned cpu)
{
	if (!*list)
		return true;
	for (const char *p = list; *p;) {
		char *end;
		const unsigned long first = strtoul(p, &end, 10);
		unsigned long last = first;
		if (end == p)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (cpu >= first && cpu <= last)
			return true;
		p = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			return false;
	}
	return false;
}
