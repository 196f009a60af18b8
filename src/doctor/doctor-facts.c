/* Reading the facts: small files of /proc and /sys below a root directory.
 *
 * Nothing here fails: a file that is missing or malformed leaves its fact
 * absent, and the checks say what that means. */
#include "doctor-facts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define EVENT_SOURCE "/sys/bus/event_source/devices"
#define CPU_DIR "/sys/devices/system/cpu"

static bool make_path(char *path, size_t size, const char *root, const char *rest)
{
	return (size_t)snprintf(path, size, "%s%s", root, rest) < size;
}

/* The first line of a file, without its end. */
static bool read_line(const char *root, const char *rest, char *out, size_t size)
{
	char path[PATH_MAX];
	out[0] = '\0';
	if (!make_path(path, sizeof(path), root, rest))
		return false;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	const ssize_t n = read(fd, out, size - 1);
	close(fd);
	if (n <= 0) {
		out[0] = '\0';
		return false;
	}
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return true;
}

static int read_number(const char *root, const char *rest)
{
	char line[32], *end;
	if (!read_line(root, rest, line, sizeof(line)))
		return FACT_ABSENT;
	errno = 0;
	const long v = strtol(line, &end, 10);
	while (isspace((unsigned char)*end))
		end++;
	if (end == line || *end || errno || v <= FACT_ABSENT || v > INT_MAX)
		return FACT_ABSENT;
	return (int)v;
}

static FILE *open_file(const char *root, const char *rest)
{
	char path[PATH_MAX];
	return make_path(path, sizeof(path), root, rest) ? fopen(path, "re") : NULL;
}

static void read_status(struct doctor_facts *f, const char *root)
{
	FILE *const file = open_file(root, "/proc/self/status");
	char line[256];
	bool permitted = false, effective = false;

	f->seccomp = FACT_ABSENT;
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		permitted |= sscanf(line, "CapPrm: %" SCNx64, &f->cap_permitted) == 1;
		effective |= sscanf(line, "CapEff: %" SCNx64, &f->cap_effective) == 1;
		sscanf(line, "Seccomp: %d", &f->seccomp);
	}
	f->have_caps = permitted && effective;
	fclose(file);
}

static bool has_word(const char *line, const char *word)
{
	const size_t n = strlen(word);
	for (const char *p = line; (p = strstr(p, word)); p += n) {
		const bool starts = p > line && isspace((unsigned char)p[-1]);
		if (starts && (p[n] == '\0' || isspace((unsigned char)p[n])))
			return true;
	}
	return false;
}

/* The flags of the first processor: "flags" on x86, "Features" on arm64. */
static void read_cpuinfo(struct doctor_facts *f, const char *root)
{
	FILE *const file = open_file(root, "/proc/cpuinfo");
	char *line = NULL;
	size_t cap = 0;

	if (!file)
		return;
	while (!f->have_flags && getline(&line, &cap, file) > 0) {
		if (strncmp(line, "flags", 5) && strncmp(line, "Features", 8))
			continue;
		f->have_flags = true;
		f->flag_hypervisor = has_word(line, "hypervisor");
		f->flag_constant_tsc = has_word(line, "constant_tsc");
		f->flag_nonstop_tsc = has_word(line, "nonstop_tsc");
		f->flag_rtm = has_word(line, "rtm");
		f->flag_atomics = has_word(line, "atomics");
	}
	free(line);
	fclose(file);
}

/* CPU PMUs are called cpu, cpu_core, cpu_atom, cpu_lowpower (x86) and armv8_…,
 * apple_…_pmu, or anything else with a `cpus` file (arm64). x86's uncore PMUs
 * have a `cpumask` instead. */
static bool is_core_pmu(const char *root, const char *name)
{
	char rest[PATH_MAX], path[PATH_MAX];
	if (!strcmp(name, "cpu"))
		return true;
	if (snprintf(rest, sizeof(rest), EVENT_SOURCE "/%s/cpus", name) >= (int)sizeof(rest))
		return false;
	return make_path(path, sizeof(path), root, rest) && access(path, R_OK) == 0;
}

