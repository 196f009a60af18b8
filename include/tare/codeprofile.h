/* The code profile of a run: how often each event happened, by instruction, source line, function,
 * object, process and, where calls were followed, call context. Exact, with names.
 *
 *	o.code = true;				// struct tare_measure_options
 *	o.per_task = true;
 *	tare_measure(&o, &m, &why);
 *	tare_codeprofile_make(m, &TARE_OPTIONS(codeprofile, .events = o.events), &p, &why);
 *	for (size_t i = 0; i < p->n_functions; i++)
 *		printf("%" PRId64 " %s\n", p->functions[i].counts[0], p->functions[i].name);
 *	tare_codeprofile_write(p, &output, &why);	// the file that tare annotate reads
 *	tare_codeprofile_free(p);
 *
 * A profile is a set of arrays; a place in an array (an index) is how one entry names another, and
 * TARE_CODEPROFILE_NONE is no entry. The profile needs neither the run nor the binaries: it has the
 * names, the lines and the bytes of all code that ran. Source text is not in it.
 *
 * What adds up, for every event e:
 *
 *	events[e].total = Σ insns[].counts[e] = Σ lines[].counts[e] = Σ functions[].counts[e]
 *			= Σ tasks[].counts[e] = Σ shares[].counts[e] (where there are any)
 *			= Σ contexts[].counts[e] (where calls were followed)
 *
 * and within one function or object the same holds for its lines and instructions. A count of one
 * instruction can be negative only where a fault or a signal cut a block short in a process that
 * ended before it could correct the count; sums stay right. What was counted in a process that was
 * killed before it could tell where stands in one instruction of size 0 in the function
 * "[not known]" of the object "[not known]".
 *
 * Order: objects, files and tasks by first appearance in the run; functions by object, then offset;
 * insns by function, then offset, then bytes; lines by function, then file, then line; contexts so
 * that a parent stands before its children. Equal runs give equal arrays.
 *
 * Exporters (tare_codeprofile_export_…) are functions of this library, one file each; they hand their
 * bytes to a function of the caller.
 *
 * Threads: one thread at a time; several threads may read one profile. Result: 0, or a negative enum
 * tare_err with `why` (may be NULL), and *p is NULL.
 */
#ifndef TARE_CODEPROFILE_H
#define TARE_CODEPROFILE_H

#include <tare/analysis.h>
#include <tare/err.h>
#include <tare/event.h>
#include <tare/growth.h>
#include <tare/measure.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TARE_CODEPROFILE_NONE UINT32_MAX
#define TARE_CODEPROFILE_SCHEMA "tare.codeprofile/1"

struct tare_codeprofile_event {
	const char *name;		/* as the user wrote it */
	const char *unit;
	enum tare_provenance provenance; /* EXACT, or INCOMPLETE: the true total is at least this */
	int64_t total;
	uint64_t reserved[2];
};

enum tare_codeprofile_object_kind {
	TARE_CODEPROFILE_FILE,		/* an ELF file */
	TARE_CODEPROFILE_VDSO,
	TARE_CODEPROFILE_JIT,		/* memory that a perf map of the process names */
	TARE_CODEPROFILE_ANONYMOUS,	/* memory of no file and without names */
	TARE_CODEPROFILE_UNKNOWN,	/* "[not known]" */
};

struct tare_codeprofile_object {
	const char *path;		/* "/usr/lib/…", "[vdso]", "[jit]", "[anonymous]" */
	const char *build_id;		/* hexadecimal digits, or "" */
	enum tare_codeprofile_object_kind kind;
	bool deleted;			/* the file was deleted while the program ran */
	const char *names;		/* "" : it has symbols; else why it has no names */
	const int64_t *counts;		/* n_events */
	uint64_t reserved[2];
};

struct tare_codeprofile_file {		/* of source code */
	const char *path;
	int64_t mtime;			/* of the file when the profile was made, in seconds; 0: not there */
	uint64_t reserved[2];
};

