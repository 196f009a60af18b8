// The C++ guard: intervals as long as their scopes, left early, ended early.
#include "func.h"

#include <tare/profile.h>
#include <tare/record.hpp>

#include <string.h>
#include <string>
#include <unistd.h>
#include <vector>

static tare_recorder *recorder;
static uint64_t kind;

static uint64_t id(const char *text)
{
	return tare_record_string(recorder, text);
}

static void leaves_early(bool now)
{
	tare::interval i(recorder, kind, id("thrown"));
	if (now)
		throw 1;
}

static void work()
{
	tare::interval outer(recorder, kind, id("outer"));
	{
		tare::interval inner(tare_record_here(recorder), kind, id("inner"));
	}
	try {
		leaves_early(true);
	} catch (int) {
	}
	tare::interval ended(recorder, kind, id("ended"));
	ended.end();
	ended.end();			// again: nothing
	// as deep as the one that has ended, whose scope goes on
	tare::interval next(recorder, kind, id("next"));
}

static std::vector<std::string> names_in(const char *path)
{
	std::vector<std::string> names;
	tare_profile *p;
	CHECK(tare_profile_open(path, &p, nullptr) == 0, "%s", path);
	tare_profile_cursor *const c = tare_profile_cursor_new(p, TARE_PROFILE_FORWARD);
	tare_profile_event e;
	while (tare_profile_next(c, &e)) {
		char text[32];
		CHECK(e.type == TARE_PROFILE_INTERVAL && e.start <= e.end, "not an interval");
		tare_profile_text(p, e.id, text, sizeof(text), nullptr);
		names.push_back(text);
	}
	tare_profile_cursor_free(c);
	tare_profile_close(p);
	return names;
}

int main()
{
	char dir[] = "/tmp/tare-guard-XXXXXX";
	tare_record_options o = TARE_RECORD_OPTIONS_INIT;
	struct tare_record_state state;
	unsetenv("TARE_RECORD_DIR");
	CHECK(mkdtemp(dir), "%s", dir);
	o.dir = dir;
	CHECK(tare_record_start(&o, &recorder, nullptr) == 0, "start");
	kind = tare_record_kind(recorder, "GenericActivity");
	const std::string path = tare_record_path(recorder);
	work();
	tare_record_state(recorder, &state);
	CHECK(state.misnested == 0 && state.dropped == 0, "%d misnested", (int)state.misnested);
	CHECK(tare_record_stop(recorder, nullptr) == 0, "stop");
	const std::vector<std::string> want = { "inner", "thrown", "ended", "next", "outer" };
	const std::vector<std::string> got = names_in(path.c_str());
	for (const std::string &name : got)
		printf("%s\n", name.c_str());
	CHECK(got == want, "not what was recorded");
	recorder = nullptr;
	work();				// without a recorder: nothing
	unlink(path.c_str());
	rmdir(dir);
	return 0;
}