/* Generic names go to x86's big cores; elsewhere the first PMU is as good as any. */
static void note_cpus(struct doctor_facts *f, const char *root, const char *name)
{
	char rest[PATH_MAX];
	if (f->main_cpus[0] && strcmp(name, "cpu_core"))
		return;
	if (snprintf(rest, sizeof(rest), EVENT_SOURCE "/%s/cpus", name) < (int)sizeof(rest))
		read_line(root, rest, f->main_cpus, sizeof(f->main_cpus));
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_pmus(struct doctor_facts *f, const char *root)
{
	char path[PATH_MAX];
	struct dirent **entries;
	if (!make_path(path, sizeof(path), root, EVENT_SOURCE))
		return;
	const int n = scandir(path, &entries, NULL, by_name);
	if (n < 0)
		return;
	size_t used = 0;
	for (int i = 0; i < n; i++) {
		const char *const name = entries[i]->d_name;
		if (name[0] != '.' && is_core_pmu(root, name)) {
			f->n_core_pmus++;
			note_cpus(f, root, name);
			const size_t left = sizeof(f->core_pmus) - used;
			const int len = snprintf(f->core_pmus + used, left, "%s%s",
						 used ? ", " : "", name);
			if ((size_t)len < left)
				used += (size_t)len;
		}
		free(entries[i]);
	}
	free(entries);
	f->core_pmus[used] = '\0';
}

/* arm64: how many different main IDs the cores have (big.LITTLE). */
static void read_midrs(struct doctor_facts *f, const char *root)
{
	uint64_t seen[8];
	for (unsigned cpu = 0; cpu < 4096; cpu++) {
		char rest[128], line[32];
		snprintf(rest, sizeof(rest), CPU_DIR "/cpu%u/regs/identification/midr_el1", cpu);
		if (!read_line(root, rest, line, sizeof(line)))
			break;
		/* The low bits are the revision: the same core with another
		 * stepping counts the same. */
		const uint64_t midr = strtoull(line, NULL, 16) & ~0xf0000fULL;
		unsigned i = 0;
		while (i < f->n_midrs && seen[i] != midr)
			i++;
		if (i == f->n_midrs && i < sizeof(seen) / sizeof(seen[0]))
			seen[f->n_midrs++] = midr;
	}
}

/* "always [madvise] never" */
static void read_thp(struct doctor_facts *f, const char *root)
{
	char line[64];
	if (!read_line(root, "/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line)))
		return;
	const char *const start = strchr(line, '[');
	const char *const end = start ? strchr(start, ']') : NULL;
	if (end && (size_t)(end - start) <= sizeof(f->thp))
		memcpy(f->thp, start + 1, (size_t)(end - start - 1));
}

/* The kernel's configuration where distributions put it as text. */
static void read_config(struct doctor_facts *f, const char *root)
{
	struct utsname u;
	char rest[sizeof(u.release) + 16], line[256];
	if (!read_line(root, "/proc/sys/kernel/osrelease", line, sizeof(u.release)))
		return;
	snprintf(rest, sizeof(rest), "/boot/config-%.*s", (int)sizeof(u.release) - 1, line);
	FILE *const file = open_file(root, rest);
	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		sscanf(line, "CONFIG_HZ=%u", &f->config_hz);
	fclose(file);
}

static void read_malloc_conf(struct doctor_facts *f, const char *root)
{
	char path[PATH_MAX];
	if (!make_path(path, sizeof(path), root, "/etc/malloc.conf"))
		return;
	const ssize_t n = readlink(path, f->malloc_conf, sizeof(f->malloc_conf) - 1);
	f->malloc_conf[n > 0 ? n : 0] = '\0';
}

/* On hybrid machines each PMU has its own switch; they are set together, and
 * the first that exists is as good as any. */
static int read_pmu_switch(const char *root, const char *name)
{
	static const char *const pmus[] = { "cpu", "cpu_core", "cpu_atom" };
	for (size_t i = 0; i < sizeof(pmus) / sizeof(pmus[0]); i++) {
		char rest[128];
		snprintf(rest, sizeof(rest), EVENT_SOURCE "/%s/%s", pmus[i], name);
		const int v = read_number(root, rest);
		if (v != FACT_ABSENT)
			return v;
	}
	return FACT_ABSENT;
}

void doctor_facts_read(struct doctor_facts *f, const char *root)
{
	memset(f, 0, sizeof(*f));
	f->paranoid = read_number(root, "/proc/sys/kernel/perf_event_paranoid");
	f->yama = read_number(root, "/proc/sys/kernel/yama/ptrace_scope");
	f->user_access = read_number(root, "/proc/sys/kernel/perf_user_access");
	f->nmi_watchdog = read_number(root, "/proc/sys/kernel/nmi_watchdog");
	f->aslr = read_number(root, "/proc/sys/kernel/randomize_va_space");
	f->smt_active = read_number(root, CPU_DIR "/smt/active");
	f->rdpmc = read_pmu_switch(root, "rdpmc");
	f->freeze_on_smi = read_pmu_switch(root, "freeze_on_smi");
	read_line(root, EVENT_SOURCE "/cpu/tare_simulated", f->simulated, sizeof(f->simulated));
	read_line(root, CPU_DIR "/nohz_full", f->nohz_full, sizeof(f->nohz_full));
	/* An empty list reads as "(null)" on kernels built without the mask. */
	if (!isdigit((unsigned char)f->nohz_full[0]))
		f->nohz_full[0] = '\0';
	read_line(root, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  f->clocksource, sizeof(f->clocksource));
	read_line(root, "/sys/class/dmi/id/sys_vendor", f->dmi_vendor, sizeof(f->dmi_vendor));
	read_line(root, "/sys/class/dmi/id/product_name", f->dmi_product,
		  sizeof(f->dmi_product));
	read_line(root, "/sys/hypervisor/type", f->hypervisor_type, sizeof(f->hypervisor_type));
	read_status(f, root);
	read_cpuinfo(f, root);
	read_pmus(f, root);
	read_midrs(f, root);
	read_thp(f, root);
	read_config(f, root);
	read_malloc_conf(f, root);
}
