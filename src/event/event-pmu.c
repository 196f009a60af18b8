/* pmu/term=value,…/ and the names that the kernel itself gives to events.
 *
 * A PMU is a folder in /sys/bus/event_source/devices with
 *
 *	type			the number for perf_event_attr.type
 *	format/TERM		where a term's bits go: "config:0-7,32-35"
 *	events/NAME		a list of terms: "event=0x3c,umask=0x01"
 *	events/NAME.scale, .unit
 *
 * A machine without counters has no `cpu` PMU, but a list that names it must mean
 * the same there (and may go to the software engine): the formats of x86 and of
 * Arm's PMUv3 are therefore also written below.
 */
#include "event-room.h"

#include "buf.h"
#include "clocale.h"
#include "why.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES "/sys/bus/event_source/devices"

const char *event_sysfs_root = "";

/* Reads PMU/a/b as one line; false when it is not there. */
static bool read_line(const char *pmu, const char *folder, const char *name, char *out,
		      size_t size)
{
	char path[512];

	if (snprintf(path, sizeof(path), "%s" DEVICES "/%s/%s%s%s", event_sysfs_root, pmu, folder,
		     folder[0] ? "/" : "", name) >= (int)sizeof(path))
		return false;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	const ssize_t n = read(fd, out, size - 1);
	close(fd);
	if (n < 0)
		return false;
	out[n] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return true;
}

static bool pmu_type(const char *pmu, uint32_t *type)
{
	char text[32], *end;

	if (!read_line(pmu, "", "type", text, sizeof(text)))
		return false;
	errno = 0;
	const unsigned long v = strtoul(text, &end, 10);
	if (errno || end == text || *end || v > UINT32_MAX)
		return false;
	*type = (uint32_t)v;
	return true;
}

bool event_hybrid_pmu(const struct tare_cpu *cpu, uint32_t *type)
{
	return cpu->arch == TARE_ARCH_X86_64 && cpu->hybrid && cpu->core != TARE_CORE_UNIFORM &&
	       pmu_type(cpu->core == TARE_CORE_EFFICIENT ? "cpu_atom" : "cpu_core", type);
}

uint32_t event_core_pmu_type(const struct tare_cpu *cpu)
{
	uint32_t type;

	return event_hybrid_pmu(cpu, &type) ? type : PERF_TYPE_RAW;
}

static struct tare_cpu here;

static void detect_here(void)
{
	tare_cpu_detect(&here);
}

/* Asked for every name, and cpuid is slow in a virtual machine: asked once. Two
 * core types of one machine are the same model. */
bool event_is_here(const struct tare_cpu *cpu)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, detect_here);
	return here.arch == cpu->arch && here.vendor == cpu->vendor &&
	       here.family == cpu->family &&
	       (here.uarch == cpu->uarch || (cpu->model && here.model == cpu->model) ||
		(cpu->midr && here.hybrid && cpu->hybrid));
}

/* Formats for when there is no sysfs to ask. */
struct format {
	const char *pmu;	/* prefix of the PMU's name */
	enum tare_arch arch;
	enum tare_vendor vendor;	/* TARE_VENDOR_UNKNOWN: any */
	const char *term;
	const char *bits;
};

static const struct format formats[] = {
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_AMD, "event", "config:0-7,32-35" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_HYGON, "event", "config:0-7,32-35" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_UNKNOWN, "event", "config:0-7" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_UNKNOWN, "umask", "config:8-15" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_UNKNOWN, "edge", "config:18" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_UNKNOWN, "inv", "config:23" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_UNKNOWN, "cmask", "config:24-31" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_INTEL, "pc", "config:19" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_INTEL, "any", "config:21" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_INTEL, "in_tx", "config:32" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_INTEL, "in_tx_cp", "config:33" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_INTEL, "offcore_rsp", "config1:0-63" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_INTEL, "ldlat", "config1:0-15" },
	{ "cpu", TARE_ARCH_X86_64, TARE_VENDOR_INTEL, "frontend", "config1:0-23" },
	{ "armv8_", TARE_ARCH_ARM64, TARE_VENDOR_UNKNOWN, "event", "config:0-15" },
	{ "armv8_", TARE_ARCH_ARM64, TARE_VENDOR_UNKNOWN, "long", "config1:0" },
	{ "armv8_", TARE_ARCH_ARM64, TARE_VENDOR_UNKNOWN, "rdpmc", "config1:1" },
};

/* One PMU that a list names. */
struct pmu {
	char name[64];
	bool in_sysfs;
	uint32_t type;
	const struct tare_cpu *cpu;
	const char *text;	/* the whole event, for messages */
	size_t position;
	struct tare_why *why;
};

