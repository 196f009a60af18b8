/* The doctor, and tare list, on a real PMU driver: probes, not scripted answers.
 *
 * The emulated PMU counts instructions exactly and lets every raw code be opened,
 * also those that it does not have and that stay 0: just what the doctor is for. */
#include "guest.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text of a finding "check", "code" in the JSON, or NULL. */
static const char *find(const char *json, const char *check, const char *code)
{
	char want[256];
	snprintf(want, sizeof(want), "\"check\": \"%s\",\n      \"code\": \"%s\"", check, code);
	return strstr(json, want);
}

static char *examine(unsigned uid, int *status)
{
	char *json = NULL;
	*status = guest_run((char *[]){ "/bin/tare", "doctor", "-j", NULL }, uid, &json);
	return json;
}

static void has(const char *json, const char *check, const char *code)
{
	const bool found = find(json, check, code);
	if (!tap_ok(found, "finds %s:%s", check, code))
		tap_note_lines(json);
}

static bool says(const char *json, const char *check, const char *code, const char *text)
{
	const char *const at = find(json, check, code);
	const char *const end = at ? strchr(at, '}') : NULL;
	const char *const hit = at ? strstr(at, text) : NULL;
	return hit && hit < end;
}

static void with_user_reads(void)
{
	int status;
	sysctl_set("perf_user_access", 1);
	char *const json = examine(0, &status);
	tap_is((uint64_t)status, 2, "counts, with caveats");
	has(json, "pmu", "present-vm");
	has(json, "rdpmc", "works");
	has(json, "engine", "architecture");
	tap_ok(says(json, "counting", "exact", "exact: instructions:u"), "instructions are exact");
	if (!tap_ok(says(json, "counters", "all", "6 general counters at once"), "six counters"))
		tap_note_lines(json);
	tap_ok(says(json, "counting", "unopened", "branches:u"), "this kernel has no branches");
	tap_ok(says(json, "counting", "silent", "BR_RETIRED (raw 0x0021), EXC_TAKEN (raw 0x0009)"),
	       "finds the events that open and never count");
	/* 6.1 has it off, 6.12 on; neither takes a counter. */
	has(json, "nmi-watchdog", sysctl_get("nmi_watchdog") ? "cycles" : "off");
	has(json, "overflow", "works");
	has(json, "exclusives", "not-counted");
	has(json, "interrupt-event", "zero");
	has(json, "tick", "rate");
	has(json, "clock", "fast");
	free(json);
}

static void without_user_reads(void)
{
	int status;
	sysctl_set("perf_user_access", 0);
	char *const json = examine(0, &status);
	has(json, "rdpmc", "arm64-off");
	free(json);
}

static void unprivileged(void)
{
	int status;
	sysctl_set("perf_event_paranoid", 3);
	char *json = examine(65534, &status);
	tap_is((uint64_t)status, 1, "paranoid 3: cannot count");
	has(json, "perf", "paranoid");
	has(json, "paranoid", "forbidden");
	has(json, "pmu", "refused");
	has(json, "capabilities", "none");
	free(json);
	json = examine(0, &status);
	has(json, "paranoid", "overridden");
	free(json);
	sysctl_set("perf_event_paranoid", 2);
	json = examine(65534, &status);
	has(json, "paranoid", "user");
	has(json, "pmu", "present-vm");
	free(json);
}

/* Somebody else holds counters: all but some, then all. */
static void with_hogs(void)
{
	struct hog hog;
	int status;
	hog_counters(&hog, 3);
	char *json = examine(0, &status);
	tap_ok(says(json, "counters", "fewer", "3 general counters of 6"), "three of six left");
	free(json);
	release_counters(&hog);
	hog_counters(&hog, HOG_ALL - 1);
	json = examine(0, &status);
	has(json, "counters", "one");
	free(json);
	release_counters(&hog);
	hog_counters(&hog, HOG_ALL);
	json = examine(0, &status);
	has(json, "counters", "held");
	tap_is((uint64_t)status, 1, "no counter left: cannot count");
	free(json);
	release_counters(&hog);
}

/* `tare list` tries each event: one that this PMU has, and one it has not. */
static void listed(const char *event, bool opens)
{
	char *json = NULL;
	char want[64];
	guest_run((char *[]){ "/bin/tare", "list", "-j", (char *)event, NULL }, 0, &json);
	snprintf(want, sizeof(want), "\"name\": \"%s\"", event);
	const char *const at = strstr(json, want);
	const char *const hit = at ? strstr(at, "\"opens\": ") : NULL;
	const bool said = hit && !strncmp(hit, "\"opens\": true", 13);
	if (!tap_ok(hit && said == opens, "tare list: %s %s", event,
		    opens ? "opens" : "does not open"))
		tap_note_lines(json);
	free(json);
}

void suite_doctor_no_pmu(void)
{
	int status;
	char *const json = examine(0, &status);
	has(json, "pmu", "hidden");
	has(json, "perf", "works");
	has(json, "rdpmc", "no-pmu");
	tap_is((uint64_t)status, 1, "neither hardware nor the engine: cannot count");
	free(json);
	listed("instructions", false);
	listed("page-faults", true);
}

void suite_doctor(void)
{
	with_user_reads();
	without_user_reads();
	unprivileged();
	with_hogs();
	listed("instructions", true);
	listed("page-faults", true);
	listed("branches", false);
}
