/* A run with the kernel's counters: attached before the exec and inherited by
 * everything the command starts, or attached to a process that runs already. */
#include "measure-backend.h"
#include "measure-room.h"
#include "region-channel.h"
#include "set.h"
#include "why.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct hw {
	const struct tare_measure_options *o;
	struct tare_measurement *m;
	const struct tare_event **events;
	struct counter_set *set;
	struct child child;
	bool has_child;
	struct region *region;	/* the program's own switches; NULL: none */
};

/* An event that cannot be opened is an error before anything runs. */
static int all_opened(const struct hw *h, struct tare_why *why)
{
	for (size_t i = 0; i < h->m->n_counts; i++) {
		const struct tare_why *const w = counter_set_why(h->set, i);
		if (w->code) {
			*why = *w;
			return w->code;
		}
	}
	return 0;
}

static int open_set(struct hw *h, const struct counter_set_opts *co, struct tare_why *why)
{
	const int err = counter_set_open(h->events, h->m->n_counts, co, &h->set, why);
	return err ? err : all_opened(h, why);
}

/* The times of an event advance while its task runs. An event whose time enabled is 0 belongs to a
 * task that slept all the time: its count is a true 0. */
static void count_idle(const struct tare_event *e, struct tare_count *c)
{
	/* with another code it is a pinned event, which reads as end of file, without times */
	if (c->state != TARE_COUNT_NOT_SCHEDULED || c->code != TARE_E_NOT_SCHEDULED ||
	    c->enabled_ns || c->running_ns)
		return;
	c->state = TARE_COUNT_OK;
	c->code = 0;
	c->provenance = e->kind == TARE_EVENT_PERF ? TARE_PROV_RAW : TARE_PROV_CORRECTED;
}

static void read_counts(struct hw *h)
{
	const int err = counter_set_read(h->set, h->m->counts);
	for (size_t i = 0; i < h->m->n_counts; i++) {
		struct tare_count *const c = &h->m->counts[i];
		c->user_only = counter_set_user_only(h->set, i);
		count_idle(h->events[i], c);
		if (err && c->state == TARE_COUNT_OK) {
			c->state = TARE_COUNT_STOLEN;
			c->code = err;
		}
	}
}

/* ---- a command ---- */

/* Shows the totals so far. */
static void show(struct hw *h, struct watch *w, enum watch_verdict v, uint64_t start_ns)
{
	read_counts(h);
	h->m->wall_ns = launch_now_ns() - start_ns;
	if (v == WATCH_INTERVAL)
		h->o->on_interval(h->m, h->o->arg);
	else
		watch_control(w);
}

static void watch_child(struct hw *h)
{
	struct watch w;
	watch_start(&w, h->o, h->m, h->child.start_ns);
	w.wake[1] = region_wake(h->region);
	while (!child_wait(&h->child, watch_until(&w), w.wake)) {
		region_serve(h->region);
		const enum watch_verdict v = watch_check(&w, h->child.pid);
		if (v == WATCH_INTERVAL || v == WATCH_CONTROL)
			show(h, &w, v, h->child.start_ns);
	}
	h->m->wall_ns = launch_now_ns() - h->child.start_ns;
}

static void read_for_region(void *arg)
{
	read_counts(arg);
}

static int run_command(struct hw *h, struct tare_why *why)
{
	struct child_plan plan = { .argv = h->o->argv, .aslr = h->o->aslr };
	int err = region_open(&h->region, h->o, h->m, why);
	if (err)
		return err;
	region_plan(h->region, &plan);
	err = child_start(&h->child, &plan, why);
	if (err)
		return err;
	const struct counter_set_opts co = {
		.pid = h->child.pid,
		.inherit = !h->o->no_inherit,
		.enable_on_exec = !h->o->starts_off,
		.off = h->o->starts_off,
		.pinned = h->o->pinned,
		.user_fallback = true,
	};
	err = open_set(h, &co, why);
	if (err) {
		child_abandon(&h->child);
		return err;
	}
	region_begin(h->region, h->set, read_for_region, h);
	err = child_exec(&h->child, why);
	if (err)
		return err;
	counter_set_started(h->set);
	watch_child(h);
	region_serve(h->region);
	read_counts(h);
	child_reap(&h->child, h->m);
	err = region_end(h->region, why);
	if (err)
		return err;
	measure_explain(h->o, h->m, h->set);
	return 0;
}

/* ---- a process that runs already ---- */

/* A pidfd wakes us when the process ends. Threads have none before Linux 6.9; launch_wait() then
 * looks at /proc. */
static int target_pidfd(const struct tare_measure_options *o)
{
	return o->pid ? (int)syscall(SYS_pidfd_open, o->pid, 0) : -1;
}

