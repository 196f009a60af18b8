/* Reads a corrected counter many times in a row, and prints where two reads are not as far apart as
 * the others, for tests/cli/vpmu-corrected.py:
 *
 *	each 25
 *	731 +1
 *	732 -1
 *	total 0
 *
 * The total is how far the last value is from the first one and the others between them. */
#include <tare/counter.h>

#include <inttypes.h>
#include <stdio.h>

#define READS 2000

static uint64_t values[READS];

int main(void)
{
	struct tare_counter *c;
	struct tare_why why;

	if (tare_counter_open("instructions-minus-irqs:u", &c, &why) < 0) {
		printf("%s: %s\n", tare_err_name(why.code), why.what);
		return 1;
	}
	if (tare_counter_path(c, NULL) != TARE_PATH_RDPMC) {
		puts("not read by rdpmc");
		return 1;
	}
	for (int i = 0; i < READS; i++)
		values[i] = 1;		/* no page fault later */
	for (int i = 0; i < READS; i++)
		if (tare_counter_read_pair(c, &values[i]) < 0)
			return 1;
	tare_counter_close(c);
	/* the most frequent distance: of the last two of three that are alike */
	uint64_t each = 0;
	for (int i = 2; i < READS && !each; i++)
		if (values[i] - values[i - 1] == values[i - 1] - values[i - 2])
			each = values[i] - values[i - 1];
	printf("each %" PRIu64 "\n", each);
	for (int i = 1; i < READS; i++) {
		const int64_t off = (int64_t)(values[i] - values[i - 1] - each);
		if (off)
			printf("%d %+" PRId64 "\n", i, off);
	}
	printf("total %" PRId64 "\n", (int64_t)(values[READS - 1] - values[0] - (READS - 1) * each));
	return 0;
}
