/* What the files of an arm64 machine say of its cores.
 *
 * Every core has a MIDR: implementer 31:24, variant 23:20, architecture 19:16,
 * part 15:4, revision 3:0. The kernel shows it in sysfs (since 4.7) and, in
 * pieces, in /proc/cpuinfo. Cores with different parts make a hybrid machine;
 * another variant or revision of one part does not.
 */
#include "cpu-room.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PART_MASK 0xff00fff0u

/* Reads a small file; the text ends in a NUL. Returns its length, or -1. */
static ssize_t slurp(const char *root, const char *path, char *out, size_t size)
{
	char full[512];

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full))
		return -1;
	const int fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t len = 0;
	ssize_t n;
	while (len < size - 1 && (n = read(fd, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	out[len] = '\0';
	return (ssize_t)len;
}

struct cores {
	uint32_t wanted, first;		/* MIDR of the asked core, of the first known */
	bool mixed;
};

static void add_core(struct cores *c, bool is_wanted, uint32_t midr)
{
	if (!c->first)
		c->first = midr;
	if ((c->first ^ midr) & PART_MASK)
		c->mixed = true;
	if (is_wanted)
		c->wanted = midr;
}

static void read_sysfs(struct cores *c, const char *root, int on)
{
	char path[128], text[64];

	/* Numbers may have holes (offline cores); 1024 is the most that Debian's
	 * and Fedora's arm64 kernels are built for, 4096 leaves room. */
	for (int i = 0, missing = 0; i < 4096 && missing < 256; i++) {
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%d/regs/identification/midr_el1", i);
		if (slurp(root, path, text, sizeof(text)) <= 0) {
			missing++;
			continue;
		}
		missing = 0;
		const uint32_t midr = (uint32_t)strtoull(text, NULL, 16);
		if (midr)
			add_core(c, i == on, midr);
	}
}

/* "CPU part\t: 0xd0c" */
static bool field(const char *line, const char *name, unsigned long *value)
{
	if (strncmp(line, name, strlen(name)))
		return false;
	const char *const colon = strchr(line, ':');
	if (!colon)
		return false;
	*value = strtoul(colon + 1, NULL, 0);
	return true;
}

static void read_cpuinfo(struct cores *c, const char *root, int on)
{
	char *const text = malloc(1 << 20);
	unsigned long processor = 0, implementer = 0, variant = 0, part = 0, revision = 0;

	if (!text)
		return;
	if (slurp(root, "/proc/cpuinfo", text, 1 << 20) <= 0) {
		free(text);
		return;
	}
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		field(line, "processor", &processor);
		field(line, "CPU implementer", &implementer);
		field(line, "CPU variant", &variant);
		field(line, "CPU part", &part);
		if (!field(line, "CPU revision", &revision))	/* the last of each core */
			continue;
		add_core(c, (int)processor == on,
			 (uint32_t)(implementer << 24 | variant << 20 | 0xfu << 16 | part << 4 |
				    revision));
	}
	free(text);
}

static void take_hypervisor(struct tare_cpu *cpu, const char *root)
{
	char text[256];

	if (slurp(root, "/sys/hypervisor/type", text, sizeof(text)) > 0) {
		text[strcspn(text, "\n")] = '\0';
		snprintf(cpu->hypervisor, sizeof(cpu->hypervisor), "%.15s", text);
		return;
	}
	if (slurp(root, "/sys/class/dmi/id/sys_vendor", text, sizeof(text)) > 0 &&
	    !strncmp(text, "QEMU", 4)) {
		snprintf(cpu->hypervisor, sizeof(cpu->hypervisor), "QEMU");
		return;
	}
	if (slurp(root, "/proc/device-tree/compatible", text, sizeof(text)) > 0 &&
	    !strcmp(text, "linux,dummy-virt"))
		snprintf(cpu->hypervisor, sizeof(cpu->hypervisor), "QEMU");
}

static enum tare_vendor vendor_of(uint32_t midr)
{
	switch (midr >> 24) {
	case 0: return TARE_VENDOR_UNKNOWN;
	case 0x41: return TARE_VENDOR_ARM;
	case 0x61: return TARE_VENDOR_APPLE;
	default: return TARE_VENDOR_OTHER;
	}
}

void cpu_from_midr_files(struct tare_cpu *cpu, const char *root, int on)
{
	struct cores c = { 0 };

	cpu->arch = TARE_ARCH_ARM64;
	read_sysfs(&c, root, on);
	if (!c.first)
		read_cpuinfo(&c, root, on);
	cpu->midr = c.wanted ? c.wanted : c.first;
	cpu->vendor = vendor_of(cpu->midr);
	cpu->hybrid = c.mixed;
	cpu->uarch = tare_uarch_arm(cpu->midr);
	cpu_counters_of_table(cpu);
	if (cpu->hybrid && cpu->uarch)
		cpu->core = cpu->uarch->core;
	if (cpu->uarch)
		snprintf(cpu->brand, sizeof(cpu->brand), "%s", cpu->uarch->title);
	take_hypervisor(cpu, root);
}
