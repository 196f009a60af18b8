/* Timeout, stop flag and intervals while a command runs (measure-room.h). */
#include "measure-room.h"

#include <poll.h>
#include <signal.h>

/* The maximum delay with which *stop is seen, if the signal comes just before the sleep. */
#define STOP_LATENCY_NS 100000000u
/* A command that ignores SIGTERM is killed this much later. */
#define KILL_AFTER_NS 2000000000u

void watch_start(struct watch *w, const struct tare_measure_options *o,
		 struct tare_measurement *m, uint64_t start_ns)
{
	*w = (struct watch){ .o = o, .m = m, .start_ns = start_ns,
			     .next_ns = UINT64_MAX, .timeout_ns = UINT64_MAX,
			     .kill_ns = UINT64_MAX,
			     .wake = { o->control ? o->control->fd : -1, -1 } };
	const unsigned first_ms = o->delay_ms ? o->delay_ms : o->interval_ms;
	if (first_ms && o->on_interval)
		w->next_ns = start_ns + (uint64_t)first_ms * 1000000u;
	if (o->timeout_s > 0)
		w->timeout_ns = start_ns + (uint64_t)(o->timeout_s * 1e9);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t watch_until(const struct watch *w)
{
	const uint64_t now = launch_now_ns();
	uint64_t until = now + (w->o->stop ? STOP_LATENCY_NS : 3600000000000u);
	until = earlier(until, w->next_ns);
	until = earlier(until, w->timeout_ns);
	return earlier(until, w->kill_ns);
}

static enum watch_verdict end(struct watch *w, uint64_t now, pid_t victim)
{
	w->timeout_ns = UINT64_MAX;
	w->kill_ns = now + KILL_AFTER_NS;
	if (victim > 0)
		kill(victim, SIGTERM);
	return WATCH_END;
}

static bool is_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	return fd >= 0 && poll(&p, 1, 0) > 0;
}

void watch_control(struct watch *w)
{
	if (!w->o->control->on_ready(w->m, w->o->control->arg))
		w->wake[0] = -1;
}

enum watch_verdict watch_check(struct watch *w, pid_t victim)
{
	const uint64_t now = launch_now_ns();
	if (now >= w->kill_ns) {
		w->kill_ns = UINT64_MAX;
		if (w->before_kill)
			w->before_kill(w->arg);
		if (victim > 0)
			kill(victim, SIGKILL);
	}
	if (w->o->stop && *w->o->stop && !w->m->stopped) {
		w->m->stopped = true;
		return end(w, now, victim);
	}
	if (now >= w->timeout_ns) {
		w->m->timed_out = true;
		return end(w, now, victim);
	}
	if (now < w->next_ns)
		return is_ready(w->wake[0]) ? WATCH_CONTROL : WATCH_ON;
	/* The times of intervals are multiples of the step, also after a late one. */
	const uint64_t step = (uint64_t)w->o->interval_ms * 1000000u;
	if (!step)
		w->next_ns = UINT64_MAX;	/* that was the delay */
	else
		w->next_ns += step * ((now - w->next_ns) / step + 1);
	return WATCH_INTERVAL;
}
