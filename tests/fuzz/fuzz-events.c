/* Any bytes are a list of events, for any CPU: parsed, or refused with a reason. Names that were
 * accepted are accepted again and mean the same.
 *
 * The first byte chooses the CPU, the rest is the list.
 */
#include <tare/event.h>

#include <stdlib.h>
#include <string.h>

static const char *const cpus[] = { "zen2", "zen5", "skylake", "sapphirerapids", "netburst", "core2", "alderlake",
				    "neoverse-n1", "cortex-a72", "merced" };

static bool same(const struct tare_event *a, const struct tare_event *b)
{
	return a->kind == b->kind && a->role == b->role && a->base.type == b->base.type &&
	       a->base.config == b->base.config && a->minus.config == b->minus.config;
}

static void parse_again(const struct tare_event *e, const struct tare_cpu *cpu)
{
	struct tare_events *list;
	struct tare_why why;
	if (tare_events_parse(e->name, cpu, &list, &why) < 0 || tare_events_count(list) != 1 ||
	    !same(tare_events_at(list, 0), e))
		abort();
	tare_events_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct tare_cpu cpu;
	struct tare_events *list;
	struct tare_why why = { 0 };
	if (!size)
		return 0;
	const bool named = bytes[0] % 11 < 10 && tare_cpu_from_name(cpus[bytes[0] % 11], &cpu) == 0;
	char *const text = strndup((const char *)bytes + 1, size - 1);
	const int err = tare_events_parse(text, named ? &cpu : NULL, &list, &why);
	if (err < 0 && (why.code != err || !why.what[0]))
		abort();
	if (err == 0) {
		for (size_t i = 0; i < tare_events_count(list); i++)
			parse_again(tare_events_at(list, i), named ? &cpu : NULL);
		tare_events_free(list);
	}
	free(text);
	return 0;
}
