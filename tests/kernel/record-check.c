/* Profiles recorded on a real PMU driver, for the host to read: five runs of one
 * program, whose intervals are the same to the instruction. */
#include "guest.h"
#include "tap.h"

#include <tare/record.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#define RUNS 5
#define INTERVALS 20

/* One run, in a process of its own as a program would be. */
static int record(const char *dir)
{
	struct tare_recorder *r = NULL;
	const struct tare_record_options o = TARE_OPTIONS(record, .counter = "instructions:u", .dir = dir,
					    .name = "guest");
	if (tare_record_start(&o, &r, NULL) != 0)
		return 1;
	const uint64_t kind = tare_record_kind(r, "GenericActivity");
	const uint64_t outer = tare_record_string(r, "outer"), inner = tare_record_string(r, "inner");
	struct tare_record_thread *const t = tare_record_here(r);
	for (uint64_t i = 1; i <= INTERVALS; i++) {
		struct tare_interval a, b;
		tare_record_begin(t, &a, kind, outer);
		known_loop(1000 * i);
		tare_record_begin(t, &b, kind, inner);
		known_loop(500);
		tare_record_end(t, &b);
		tare_record_end(t, &a);
	}
	char path[256];
	snprintf(path, sizeof(path), "%s", tare_record_path(r));
	if (tare_record_stop(r, NULL) != 0)
		return 2;
	return rename(path, "/tmp/profile") == 0 ? 0 : 3;
}

void suite_record(void)
{
	sysctl_set("perf_user_access", 1);
	for (int run = 0; run < RUNS; run++) {
		fflush(NULL);
		const pid_t pid = fork();
		if (pid == 0)
			_exit(record("/tmp"));
		int status = 0;
		waitpid(pid, &status, 0);
		tap_is((uint64_t)status, 0, "run %d is recorded", run);
		char path[64];
		snprintf(path, sizeof(path), "/tmp/run-%d.mm_profdata", run);
		rename("/tmp/profile", path);
		guest_send(path);
	}
}