struct tare_codeprofile_function {
	const char *name;		/* demangled; "libfoo.so+0x1234" where there is no name */
	const char *linkage;		/* as the linker has it; "" where there is no name */
	uint32_t object;
	uint32_t file, line;		/* of its first instruction; file NONE: not known */
	uint64_t offset, size;		/* the link address in the object (anonymous, jit: the address) */
	uint32_t insns, n_insns;	/* its part of p->insns */
	uint32_t lines, n_lines;	/* and of p->lines */
	const int64_t *counts;		/* n_events, exclusive */
	const int64_t *inclusive;	/* n_events; NULL: calls were not followed. Each event once, also
					 * where the function calls itself */
	uint64_t calls;			/* how often it was entered by a call or a tail call */
	uint64_t reserved[2];
};

struct tare_codeprofile_insn {
	uint32_t function;
	uint32_t file, line;		/* file NONE: not known; line 0: the compiler names none */
	uint8_t size;			/* bytes; 0: in "[not known]", after tare_codeprofile_in() and with
					 * .no_insns */
	uint8_t bytes[15];
	uint64_t offset;		/* as in the function */
	uint64_t runs;			/* how often it ran: where the profile has the event instructions
					 * or not. Two's complement where negative, see above */
	const int64_t *counts;		/* n_events */
	uint64_t reserved[2];
};

struct tare_codeprofile_line {		/* what a function has of a source line */
	uint32_t function;
	uint32_t file, line;		/* file NONE: instructions without a line */
	uint64_t runs;			/* the largest of its instructions' */
	const int64_t *counts;		/* n_events */
	uint64_t reserved[2];
};

struct tare_codeprofile_task {		/* a process, or a thread with .by_thread */
	pid_t pid, tid;			/* tid 0: the whole process */
	const char *command;		/* comm; "" where it is not known */
	const char *exe;
	const char *incomplete;		/* NULL, or why its counts do not cover it to its end, or at all */
	const int64_t *counts;		/* n_events */
	uint64_t reserved[2];
};

struct tare_codeprofile_share {		/* what a task has of a function; with .by_process, .by_thread */
	uint32_t task, function;
	const int64_t *counts;		/* n_events */
	uint64_t reserved[2];
};

/* How a context was entered from its parent. */
enum tare_codeprofile_entry {
	TARE_CODEPROFILE_ROOT,		/* the start of a program */
	TARE_CODEPROFILE_CALL,
	TARE_CODEPROFILE_TAIL,		/* a jump into another function */
	TARE_CODEPROFILE_SIGNAL,	/* a root: the handler of a signal */
	TARE_CODEPROFILE_THREAD,	/* a root: the start of a thread */
	TARE_CODEPROFILE_RECURSION,	/* `function` runs again below a call that is on the stack already:
					 * the chain of parents has each call once */
	TARE_CODEPROFILE_FOLDED,	/* there were too many contexts: these calls were not told apart */
};

struct tare_codeprofile_context {
	uint32_t parent;		/* a smaller index; NONE: a root */
	uint32_t function;
	uint32_t site;			/* the calling instruction, of p->insns; NONE: a root, or not known */
	enum tare_codeprofile_entry entry;
	uint64_t calls;			/* how often this context was entered */
	const int64_t *counts;		/* n_events, exclusive */
	uint64_t reserved[2];
};

struct tare_codeprofile_edge {		/* calls of one function from one instruction: a sum over contexts */
	uint32_t caller, callee;	/* functions; edges are sorted by caller, site, callee */
	uint32_t site;			/* of p->insns; NONE: not known, or the kernel called a signal
					 * handler */
	bool tail;			/* by a jump */
	uint64_t calls;
	const int64_t *counts;		/* n_events, inclusive: while such a call was on the stack */
	uint64_t reserved[2];
};

struct tare_codeprofile_syscall {
	uint32_t number;
	const char *name;		/* "read"; "syscall 999" where it has none */
	uint32_t function;		/* with the instruction; NONE: not known */
	uint64_t times, errors;
	uint64_t reserved[2];
};

