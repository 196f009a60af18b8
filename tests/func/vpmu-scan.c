/* Inside `tare run`: a scan whose counters another user takes in the middle ends with an error, and does not
 * call all further codes refused. */
#include "vpmu.h"

#include <tare/scan.h>

#define TAKEN 12	/* more than any model has */

static int taken[TAKEN];

/* After the first batch: pinned events of this thread, on every counter. */
static int take(const struct tare_scan_state *state, void *arg)
{
	bool *const done = arg;
	for (int i = 0; !*done && i < TAKEN; i++) {
		struct perf_event_attr attr = { .type = PERF_TYPE_RAW, .config = 0xc0, .size = sizeof(attr),
						.pinned = 1, .exclude_kernel = 1, .exclude_hv = 1 };
		taken[i] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	}
	*done = true;
	CHECK(state->refused == 0, "%llu codes refused", (unsigned long long)state->refused);
	return 0;
}

int main(void)
{
	struct tare_scan_options o = TARE_SCAN_OPTIONS_INIT;
	struct tare_scan *s;
	struct tare_why why = { 0 };
	bool done = false;
	o.like = "page-faults";
	o.has_codes = true;
	o.last_code = 0x3f;
	o.progress = take;
	o.arg = &done;
	CHECK(tare_scan_open(&o, &s, &why) == 0, "%s", why.what);
	const int err = tare_scan_run(s, &why);
	CHECK(done && err == TARE_E_STOLEN, "%d: %s", err, why.what);
	CHECK(strstr(why.what, "when the scan began"), "%s", why.what);
	tare_scan_close(s);
	return 0;
}
