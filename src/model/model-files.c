/* The files of a model: what sysfs and procfs show on it. */
#include "model.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCES "/sys/bus/event_source/devices"

struct folder {
	const char *dir;
	int err;		/* the first errno; then the functions do nothing */
};

static void make_dir(struct folder *f, const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	if (!f->err && (mkdir(path, 0700) < 0 || chmod(path, 0755) < 0))
		f->err = errno;
}

__attribute__((format(printf, 3, 4)))
static void make_file(struct folder *f, const char *name, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	if (f->err)
		return;
	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	FILE *const out = fopen(path, "wxe");
	if (!out) {
		f->err = errno;
		return;
	}
	va_start(ap, fmt);
	vfprintf(out, fmt, ap);
	va_end(ap);
	if (fchmod(fileno(out), 0644) < 0 || fclose(out))
		f->err = errno;
}

/* Writable by root only, as the kernel's; the engine handles writes to it (vpmu-files.c). */
static void rdpmc_file(struct folder *f, struct vpmu_shared *v)
{
	char path[PATH_MAX];
	struct stat st;
	make_file(f, "devices/cpu/rdpmc", "%u\n", (unsigned)v->rdpmc);
	snprintf(path, sizeof(path), "%s/devices/cpu/rdpmc", f->dir);
	if (f->err)
		return;
	if (chmod(path, 0600) < 0 || stat(path, &st) < 0) {
		f->err = errno;
		return;
	}
	v->rdpmc_dev = st.st_dev;
	v->rdpmc_ino = st.st_ino;
}

/* The other PMUs of this machine are links to their real folders. */
static void link_others(struct folder *f)
{
	DIR *const d = opendir(SOURCES);
	if (!d)
		return;
	for (const struct dirent *e; (e = readdir(d));) {
		char to[PATH_MAX], path[PATH_MAX], real[PATH_MAX];
		if (e->d_name[0] == '.' || strncmp(e->d_name, "cpu", 3) == 0)
			continue;
		snprintf(to, sizeof(to), SOURCES "/%s", e->d_name);
		snprintf(path, sizeof(path), "%s/devices/%.200s", f->dir, e->d_name);
		if (realpath(to, real) && !f->err && symlink(real, path) < 0)
			f->err = errno;
	}
	closedir(d);
}

static void event_file(struct folder *f, const struct vpmu_model *m, unsigned generic,
		       const char *name)
{
	for (uint32_t i = 0; i < m->n_rows; i++) {
		char path[64];
		const struct vpmu_row *const r = &m->rows[i];
		if (r->generic != generic || !r->has_raw || r->kind == VPMU_NOTHING)
			continue;
		snprintf(path, sizeof(path), "devices/cpu/events/%s", name);
		if (r->raw >> 32)	/* AMD: event bits 8-11 */
			make_file(f, path, "event=0x%x\n", (unsigned)(r->raw & 0xff) |
				  (unsigned)(r->raw >> 24 & 0xf00));
		else if (r->raw & ~0xffull)
			make_file(f, path, "event=0x%02x,umask=0x%02x\n", (unsigned)r->raw & 0xff,
				  (unsigned)(r->raw >> 8) & 0xff);
		else
			make_file(f, path, "event=0x%02x\n", (unsigned)r->raw);
		return;
	}
}

/* What libtare has to know of the marker, as files that exist or not: it does not open the marker, in which
 * the flaws are. */
static void facts_files(struct folder *f, const struct vpmu_shared *v, const char *marker)
{
	char codes[128] = "";
	size_t n = 0;
	for (uint32_t i = 0; i < v->model.n_rows && n < sizeof(codes); i++)
		if (v->model.rows[i].is_cycles && v->model.rows[i].kind != VPMU_NOTHING)
			n += (size_t)snprintf(codes + n, sizeof(codes) - n, "0x%jx\n",
					      (uintmax_t)v->model.rows[i].raw);
	if (n)
		make_file(f, "devices/cpu/tare_cycles", "%s", codes);
	if (strncmp(marker, "exact", 5) == 0)
		make_file(f, "devices/cpu/tare_exact", "%s", "");
	if (v->kernel_as_user)
		make_file(f, "devices/cpu/tare_kernel_as_user", "%s", "");
}

static void pmu_folder(struct folder *f, struct vpmu_shared *v, const char *marker)
{
	const struct vpmu_model *const m = &v->model;
	const bool intel = m->arch_version;
	make_dir(f, "devices");
	make_dir(f, "devices/cpu");
	make_dir(f, "devices/cpu/format");
	make_dir(f, "devices/cpu/events");
	make_dir(f, "devices/cpu/caps");
	make_file(f, "devices/cpu/type", "4\n");
	rdpmc_file(f, v);
	make_file(f, "devices/cpu/perf_event_mux_interval_ms", "4\n");
	make_file(f, "devices/cpu/tare_simulated", "%s\n", marker);
	facts_files(f, v, marker);
	make_file(f, "devices/cpu/format/event", intel ? "config:0-7\n" : "config:0-7,32-35\n");
	make_file(f, "devices/cpu/format/umask", "config:8-15\n");
	make_file(f, "devices/cpu/format/edge", "config:18\n");
	make_file(f, "devices/cpu/format/inv", "config:23\n");
	make_file(f, "devices/cpu/format/cmask", "config:24-31\n");
	make_file(f, "devices/cpu/caps/max_precise", "%u\n", (unsigned)m->max_precise);
	if (intel) {
		make_file(f, "devices/cpu/format/any", "config:21\n");
		make_file(f, "devices/cpu/format/pc", "config:19\n");
		make_file(f, "devices/cpu/caps/pmu_name", "%s\n", m->name);
	}
	event_file(f, m, 1, "cpu-cycles");
	event_file(f, m, 10, "ref-cycles");
	event_file(f, m, 2, "instructions");
	event_file(f, m, 5, "branch-instructions");
	link_others(f);
}

