/* Any bytes are the files that tare reads below /sys and /proc. Whoever made them, detection and
 * the events of the kernel's PMUs are found or refused.
 *
 * The input is files: a byte that chooses the name, a byte for the length, the content.
 */
#include "cpu-room.h"
#include "event-room.h"
#include "interrupts.h"
#include "perf-facts.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PMUS "sys/bus/event_source/devices/"
static const char *const files[] = {
	PMUS "cpu/type", PMUS "cpu/rdpmc", PMUS "cpu/format/event", PMUS "cpu/format/umask", PMUS "cpu/format/ldlat",
	PMUS "cpu/events/instructions", PMUS "cpu/events/instructions.unit", PMUS "cpu/events/instructions.scale",
	PMUS "cpu/events/loads", PMUS "cpu/caps/branches", PMUS "cpu/tare_simulated", PMUS "cpu_core/type",
	PMUS "cpu_core/cpus", PMUS "cpu_core/format/event", PMUS "cpu_core/events/instructions", PMUS "cpu_atom/type",
	PMUS "cpu_atom/cpus", PMUS "armv8_pmuv3_0/type", PMUS "armv8_pmuv3_0/cpus", PMUS "armv8_pmuv3_0/format/event",
	PMUS "armv8_pmuv3_0/events/inst_retired", PMUS "uncore_imc_0/type", PMUS "uncore_imc_0/cpumask",
	"proc/cpuinfo", "proc/interrupts", "proc/self/status", "proc/sys/kernel/perf_event_paranoid",
	"proc/sys/kernel/nmi_watchdog", "proc/sys/kernel/perf_user_access", "sys/hypervisor/type",
	"sys/class/dmi/id/product_name", "sys/devices/system/cpu/online", "sys/devices/system/cpu/present",
	"sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "sys/devices/system/cpu/types/intel_core/cpumap",
	PMUS "cpu/tare_exact", PMUS "cpu/tare_cycles",
};
#define N_FILES (sizeof(files) / sizeof(files[0]))

static char root[] = "/tmp/tare-fuzz-XXXXXX";

static void full_path(char *out, size_t size, const char *file)
{
	snprintf(out, size, "%s/%s", root, file);
}

static void remove_tree(void)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", root);
	if (system(command) != 0)
		perror(command);
}

/* Every folder; the files come and go. */
static void make_folders(void)
{
	char path[256];
	if (!mkdtemp(root))
		abort();
	atexit(remove_tree);
	for (size_t i = 0; i < N_FILES; i++) {
		full_path(path, sizeof(path), files[i]);
		for (char *s = path + sizeof(root); (s = strchr(s, '/')); s++) {
			*s = 0;
			mkdir(path, 0755);
			*s = '/';
		}
	}
}

static void write_files(const uint8_t *bytes, size_t size)
{
	char path[256];
	while (size >= 2) {
		const size_t n = bytes[1] < size - 2 ? bytes[1] : size - 2;
		full_path(path, sizeof(path), files[bytes[0] % N_FILES]);
		const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		if (fd < 0 || write(fd, bytes + 2, n) != (ssize_t)n)
			abort();
		close(fd);
		bytes += 2 + n;
		size -= 2 + n;
	}
}

static void remove_files(void)
{
	char path[256];
	for (size_t i = 0; i < N_FILES; i++) {
		full_path(path, sizeof(path), files[i]);
		unlink(path);
	}
}

static void see(const char *name, const char *note, void *arg)
{
	struct tare_events *list;
	struct tare_why why = { 0 };
	if (tare_events_parse(name, NULL, &list, &why) == 0)
		tare_events_free(list);
	else if (!why.what[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static bool made;
	struct perf_facts facts;
	struct tare_cpu cpu;
	cpu_set_t all;
	if (!made) {
		make_folders();
		made = true;
	}
	write_files(bytes, size);
	memset(&all, 0xff, sizeof(all));
	event_sysfs_root = root;
	cpu_detect_in(root, &cpu);
	cpu_from_midr_files(&cpu, root, 0);
	perf_facts_read(&facts, root);
	interrupts_total(root, &all);
	event_sysfs_each(see, NULL);
	static const char *const terms[] = { "cpu/event=0x3c,umask=1/u", "cpu/instructions/", "cpu_core/instructions/",
					     "cpu/config=1,ldlat=3/", "armv8_pmuv3_0/inst_retired/", "instructions:u",
					     "uncore_imc_0/event=1/" };
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		see(terms[i], NULL, NULL);
	remove_files();
	return 0;
}
