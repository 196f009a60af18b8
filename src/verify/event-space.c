/* The event space of a PMU, from sysfs. */
#include "event-space.h"

#include "perf-facts.h"
#include "why.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static bool parse_range(const char **text, unsigned *first, unsigned *last)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*first = *last = (unsigned)strtoul(*text, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return false;
		*last = (unsigned)strtoul(end + 1, &end, 10);
	}
	*text = end;
	return *last >= *first && *last < 64;
}

bool config_bits_parse(const char *text, struct config_bits *bits)
{
	static const char prefix[] = "config:";

	memset(bits, 0, sizeof(*bits));
	if (strncmp(text, prefix, strlen(prefix)))
		return false;
	text += strlen(prefix);
	while (bits->n < COUNT_OF(bits->ranges)) {
		unsigned first, last;
		if (!parse_range(&text, &first, &last))
			return false;
		bits->ranges[bits->n].first = first;
		bits->ranges[bits->n++].last = last;
		bits->width += last - first + 1;
		if (!*text)
			return bits->width <= 64;
		if (*text++ != ',')
			return false;
	}
	return false;
}

static uint64_t ones(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (1ull << n) - 1;
}

uint64_t config_bits_put(const struct config_bits *bits, uint64_t value)
{
	uint64_t config = 0;

	for (unsigned i = 0; i < bits->n; i++) {
		const unsigned n = bits->ranges[i].last - bits->ranges[i].first + 1;
		config |= (value & ones(n)) << bits->ranges[i].first;
		value = n < 64 ? value >> n : 0;
	}
	return config;
}

uint64_t config_bits_max(const struct config_bits *bits)
{
	return ones(bits->width);
}

/* What format/TERM says, where sysfs has no such file. */
static const char *usual_format(const struct tare_cpu *cpu, const char *term)
{
	const bool mask = !strcmp(term, "umask");

	if (cpu->arch == TARE_ARCH_ARM64)
		return mask ? NULL : "config:0-15";
	if (mask)
		return "config:8-15";
	return cpu->vendor == TARE_VENDOR_AMD || cpu->vendor == TARE_VENDOR_HYGON ?
		"config:0-7,32-35" : "config:0-7";
}

/* False: the PMU has formats, and none for this term. */
static bool read_format(const char *root, const char *pmu, const char *term, char *out, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/bus/event_source/devices/%s/format/%s", root, pmu, term);
	FILE *const f = fopen(path, "re");
	if (!f)
		return false;
	const bool got = fgets(out, (int)size, f);
	fclose(f);
	if (got)
		out[strcspn(out, "\n")] = '\0';
	return got;
}

static int find_bits(const struct event_space *s, const char *root, const struct tare_cpu *cpu,
		     const char *term, struct config_bits *bits, struct tare_why *why)
{
	char text[128];

	memset(bits, 0, sizeof(*bits));
	if (!read_format(root, s->pmu, term, text, sizeof(text))) {
		const char *const usual = usual_format(cpu, term);
		if (!usual)
			return 0;	/* there are no masks */
		snprintf(text, sizeof(text), "%s", usual);
	}
	if (config_bits_parse(text, bits))
		return 0;
	return why_set(why, TARE_E_FORMAT,
		       "/sys/bus/event_source/devices/%s/format/%s: \"%.60s\" is not understood", s->pmu,
		       term, text);
}

int event_space_find(struct event_space *s, const char *root, const struct tare_cpu *cpu, unsigned on,
		     struct tare_why *why)
{
	struct perf_facts f;

	memset(s, 0, sizeof(*s));
	perf_facts_read(&f, root);
	const struct perf_pmu *pmu = NULL;
	for (unsigned i = 0; i < f.n_pmus && !pmu; i++)
		if (perf_cpulist_has(f.pmus[i].cpus, on))
			pmu = &f.pmus[i];
	if (!pmu)
		return why_set(why, TARE_E_NO_PMU, "CPU %u has no PMU, and so no event space", on);
	snprintf(s->pmu, sizeof(s->pmu), "%s", pmu->name);
	s->type = f.n_pmus > 1 ? pmu->type : PERF_TYPE_RAW;
	const int err = find_bits(s, root, cpu, "event", &s->code, why);
	return err ? err : find_bits(s, root, cpu, "umask", &s->mask, why);
}

uint64_t event_space_raw(const struct event_space *s, uint64_t code, uint64_t mask)
{
	return config_bits_put(&s->code, code) | config_bits_put(&s->mask, mask);
}

char *event_space_name(const struct event_space *s, uint64_t raw, char *out, size_t size)
{
	if (s->type == PERF_TYPE_RAW)
		snprintf(out, size, "r%04" PRIx64 ":u", raw);
	else
		snprintf(out, size, "%s/config=0x%" PRIx64 "/u", s->pmu, raw);
	return out;
}
