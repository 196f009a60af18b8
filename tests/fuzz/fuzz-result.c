/* Any bytes are a result of `tare stat -j`: loaded or refused with a reason; compared with itself and
 * with a result that is right, and shown in every form. A result is never worse than itself.
 */
#include "compare.h"
#include "provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char right[] =
	"{\"schema\":\"tare.stat/1\",\"command\":[\"x\"],\"backend\":\"soft\",\"runs\":[{\"exit_status\":0,"
	"\"wall_ns\":1000,\"counts\":[{\"event\":\"instructions:u\",\"value\":100,\"unit\":\"\","
	"\"provenance\":\"exact\"}]}]}";

/* A path to these bytes; the descriptor is kept open. */
static int put(const void *bytes, size_t size, char *path, size_t path_size)
{
	const int fd = memfd_create("result", MFD_CLOEXEC);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, path_size, "/proc/self/fd/%d", fd);
	return fd;
}

static void judge(const struct compare_file *base, const struct compare_file *new, bool itself, unsigned choice)
{
	struct comparison c = { 0 };
	struct compare_threshold t = { .percent = 1 };
	const struct compare_rules rules = { .allow_scaled = choice & 1, .any_change = choice & 2,
					     .ignore_environment = choice & 4, .thresholds = &t,
					     .n_thresholds = choice >> 3 & 1 };
	struct buf out = { 0 };
	compare_judge(&c, base, new, &rules);
	compare_text(&c, 1, -1, &out);
	compare_markdown(&c, 1, &out);
	compare_json(&c, 1, &out);
	if (itself && compare_overall(&c, 1) == COMPARE_REGRESSION)
		abort();
	buf_free(&out);
	compare_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct compare_file good;
	static char good_path[64];
	struct compare_file f = { 0 };
	struct tare_why why = { 0 };
	char path[64];
	if (!good_path[0]) {
		put(right, sizeof(right) - 1, good_path, sizeof(good_path));
		if (compare_load(&good, good_path, &why) < 0)
			abort();
	}
	const unsigned choice = size ? bytes[size - 1] : 0;
	const int fd = put(bytes, size, path, sizeof(path));
	const int err = compare_load(&f, path, &why);
	if (err < 0 && !why.what[0])
		abort();
	if (err == 0) {
		judge(&f, &f, true, choice);
		judge(&good, &f, false, choice);
		judge(&f, &good, false, choice);
		compare_unload(&f);
	}
	close(fd);
	return 0;
}
