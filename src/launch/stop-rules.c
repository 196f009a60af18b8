/* Rules of stops and limits: reading and checking them; what a stopped thread shows (tare/stop.h).
 * The stops themselves: soft/guest/exact-stop.c in the process, soft-stop.c in the launcher. */
#include "measure-backend.h"
#include "measure-room.h"
#include "step.h"
#include "why.h"

#include <tare/stop.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define STOP_MAX_N ((uint64_t)1 << 54)	/* more than a century of instructions */

/* ---- reading "EVENT=N" ---- */

/* Digits, with _ between them, and k, M or G at the end. False: it is no such number. */
static bool parse_number(const char *text, uint64_t *n)
{
	uint64_t sum = 0;
	const char *p = text;
	if (*p < '0' || *p > '9')
		return false;
	for (; (*p >= '0' && *p <= '9') || (*p == '_' && p[1] >= '0' && p[1] <= '9'); p++)
		if (*p != '_' && (__builtin_mul_overflow(sum, 10, &sum) ||
				  __builtin_add_overflow(sum, (uint64_t)(*p - '0'), &sum)))
			return false;
	const uint64_t unit = *p == 'k' ? 1000 : *p == 'M' ? 1000000 : *p == 'G' ? 1000000000 : 1;
	p += unit > 1;
	*n = sum;
	return !*p && !__builtin_mul_overflow(sum, unit, n);
}

int tare_stop_parse(const char *text, const struct tare_cpu *cpu, struct tare_events **event,
		    uint64_t *n, struct tare_why *why)
{
	if (!text || !event || !n)
		return why_set(why, TARE_E_INVALID, "no text, or no place for the result");
	*event = NULL;
	/* the last one: an event may have parameters (cpu/event=0xc0/=100) */
	const char *const equals = strrchr(text, '=');
	if (!equals || equals == text)
		return why_set(why, TARE_E_INVALID, "\"%s\" is not EVENT=N, as in instructions=1000000",
			       text);
	if (!parse_number(equals + 1, n) || !*n || *n > STOP_MAX_N)
		return why_set(why, TARE_E_INVALID, "\"%s\" in \"%s\" is not a number of events "
			       "(decimal, from 1 to %" PRIu64 "; 1_000_000, 5k, 5M, 5G)", equals + 1, text, STOP_MAX_N);
	char *const name = strndup(text, (size_t)(equals - text));
	if (!name)
		return why_set(why, TARE_E_NOMEM, "an event");
	const int err = tare_events_parse(name, cpu, event, why);
	free(name);
	if (err)
		return err;
	if (tare_events_count(*event) == 1)
		return 0;
	tare_events_free(*event);
	*event = NULL;
	return why_set(why, TARE_E_INVALID, "%s: more than one event", text);
}

/* ---- checking ---- */

int tare_stop_possible(const struct tare_event *e, enum tare_backend backend, struct tare_why *why)
{
	if (!e)
		return why_set(why, TARE_E_INVALID, "no event to stop at");
	if (backend == TARE_BACKEND_HW && (e->kind != TARE_EVENT_PERF || !step_counts(e->role))) {
		why_set(why, TARE_E_INVALID, "%s cannot be stopped at with hardware counters: the last events "
			"before a stop are single-stepped, and steps cannot be counted by it", e->name);
		why_remedy(why, "use instructions, or stop with the software engine (--backend soft)");
		return TARE_E_INVALID;
	}
	if (backend == TARE_BACKEND_HW)
		return 0;
	if (tare_engine_counts(e))
		return 0;
	why_set(why, TARE_E_INVALID, "%s cannot be stopped at: the software engine does not count it",
		e->name);
	why_remedy(why, "use an event that `tare list` shows as exact, as instructions or branches");
	return TARE_E_INVALID;
}

static int check_rule(const struct tare_measure_options *o, const struct tare_stop_rule *r,
		      struct tare_why *why)
{
	const int err = tare_stop_possible(r->event, o->backend, why);
	if (err)
		return err;
	if (!r->n || r->n > STOP_MAX_N)
		return why_set(why, TARE_E_INVALID, "%s=%" PRIu64 ": the number of events is from 1 to "
			       "%" PRIu64, r->event->name, r->n, STOP_MAX_N);
	if ((unsigned)r->then > TARE_STOP_END)
		return why_set(why, TARE_E_INVALID, "%s: %d is no enum tare_stop_then", r->event->name,
			       (int)r->then);
	if (r->then == TARE_STOP_SIGNAL && (r->signal < 1 || r->signal > SIGRTMAX))
		return why_set(why, TARE_E_INVALID, "%s: %d is no signal", r->event->name, r->signal);
	if (r->then == TARE_STOP_CALL && !o->on_stop)
		return why_set(why, TARE_E_INVALID, "%s: on_stop is not set", r->event->name);
	if (r->first && (r->then == TARE_STOP_END || o->backend == TARE_BACKEND_HW || r->first > STOP_MAX_N))
		return why_set(why, TARE_E_INVALID, "%s: `first` (%" PRIu64 ") is for stops of the software engine, "
			       "and at most %" PRIu64, r->event->name, r->first, STOP_MAX_N);
	if (r->branch && (r->then == TARE_STOP_END || o->backend == TARE_BACKEND_HW))
		return why_set(why, TARE_E_INVALID, "%s: `branch` is for stops of the software engine", r->event->name);
	if (r->then == TARE_STOP_END && r->every)
		return why_set(why, TARE_E_INVALID, "%s: a limit ends the run, and has no `every`",
			       r->event->name);
	return 0;
}

int stop_check_rules(const struct tare_measure_options *o, struct tare_why *why)
{
	if (!o->n_stops)
		return 0;
	if (!o->stops || o->n_stops > TARE_STOP_MAX_RULES)
		return why_set(why, TARE_E_INVALID, "%zu stops and limits: there can be up to %d",
			       o->n_stops, TARE_STOP_MAX_RULES);
	if (o->pid || o->tid)
		return why_set(why, TARE_E_INVALID, "stops and limits want a command: a process that "
			       "runs already cannot be stopped exactly");
	if (o->trace) {
		why_set(why, TARE_E_INVALID, "a trace of memory and stops or limits in one run: code that "
			"writes a trace does not watch how many events are left");
		why_remedy(why, "measure twice: a program that does the same in each run stops at the same "
			   "instruction that the trace has");
		return TARE_E_INVALID;
	}
	for (size_t i = 0; i < o->n_stops; i++) {
		const int err = check_rule(o, &o->stops[i], why);
		if (err)
			return err;
	}
	return 0;
}

/* ---- a stopped thread ---- */

size_t tare_stop_read(const struct tare_stop *stop, uint64_t address, void *to, size_t size)
{
	size_t done = 0;
	while (stop && done < size) {
		/* up to the end of a page, so that what can be read is read */
		size_t n = 4096 - (address + done) % 4096;
		if (n > size - done)
			n = size - done;
		const struct iovec local = { (char *)to + done, n };
		const struct iovec remote = { (void *)(uintptr_t)(address + done), n };
		if (process_vm_readv(stop->pid, &local, 1, &remote, 1, 0) != (ssize_t)n)
			break;
		done += n;
	}
	return done;
}

int tare_stop_hand_over(const struct tare_stop *stop, struct tare_why *why)
{
	if (!stop)
		return why_set(why, TARE_E_INVALID, "no stop");
	if (stop->several_threads)
		return why_set(why, TARE_E_INVALID, "process %d has several threads, and only one of "
			       "them has stopped: the others are inside the engine", (int)stop->pid);
	return 0;
}
