/* The messages of tare-symbols, and its limits. (symbol-reader.h) */
#include "symbol-reader.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define WIRE_FD 0
#define DATA_LIMIT (8ull << 30)		/* bytes: a broken file may ask for any number of them */
/* libiberty. Some distributions have the library without this header. */
#define DMGL_PARAMS 1
#define DMGL_ANSI 2
char *rust_demangle(const char *mangled, int options);
char *cplus_demangle_v3(const char *mangled, int options);

#define NAME_LIMIT (1u << 16)		/* longer names are not demangled */

void reader_note(struct reader_object *o, const char *fmt, ...)
{
	if (o->note[0])
		return;
	va_list args;
	va_start(args, fmt);
	vsnprintf(o->note, sizeof(o->note), fmt, args);
	va_end(args);
}

void *reader_alloc(size_t n)
{
	void *const p = calloc(n ? n : 1, 1);
	if (!p)
		_exit(1);
	return p;
}

void *reader_grow(void *array, size_t n, size_t *cap, size_t element)
{
	if (n < *cap)
		return array;
	*cap = *cap ? 2 * *cap : 64;
	void *const more = reallocarray(array, *cap, element);
	if (!more)
		_exit(1);
	return more;
}

/* ---- the answer that is being written ---- */

static char *answer;
static size_t answer_size, answer_cap;

static void put(const void *bytes, size_t n)
{
	if (answer_size + n > answer_cap) {
		answer_cap = 2 * (answer_size + n);
		answer = realloc(answer, answer_cap);
		if (!answer)
			_exit(1);
	}
	memcpy(answer + answer_size, bytes, n);
	answer_size += n;
}

static void put_u32(uint32_t value)
{
	put(&value, sizeof(value));
}

/* ---- strings: each is sent once ---- */

struct string {
	char *text;
	uint32_t hash;
	uint32_t demangled;		/* its number; 0: not tried yet */
};
static struct string *strings;		/* number - 1 → string */
static size_t n_strings, strings_cap;
static uint32_t *slots;			/* hash table of numbers */
static size_t n_slots;

static uint32_t hash_of(const char *s)
{
	uint32_t h = 2166136261u;
	while (*s)
		h = (h ^ (uint8_t)*s++) * 16777619u;
	return h;
}

static void more_slots(void)
{
	n_slots = n_slots ? 2 * n_slots : 1024;
	free(slots);
	slots = reader_alloc(n_slots * sizeof(*slots));
	for (size_t i = 0; i < n_strings; i++) {
		size_t at = strings[i].hash & (n_slots - 1);
		while (slots[at])
			at = (at + 1) & (n_slots - 1);
		slots[at] = (uint32_t)(i + 1);
	}
}

static uint32_t put_string(const char *text)
{
	if (!text)
		return 0;
	if (2 * n_strings >= n_slots)
		more_slots();
	const uint32_t hash = hash_of(text);
	size_t at = hash & (n_slots - 1);
	for (; slots[at]; at = (at + 1) & (n_slots - 1))
		if (strings[slots[at] - 1].hash == hash && !strcmp(strings[slots[at] - 1].text, text))
			return slots[at];
	const size_t length = strlen(text);
	strings = reader_grow(strings, n_strings, &strings_cap, sizeof(*strings));
	strings[n_strings] = (struct string){ .text = reader_alloc(length + 1), .hash = hash };
	memcpy(strings[n_strings++].text, text, length + 1);
	slots[at] = (uint32_t)n_strings;
	put_u32(WIRE_STRING);
	put_u32((uint32_t)length);
	put(text, length);
	return slots[at];
}

/* C++ and Rust, both of its manglings. rust_demangle() knows what only looks like C++. */
static char *demangle(const char *linkage)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;
	if (strlen(linkage) > NAME_LIMIT)
		return NULL;
	char *const rust = rust_demangle(linkage, options);
	return rust ? rust : cplus_demangle_v3(linkage, options);
}

static uint32_t put_demangled(const struct reader_object *o, const char *linkage)
{
	const uint32_t number = put_string(linkage);
	if (!number || o->flags & WIRE_NO_DEMANGLE || linkage[0] != '_')
		return number;
	if (!strings[number - 1].demangled) {
		char *const name = demangle(linkage);
		const uint32_t demangled = name ? put_string(name) : number;
		strings[number - 1].demangled = demangled;
		free(name);
	}
	return strings[number - 1].demangled;
}

/* ---- objects and requests ---- */

static struct reader_object **objects;	/* by the caller's number */
static size_t n_objects;
static uint32_t n_functions;

static struct reader_object *object_of(uint32_t number)
{
	return number < n_objects ? objects[number] : NULL;
}

