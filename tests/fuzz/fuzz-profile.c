/* Any bytes are a profile: opened, summarized, folded, lined up with themselves and
 * exported. Nothing may crash, leak, or take more than the budget allows.
 *
 *	clang -fsanitize=fuzzer,address,undefined … && ./fuzz-profile corpus -max_total_time=60
 */
#include <tare/analysis.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static int null_fd = -1;

static void analyse(struct tare_profile *p, unsigned choice)
{
	struct tare_summary *s;
	struct tare_stacks *t;
	const struct tare_summarize_opts so = { .by = (enum tare_group_by)(choice % 4) };
	if (tare_summarize(p, &so, &s, NULL) == 0) {
		tare_summary_text(s, &(struct tare_summary_print){ .measureme = choice & 4 }, null_fd,
				  NULL);
		tare_summary_free(s);
	}
	const struct tare_stacks_opts to = { .args = choice & 1, .most = choice & 32 ? 3 : 0,
					     .by_thread = choice & 64 };
	if (tare_stacks_collect(p, &to, &t, NULL) == 0) {
		tare_stacks_collapsed(t, null_fd, NULL);
		tare_stacks_flamegraph(t, "fuzz", null_fd, NULL);
		tare_stacks_text(t, 0, null_fd, NULL);
		tare_stacks_free(t);
	}
}

static void line_up(struct tare_profile *p, struct tare_profile *q)
{
	struct tare_aggregate *a;
	struct tare_profile *runs[] = { p, q };
	if (tare_aggregate(runs, 2, &(struct tare_aggregate_opts){ 0 }, &a, NULL) < 0)
		return;
	tare_aggregate_text(a, &(struct tare_aggregate_print){ 0 }, null_fd, NULL);
	tare_aggregate_json(a, null_fd, NULL);
	tare_aggregate_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct tare_profile *p, *q;
	struct tare_why why;
	if (null_fd < 0)
		null_fd = open("/dev/null", O_WRONLY);
	if (tare_profile_open_memory(bytes, size, &p, &why) < 0)
		return 0;
	const unsigned choice = size ? bytes[size - 1] : 0;
	const struct tare_export_opts eo = { .instants = choice & 1, .collapse_threads = choice & 2 };
	analyse(p, choice);
	tare_export_chrome(&p, 1, &eo, null_fd, &why);
	tare_export_csv(p, &eo, null_fd, &why);
	tare_view(p, &(struct tare_view_opts){ .measureme = choice & 1 }, null_fd, &why);
	if (choice & 8)
		tare_export_speedscope(p, &eo, null_fd, &why);
	/* a second run that lacks the last quarter of the file */
	if ((choice & 16) && tare_profile_open_memory(bytes, size - size / 4, &q, &why) == 0) {
		line_up(p, q);
		tare_profile_close(q);
	}
	tare_profile_close(p);
	return 0;
}
