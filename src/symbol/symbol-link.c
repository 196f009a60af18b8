/* The program tare-symbols: started with the first request, asked, and started again when a file made
 * it crash. Then the file is asked for less: first without lines, then not at all.
 *
 * The answers are checked as any input from outside: numbers of strings and functions must be known, sizes
 * must fit.
 */
#include "symbol-room.h"
#include "modules.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define READER_FILE "tare-symbols"
#define INSTALL "install elfutils' libdw (Debian: apt-get install libdw1; Fedora: elfutils-libs; " \
		"Arch, openSUSE, Alpine: libelf, libdw1, elfutils)"

extern char **environ;

static bool receive(int fd, void *to, size_t n)
{
	for (size_t at = 0; at < n;) {
		const ssize_t got = recv(fd, (char *)to + at, n - at, 0);
		if (got > 0)
			at += (size_t)got;
		else if (got == 0 || errno != EINTR)
			return false;
	}
	return true;
}

static bool transmit(int fd, const void *bytes, size_t n)
{
	for (size_t at = 0; at < n;) {
		const ssize_t sent = send(fd, (const char *)bytes + at, n - at, MSG_NOSIGNAL);
		if (sent < 0 && errno != EINTR)
			return false;
		at += sent > 0 ? (size_t)sent : 0;
	}
	return true;
}

/* ---- start and end ---- */

static int stop(struct symbols *s)
{
	int status = 0;
	if (s->link < 0)
		return 0;
	close(s->link);
	s->link = -1;
	while (waitpid(s->reader, &status, 0) < 0 && errno == EINTR)
		;
	s->n_texts = s->n_functions = 0;
	return status;
}

void link_close(struct symbols *s)
{
	stop(s);
	free(s->texts);
	free(s->functions);
}

static void no_reader(struct symbols *s, const char *what, const char *remedy)
{
	char text[PATH_MAX + 512];
	snprintf(text, sizeof(text), "no names of functions and lines: %s; %s", what, remedy);
	s->no_reader = true;
	s->note = store_text(&s->store, text, sizeof(text));
}

