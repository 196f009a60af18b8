/* --delay and --control of tare stat and tare annotate.
 *
 * The counters run all the time. A gate notes the totals when counting is switched off, and takes
 * what was added until it is on again out of the result. So the hardware and the engine are
 * switched in the same way, and a program that waits for the ack of its command is counted to the
 * instruction: its counts do not change between the command and the ack.
 *
 * The commands are perf stat's:
 *
 *	enable, disable [EVENT]		all events, or one
 *	ping				answered, nothing else
 *	evlist				prints the events
 *	stop, snapshot			known to perf record only; as with perf stat, stop is answered
 *
 * Each is a line. The answer is "ack\n" and a byte of 0, as perf writes it.
 */
#include "gate.h"

#include "complain.h"
#include "stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct gate_event {
	bool off;
	bool was_on;			/* at some time */
	struct tare_count skipped;	/* what was counted while it was off, before the last time … */
	struct tare_count since;	/* … and the total when it was switched off */
};

struct gate {
	const struct tare_events *list;
	size_t n_list;
	struct gate_options o;
	struct tare_control control;
	struct gate_event *events;
	bool delays;
	uint64_t delay_end_ns;
	uint64_t off_since_ns, skipped_ns;
	volatile int off;		/* all events: by a command without a name */
	uint64_t n_on, n_off;
	char line[256];			/* the beginning of a command */
	size_t n_line;
};

/* ---- descriptors ---- */

/* One for all runs, as the commands may come between two of them. */
static struct {
	bool open;
	int fd, ack;			/* ack: -1 where there is none */
	bool own;			/* opened here: of fifo: */
	bool ended;			/* the other end is closed */
	unsigned unknown;		/* commands */
	char first[64];			/* … the first of them */
} control = { .fd = -1, .ack = -1 };

static int open_fifo(const char *command, const char *path)
{
	struct stat st;
	const int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		complain_errno(errno, "%s: --control: %s", command, path);
		return -1;
	}
	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
		return fd;
	complain("%s: --control: %s is not a FIFO; make one with mkfifo", command, path);
	close(fd);
	return -1;
}

static int open_number(const char *command, const char *text)
{
	char *end;
	errno = 0;
	const long fd = strtol(text, &end, 10);
	if (errno || end == text || *end || fd < 0 || fd > 1 << 30) {
		complain("%s: --control: \"%s\" is not the number of a descriptor", command, text);
		return -1;
	}
	if (fcntl((int)fd, F_GETFD) < 0) {
		complain("%s: --control: descriptor %ld is not open; redirect it, as in: tare %s "
			 "--control fd:%ld … %ld<>FIFO", command, fd, command, fd, fd);
		return -1;
	}
	return (int)fd;
}

bool gate_control_open(const struct gate_options *o)
{
	char text[4096];
	if (!o->control)
		return true;
	const bool fifo = strncmp(o->control, "fifo:", 5) == 0;
	const char *const names = o->control + (fifo ? 5 : 3);
	if ((!fifo && strncmp(o->control, "fd:", 3) != 0) || !*names || strlen(names) >= sizeof(text)) {
		complain("%s: --control wants fd:CTL[,ACK] or fifo:CTL[,ACK], not \"%s\"", o->command, o->control);
		return false;
	}
	snprintf(text, sizeof(text), "%s", names);
	char *const comma = strchr(text, ',');
	if (comma)
		*comma = '\0';
	control.own = fifo;
	control.fd = fifo ? open_fifo(o->command, text) : open_number(o->command, text);
	if (control.fd >= 0 && comma)
		control.ack = fifo ? open_fifo(o->command, comma + 1) : open_number(o->command, comma + 1);
	control.open = control.fd >= 0 && (!comma || control.ack >= 0);
	return control.open;
}

void gate_control_close(void)
{
	if (control.unknown)
		caution("--control: %u command%s not understood, the first is \"%s\"; there are enable, "
			"disable, ping, evlist and stop", control.unknown,
			control.unknown == 1 ? " was" : "s were", control.first);
	if (control.own && control.fd >= 0)
		close(control.fd);
	if (control.own && control.ack >= 0)
		close(control.ack);
	control.fd = control.ack = -1;
}

static void acknowledge(void)
{
	static const char ack[] = "ack\n";
	if (control.ack >= 0 && write(control.ack, ack, sizeof(ack)) < 0 && errno != EAGAIN)
		control.ack = -1;	/* nobody reads it */
}

/* ---- switching ---- */

static void zero(struct tare_count *c)
{
	*c = (struct tare_count){ .state = TARE_COUNT_OK };
}

/* What has no value yet counts as 0. */
static struct tare_count valid(const struct tare_count *c)
{
	struct tare_count v = *c;
	if (c->state != TARE_COUNT_OK)
		zero(&v);
	return v;
}

static void event_switch(struct gate_event *e, const struct tare_count *count, bool on)
{
	const struct tare_count now = valid(count);
	if (on && e->off) {
		e->skipped.value += now.value - e->since.value;
		e->skipped.raw += now.raw - e->since.raw;
		e->skipped.vdso += now.vdso - e->since.vdso;
		e->skipped.enabled_ns += now.enabled_ns - e->since.enabled_ns;
		e->skipped.running_ns += now.running_ns - e->since.running_ns;
	} else if (!on && !e->off) {
		e->since = now;
	}
	e->off = !on;
	e->was_on |= on;
}