static bool is_builtin(const struct pmu *p, const struct format *f)
{
	const size_t len = strlen(f->pmu);
	const bool whole = f->pmu[len - 1] != '_';

	return f->arch == p->cpu->arch && !strncmp(p->name, f->pmu, len) &&
	       (!whole || !p->name[len]) &&
	       (f->vendor == TARE_VENDOR_UNKNOWN || f->vendor == p->cpu->vendor);
}

static bool format_of(const struct pmu *p, const char *term, char *out, size_t size)
{
	if (p->in_sysfs)
		return read_line(p->name, "format", term, out, size);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		const struct format *const f = &formats[i];
		if (!is_builtin(p, f) || strcmp(f->term, term))
			continue;
		snprintf(out, size, "%s", f->bits);
		return true;
	}
	return false;
}

/* The terms that a PMU has, for a message. */
static void list_terms(const struct pmu *p, struct buf *out)
{
	char path[512], bits[64];

	if (!p->in_sysfs) {
		for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
			if (is_builtin(p, &formats[i]) &&
			    format_of(p, formats[i].term, bits, sizeof(bits)) &&
			    !strcmp(bits, formats[i].bits))
				buf_printf(out, " %s", formats[i].term);
		return;
	}
	snprintf(path, sizeof(path), "%s" DEVICES "/%s/format", event_sysfs_root, p->name);
	struct dirent **entries = NULL;
	const int n = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.')
			buf_printf(out, " %s", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static uint64_t *config_of(struct tare_encoding *enc, const char **bits)
{
	static const struct { const char *name; size_t offset; } fields[] = {
		{ "config1:", offsetof(struct tare_encoding, config1) },
		{ "config2:", offsetof(struct tare_encoding, config2) },
		{ "config:", offsetof(struct tare_encoding, config) },
	};
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const size_t len = strlen(fields[i].name);
		if (strncmp(*bits, fields[i].name, len))
			continue;
		*bits += len;
		return (uint64_t *)((char *)enc + fields[i].offset);
	}
	return NULL;
}

/* Puts a value where "config:0-7,32-35" says: low bits first. */
static int put_bits(const struct pmu *p, const char *term, uint64_t value, const char *bits,
		    struct tare_encoding *enc)
{
	const uint64_t whole = value;
	unsigned width = 0;
	uint64_t *const word = config_of(enc, &bits);

	if (!word)
		return why_set(p->why, TARE_E_FORMAT, "%s: format of %s is not understood: %s", p->name,
			       term, bits);
	while (*bits) {
		char *end;
		const unsigned long first = strtoul(bits, &end, 10);
		unsigned long last = first;
		if (end == bits || !isdigit((unsigned char)*bits))
			break;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (last < first || last > 63 || (*end && *end != ','))
			break;
		const unsigned n = (unsigned)(last - first + 1);
		const uint64_t mask = n == 64 ? UINT64_MAX : (1ull << n) - 1;
		*word = (*word & ~(mask << first)) | (value & mask) << first;
		value = n == 64 ? 0 : value >> n;
		width += n;
		bits = *end ? end + 1 : end;
	}
	if (*bits || !width)
		return why_set(p->why, TARE_E_FORMAT, "%s: format of %s is not understood: %s", p->name,
			       term, bits);
	if (value)
		return why_set(p->why, TARE_E_RANGE,
			       "position %zu: %s: %s=%#llx does not fit its %u bits", p->position,
			       p->text, term, (unsigned long long)whole, width);
	return 0;
}

static int put_term(const struct pmu *p, const char *term, uint64_t value,
		    struct tare_encoding *enc)
{
	char bits[128];

	if (!strcmp(term, "config"))
		enc->config = value;
	else if (!strcmp(term, "config1"))
		enc->config1 = value;
	else if (!strcmp(term, "config2"))
		enc->config2 = value;
	else if (format_of(p, term, bits, sizeof(bits)))
		return put_bits(p, term, value, bits, enc);
	else
		return EVENT_NOT_MINE + 1;
	return 0;
}

static int apply_terms(const struct pmu *p, char *terms, bool from_sysfs, struct tare_event *ev);

static void take_scale_and_unit(const struct pmu *p, const char *name, struct tare_event *ev)
{
	char file[160], text[64];

	snprintf(file, sizeof(file), "%s.scale", name);
	if (read_line(p->name, "events", file, text, sizeof(text))) {
		char *end;
		const double scale = clocale_strtod(text, &end);
		if (end != text && !*end && scale > 0)
			ev->scale = scale;
	}
	snprintf(file, sizeof(file), "%s.unit", name);
	if (!read_line(p->name, "events", file, text, sizeof(text)))
		return;
	free(ev->sysfs_unit);
	ev->sysfs_unit = strdup(text);
	if (ev->sysfs_unit)
		ev->unit = ev->sysfs_unit;
}

/* An event of the PMU by its name in sysfs; EVENT_NOT_MINE when it has none. */
static int named_event(const struct pmu *p, const char *name, struct tare_event *ev)
{
	char terms[256];

	if (name[0] == '.' || strchr(name, '.'))	/* NAME.scale is not an event */
		return EVENT_NOT_MINE;
	if (!p->in_sysfs) {
		/* cpu/instructions/ without a cpu PMU: perf's generic event. */
		struct tare_event generic = { 0 };
		if (event_generic_find(name, p->cpu, &generic) != EVENT_FOUND ||
		    generic.base.type != PERF_TYPE_HARDWARE)
			return EVENT_NOT_MINE;
		ev->base = generic.base;
		ev->role = generic.role;
		return EVENT_FOUND;
	}
	if (!read_line(p->name, "events", name, terms, sizeof(terms)))
		return EVENT_NOT_MINE;
	const int err = apply_terms(p, terms, true, ev);
	if (err < 0)
		return err;
	take_scale_and_unit(p, name, ev);
	return EVENT_FOUND;
}

static bool parse_number(const char *text, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	*value = strtoull(text, &end, hex ? 16 : 10);
	return !errno && !*end && end != text + (hex ? 2 : 0);
}

static int bad_term(const struct pmu *p, const char *term)
{
	struct buf known = { 0 };

	list_terms(p, &known);
	const int err = why_set(p->why, TARE_E_SYNTAX,
				"position %zu: %s: PMU %s has no term or event %s; terms:%s",
				p->position, p->text, p->name, term,
				known.data ? known.data : " none");
	buf_free(&known);
	return err;
}

static int apply_term(const struct pmu *p, char *term, bool from_sysfs, struct tare_event *ev)
{
	char *const equals = strchr(term, '=');
	uint64_t value = 1;

	if (equals) {
		*equals = '\0';
		if (!parse_number(equals + 1, &value))
			return why_set(p->why, TARE_E_SYNTAX,
				       "position %zu: %s: %s=%s is not a number", p->position, p->text,
				       term, equals + 1);
	} else if (!from_sysfs) {
		const int found = named_event(p, term, ev);
		if (found)
			return found < 0 ? found : 0;
		struct tare_event raw = { 0 };
		if (event_raw_find(term, p->cpu, &raw, NULL) == EVENT_FOUND) {
			ev->base.config = raw.base.config;
			return 0;
		}
	}
	const int err = put_term(p, term, value, &ev->base);
	return err > 0 ? bad_term(p, term) : err;
}

static int apply_terms(const struct pmu *p, char *terms, bool from_sysfs, struct tare_event *ev)
{
	while (*terms) {
		const size_t len = strcspn(terms, ",");
		char *const next = terms[len] ? terms + len + 1 : terms + len;
		const bool trailing = terms[len] && !*next;
		terms[len] = '\0';
		if (!len || trailing)
			return why_set(p->why, TARE_E_SYNTAX,
				       "position %zu: %s: a term was expected next to ','",
				       p->position, p->text);
		const int err = apply_term(p, terms, from_sysfs, ev);
		if (err < 0)
			return err;
		terms = next;
	}
	return 0;
}

static bool has_builtin(const struct pmu *p)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (is_builtin(p, &formats[i]))
			return true;
	return false;
}

