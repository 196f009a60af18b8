#include "region-channel.h"

#include "descriptors.h"
#include "parts.h"
#include "set.h"
#include "why.h"

#include <tare/region.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

struct region {
	struct tare_measurement *m;
	struct counter_set *set;
	void (*read)(void *arg);
	void *arg;
	int channel, inherited;		/* the two ends */
	int number;			/* of the command's */
	int poll;			/* an epoll of the channel and all clients */
	int *clients;
	size_t n_clients;
	bool on, failed;
	struct tare_parts *parts;
	struct tare_count *mark;	/* the counts at the last dump or zeroing */
	struct tare_count *dropped;	/* what was zeroed, summed */
};

/* ---- the channel ---- */

/* A name tells the program that the descriptor is the channel. */
static bool name_channel(int fd)
{
	static unsigned counter;
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const size_t head = sizeof(TARE_REGION_NAME_) - 1;
	memcpy(a.sun_path, TARE_REGION_NAME_, head);
	for (int i = 0; i < 100; i++) {
		const unsigned n = __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
		const int len = snprintf(a.sun_path + head, sizeof(a.sun_path) - head, "%d-%u-%llx", (int)getpid(), n,
					 (unsigned long long)launch_now_ns());
		if (bind(fd, (struct sockaddr *)&a,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + head + (size_t)len)) == 0)
			return true;
	}
	return false;
}

/* As tare_region_number_() finds it, by the limit that the command gets. */
static int channel_number(void)
{
	const struct rlimit l = descriptors_limit();
	const int n = l.rlim_cur > TARE_REGION_FD_ ? TARE_REGION_FD_ : (int)l.rlim_cur - 1;
	/* in use: the command shall have it, unless it is the channel of a measurement around us */
	return n < 3 || (fcntl(n, F_GETFD) >= 0 && !tare_region_is_channel_(n)) ? -1 : n;
}

static bool watch_fd(const struct region *r, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };
	return epoll_ctl(r->poll, EPOLL_CTL_ADD, fd, &e) == 0;
}

