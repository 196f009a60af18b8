#include "world-show.h"

#include "complain.h"

#include <inttypes.h>
#include <stdio.h>

bool machine_usable(const char *machine)
{
	struct tare_why why = { 0 };
	if (!machine || tare_machine_check(machine, &why) == 0)
		return true;
	complain_why(&why);
	return false;
}

bool hermetic_usable(const char *seed)
{
	struct tare_why why = { 0 };
	if (!seed || tare_seed_check(seed, &why) == 0)
		return true;
	complain_why(&why);
	return false;
}

void world_deadlock(const struct tare_world *w, void *arg)
{
	enum { ENOUGH = 20 };
	(void)arg;
	caution("deadlock: all tasks of the run wait for each other, and will do so until it is ended:");
	for (size_t i = 0; i < w->n_waits && i < ENOUGH; i++) {
		const struct tare_wait *const k = &w->waits[i];
		fprintf(stderr, "  %s %d (%s) waits %s\n", k->pid == k->tid ? "process" : "thread", k->tid, k->comm, k->what);
	}
	if (w->n_waits > ENOUGH)
		fprintf(stderr, "  … and %zu more\n", w->n_waits - ENOUGH);
}

static void hermetic_json(struct json *j, const struct tare_world *w)
{
	if (!w || !w->hermetic) {
		json_null(j, "hermetic");
		return;
	}
	json_object(j, "hermetic");
	json_u64(j, "seed", w->seed);
	if (w->scheduled)
		json_u64(j, "schedule", w->schedule);
	else
		json_null(j, "schedule");
	json_array(j, "left");
	for (unsigned bit = 1; bit; bit <<= 1)
		if (w->left & bit && tare_left_text(bit))
			json_str(j, NULL, tare_left_text(bit));
	json_end(j);
	json_array(j, "deadlock");
	for (size_t i = 0; i < w->n_waits; i++) {
		json_object(j, NULL);
		json_i64(j, "pid", w->waits[i].pid);
		json_i64(j, "tid", w->waits[i].tid);
		json_str(j, "comm", w->waits[i].comm);
		json_str(j, "waits", w->waits[i].what);
		json_end(j);
	}
	json_end(j);
	json_end(j);
}

void world_json(struct json *j, const struct tare_world *w, bool aslr_off, bool clean_env)
{
	struct tare_world_fact f;
	char hash[24];
	json_object(j, "world");
	if (w && w->machine) {
		snprintf(hash, sizeof(hash), "%016" PRIx64, w->machine_hash);
		json_object(j, "machine");
		json_str(j, "name", w->machine);
		json_u64(j, "cpus", w->cpus);
		json_str(j, "hash", hash);
		json_array(j, "beyond");
		for (size_t i = 0; i < w->n_beyond; i++) {
			json_object(j, NULL);
			json_str(j, "extension", w->beyond[i].extension);
			json_u64(j, "address", w->beyond[i].address);
			json_end(j);
		}
		json_end(j);
		json_end(j);
	} else {
		json_null(j, "machine");
	}
	hermetic_json(j, w);
	for (int fixed = 1; fixed >= 0; fixed--) {
		json_object(j, fixed ? "fixed" : "left");
		for (size_t i = 0; tare_world_fact(w, aslr_off, clean_env, i, &f); i++)
			if (f.fixed == (bool)fixed)
				json_str(j, f.what, f.how);
		json_end(j);
	}
	json_end(j);
}

void world_heading(const struct tare_world *w, struct buf *out)
{
	if (w && w->hermetic)
		buf_printf(out, "world: hermetic, seed %" PRIu64 ", ", w->seed);
	if (w && w->scheduled)
		buf_printf(out, "schedule %" PRIu64 ", ", w->schedule);
	if (w && w->machine)
		buf_printf(out, "machine %s (%u CPU%s)", w->machine, w->cpus, w->cpus == 1 ? "" : "s");
}

void world_beyond(const struct tare_world *w, struct buf *out)
{
	for (unsigned bit = 1; w && w->hermetic && bit; bit <<= 1)
		if (w->left & bit && tare_left_text(bit))
			buf_printf(out, "\n Another run may differ: %s.\n", tare_left_text(bit));
	if (w && w->n_waits)
		buf_printf(out, "\n The run was ended in a deadlock: all %zu tasks waited for each other.\n", w->n_waits);
	if (!w || !w->n_beyond)
		return;
	buf_printf(out, "\n Code beyond %s was translated, and runs as on this host:", w->machine);
	for (size_t i = 0; i < w->n_beyond; i++)
		buf_printf(out, "%s %s (first at 0x%" PRIx64 ")", i ? "," : "", w->beyond[i].extension,
			   w->beyond[i].address);
	buf_str(out, ".\n The count may differ on a host that lacks these.\n");
}