/* Its descriptor 0 is the socket, 1 and 2 are /dev/null. All signals are as they are by default. */
static int spawn(const char *path, int end, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	char *const argv[] = { READER_FILE, NULL };
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_adddup2(&files, end, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	const int err = posix_spawn(pid, path, &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return err;
}

/* Not one of the standard descriptors, which the caller may have closed: spawn() replaces those. */
static int high(int fd)
{
	if (fd > 2)
		return fd;
	const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return moved;
}

static bool launch(struct symbols *s, const char *path)
{
	int ends[2];
	struct wire_hello hello;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		no_reader(s, strerror(errno), "free some descriptors");
		return false;
	}
	ends[0] = high(ends[0]);
	ends[1] = high(ends[1]);
	const int err = spawn(path, ends[1], &s->reader);
	close(ends[1]);
	if (err) {
		close(ends[0]);
		no_reader(s, path, strerror(err));
		return false;
	}
	s->link = ends[0];
	s->starts++;
	if (receive(s->link, &hello, sizeof(hello)) && hello.magic == WIRE_MAGIC &&
	    hello.version == WIRE_VERSION)
		return true;
	const int status = stop(s);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		no_reader(s, "tare-symbols cannot be loaded", INSTALL);
	else
		no_reader(s, "tare-symbols does not answer, or is of another version",
			  "install tare's files of one version");
	return false;
}

static bool start(struct symbols *s)
{
	char path[PATH_MAX + 64];
	if (s->link >= 0)
		return true;
	if (s->no_reader)
		return false;
	if (s->options.reader)
		return launch(s, s->options.reader);
	if (module_path(READER_FILE, path, sizeof(path)))
		return launch(s, path);
	no_reader(s, "tare was built without elfutils",
		  "build it with elfutils and libiberty (Debian: libdw-dev, libiberty-dev), or install the package");
	return false;
}

/* ---- questions ---- */

/* The file itself goes along as a descriptor: the very one that was looked at, also where its path
 * means nothing any more. */
static bool send_head(int link, const struct wire_head *head, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec bytes = { (void *)(uintptr_t)head, sizeof(*head) };
	struct msghdr m = { .msg_iov = &bytes, .msg_iovlen = 1 };
	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		struct cmsghdr *const c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	ssize_t n;
	while ((n = sendmsg(link, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	return n == (ssize_t)sizeof(*head);
}

static bool send_open(struct symbol_object *o)
{
	struct symbols *const s = o->set;
	if (o->opened == s->starts)
		return true;
	struct wire_open *const w = calloc(1, sizeof(*w));
	if (!w)
		return false;
	w->object = o->number;
	w->flags = (o->kind == SYMBOL_VDSO ? WIRE_VDSO : 0) | (o->debug_only ? WIRE_DEBUG_ONLY : 0) |
		   (s->options.no_demangle ? WIRE_NO_DEMANGLE : 0) |
		   (s->options.no_lines ? WIRE_NO_LINES : 0) | (s->options.no_inlines ? WIRE_NO_INLINES : 0) |
		   (o->level == LEVEL_FUNCTIONS ? WIRE_NO_LINES | WIRE_NO_DWARF : 0);
	w->cpu_seconds = s->options.cpu_seconds;
	w->build_id_size = (uint32_t)o->id_size;
	memcpy(w->build_id, o->id, o->id_size);
	snprintf(w->shown, sizeof(w->shown), "%s", o->path);
	snprintf(w->debug, sizeof(w->debug), "%s", s->options.debug_folder);
	const struct wire_head head = { .op = WIRE_OPEN, .size = sizeof(*w) };
	const int fd = object_open(o);
	const bool ok = send_head(s->link, &head, fd) && transmit(s->link, w, sizeof(*w));
	if (fd >= 0)
		close(fd);
	free(w);
	o->opened = s->starts;
	return ok;
}

static bool send_addresses(struct symbol_object *o, enum wire_op op, const uint64_t *addresses, size_t n)
{
	const uint32_t what[2] = { o->number, (uint32_t)n };
	const struct wire_head head = { .op = op, .size = sizeof(what) + n * sizeof(*addresses) };
	return send_head(o->set->link, &head, -1) && transmit(o->set->link, what, sizeof(what)) &&
	       transmit(o->set->link, addresses, n * sizeof(*addresses));
}

/* ---- the answer ---- */

/* Bytes that are not read yet. A record that is not there whole, or that names what was not sent before, sets
 * `bad`; a lack of memory, `no_memory`. */
struct answer {
	const char *at, *end;
	bool bad, no_memory;
};

static bool take(struct answer *a, void *to, size_t n)
{
	if (a->bad || (size_t)(a->end - a->at) < n) {
		a->bad = true;
		return false;
	}
	memcpy(to, a->at, n);
	a->at += n;
	return true;
}

static const char *text_of(const struct symbols *s, struct answer *a, uint32_t number)
{
	if (number > s->n_texts)
		a->bad = true;
	return number && number <= s->n_texts ? s->texts[number - 1] : NULL;
}

static void *grow(struct answer *a, void *array, size_t n, size_t *cap)
{
	if (n < *cap)
		return array;
	const size_t more = *cap ? 2 * *cap : 256;
	void *const larger = reallocarray(array, more, sizeof(void *));
	a->no_memory |= !larger;
	a->bad |= !larger;
	*cap = larger ? more : *cap;
	return larger ? larger : array;
}

static void take_string(struct symbols *s, struct answer *a)
{
	uint32_t n;
	if (!take(a, &n, sizeof(n)) || (size_t)(a->end - a->at) < n) {
		a->bad = true;
		return;
	}
	s->texts = grow(a, s->texts, s->n_texts, &s->texts_cap);
	const char *const text = a->bad ? NULL : store_text(&s->store, a->at, n);
	a->at += n;
	a->no_memory |= !text;
	a->bad |= !text;
	if (text)
		s->texts[s->n_texts++] = text;
}

/* "libx.so+0x1230" */
static const char *bounds_name(struct symbol_object *o, uint64_t start)
{
	char text[PATH_MAX + 32];
	snprintf(text, sizeof(text), "%s+%#llx", o->name, (unsigned long long)start);
	return store_text(&o->set->store, text, sizeof(text));
}

static void take_function(struct symbol_object *o, struct answer *a)
{
	struct symbols *const s = o->set;
	struct wire_function w;
	if (!take(a, &w, sizeof(w)))
		return;
	const char *const linkage = text_of(s, a, w.linkage);
	const char *const name = w.flags & WIRE_NAMED ? text_of(s, a, w.name) : bounds_name(o, w.start);
	const char *const file = text_of(s, a, w.file);
	a->bad |= !w.size || !name || (w.flags & WIRE_NAMED && !linkage);
	s->functions = grow(a, s->functions, s->n_functions, &s->functions_cap);
	struct symbol_function *const f = a->bad ? NULL : object_function(o, w.start, linkage ? linkage : name);
	if (!f) {
		a->no_memory |= !a->bad;
		a->bad = true;
		return;
	}
	s->functions[s->n_functions++] = f;
	f->name = name;
	f->size = w.size;
	f->file = file;
	f->line = w.line;
	f->named = w.flags & WIRE_NAMED;
	f->is_plt = w.flags & WIRE_PLT;
	f->is_gap = w.flags & WIRE_GAP;
}

static const struct symbol_inline *take_inlines(struct symbols *s, struct answer *a, uint32_t n)
{
	if (!n || (size_t)(a->end - a->at) / sizeof(struct wire_inline) < n) {
		a->bad |= n != 0;
		return NULL;
	}
	struct symbol_inline *const inlines = store_alloc(&s->store, n * sizeof(*inlines));
	a->no_memory |= !inlines;
	a->bad |= !inlines;
	for (uint32_t i = 0; inlines && i < n; i++) {
		struct wire_inline w = { 0 };
		take(a, &w, sizeof(w));
		inlines[i] = (struct symbol_inline){ text_of(s, a, w.name), text_of(s, a, w.linkage),
			text_of(s, a, w.call_file), w.call_line };
		a->bad |= !inlines[i].name || !inlines[i].linkage;
	}
	return inlines;
}

static void take_where(struct symbols *s, struct answer *a, struct symbol_where *out)
{
	struct wire_where w;
	if (!take(a, &w, sizeof(w)))
		return;
	if (w.function > s->n_functions) {
		a->bad = true;
		return;
	}
	out->function = w.function ? s->functions[w.function - 1] : NULL;
	out->file = text_of(s, a, w.file);
	out->line = w.line;
	out->column = w.column;
	out->until = w.until;
	out->inlines = take_inlines(s, a, w.n_inlines);
	out->n_inlines = out->inlines ? w.n_inlines : 0;
}

/* How many answers of n, of which `done` are there, are like the last one. */
static size_t take_again(struct answer *a, struct symbol_where *where, size_t done, size_t n)
{
	uint32_t times;
	if (!take(a, &times, sizeof(times)) || times > n - done) {
		a->bad = true;
		return 0;
	}
	for (size_t i = 0; i < times; i++)
		where[done + i] = where[done - 1];
	return times;
}

static bool take_answer(struct symbol_object *o, struct answer *a, struct symbol_where *where, size_t n)
{
	size_t done = 0;
	uint32_t kind, note;
	while (!a->bad && a->at < a->end && take(a, &kind, sizeof(kind))) {
		if (kind == WIRE_STRING) {
			take_string(o->set, a);
		} else if (kind == WIRE_FUNCTION) {
			take_function(o, a);
		} else if (kind == WIRE_WHERE && done < n) {
			take_where(o->set, a, &where[done++]);
		} else if (kind == WIRE_AGAIN && done) {
			done += take_again(a, where, done, n);
		} else if (kind == WIRE_NOTE && take(a, &note, sizeof(note))) {
			const char *const text = text_of(o->set, a, note);
			o->note = text && !o->note ? text : o->note;
		} else {
			a->bad = true;
		}
	}
	return !a->bad && done == n;
}

/* Bytes of an answer: MOST addresses, each with its names, take a tenth of it. */
#define LONGEST (1ull << 30)

/* Asks once. False: tare-symbols died, or answered nonsense. */
static bool ask(struct symbol_object *o, const uint64_t *addresses, size_t n, struct symbol_where *where,
		bool *no_memory)
{
	struct wire_head head;
	if (!send_open(o) || !send_addresses(o, WIRE_AT, addresses, n) || !receive(o->set->link, &head, sizeof(head)) ||
	    head.op != WIRE_ANSWER || head.size > LONGEST)
		return false;
	char *const bytes = malloc(head.size ? head.size : 1);
	*no_memory = !bytes;
	if (!bytes || !receive(o->set->link, bytes, head.size)) {
		free(bytes);
		return false;
	}
	struct answer a = { .at = bytes, .end = bytes + head.size };
	const bool ok = take_answer(o, &a, where, n);
	*no_memory = a.no_memory;
	free(bytes);
	return ok;
}

static void died(struct symbol_object *o, int status)
{
	const bool slow = WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
	o->level++;
	o->note = NULL;
	object_note(o, "%s: tare-symbols %s reading %s: %s", o->path, slow ? "took too long" : "failed",
		    o->level == LEVEL_FUNCTIONS ? "its debug information" : "it",
		    o->level == LEVEL_FUNCTIONS ? "names of functions only" : "no names");
}

/* Of one message: what a broken file takes along, and what memory a message takes. */
#define MOST (1u << 16)

static int ask_some(struct symbol_object *o, const uint64_t *addresses, size_t n, struct symbol_where *where,
		    struct tare_why *why)
{
	while (o->level < LEVEL_NOTHING && start(o->set)) {
		bool no_memory = false;
		if (ask(o, addresses, n, where, &no_memory))
			return 0;
		memset(where, 0, n * sizeof(*where));
		const int status = stop(o->set);
		if (no_memory)
			return symbols_no_memory(why);
		died(o, status);
	}
	return 0;
}

int link_ask(struct symbol_object *o, const uint64_t *addresses, size_t n, struct symbol_where *where,
	     struct tare_why *why)
{
	int result = 0;
	for (size_t at = 0; at < n && !result; at += MOST)
		result = ask_some(o, addresses + at, n - at < MOST ? n - at : MOST, where + at, why);
	return result;
}

/* ---- all functions ---- */

static uint64_t *ask_starts(struct symbol_object *o, size_t *n)
{
	struct wire_head head = { .op = WIRE_STARTS, .size = sizeof(o->number) };
	if (!send_open(o) || !send_head(o->set->link, &head, -1) ||
	    !transmit(o->set->link, &o->number, sizeof(o->number)) || !receive(o->set->link, &head, sizeof(head)) ||
	    head.op != WIRE_ANSWER || head.size > LONGEST || head.size % sizeof(uint64_t))
		return NULL;
	uint64_t *const starts = malloc(head.size + 1);
	if (!starts || !receive(o->set->link, starts, head.size)) {
		free(starts);
		return NULL;
	}
	*n = head.size / sizeof(*starts);
	return starts;
}

uint64_t *link_starts(struct symbol_object *o, size_t *n)
{
	*n = 0;
	while (o->level < LEVEL_NOTHING && start(o->set)) {
		uint64_t *const starts = ask_starts(o, n);
		if (starts)
			return starts;
		died(o, stop(o->set));
	}
	return NULL;
}

/* ---- callers ---- */

static bool is_sound(const struct unwind_row *row, const struct unwind_rule *rule)
{
	return rule->kind <= UNWIND_VALUE && rule->first <= row->n_ops && rule->n <= row->n_ops - rule->first;
}

bool link_unwind(struct symbol_object *o, uint64_t address, struct unwind_row *row)
{
	struct wire_head head;
	if (o->level == LEVEL_NOTHING || !start(o->set))
		return false;
	if (!send_open(o) || !send_addresses(o, WIRE_UNWIND, &address, 1) ||
	    !receive(o->set->link, &head, sizeof(head)) || head.op != WIRE_ANSWER ||
	    head.size != sizeof(*row) || !receive(o->set->link, row, sizeof(*row))) {
		died(o, stop(o->set));
		return false;
	}
	bool ok = row->found && row->n_ops <= UNWIND_OPS && is_sound(row, &row->cfa);
	for (int i = 0; ok && i < UNWIND_REGISTERS; i++)
		ok = is_sound(row, &row->registers[i]);
	return ok;
}
