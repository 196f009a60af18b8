/* `tare stat` on programs whose instructions are known, from exec to exit. */
#include "guest.h"
#include "tap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "/bin/known-program"
#define FORK "/bin/known-fork"
#define IN_PROGRAM 8000005	/* instructions, counted in known-program.S */
#define IN_PARENT 18		/* and in known-fork.S */
#define IN_BOTH 8000024
#define USER 1000

struct stat_run {
	int status;
	char *text;
};

/* Runs `tare stat` with words separated by blanks. */
static struct stat_run stat_as(unsigned uid, const char *words)
{
	char line[512];
	struct stat_run r;
	snprintf(line, sizeof(line), "tare stat %s", words);
	r.status = guest_run_words(line, uid, &r.text);
	return r;
}

/* Shows what the command said, when a test on it failed. */
static void judge(struct stat_run *r, bool good)
{
	if (!good)
		tap_note_lines(r->text);
	free(r->text);
}

/* The k-th count in the JSON: the text after its "event" line, or NULL. */
static const char *count_at(const char *json, unsigned k)
{
	const char *at = strstr(json, "\"counts\":");
	for (unsigned i = 0; at && i <= k; i++) {
		at = strstr(at, "\"event\":");
		at = at ? at + 8 : NULL;
	}
	return at;
}

static uint64_t number_of(const char *count, const char *field)
{
	char key[64];
	snprintf(key, sizeof(key), "\"%s\": ", field);
	const char *const at = count ? strstr(count, key) : NULL;
	return at ? strtoull(at + strlen(key), NULL, 10) : UINT64_MAX;
}

static bool provenance_is(const char *count, const char *want)
{
	char text[64];
	snprintf(text, sizeof(text), "\"provenance\": \"%s\"", want);
	const char *const at = count ? strstr(count, "\"provenance\"") : NULL;
	return at && strncmp(at, text, strlen(text)) == 0;
}

static bool provenance_is_null(const char *count)
{
	const char *const at = count ? strstr(count, "\"provenance\": null") : NULL;
	return at && at == strstr(count, "\"provenance\"");
}

/* Ten runs, every one with the number that is known. */
static void ten_of_ten(const char *event)
{
	char words[128];
	snprintf(words, sizeof(words), "-j -r 10 -e %s -- " PROGRAM, event);
	struct stat_run r = stat_as(0, words);
	const char *const summary = strstr(r.text, "\"summary\"");
	bool good = tap_is(r.status, 0, "stat %s: exit status", event);
	good &= tap_is(number_of(summary, "n"), 10, "stat %s: ten runs", event);
	good &= tap_is(number_of(summary, "min"), IN_PROGRAM, "stat %s: the least is exact", event);
	good &= tap_is(number_of(summary, "max"), IN_PROGRAM, "stat %s: the most is exact", event);
	good &= tap_ok(provenance_is(summary, "raw"), "stat %s: called raw", event);
	judge(&r, good);
}

static void one_value(const char *words, unsigned uid, int status, unsigned k, uint64_t want)
{
	struct stat_run r = stat_as(uid, words);
	bool good = tap_is(r.status, status, "stat %s: exit status", words);
	good &= tap_is(number_of(count_at(r.text, k), "value"), want, "stat %s: count %u", words, k);
	judge(&r, good);
}

/* Fails, and says what with. */
static void refused(const char *words, unsigned uid, const char *message)
{
	struct stat_run r = stat_as(uid, words);
	bool good = tap_is(r.status, 125, "stat %s: exit status", words);
	good &= tap_ok(strstr(r.text, message), "stat %s: says \"%s\"", words, message);
	judge(&r, good);
}

/* One event under all its names. */
static void names(void)
{
	static const char *const list[] = {
		"instructions:u", "r08:u", "INST_RETIRED:u", "armv8_pmuv3/inst_retired/u",
		"armv8_pmuv3/event=0x8/u", "armv8_pmuv3/event=0x08,long=1/u",
	};
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		char words[128];
		snprintf(words, sizeof(words), "-j -e %s -- " PROGRAM, list[i]);
		one_value(words, 0, 0, 0, IN_PROGRAM);
	}
}

/* The process and its child, each by itself. */
static void per_task(void)
{
	struct stat_run r = stat_as(0, "-j --per-thread -e instructions:u -- " FORK);
	const char *const parent = strstr(r.text, "\"tasks\"");
	const char *const first = parent ? strstr(parent, "\"event\":") : NULL;
	const char *const second = first ? strstr(first + 1, "\"event\":") : NULL;
	bool good = tap_is(number_of(count_at(r.text, 0), "value"), IN_BOTH, "per task: the sum");
	good &= tap_is(number_of(first, "value"), IN_PARENT, "per task: the parent");
	good &= tap_is(number_of(second, "value"), IN_BOTH - IN_PARENT, "per task: the child");
	judge(&r, good);
}

/* Eight events on six counters. What did not run all the time must say so; what never got
 * its turn in the eight milliseconds has no value. */