static bool make_channel(struct region *r)
{
	int pair[2];
	r->number = channel_number();
	if (r->number < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	r->channel = pair[0];
	r->inherited = pair[1];
	r->poll = epoll_create1(EPOLL_CLOEXEC);
	return r->poll >= 0 && watch_fd(r, r->channel) && name_channel(r->inherited);
}

int region_open(struct region **out, const struct tare_measure_options *o, struct tare_measurement *m,
		struct tare_why *why)
{
	*out = NULL;
	if (!o->starts_off)
		return 0;
	struct region *const r = calloc(1, sizeof(*r));
	if (!r)
		return why_set(why, TARE_E_NOMEM, "a run");
	*r = (struct region){ .m = m, .channel = -1, .inherited = -1, .poll = -1,
			      .parts = parts_new(0),
			      .mark = calloc(m->n_counts + 1, sizeof(*r->mark)),
			      .dropped = calloc(m->n_counts + 1, sizeof(*r->dropped)) };
	const bool memory = r->parts && r->mark && r->dropped;
	if (memory && make_channel(r)) {
		*out = r;
		return 0;
	}
	region_close(r);
	if (!memory)
		return why_set(why, TARE_E_NOMEM, "a run");
	return why_set(why, TARE_E_TOO_MANY_FILES, "descriptor %d is in use, so the program could not "
		       "switch counting on", TARE_REGION_FD_);
}

void region_plan(const struct region *r, struct child_plan *plan)
{
	if (!r)
		return;
	plan->region_from = r->inherited;
	plan->region_to = r->number;
}

void region_begin(struct region *r, struct counter_set *set, void (*read)(void *arg), void *arg)
{
	if (!r)
		return;
	close(r->inherited);		/* the child has it */
	r->inherited = -1;
	r->set = set;
	r->read = read;
	r->arg = arg;
}

int region_wake(const struct region *r)
{
	return r ? r->poll : -1;
}

/* ---- clients ---- */

static void drop_client(struct region *r, int fd)
{
	close(fd);
	for (size_t i = 0; i < r->n_clients; i++)
		if (r->clients[i] == fd)
			r->clients[i] = r->clients[--r->n_clients];
}

/* The end of a connection that a process has sent; -1: none came. *ended: no process has the other
 * end of the channel any more. */
static int receive_client(int channel, bool *ended)
{
	char byte;
	int fd = -1;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	const ssize_t n = recvmsg(channel, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	*ended = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
	if (n != 1)
		return -1;
	const struct cmsghdr *const c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static bool send_counters(const struct region *r, int to)
{
	int fds[TARE_REGION_MAX_];
	const size_t n = counter_set_leaders(r->set, fds, TARE_REGION_MAX_);
	int32_t told = n <= TARE_REGION_MAX_ ? (int32_t)n : -1;
	union {
		char bytes[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { &told, sizeof(told) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	if (told > 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		struct cmsghdr *const c = CMSG_FIRSTHDR(&m);
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				       .cmsg_len = CMSG_LEN(n * sizeof(int)) };
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	return sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(told) && told > 0;
}

static void accept_client(struct region *r)
{
	bool ended;
	const int fd = receive_client(r->channel, &ended);
	if (ended)
		epoll_ctl(r->poll, EPOLL_CTL_DEL, r->channel, NULL);
	if (fd < 0)
		return;
	int *const more = realloc(r->clients, (r->n_clients + 1) * sizeof(*more));
	if (more)
		r->clients = more;
	if (!more || !watch_fd(r, fd) || !send_counters(r, fd)) {
		close(fd);
		r->parts->missed++;
		return;
	}
	r->clients[r->n_clients++] = fd;
}

/* ---- what they ask for ---- */

static void add_count(struct tare_count *to, const struct tare_count *c)
{
	to->value += c->value;
	to->raw += c->raw;
	to->enabled_ns += c->enabled_ns;
	to->running_ns += c->running_ns;
}

static void zero(struct region *r)
{
	r->read(r->arg);
	for (size_t i = 0; i < r->m->n_counts; i++) {
		const struct tare_count since = parts_since(&r->m->counts[i], &r->mark[i]);
		if (since.state == TARE_COUNT_OK)
			add_count(&r->dropped[i], &since);
		r->mark[i] = r->m->counts[i];
	}
	r->parts->zeroed++;
}

static void dump(struct region *r, const char *name)
{
	struct tare_parts *const p = r->parts;
	struct tare_dump *const more = realloc(p->dumps, (p->n_dumps + 1) * sizeof(*more));
	if (more)
		p->dumps = more;
	if (!more || !parts_dump_init(&more[p->n_dumps], name, r->m)) {
		r->failed = true;
		return;
	}
	struct tare_dump *const d = &more[p->n_dumps++];
	d->number = (unsigned)p->n_dumps;
	r->read(r->arg);
	for (size_t i = 0; i < r->m->n_counts; i++) {
		d->counts[i] = parts_since(&r->m->counts[i], &r->mark[i]);
		r->mark[i] = r->m->counts[i];
	}
}

static void serve_client(struct region *r, int fd)
{
	char text[129];
	const ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			drop_client(r, fd);
		return;
	}
	text[n] = '\0';
	if (text[0] == 't') {		/* which of the two is it? That follows. */
		send(fd, r->on ? "-" : "+", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	}
	const bool on = text[0] == '+' || (text[0] != '-' && r->on);
	r->parts->on += on && !r->on;
	r->parts->off += !on && r->on;
	r->on = on;
	if (text[0] == '+' || text[0] == '-')
		return;
	if (text[0] == '0')
		zero(r);
	else if (text[0] == 'd')
		dump(r, text + 1);
	send(fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void region_serve(struct region *r)
{
	struct epoll_event e[16];
	int n;
	while (r && (n = epoll_wait(r->poll, e, 16, 0)) > 0)
		for (int i = 0; i < n; i++) {
			if (e[i].data.fd != r->channel)
				serve_client(r, e[i].data.fd);
			else
				accept_client(r);
		}
}

/* ---- the end ---- */

int region_end(struct region *r, struct tare_why *why)
{
	if (!r)
		return 0;
	struct tare_parts *const p = r->parts;
	if (r->failed)
		return why_set(why, TARE_E_NOMEM, "dumps of the program");
	for (size_t i = 0; i < r->m->n_counts; i++)
		r->m->counts[i] = parts_since(&r->m->counts[i], &r->dropped[i]);
	p->started_off = true;
	r->m->parts = p;
	r->parts = NULL;
	return 0;
}

void region_close(struct region *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_clients; i++)
		close(r->clients[i]);
	const int own[3] = { r->channel, r->inherited, r->poll };
	for (int i = 0; i < 3; i++)
		if (own[i] >= 0)
			close(own[i]);
	parts_free(r->parts);
	free(r->clients);
	free(r->mark);
	free(r->dropped);
	free(r);
}