static int no_such_pmu(const struct pmu *p)
{
	char path[512];
	struct buf known = { 0 };
	struct dirent **entries = NULL;

	snprintf(path, sizeof(path), "%s" DEVICES, event_sysfs_root);
	const int n = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.')
			buf_printf(&known, " %s", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	const int err = why_set(p->why, TARE_E_EVENT_UNKNOWN,
				"position %zu: %s: this machine has no PMU %s; it has:%s",
				p->position, p->text, p->name, known.data ? known.data : " none");
	buf_free(&known);
	return err;
}

static int open_pmu(struct pmu *p, const char *name, size_t len)
{
	if (!len || len >= sizeof(p->name) || memchr(name, '.', len))
		return why_set(p->why, TARE_E_SYNTAX,
			       "position %zu: %s: a PMU's name was expected before '/'", p->position,
			       p->text);
	memcpy(p->name, name, len);
	p->name[len] = '\0';
	p->in_sysfs = pmu_type(p->name, &p->type);
	if (p->in_sysfs)
		return 0;
	p->type = PERF_TYPE_RAW;
	return has_builtin(p) ? 0 : no_such_pmu(p);
}

int event_pmu_find(const char *text, const struct tare_cpu *cpu, size_t position,
		   struct tare_event *ev, struct tare_why *why)
{
	struct pmu p = { .cpu = cpu, .text = text, .position = position, .why = why };
	const char *const open_slash = strchr(text, '/');
	const char *const close_slash = strchr(open_slash + 1, '/');

	if (!close_slash || close_slash[1])
		return why_set(why, TARE_E_SYNTAX, "position %zu: %s: one pair of slashes was expected",
			       position, text);
	int err = open_pmu(&p, text, (size_t)(open_slash - text));
	if (err < 0)
		return err;
	char *const terms = strndup(open_slash + 1, (size_t)(close_slash - open_slash - 1));
	if (!terms)
		return why_set(why, TARE_E_NOMEM, "while reading an event list");
	ev->base.type = p.type;
	if (!terms[0])
		err = why_set(why, TARE_E_SYNTAX, "position %zu: %s: no terms between the slashes",
			      position, text);
	else
		err = apply_terms(&p, terms, false, ev);
	free(terms);
	if (err < 0)
		return err;
	if (ev->base.type == PERF_TYPE_RAW)
		ev->base.config = event_raw_canonical(ev->base.config, cpu);
	return EVENT_FOUND;
}

static int is_entry(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int is_event_entry(const struct dirent *d)
{
	return d->d_name[0] != '.' && !strchr(d->d_name, '.');
}

/* Calls back with every PMU, by name. */
static void each_pmu(void (*each)(const char *pmu, void *arg), void *arg)
{
	char path[512];
	struct dirent **entries = NULL;

	snprintf(path, sizeof(path), "%s" DEVICES, event_sysfs_root);
	const int n = scandir(path, &entries, is_entry, alphasort);
	for (int i = 0; i < n; i++) {
		each(entries[i]->d_name, arg);
		free(entries[i]);
	}
	free(entries);
}

struct search {
	const char *name;
	char pmu[64];
	bool is_core;
	struct buf all;
	size_t n;
};

static bool is_core_pmu(const char *pmu)
{
	return !strcmp(pmu, "cpu") || !strcmp(pmu, "cpu_core") || !strncmp(pmu, "armv8_", 6);
}

static void search_pmu(const char *pmu, void *arg)
{
	struct search *const s = arg;
	char terms[256];

	if (strlen(pmu) >= sizeof(s->pmu) ||
	    !read_line(pmu, "events", s->name, terms, sizeof(terms)))
		return;
	buf_printf(&s->all, " %s/%s/", pmu, s->name);
	if (!s->is_core) {
		memcpy(s->pmu, pmu, strlen(pmu) + 1);
		s->is_core = is_core_pmu(pmu);
	}
	s->n++;
}

int event_sysfs_find(const char *name, const struct tare_cpu *cpu, struct tare_event *ev,
		     struct tare_why *why)
{
	struct search s = { .name = name };

	if (strchr(name, '.') || strchr(name, '/'))
		return EVENT_NOT_MINE;
	each_pmu(search_pmu, &s);
	int found = EVENT_NOT_MINE;
	if (s.n > 1 && !s.is_core) {
		found = why_set(why, TARE_E_SYNTAX, "%s: several PMUs have it, choose one:%s", name,
				s.all.data ? s.all.data : "");
	} else if (s.n) {
		struct pmu p = { .cpu = cpu, .text = name, .position = 1, .why = why };
		found = open_pmu(&p, s.pmu, strlen(s.pmu));
		ev->base.type = p.type;
		if (found == 0)
			found = named_event(&p, name, ev);
	}
	buf_free(&s.all);
	return found;
}

struct walk {
	void (*each)(const char *name, const char *note, void *arg);
	void *arg;
};

static void walk_pmu(const char *pmu, void *arg)
{
	const struct walk *const w = arg;
	char path[512], terms[256];
	struct dirent **entries = NULL;

	snprintf(path, sizeof(path), "%s" DEVICES "/%s/events", event_sysfs_root, pmu);
	const int n = scandir(path, &entries, is_event_entry, alphasort);
	for (int i = 0; i < n; i++) {
		struct buf name = { 0 };
		buf_printf(&name, "%s/%s/", pmu, entries[i]->d_name);
		if (name.data && read_line(pmu, "events", entries[i]->d_name, terms, sizeof(terms)))
			w->each(name.data, terms, w->arg);
		buf_free(&name);
		free(entries[i]);
	}
	free(entries);
}

void event_sysfs_each(void (*each)(const char *name, const char *note, void *arg), void *arg)
{
	struct walk w = { .each = each, .arg = arg };

	each_pmu(walk_pmu, &w);
}