static void limit_time(unsigned seconds)
{
	struct rusage used;
	struct rlimit limit;
	if (getrusage(RUSAGE_SELF, &used) < 0 || getrlimit(RLIMIT_CPU, &limit) < 0)
		return;
	limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1 + seconds;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_CPU, &limit);
}

static void set_limits(void)
{
	struct rlimit limit;
	const struct rlimit no_core = { 0, 0 };
	setrlimit(RLIMIT_CORE, &no_core);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {	/* each file stays open */
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (getrlimit(RLIMIT_DATA, &limit) < 0 || limit.rlim_cur < DATA_LIMIT)
		return;
	limit.rlim_cur = DATA_LIMIT;
	setrlimit(RLIMIT_DATA, &limit);
}

/* "malloc@plt" of C++: the name before the @ is demangled. */
static uint32_t put_name(const struct reader_object *o, const struct reader_function *f)
{
	if (!f->is_plt)
		return put_demangled(o, f->linkage);
	const size_t n = strlen(f->linkage) - strlen("@plt");
	char *const bare = strndup(f->linkage, n);
	char *const name = bare && !(o->flags & WIRE_NO_DEMANGLE) && bare[0] == '_' ? demangle(bare) : NULL;
	free(bare);
	if (!name)
		return put_string(f->linkage);
	char *const whole = reader_alloc(strlen(name) + sizeof("@plt"));
	strcat(strcpy(whole, name), "@plt");
	const uint32_t number = put_string(whole);
	free(whole);
	free(name);
	return number;
}

static uint32_t put_function(struct reader_object *o, struct reader_function *f)
{
	if (!f)
		return 0;
	if (f->number)
		return f->number;
	struct reader_line line = { 0 };
	struct reader_inline inlines[READER_INLINES];
	struct reader_subprogram sub = { 0 };
	if (!(o->flags & (WIRE_NO_LINES | WIRE_NO_INLINES)))
		reader_lines_at(o, f->start, &line, inlines, &sub);
	else if (!(o->flags & WIRE_NO_LINES))
		reader_line_at(o, f->start, &line);
	const char *const linkage = f->linkage ? f->linkage : sub.linkage ? sub.linkage : sub.name;
	struct wire_function w = { .start = f->start, .size = f->end - f->start,
		.flags = (linkage ? WIRE_NAMED : 0) | (f->is_plt ? WIRE_PLT : 0) |
			 (f->is_gap ? WIRE_GAP : 0) };
	w.linkage = put_string(linkage);
	w.name = f->linkage ? put_name(o, f) : put_demangled(o, linkage);
	w.file = put_string(sub.file ? sub.file : line.file);
	w.line = sub.file ? sub.line : line.line;
	put_u32(WIRE_FUNCTION);
	put(&w, sizeof(w));
	return f->number = ++n_functions;
}

/* Of the answer that is being written: most instructions are like those before them. */
static struct {
	bool there;
	struct wire_where where;	/* the last one, without inlined functions */
	uint32_t times;			/* that it holds again */
} last;

static void put_again(void)
{
	if (last.times) {
		put_u32(WIRE_AGAIN);
		put_u32(last.times);
	}
	last.times = 0;
}

static void put_where(struct reader_object *o, uint64_t address)
{
	struct reader_line line = { 0 };
	struct reader_inline in[READER_INLINES];
	struct reader_subprogram sub = { 0 };
	struct wire_inline out[READER_INLINES];
	struct wire_where w = { 0 };
	w.function = put_function(o, reader_function_at(o, address, &w.until));
	if (!(o->flags & (WIRE_NO_LINES | WIRE_NO_INLINES)))
		w.n_inlines = reader_lines_at(o, address, &line, in, &sub);
	else if (!(o->flags & WIRE_NO_LINES))
		reader_line_at(o, address, &line);
	w.file = put_string(line.file);
	w.line = line.line;
	w.column = line.column;
	for (unsigned i = 0; i < w.n_inlines; i++) {
		const char *const linkage = in[i].linkage ? in[i].linkage : in[i].name;
		out[i] = (struct wire_inline){ put_demangled(o, linkage), put_string(linkage),
			put_string(in[i].call_file), in[i].call_line };
	}
	if (last.there && !w.n_inlines && !memcmp(&w, &last.where, sizeof(w))) {
		last.times++;
		return;
	}
	put_again();
	last.there = !w.n_inlines;
	last.where = w;
	put_u32(WIRE_WHERE);
	put(&w, sizeof(w));
	put(out, w.n_inlines * sizeof(*out));
}

static bool receive(void *to, size_t n)
{
	for (size_t at = 0; at < n;) {
		const ssize_t got = read(WIRE_FD, (char *)to + at, n - at);
		if (got > 0)
			at += (size_t)got;
		else if (got == 0 || errno != EINTR)
			return false;
	}
	return true;
}

/* The head of a message, and the descriptor that comes with it; -1: none. */
static bool receive_head(struct wire_head *head, int *fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec bytes = { head, sizeof(*head) };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control,
		.msg_controllen = sizeof(control) };
	ssize_t n;
	while ((n = recvmsg(WIRE_FD, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	const struct cmsghdr *const c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	*fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return n > 0 && receive((char *)head + n, sizeof(*head) - (size_t)n);
}

static bool send_answer(void)
{
	struct wire_head head = { .op = WIRE_ANSWER, .size = answer_size };
	if (send(WIRE_FD, &head, sizeof(head), MSG_NOSIGNAL) != sizeof(head))
		return false;
	for (size_t at = 0; at < answer_size;) {
		const ssize_t n = send(WIRE_FD, answer + at, answer_size - at, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	answer_size = 0;
	return true;
}

static void open_object(const struct wire_open *w, int fd)
{
	if (w->object >= n_objects) {
		const size_t more = 2 * (size_t)w->object + 16;
		objects = reallocarray(objects, more, sizeof(*objects));
		if (!objects)
			_exit(1);
		memset(objects + n_objects, 0, (more - n_objects) * sizeof(*objects));
		n_objects = more;
	}
	struct reader_object *const old = objects[w->object];
	if (old)
		reader_close(old);
	free(old);
	struct reader_object *const o = reader_alloc(sizeof(*o));
	o->open = *w;
	o->flags = w->flags;
	o->own.fd = fd;
	objects[w->object] = o;
}

static void begin(struct reader_object *o)
{
	limit_time(o->open.cpu_seconds);
	if (!o->opened)
		reader_open(o);
	o->opened = true;
}

/* The object that a message of that size is about, opened; NULL: the message makes no sense. */
static struct reader_object *asked_object(const uint32_t *message, size_t size)
{
	struct reader_object *const o = size >= 8 ? object_of(message[0]) : NULL;
	if (!o || size != 8 + 8 * (uint64_t)message[1])
		return NULL;
	begin(o);
	return o;
}

static bool answer_unwind(const uint32_t *message, size_t size)
{
	struct reader_object *const o = asked_object(message, size);
	struct unwind_row row;
	uint64_t address;
	if (!o || message[1] != 1)
		return false;
	memcpy(&address, message + 2, sizeof(address));
	reader_unwind_at(o, address, &row);
	put(&row, sizeof(row));
	return send_answer();
}

static bool answer_at(const uint32_t *message, size_t size)
{
	struct reader_object *const o = asked_object(message, size);
	if (!o)
		return false;
	last.there = false;
	for (uint32_t i = 0; i < message[1]; i++) {
		uint64_t address;
		memcpy(&address, (const char *)message + 8 + 8 * (size_t)i, sizeof(address));
		put_where(o, address);
	}
	put_again();
	if (o->note[0]) {
		const uint32_t note = put_string(o->note);
		put_u32(WIRE_NOTE);
		put_u32(note);
	}
	return send_answer();
}

static bool answer_starts(const uint32_t *message, size_t size)
{
	struct reader_object *const o = size == sizeof(*message) ? object_of(message[0]) : NULL;
	if (!o)
		return false;
	begin(o);
	uint64_t until;
	reader_function_at(o, 0, &until);	/* has the names read */
	for (size_t i = 0; i < o->names.n; i++)
		put(&o->names.functions[i].start, sizeof(o->names.functions[i].start));
	return send_answer();
}

static bool serve(void)
{
	struct wire_head head;
	int fd;
	if (!receive_head(&head, &fd) || head.size > DATA_LIMIT)
		return false;
	void *const message = reader_alloc(head.size);
	bool ok = receive(message, head.size);
	if (ok && head.op == WIRE_OPEN && head.size == sizeof(struct wire_open))
		open_object(message, fd);
	else
		ok = ok && (head.op == WIRE_AT ? answer_at(message, head.size) :
			    head.op == WIRE_UNWIND ? answer_unwind(message, head.size) :
			    head.op == WIRE_STARTS && answer_starts(message, head.size));
	free(message);
	return ok;
}

int main(void)
{
	const struct wire_hello hello = { WIRE_MAGIC, WIRE_VERSION };
	signal(SIGXCPU, SIG_DFL);
	set_limits();
	elf_version(EV_CURRENT);
	if (send(WIRE_FD, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello)) {
		fputs("tare-symbols: reads symbols for tare annotate; it is not to be started by hand\n",
		      stderr);
		return 1;
	}
	while (serve())
		;
	return 0;
}
