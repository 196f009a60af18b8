#include "soft-stop.h"

#include "find-task.h"
#include "inject.h"
#include "live.h"
#include "role-events.h"

#include <tare/stop.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

static const uint8_t thens[] = {
	[TARE_STOP_CONTINUE] = THEN_CONTINUE,
	[TARE_STOP_SIGNAL] = THEN_SIGNAL,
	[TARE_STOP_CALL] = THEN_ASK,
	[TARE_STOP_END] = THEN_OVER,
};

uint32_t soft_stop_setup(struct soft_shared *shared, const struct tare_measure_options *o)
{
	uint32_t events = 0;
	for (size_t i = 0; i < o->n_stops; i++) {
		const struct tare_stop_rule *const r = &o->stops[i];
		shared->stops[i] = (struct soft_stop){
			.n = r->n,
			.first = r->first ? r->first : r->n,
			.event = (uint8_t)role_event(r->event->role),
			.then = thens[r->then],
			.every = r->every,
			.signal = (uint8_t)r->signal,
			.branch = r->branch,
			.pool.left = (int64_t)r->n,
		};
		events |= 1u << shared->stops[i].event;
	}
	shared->n_stops = (uint32_t)o->n_stops;
	return events;
}

/* ---- a stop ---- */

/* The registers as gdb names them, in the order of soft_stopped.regs. */
static const char *const names[16] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
				       "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15" };
#define N_REGISTERS 20

static void fill_registers(const struct soft_stopped *at, struct tare_stop_register *r)
{
	/* gdb's order */
	static const uint8_t order[16] = { 0, 3, 1, 2, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 };
	for (int i = 0; i < 16; i++)
		r[i] = (struct tare_stop_register){ names[order[i]], at->regs[order[i]] };
	r[16] = (struct tare_stop_register){ "rip", at->pc };
	r[17] = (struct tare_stop_register){ "eflags", at->rflags };
	r[18] = (struct tare_stop_register){ "fs_base", at->fs_base };
	r[19] = (struct tare_stop_register){ "gs_base", at->gs_base };
}

/* The counts of the thread, which has added them to its record before it asked. */
static void fill_counts(const struct soft_stops *s, uint32_t record, struct tare_count *counts)
{
	const struct soft_record *const r = &s->results->shared->records[record];
	for (size_t i = 0; i < tare_events_count(s->o->events); i++) {
		const struct tare_event *const e = tare_events_at(s->o->events, i);
		counts[i] = (struct tare_count){ .event = e->name, .unit = e->unit,
						 .state = TARE_COUNT_NOT_OPENED,
						 .code = TARE_E_NOT_OPENED };
		if (!tare_engine_counts(e))
			continue;
		counts[i].state = TARE_COUNT_OK;
		counts[i].code = 0;
		counts[i].provenance = TARE_PROV_EXACT;
		counts[i].value = counts[i].raw = r->counts[role_event(e->role)];
	}
}

/* Returns the answer: enum soft_reply. */
static uint32_t call_program(const struct soft_stops *s, const struct soft_slot *slot, pid_t pid,
			     pid_t tid)
{
	const struct soft_stopped *const at = &slot->stopped;
	const size_t n = tare_events_count(s->o->events);
	struct tare_stop_register registers[N_REGISTERS];
	struct tare_count *const counts = calloc(n + 1, sizeof(*counts));
	if (!counts)
		return REPLY_GO_ON;
	fill_registers(at, registers);
	fill_counts(s, slot->record, counts);
	const struct tare_stop stop = {
		.rule = at->rule, .pid = pid, .tid = tid, .count = at->count, .pc = at->pc,
		.last_pc = at->last_pc, .system_call = (long)at->call,
		.several_threads = at->several,
		.task = slot->record,
		.branch = s->results->shared->records[slot->record].branch,
		.way = at->way,
		.n_registers = N_REGISTERS, .registers = registers,
		.n_counts = n, .counts = counts,
	};
	const int go = s->o->on_stop(&stop, s->o->arg);
	free(counts);
	if (go == TARE_STOP_KILL)
		return REPLY_END;
	if (go == TARE_STOP_HAND_OVER && tare_stop_hand_over(&stop, NULL) == 0)
		return REPLY_HAND_OVER;
	return REPLY_GO_ON;
}

/* ---- for a debugger ---- */