static void switch_all(struct gate *g, const struct tare_measurement *m, bool on)
{
	bool changed = false;
	for (size_t i = 0; i < g->n_list; i++) {
		changed |= g->events[i].off == on;
		event_switch(&g->events[i], &m->counts[i], on);
	}
	if (on && g->off)
		g->skipped_ns += m->wall_ns - g->off_since_ns;
	else if (!on && !g->off)
		g->off_since_ns = m->wall_ns;
	g->off = !on;
	*(on ? &g->n_on : &g->n_off) += changed;
}

static bool switch_one(struct gate *g, const struct tare_measurement *m, const char *name, bool on)
{
	for (size_t i = 0; i < g->n_list && !g->o.all_or_none; i++) {
		if (strcmp(tare_events_at(g->list, i)->name, name) != 0)
			continue;
		*(on ? &g->n_on : &g->n_off) += g->events[i].off == on;
		event_switch(&g->events[i], &m->counts[i], on);
		return true;
	}
	return false;
}

static void note_unknown(const char *line)
{
	if (!control.unknown++)
		snprintf(control.first, sizeof(control.first), "%.60s", line);
}

static void show_events(const struct gate *g)
{
	for (size_t i = 0; i < g->n_list; i++)
		printf("%s\n", tare_events_at(g->list, i)->name);
	fflush(stdout);
}

/* perf answers also where it does not know the event. */
static void obey(struct gate *g, const struct tare_measurement *m, const char *line)
{
	const bool on = line[0] == 'e' && line[1] == 'n', off = line[0] == 'd';
	const char *const space = strchr(line, ' ');
	if ((on || off) && !space)
		switch_all(g, m, on);
	else if ((on || off) && !switch_one(g, m, space + 1, on))
		note_unknown(line);
	else if (line[0] == 'e' && line[1] == 'v')
		show_events(g);
	acknowledge();
}

static bool is_command(const char *line)
{
	static const char *const words[] = { "enable", "disable", "ping", "stop", "evlist" };
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const size_t n = strlen(words[i]);
		if (strncmp(line, words[i], n) == 0 && (!line[n] || line[n] == ' '))
			return true;
	}
	return false;
}

static void take_line(struct gate *g, const struct tare_measurement *m)
{
	g->line[g->n_line] = '\0';
	g->n_line = 0;
	if (is_command(g->line))
		obey(g, m, g->line);
	else if (g->line[0])
		note_unknown(g->line);
}

static bool on_ready(const struct tare_measurement *so_far, void *arg)
{
	struct gate *const g = arg;
	char bytes[512];
	const ssize_t n = read(control.fd, bytes, sizeof(bytes));
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\0')
			take_line(g, so_far);
		else if (g->n_line + 1 < sizeof(g->line))
			g->line[g->n_line++] = bytes[i];
	}
	control.ended = n == 0;		/* the last writer has closed it */
	return !control.ended;
}

/* ---- the gate of a run ---- */

struct gate *gate_new(const struct gate_options *o, const struct tare_events *events, size_t n)
{
	if (o->delay_ms <= 0 && !o->control)
		return NULL;
	struct gate *const g = calloc(1, sizeof(*g));
	if (!g || !(g->events = calloc(n + 1, sizeof(*g->events))))
		abort();
	g->list = events;
	g->n_list = n;
	g->o = *o;
	g->control = (struct tare_control){ .fd = control.fd, .on_ready = on_ready, .arg = g };
	g->delays = o->delay_ms > 0;
	g->off = o->delay_ms != 0;
	for (size_t i = 0; i < n; i++) {
		g->events[i].off = g->off;
		g->events[i].was_on = !g->off;
		zero(&g->events[i].skipped);
		zero(&g->events[i].since);
	}
	return g;
}

void gate_free(struct gate *g)
{
	if (g)
		free(g->events);
	free(g);
}

const struct tare_control *gate_control(struct gate *g)
{
	return control.fd >= 0 && !control.ended ? &g->control : NULL;
}

const volatile int *gate_off(const struct gate *g)
{
	return &g->off;
}

bool gate_delays(const struct gate *g)
{
	return g->delays;
}

bool gate_end_delay(struct gate *g, const struct tare_measurement *so_far)
{
	if (!g->delays)
		return false;
	g->delays = false;
	g->delay_end_ns = so_far->wall_ns;
	switch_all(g, so_far, true);
	return true;
}

struct tare_count gate_net(const struct gate *g, size_t event, const struct tare_count *now)
{
	const struct gate_event *const e = &g->events[event];
	struct tare_count c = *now;
	if (!e->was_on) {
		c.state = TARE_COUNT_NOT_SCHEDULED;
		c.code = g->delays ? TARE_E_DELAY : TARE_E_NEVER_ON;
		return c;
	}
	if (e->off && now->state == TARE_COUNT_OK) {
		c.value = e->since.value;
		c.raw = e->since.raw;
		c.vdso = e->since.vdso;
		c.enabled_ns = e->since.enabled_ns;
		c.running_ns = e->since.running_ns;
	}
	return stat_delta(&c, &e->skipped);
}

uint64_t gate_net_ns(const struct gate *g, uint64_t now_ns)
{
	const uint64_t until = g->off ? g->off_since_ns : now_ns;
	return until > g->skipped_ns ? until - g->skipped_ns : 0;
}

uint64_t gate_since(const struct gate *g, uint64_t now_ns)
{
	return now_ns - g->delay_end_ns;
}

void gate_switched(const struct gate *g, uint64_t *on, uint64_t *off)
{
	*on = g->n_on;
	*off = g->n_off;
}
