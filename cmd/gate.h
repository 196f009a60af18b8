/* --delay and --control: a gate that is off leaves what is counted out of the totals.
 *
 *	gate_control_open(&o);				// once: opens the descriptors
 *	struct gate *g = gate_new(&o, events, n);	// for each run
 *	.control = g ? gate_control(g) : NULL		// of struct tare_measure_options
 *	… on_interval: gate_end_delay(g, so_far)
 *	gate_net(g, i, &m->counts[i])			// a count, without what was left out
 *	gate_free(g);
 *	gate_control_close();
 */
#ifndef CMD_GATE_H
#define CMD_GATE_H

#include <tare/tare.h>

#include <stdbool.h>
#include <stddef.h>

struct gate_options {
	const char *command;		/* "stat", for messages */
	int delay_ms;			/* -1: counting starts off */
	const char *control;		/* NULL: none */
	bool all_or_none;		/* events cannot be switched one by one */
};

struct gate;
bool gate_control_open(const struct gate_options *o);	/* false: complained */
void gate_control_close(void);				/* says which commands were not understood */
/* NULL: neither was asked for. */
struct gate *gate_new(const struct gate_options *o, const struct tare_events *events, size_t n);
void gate_free(struct gate *g);				/* NULL is allowed */
const struct tare_control *gate_control(struct gate *g);	/* NULL: no --control */
bool gate_delays(const struct gate *g);			/* the time of --delay is not over */
/* The time of --delay is over. False: it was before. */
bool gate_end_delay(struct gate *g, const struct tare_measurement *so_far);
/* Not 0: all events are off. Valid as long as the gate. */
const volatile int *gate_off(const struct gate *g);
/* A count, and the time, without what came while the gate was off. */
struct tare_count gate_net(const struct gate *g, size_t event, const struct tare_count *now);
uint64_t gate_net_ns(const struct gate *g, uint64_t now_ns);
uint64_t gate_since(const struct gate *g, uint64_t now_ns);	/* since the end of --delay */
void gate_switched(const struct gate *g, uint64_t *on, uint64_t *off);

#endif