static bool attached_wait(const struct hw *h, int pidfd, const struct watch *w)
{
	if (h->has_child)
		return child_wait(&h->child, watch_until(w), w->wake);
	const pid_t target = h->o->pid ? h->o->pid : h->o->tid;
	return launch_wait(target, pidfd, watch_until(w), false, w->wake);
}

static void watch_attached(struct hw *h, uint64_t start_ns)
{
	struct watch w;
	const int pidfd = target_pidfd(h->o);
	watch_start(&w, h->o, h->m, start_ns);
	/* Attached without a command, only the watching itself can be ended. */
	while (!attached_wait(h, pidfd, &w)) {
		const enum watch_verdict v =
			watch_check(&w, h->has_child ? h->child.pid : 0);
		if (v == WATCH_END && !h->has_child)
			break;
		if (v == WATCH_INTERVAL || v == WATCH_CONTROL)
			show(h, &w, v, start_ns);
	}
	h->m->wall_ns = launch_now_ns() - start_ns;
	if (pidfd >= 0)
		close(pidfd);
}

static void task_names(struct tare_task *t)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)t->tid);
	FILE *const f = fopen(path, "re");
	if (f) {
		if (fgets(t->comm, sizeof(t->comm), f))
			t->comm[strcspn(t->comm, "\n")] = '\0';
		fclose(f);
	}
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)t->pid);
	const ssize_t n = readlink(path, t->exe, sizeof(t->exe) - 1);
	t->exe[n > 0 ? n : 0] = '\0';
}

/* Names are looked up while the threads live, counts filled in at the end. */
static int make_tasks(struct hw *h)
{
	const size_t n = counter_set_targets(h->set);
	h->m->tasks = calloc(n + 1, sizeof(*h->m->tasks));
	if (!h->m->tasks)
		return TARE_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		struct tare_task *const t = &h->m->tasks[i];
		t->tid = counter_set_tid(h->set, i);
		t->pid = h->o->pid ? h->o->pid : t->tid;
		t->is_thread = t->tid != t->pid;
		t->counts = calloc(h->m->n_counts + 1, sizeof(*t->counts));
		if (!t->counts)
			return TARE_E_NOMEM;
		h->m->n_tasks++;
		task_names(t);
	}
	return 0;
}

static int start_attached(struct hw *h, struct tare_why *why)
{
	const struct counter_set_opts co = {
		.pid = h->o->pid ? h->o->pid : h->o->tid,
		.all_threads = h->o->pid != 0,
		.inherit = !h->o->no_inherit && !h->o->per_task,
		.disabled = true,
		.pinned = h->o->pinned,
		.user_fallback = true,
	};
	int err = open_set(h, &co, why);
	if (!err && h->o->per_task && make_tasks(h))
		err = why_set(why, TARE_E_NOMEM, "tasks");
	return err;
}

static int run_attached(struct hw *h, struct tare_why *why)
{
	const struct child_plan plan = { .argv = h->o->argv, .aslr = h->o->aslr };
	h->has_child = h->o->argv && h->o->argv[0];
	int err = start_attached(h, why);
	if (!err && h->has_child)
		err = child_start(&h->child, &plan, why);
	if (err)
		return err;
	if (h->has_child)
		err = child_exec(&h->child, why);
	if (err)
		return err;
	err = counter_set_enable(h->set, why);
	if (err && h->has_child)
		child_abandon(&h->child);
	if (err)
		return err;
	const bool aslr_off = launch_aslr_off(h->o->pid ? h->o->pid : h->o->tid) == 1;
	watch_attached(h, launch_now_ns());
	counter_set_disable(h->set, NULL);
	read_counts(h);
	for (size_t i = 0; i < h->m->n_tasks; i++) {
		counter_set_read_target(h->set, i, h->m->tasks[i].counts);
		for (size_t k = 0; k < h->m->n_counts; k++)
			count_idle(h->events[k], &h->m->tasks[i].counts[k]);
	}
	if (h->has_child)
		child_reap(&h->child, h->m);
	h->m->aslr_off = aslr_off;	/* of the target, not of the command that is the clock */
	h->m->aslr_note = NULL;
	measure_explain(h->o, h->m, h->set);
	return 0;
}

int measure_hw(const struct tare_measure_options *o, struct tare_measurement *m,
	       struct tare_why *why)
{
	struct hw h = { .o = o, .m = m, .events = event_array(o->events) };
	if (!h.events)
		return why_set(why, TARE_E_NOMEM, "a run");
	const int err = o->pid || o->tid ? run_attached(&h, why) : run_command(&h, why);
	counter_set_close(h.set);
	region_close(h.region);
	free(h.events);
	return err;
}