/* /proc/cpuinfo of this machine, with the identity replaced. */
static void cpuinfo(struct folder *f, const struct vpmu_model *m)
{
	char path[PATH_MAX];
	char *line = NULL;
	size_t cap = 0;
	snprintf(path, sizeof(path), "%s/cpuinfo", f->dir);
	FILE *const machine = fopen(path, "re");	/* which a machine has put there */
	FILE *const in = machine ? machine : fopen("/proc/cpuinfo", "re");
	unlink(path);
	FILE *const out = fopen(path, "wxe");
	if (!out && !f->err)
		f->err = errno;
	while (in && out && getline(&line, &cap, in) > 0) {
		if (strncmp(line, "vendor_id", 9) == 0)
			fprintf(out, "vendor_id\t: %s\n", m->vendor);
		else if (strncmp(line, "cpu family", 10) == 0)
			fprintf(out, "cpu family\t: %u\n", m->family);
		else if (strncmp(line, "model name", 10) == 0)
			fprintf(out, "model name\t: %s\n", m->brand);
		else if (strncmp(line, "model\t", 6) == 0)
			fprintf(out, "model\t\t: %u\n", m->model);
		else if (strncmp(line, "stepping", 8) == 0)
			fprintf(out, "stepping\t: %u\n", m->stepping);
		else
			fputs(line, out);
	}
	free(line);
	if (in)
		fclose(in);
	if (out && (fchmod(fileno(out), 0644) < 0 || fclose(out)) && !f->err)
		f->err = errno;
}

/* modalias of this machine ("cpu:type:x86,ven0002fam0019mod0061:feature:…"), with the identity
 * replaced. */
static void modalias(struct folder *f, const struct vpmu_model *m)
{
	char features[16384];
	FILE *const in = fopen("/sys/devices/system/cpu/modalias", "re");
	const size_t n = in ? fread(features, 1, sizeof(features) - 1, in) : 0;
	if (in)
		fclose(in);
	features[n] = '\0';
	const char *const rest = strstr(features, ":feature:");
	char text[64];
	snprintf(text, sizeof(text), "cpu:type:x86,ven%04Xfam%04Xmod%04X", m->arch_version ? 0 : 2,
		 m->family, m->model);
	if (!rest)
		return;
	make_file(f, "modalias", "%s%s", text, rest);
	make_file(f, "uevent", "MODALIAS=%s%s", text, rest);
}

/* ---- /proc/interrupts ---- */

/* The columns of the first line: "           CPU0       CPU1". */
static void loc_columns(struct vpmu_shared *v, const char *line)
{
	v->loc_columns = 0;
	for (const char *p = strstr(line, "CPU"); p && v->loc_columns < VPMU_LOC_COLUMNS;
	     p = strstr(p, "CPU")) {
		p += strlen("CPU");
		v->loc_cpu[v->loc_columns++] = (uint16_t)strtoul(p, NULL, 10);
	}
}

/* The line LOC with numbers of a fixed width, which the engine replaces (vpmu-files.c). */
static void loc_line(struct vpmu_shared *v, FILE *out, const char *line)
{
	const char *p = strchr(line, ':');
	fputs("LOC:", out);
	v->loc_at = (uint32_t)ftell(out) + 1;
	for (uint32_t i = 0; i < v->loc_columns; i++) {
		char *end = NULL;
		const unsigned long n = p ? strtoul(p + !i, &end, 10) : 0;
		fprintf(out, " %*lu", VPMU_LOC_WIDTH, n);
		p = end;
	}
	fputs("   Local timer interrupts\n", out);
}

/* This machine's numbers of now, which do not change: its interrupts are no interrupts of the
 * virtual CPU. The engine adds those when a program opens the file. */
static void interrupts(struct folder *f, struct vpmu_shared *v)
{
	char path[PATH_MAX];
	char *line = NULL;
	size_t cap = 0;
	bool has_loc = false;
	FILE *const in = fopen("/proc/interrupts", "re");
	snprintf(path, sizeof(path), "%s/interrupts", f->dir);
	FILE *const out = fopen(path, "wxe");
	if (!out && !f->err)
		f->err = errno;
	if (in && out && getline(&line, &cap, in) > 0) {
		loc_columns(v, line);
		fputs(line, out);
	}
	if (out && !v->loc_columns) {		/* a container may hide them */
		v->loc_columns = 1;
		fputs("           CPU0\n", out);
	}
	while (in && out && getline(&line, &cap, in) > 0) {
		const bool loc = strstr(line, "LOC:");
		has_loc |= loc;
		if (loc)
			loc_line(v, out, line);
		else
			fputs(line, out);
	}
	if (out && !has_loc)
		loc_line(v, out, "");
	free(line);
	if (in)
		fclose(in);
	if (out && (fchmod(fileno(out), 0444) < 0 || fclose(out)) && !f->err)
		f->err = errno;
}

int model_files(struct vpmu_shared *v, const char *marker, const char *dir)
{
	struct folder f = { .dir = dir };
	pmu_folder(&f, v, marker);
	cpuinfo(&f, &v->model);
	modalias(&f, &v->model);
	interrupts(&f, v);
	make_file(&f, "perf_event_paranoid", "%d\n", v->kernel_as_user ? 1 : 2);
	make_file(&f, "nmi_watchdog", "%d\n", v->flaws.watchdog ? 1 : 0);
	make_file(&f, "mux_interval", "4\n");
	return f.err;
}