static void set_registers(pid_t tid, const struct soft_stopped *at)
{
	struct user_regs_struct r;
	if (ptrace(PTRACE_GETREGS, tid, 0, &r) < 0)
		return;
	const uint64_t *const g = at->regs;
	r.rax = g[0], r.rcx = g[1], r.rdx = g[2], r.rbx = g[3];
	r.rsp = g[4], r.rbp = g[5], r.rsi = g[6], r.rdi = g[7];
	r.r8 = g[8], r.r9 = g[9], r.r10 = g[10], r.r11 = g[11];
	r.r12 = g[12], r.r13 = g[13], r.r14 = g[14], r.r15 = g[15];
	r.rip = at->pc;
	r.eflags = at->rflags;
	r.gs_base = at->gs_base;
	r.orig_rax = (unsigned long long)-1;	/* the call in which it waits is not made again */
	ptrace(PTRACE_SETREGS, tid, 0, &r);
	ptrace(PTRACE_SETSIGMASK, tid, sizeof(at->mask), &at->mask);
}

/* The task waits in a system call of the engine. It leaves with the registers of the program, and
 * stops before the next instruction. False: ptrace was refused. */
static bool hand_over(struct soft_slot *slot, pid_t tid, bool own_child)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		return false;
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	if (traced_stop(tid, own_child) > 0) {
		set_registers(tid, &slot->stopped);
		kill(tid, SIGSTOP);	/* it is blocked by no mask, and taken after the detach */
		ptrace(PTRACE_DETACH, tid, 0, 0);
	}
	slot->request = REQ_NONE;
	__atomic_store_n(&slot->taken, 0, __ATOMIC_RELEASE);
	return true;
}

/* ---- the end of the run ---- */

/* Kills every process of the run that is alive; true if there was one. */
static bool kill_all(struct soft_shared *shared)
{
	const uint32_t all = __atomic_load_n(&shared->n_records, __ATOMIC_ACQUIRE);
	bool found = false;
	for (uint32_t j = 1; j < all && j < SOFT_MAX_RECORDS; j++) {
		const struct soft_record *const r = &shared->records[j];
		const uint32_t state = __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
		const bool lives = state == REC_RUNNING || state == REC_STARTING ||
				   state == REC_KILLED_BY_SIGNAL;
		if (!lives || r->pid <= 0 || !live_is_ours(shared, r->pid))
			continue;
		found |= kill(r->pid, SIGKILL) == 0;
	}
	return found;
}

#define ROUNDS 2000		/* of a millisecond: processes that were just forked */

void soft_stop_rest(struct soft_shared *shared)
{
	for (int i = 0; i < ROUNDS && kill_all(shared); i++)
		usleep(1000);
}

static void end_run(struct soft_stops *s, pid_t asker)
{
	for (int i = 0; i < ROUNDS && !soft_results_look(s->results); i++)
		usleep(1000);
	soft_stop_rest(s->results->shared);
	kill(asker, SIGKILL);
}

void soft_stop_serve(struct soft_stops *s, struct soft_slot *slot)
{
	pid_t pid, tid;
	if (!find_task(slot, &pid, &tid)) {
		soft_setup_reply(slot, REPLY_REFUSED);
		return;
	}
	if (slot->request == REQ_STOP) {
		soft_setup_reply(slot, call_program(s, slot, pid, tid));
		return;
	}
	if (slot->request == REQ_HANDED) {
		if (!hand_over(slot, tid, pid == s->results->child))
			soft_setup_reply(slot, REPLY_REFUSED);
		return;
	}
	if (!s->pid) {
		s->over = slot->stopped;
		s->pid = pid;
		s->tid = tid;
	}
	end_run(s, pid);
	soft_setup_reply(slot, REPLY_GO_ON);
}

int soft_stop_results(const struct soft_stops *s, struct tare_measurement *m)
{
	const struct soft_shared *const shared = s->results->shared;
	if (!s->o->n_stops)
		return 0;
	m->stops = calloc(s->o->n_stops, sizeof(*m->stops));
	if (!m->stops)
		return TARE_E_NOMEM;
	m->n_stops = s->o->n_stops;
	for (size_t i = 0; i < m->n_stops; i++)
		m->stops[i].hits = shared->stops[i].hits;
	m->limited = shared->over;
	if (!shared->over)
		return 0;
	struct tare_stop_result *const r = &m->stops[shared->over - 1];
	r->ended = true;
	r->pid = s->pid;
	r->tid = s->tid;
	r->pc = s->over.last_pc;
	return 0;
}
