/* tare verify on a real PMU driver: instructions are exact, and codes that the kernel opens although
 * the PMU does not count them are named. */
#include "guest.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All experiments, as JSON for the host (verify.py); then what the text says, and what is refused. */
void suite_verify(void)
{
	char *text = NULL;
	int status = guest_run_words("tare verify --quick -j -o /tmp/verify.json", 0, &text);
	if (!tap_is((uint64_t)status, 0, "every event has a verdict"))
		tap_note_lines(text);
	free(text);
	guest_send("/tmp/verify.json");

	status = guest_run_words("tare verify --quick --kernel load_store --experiment generated "
				 "--experiment multiplexing", 0, &text);
	/* the code is so short that one tick comes, or none: what an interrupt adds cannot be told */
	tap_is((uint64_t)status, strstr(text, "too few to tell what one adds") ? 2 : 0, "one kernel, two experiments");
	tap_ok(!strstr(text, "r000e:u: ?"), "of an event that the code does not have nothing is asked");
	tap_ok(strstr(text, "generated: not run: instructions are generated for x86-64 only"),
	       "what is for x86-64 only is named");
	tap_ok(strstr(text, "not tried: no event of branches, loads or stores counts here"),
	       "multiplexing has nothing to work with, and says so");
	if (!tap_ok(strstr(text, " never count") && strstr(text, "opens, and counts nothing"),
		    "the text names events that never count"))
		tap_note_lines(text);
	free(text);

	status = guest_run_words("tare verify --quick -e EXCEPTION_TAKEN:u,EXCEPTION_PABORT:u --kernel os "
				 "--experiment generated", 0, &text);
	tap_is((uint64_t)status, 2, "-e: one that never counts, one that no code is known for");
	if (!tap_ok(strstr(text, "EXCEPTION_TAKEN:u: 0\n    opens, and counts nothing") &&
		    strstr(text, "EXCEPTION_PABORT:u: ?\n    inspection of code does not give"),
		    "and both are told"))
		tap_note_lines(text);
	free(text);

	sysctl_set("perf_event_paranoid", 3);
	status = guest_run_words("tare verify --quick", 65534, &text);
	tap_is((uint64_t)status, 1, "no permission: exit status 1");
	if (!tap_ok(strstr(text, "perf_event_paranoid"), "and the reason"))
		tap_note_lines(text);
	free(text);
}

static bool has_verdict(const char *json, const char *event, const char *verdict)
{
	char want[64];
	snprintf(want, sizeof(want), "\"event\": \"%s\"", event);
	const char *const at = strstr(json, want);
	const char *const said = at ? strstr(at, "\"verdict\": \"") : NULL;
	return said && !strncmp(said + strlen("\"verdict\": \""), verdict, strlen(verdict));
}

/* A core that no table has: the events of the architecture. */
void suite_verify_any_core(void)
{
	static const char *const dead[] = { "BR_RETIRED:u", "EXC_SVC:u", "LD_RETIRED:u", "ST_RETIRED:u",
					    "EXC_TAKEN:u", "EXC_RETURN:u" };
	char *json = NULL;
	const int status = guest_run_words("tare verify --quick -j --kernel integer --kernel os "
					   "--kernel load_store --experiment page-faults "
					   "--experiment instructions", 0, &json);
	bool good = tap_is((uint64_t)status, 0, "tare verify: every event has a verdict");
	good &= tap_ok(has_verdict(json, "INST_RETIRED:u", "deterministic"), "instructions are exact");
	for (size_t i = 0; i < sizeof(dead) / sizeof(dead[0]); i++)
		good &= tap_ok(has_verdict(json, dead[i], "never-counts"), "%s never counts", dead[i]);
	if (!good)
		tap_note_lines(json);
	free(json);
}

void suite_verify_no_pmu(void)
{
	char *text = NULL;
	const int status = guest_run_words("tare verify --quick", 0, &text);
	tap_is((uint64_t)status, 1, "tare verify: neither hardware nor the engine");
	if (!tap_ok(strstr(text, "nothing can count here"), "and says so"))
		tap_note_lines(text);
	free(text);
}