struct tare_codeprofile {
	const char *command;		/* the command line, words separated by spaces */
	const char *tare;		/* the version that made it */
	int64_t start_s;		/* when it was made, seconds since 1970 */
	int exit_status;		/* as a shell gives it; -1: merged from several */
	uint32_t runs;			/* 1; more: merged */
	bool complete;			/* false: totals are lower bounds, and reasons say why */
	bool has_calls;			/* contexts, edges and inclusive are filled */
	size_t n_reasons, n_events, n_objects, n_files, n_functions, n_insns, n_lines, n_tasks, n_shares,
		n_contexts, n_edges, n_syscalls;
	const char **reasons;
	struct tare_codeprofile_event *events;
	struct tare_codeprofile_object *objects;
	struct tare_codeprofile_file *files;
	struct tare_codeprofile_function *functions;
	struct tare_codeprofile_insn *insns;
	struct tare_codeprofile_line *lines;
	struct tare_codeprofile_task *tasks;
	struct tare_codeprofile_share *shares;
	struct tare_codeprofile_context *contexts;
	struct tare_codeprofile_edge *edges;
	struct tare_codeprofile_syscall *syscalls;
	uint64_t folded;		/* contexts that were folded: inclusive values are lower bounds */
	struct tare_codeprofile_store *store;	/* private */
};

/* Further counts of the instructions of a run, which the engine has not counted: those of a simulation
 * (tare/trace.h). */
struct tare_codeprofile_extra_insn {
	pid_t pid, tid;
	uint64_t address;		/* in the process */
	uint64_t dump;			/* tare_code_range.dump */
	const uint64_t *counts;		/* n_events of tare_codeprofile_extra */
};
/* The same counts by context. */
struct tare_codeprofile_extra_context {
	uint64_t context;		/* tare_code_context.traced */
	uint64_t dump;
	const uint64_t *counts;
};
struct tare_codeprofile_extra {
	size_t n_events, n_insns;
	const char *const *names;	/* of the events; they are shown as simulated */
	const struct tare_codeprofile_extra_insn *insns;	/* may have the same one several times */
	size_t n_contexts;
	const struct tare_codeprofile_extra_context *contexts;	/* by context */
};

struct tare_codeprofile_options {
	size_t size;
	const struct tare_events *events;	/* that were measured; all of the engine */
	char *const *argv;		/* for .command; NULL: "" */
	bool by_process, by_thread;	/* fill shares; by_thread: tasks are threads */
	bool no_names;			/* object+offset only: read no symbols and no lines */
	bool no_lines;			/* read no source lines: functions have no file and no line */
	bool no_insns;			/* functions only, which takes a fraction of the time: each has its counts in
					 * one instruction of size 0, without a line */
	bool code_totals;		/* totals are the sums over the code, also where the counts of the measurement
					 * differ: they were not read at the same moment (leave_out) */
	const struct tare_codeprofile_extra *extra;	/* NULL: none */
	pid_t only_pid, only_tid;	/* of this process, this thread only; 0: all */
	bool one_dump;			/* only what belongs to this dump: tare_code_range.dump */
	uint64_t dump;
};
#define TARE_CODEPROFILE_OPTIONS_INIT TARE_OPTIONS_INIT(codeprofile)

/* The profile of a measurement with .code and .per_task. TARE_E_INVALID: it has no code. */
int tare_codeprofile_make(const struct tare_measurement *m, const struct tare_codeprofile_options *o,
			  struct tare_codeprofile **p, struct tare_why *why);
/* What tare_codeprofile_write() wrote: JSON, docs/annotate.md. TARE_E_FORMAT names the place and what
 * is wrong with it. */
int tare_codeprofile_read(const char *path, struct tare_codeprofile **p, struct tare_why *why);
int tare_codeprofile_write(const struct tare_codeprofile *p, const struct tare_output *out,
			   struct tare_why *why);
/* The sum of n profiles, with the same events: TARE_E_MISMATCH otherwise. Objects are the same where
 * path and build-id are. */
