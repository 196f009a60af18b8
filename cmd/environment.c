#include "environment.h"
#include "program.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* First line of a file, or false. */
static bool first_line(const char *path, char *out, size_t size)
{
	FILE *const f = fopen(path, "re");
	if (!f)
		return false;
	const bool got = fgets(out, (int)size, f) != NULL;
	fclose(f);
	if (got)
		out[strcspn(out, "\n")] = '\0';
	return got;
}

static void number_of_file(struct json *j, const char *key, const char *path)
{
	char text[64], *rest;
	if (!first_line(path, text, sizeof(text))) {
		json_null(j, key);
		return;
	}
	const long v = strtol(text, &rest, 10);
	if (rest == text)
		json_null(j, key);
	else
		json_i64(j, key, v);
}

static void text_of_file(struct json *j, const char *key, const char *path)
{
	char text[256];
	json_str(j, key, first_line(path, text, sizeof(text)) ? text : NULL);
}

/* Sizes of the strings the kernel puts on the new stack: they move it, and with it
 * alignment and counts. */
static size_t environment_bytes(char *const *envp)
{
	size_t n = 0;
	for (; envp && *envp; envp++)
		n += strlen(*envp) + 1;
	return n;
}

/* Every variable's name with the length of its value. Values may be secrets, which a
 * result file must not spread. */
static void variables_json(struct json *j, char *const *envp)
{
	json_object(j, "variables");
	for (; envp && *envp; envp++) {
		const size_t name = strcspn(*envp, "=");
		const size_t all = strlen(*envp);
		char *const key = strndup(*envp, name);
		if (!key)
			abort();
		json_u64(j, key, all > name ? all - name - 1 : 0);
		free(key);
	}
	json_end(j);
}

/* Variables whose values are no secrets and change what the loader, the C library or an
 * interpreter does. */
static const char *const settings[] = {
	"LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC",
	"LC_TIME", "LD_BIND_NOW", "LD_LIBRARY_PATH", "MALLOC_ARENA_MAX", "PERL_HASH_SEED",
	"PERL_PERTURB_KEYS", "PYTHONHASHSEED", "PYTHONMALLOC", "TZ",
};

static void settings_json(struct json *j, char *const *envp)
{
	json_object(j, "settings");
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		const char *const value = env_get(envp, settings[i]);
		if (value)
			json_str(j, settings[i], value);
	}
	json_end(j);
}

/* The features that the kernel lists: "flags" on x86, "Features" on arm64, of the first CPU.
 * Libraries choose code by them. */
static void features_json(struct json *j)
{
	FILE *const f = fopen("/proc/cpuinfo", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	while (f && !found && getline(&line, &size, f) > 0)
		found = strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0;
	if (f)
		fclose(f);
	char *const colon = found ? strchr(line, ':') : NULL;
	if (colon)
		line[strcspn(line, "\n")] = '\0';
	json_str(j, "cpu_features", colon ? colon + 1 + strspn(colon + 1, " \t") : NULL);
	free(line);
}

static void date(struct json *j)
{
	char text[32];
	const time_t now = time(NULL);
	struct tm tm;
	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_str(j, "date", text);
}

void environment_json(struct json *j, char *const *envp)
{
	struct utsname u;
	cpu_set_t set;
	date(j);
	uname(&u);
	json_str(j, "kernel", u.release);
	json_str(j, "machine", u.machine);
	json_i64(j, "cpus_online", sysconf(_SC_NPROCESSORS_ONLN));
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		json_i64(j, "cpus_allowed", CPU_COUNT(&set));
	else
		json_null(j, "cpus_allowed");
	number_of_file(j, "randomize_va_space", "/proc/sys/kernel/randomize_va_space");
	number_of_file(j, "perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid");
	number_of_file(j, "nmi_watchdog", "/proc/sys/kernel/nmi_watchdog");
	number_of_file(j, "smt_active", "/sys/devices/system/cpu/smt/active");
	text_of_file(j, "transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled");
	text_of_file(j, "loadavg", "/proc/loadavg");
	json_str(j, "glibc_tunables", env_get(envp, "GLIBC_TUNABLES"));
	json_str(j, "ld_preload", env_get(envp, "LD_PRELOAD"));
	json_u64(j, "environ_bytes", environment_bytes(envp));
	variables_json(j, envp);
	settings_json(j, envp);
	char cwd[4096];
	json_str(j, "cwd", getcwd(cwd, sizeof(cwd)));
	features_json(j);
}

static const char *arch_name(enum tare_arch a)
{
	switch (a) {
	case TARE_ARCH_X86_64:
		return "x86_64";
	case TARE_ARCH_ARM64:
		return "aarch64";
	case TARE_ARCH_OTHER:
	case TARE_ARCH_UNKNOWN:
		break;
	}
	return "unknown";
}

static const char *vendor_name(enum tare_vendor v)
{
	switch (v) {
	case TARE_VENDOR_INTEL:
		return "Intel";
	case TARE_VENDOR_AMD:
		return "AMD";
	case TARE_VENDOR_HYGON:
		return "Hygon";
	case TARE_VENDOR_ARM:
		return "Arm";
	case TARE_VENDOR_APPLE:
		return "Apple";
	case TARE_VENDOR_OTHER:
		return "other";
	default:
		return "unknown";
	}
}

void cpu_json(struct json *j, const char *key, const struct tare_cpu *cpu)
{
	json_object(j, key);
	json_str(j, "arch", arch_name(cpu->arch));
	json_str(j, "vendor", vendor_name(cpu->vendor));
	json_u64(j, "family", cpu->family);
	json_u64(j, "model", cpu->model);
	json_u64(j, "stepping", cpu->stepping);
	json_u64(j, "midr", cpu->midr);
	json_str(j, "brand", cpu->brand);
	json_str(j, "uarch", cpu->uarch ? cpu->uarch->name : NULL);
	json_str(j, "hypervisor", cpu->hypervisor[0] ? cpu->hypervisor : NULL);
	json_bool(j, "hybrid", cpu->hybrid);
	json_end(j);
}
