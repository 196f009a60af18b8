/* Any bytes are a profile: opened, summarized, folded, lined up with themselves and
 * exported. Nothing may crash, leak, or take more than the budget allows.
 *
 *	clang -fsanitize=fuzzer,address,undefined … && ./fuzz-profile corpus -max_total_time=60
 */
#include <tare/analysis.h>

#include <stdlib.h>

static int ignore(void *arg, const void *bytes, size_t n)
{
	return 0;
}

static const struct tare_output nowhere = { ignore, NULL };

static int look(void *arg, const struct tare_stack *s)
{
	*(uint64_t *)arg += s->name_len + s->path_len;
	return 0;
}

static void analyse(struct tare_profile *p, unsigned choice)
{
	struct tare_summary *s;
	struct tare_stacks *t;
	uint64_t sum = 0;
	if (tare_summarize(p, &TARE_OPTIONS(summarize, .by = (enum tare_group_by)(choice % 4)), &s,
			   NULL) == 0)
		tare_summary_free(s);
	const struct tare_stacks_options to = TARE_OPTIONS(stacks, .args = choice & 1,
		.most = choice & 32 ? 3 : 0, .by_thread = choice & 64, .raw_names = choice & 4);
	if (tare_stacks_collect(p, &to, &t, NULL) == 0) {
		tare_stacks_visit(t, NULL, look, &sum, NULL);
		tare_stacks_visit(t, &TARE_OPTIONS(stacks_visit, .order = TARE_STACKS_BY_PATH), look,
				  &sum, NULL);
		tare_stacks_free(t);
	}
}

static void describe(const struct tare_aggregate *a, const struct tare_extremes *e)
{
	struct tare_place *place;
	for (size_t i = 0; i < e->n; i++)
		if (e->list[i].count == 1 && tare_aggregate_place(a, &e->list[i], &place, NULL) == 0)
			tare_place_free(place);
}

static void line_up(struct tare_profile *p, struct tare_profile *q)
{
	struct tare_aggregate *a;
	struct tare_profile *runs[] = { p, q };
	if (tare_aggregate(runs, 2, NULL, &a, NULL) < 0)
		return;
	describe(a, &a->smallest);
	describe(a, &a->largest);
	describe(a, &a->largest_range);
	tare_aggregate_free(a);
}

static void stream(struct tare_profile *p)
{
	struct tare_stream *s;
	struct tare_stream_event e;
	if (tare_stream_open(p, NULL, &s, NULL) < 0)
		return;
	while (tare_stream_next(s, &e, NULL) > 0)
		;
	tare_stream_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct tare_profile *p, *q;
	struct tare_why why;
	if (tare_profile_open_memory(bytes, size, &p, &why) < 0)
		return 0;
	const unsigned choice = size ? bytes[size - 1] : 0;
	const struct tare_export_options eo = TARE_OPTIONS(export, .instants = choice & 1,
		.collapse_threads = choice & 2,
		.dialect = choice & 4 ? TARE_EXPORT_CROX : TARE_EXPORT_PLAIN);
	analyse(p, choice);
	tare_export_chrome(&p, 1, &eo, &nowhere, &why);
	stream(p);
	if (choice & 8)
		tare_export_speedscope(p, &eo, &nowhere, &why);
	/* a second run that lacks the last quarter of the file */
	if ((choice & 16) && tare_profile_open_memory(bytes, size - size / 4, &q, &why) == 0) {
		line_up(p, q);
		tare_profile_close(q);
	}
	tare_profile_close(p);
	return 0;
}