static void multiplexed(void)
{
	struct stat_run r = stat_as(0, "-j -e r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u "
				       "-- " FORK);
	unsigned scaled = 0, told = 0;
	for (unsigned k = 0; k < 8; k++) {
		const char *const c = count_at(r.text, k);
		const bool partly = number_of(c, "running_ns") < number_of(c, "enabled_ns");
		scaled += partly;
		if (partly && number_of(c, "running_ns") == 0)
			told += provenance_is_null(c);
		else
			told += partly ? provenance_is(c, "scaled") :
					 provenance_is(c, "raw") && number_of(c, "value") == IN_BOTH;
	}
	bool good = tap_ok(scaled >= 2, "stat, 8 events on 6 counters: %u were multiplexed", scaled);
	good &= tap_is(told, 8, "stat, 8 events on 6 counters: scaled ones say so, the rest is exact");
	judge(&r, good);
}

static void in_batches(void)
{
	struct stat_run r = stat_as(0, "-j --exact -e r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u "
				       "-- " FORK);
	unsigned exact = 0;
	for (unsigned k = 0; k < 8; k++) {
		const char *const c = count_at(r.text, k);
		exact += provenance_is(c, "raw") && number_of(c, "value") == IN_BOTH;
	}
	judge(&r, tap_is(exact, 8, "stat --exact, 8 events on 6 counters: all exact"));
}

/* A user without privileges, at the three levels that Debian's kernel has. */
static void unprivileged(void)
{
	sysctl_set("perf_event_paranoid", 3);
	refused("-e instructions:u -- " PROGRAM, USER, "perf_event_paranoid");
	sysctl_set("perf_event_paranoid", 2);
	one_value("-j -e instructions:u -- " PROGRAM, USER, 0, 0, IN_PROGRAM);
	refused("-e instructions:k -- " PROGRAM, USER, "perf_event_paranoid");
	/* Without a modifier: user mode only, and the count says so. */
	struct stat_run r = stat_as(USER, "-j -e instructions -- " PROGRAM);
	bool good = tap_is(number_of(count_at(r.text, 0), "value"), IN_PROGRAM,
			   "stat instructions, paranoid 2: user mode only");
	good &= tap_ok(strstr(r.text, "\"user_only\": true"), "stat instructions, paranoid 2: says so");
	judge(&r, good);
	sysctl_set("perf_event_paranoid", 1);
	r = stat_as(USER, "-j -e {instructions,instructions:u} -- " PROGRAM);
	good = tap_ok(number_of(count_at(r.text, 0), "value") > IN_PROGRAM,
		      "stat instructions, paranoid 1: the kernel's too");
	good &= tap_is(number_of(count_at(r.text, 1), "value"), IN_PROGRAM,
		       "stat instructions, paranoid 1: and the user's exactly");
	judge(&r, good);
	sysctl_set("perf_event_paranoid", 3);
}

/* After 1000 instructions of PROGRAM, 124 rounds of its loop are done: x0 is 999,876. Further away the
 * counter's interrupt is needed, which an emulator delivers with the next tick of its clock: then tare
 * must say that it cannot stop exactly. */
static void stops(void)
{
	struct stat_run r = stat_as(0, "--backend hw -e instructions:u --stop-at instructions=1000 -- "
				       PROGRAM);
	bool good = tap_is(r.status, 0, "stat --stop-at: exit status");
	good &= tap_ok(strstr(r.text, "stopped after 1000 instructions"), "stat --stop-at: stopped");
	good &= tap_ok(strstr(r.text, "x0      0x00000000000f41c4"), "stat --stop-at: x0 is exact");
	good &= tap_ok(strstr(r.text, "     1000  instructions:u"), "stat --stop-at: the counter agrees");
	judge(&r, good);
	one_value("-j --backend hw -e instructions:u --limit instructions=1000 -- " PROGRAM, 0, 123, 0, 1001);
	refused("--backend hw -e instructions:u --stop-at instructions=5000000 -- " PROGRAM, 0,
		"events late, more than can be single-stepped");
}

void suite_stat(void)
{
	stops();
	ten_of_ten("instructions:u");
	ten_of_ten("cycles:u");		/* one per instruction, in this emulation */
	one_value("-j -e {instructions:u,cycles:u} -- " FORK, 0, 3, 0, IN_BOTH);
	one_value("-j -e {instructions:u,cycles:u} -- " FORK, 0, 3, 1, IN_BOTH);
	one_value("-j --no-inherit -e instructions:u -- " FORK, 0, 3, 0, IN_PARENT);
	names();
	per_task();
	multiplexed();
	in_batches();
	refused("-e branch-misses:u -- " PROGRAM, 0, "the kernel does not support this event");
	refused("-e {r08:u,r08:u,r08:u,r08:u,r08:u,r08:u,r08:u} -- " PROGRAM, 0,
		"not enough hardware counters");
	unprivileged();
}

void suite_stat_no_pmu(void)
{
	refused("--backend hw -e instructions:u -- " PROGRAM, 0, "no hardware counters");
	refused("--backend hw -e r08:u -- " PROGRAM, 0, "the hypervisor (QEMU) hides the PMU");
	refused("--backend soft -e instructions:u -- " PROGRAM, 0, "x86-64 programs only");
	refused("-e instructions:u -- " PROGRAM, 0, "no hardware counters");
	one_value("-j -e page-faults:u -- " PROGRAM, 0, 0, 0, 1);
}