int tare_codeprofile_merge(const struct tare_codeprofile *const *list, size_t n,
			   struct tare_codeprofile **p, struct tare_why *why);
/* The part of a profile with calls that ran while a function that `wanted` accepts was on the stack of the
 * thread. Contexts, functions, objects and totals are those of the part; which instructions ran in a context is not
 * known, so each function has its counts in one instruction of size 0, without a line. TARE_E_INVALID: the profile
 * has no calls. */
int tare_codeprofile_in(const struct tare_codeprofile *p,
			bool (*wanted)(const struct tare_codeprofile_function *f, void *arg), void *arg,
			struct tare_codeprofile **part, struct tare_why *why);
void tare_codeprofile_free(struct tare_codeprofile *p);	/* NULL is allowed */

/* Functions that switch counting, by their names: for tare_measure_options.watch.
 *
 *	tare_watch_names_new(is_bench, NULL, &names, &why);
 *	o.watch = tare_watch_names_watch(names);
 *
 * `what` says for a function, by its demangled name and its name in the symbol table, what happens there (enum
 * tare_watch_what), or 0. It is called for all functions of all files with code that runs, once for each file,
 * by another thread of the library, while tare_measure() is called. Code that is no file (JIT code) has no
 * such functions. */
struct tare_watch_names;
int tare_watch_names_new(unsigned (*what)(const char *name, const char *linkage, void *arg), void *arg,
			 struct tare_watch_names **names, struct tare_why *why);
/* It belongs to the names. */
const struct tare_watch *tare_watch_names_watch(const struct tare_watch_names *n);
/* Why no file has names (tare-symbols is not installed), and what to do; NULL: they have. */
const char *tare_watch_names_note(const struct tare_watch_names *n);
void tare_watch_names_free(struct tare_watch_names *n);	/* NULL is allowed */

/* Formats of other programs, of the first event. Collapsed stacks ("main;f;g 120"), as flamegraph.pl and
 * speedscope read them; without calls a stack is an object and a function. */
int tare_codeprofile_export_collapsed(const struct tare_codeprofile *p, const struct tare_output *out,
				      struct tare_why *why);

/* Callgrind's file: for callgrind_annotate, KCachegrind, and what else reads it. All events; calls where the
 * profile has them. */
struct tare_callgrind_options {
	size_t size;
	bool insns;			/* an entry for each instruction, not only for each line */
	bool no_lines;			/* … and no lines */
	bool fold_plt;			/* a call through a PLT stub is a call of the function behind it, and what the stub
					 * counted is the caller's */
	pid_t pid;			/* 0: the first of the profile */
	unsigned part;			/* of a run with several dumps; 0: 1 */
	const char *creator;		/* NULL: "tare-VERSION" */
	const char *const *desc;	/* lines for its head, the last one NULL; NULL: none */
	unsigned thread;		/* the part is of this thread only, from 1; 0: of the process */
	bool plain_names;		/* each name in full, each time; else it has a number from the second time on */
	bool further;			/* a further part, behind another one in the same file, both with plain_names */
	bool jumps;			/* also direct jumps within functions: the profile has the event taken-branches, of
					 * which the file then has no counts, and the bytes of its instructions */
};
#define TARE_CALLGRIND_OPTIONS_INIT TARE_OPTIONS_INIT(callgrind)
int tare_codeprofile_export_callgrind(const struct tare_codeprofile *p, const struct tare_callgrind_options *o,
				      const struct tare_output *out, struct tare_why *why);
/* Cachegrind's file, for cg_annotate: lines of functions. `desc` as above. */
int tare_codeprofile_export_cachegrind(const struct tare_codeprofile *p, const char *const *desc,
				       const struct tare_output *out, struct tare_why *why);

/* Static, never NULL: "file", "vdso", …; "call", "tail", … */
const char *tare_codeprofile_object_kind_name(enum tare_codeprofile_object_kind k);
const char *tare_codeprofile_entry_name(enum tare_codeprofile_entry e);

#ifdef __cplusplus
}
#endif
#endif
