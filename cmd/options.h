/* Options, written once: a table gives parsing, --help and bash completion.
 *
 *	struct my_opts { bool json; unsigned runs; const char *file; };
 *	static const struct opt opts[] = {
 *		{ OPT_GROUP, .help = "Output" },
 *		{ OPT_FLAG, 'j', "json", NULL, "machine-readable output", TO(my_opts, json) },
 *		{ OPT_UINT, 'r', "repeat", "N", "run N times", TO(my_opts, runs),
 *		  .min = 1, .max = 1e6 },
 *		{ OPT_FILE, 'o', "output", "FILE", "write there", TO(my_opts, file) },
 *		{ OPT_END },
 *	};
 *	struct my_opts o = { .runs = 1 };
 *	int first;
 *	if (!opts_parse(self, &argc, argv, &o, &first))
 *		return first;			// --help, or an error already printed
 *	… argv[first] … argv[argc - 1] are the operands
 *
 * -xVALUE, -x VALUE, --long=VALUE, --long VALUE, joined flags (-jv), the beginning of a
 * long name that fits no other option, and `--` are understood; -h and --help are there
 * without being written.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum opt_kind {
	OPT_END,
	OPT_GROUP,	/* a heading of --help; .help is its text */
	OPT_FLAG,	/* bool, set to true */
	OPT_COUNT,	/* unsigned: how often it was given */
	OPT_STRING,	/* const char * */
	OPT_FILE,	/* const char *, completed as a file name */
	OPT_DIR,	/* const char *, completed as a directory */
	OPT_EVENTS,	/* const char *; given again, the lists are joined with a comma */
	OPT_LIST,	/* struct opt_list; may be given again and again */
	OPT_UINT,	/* unsigned, within min … max */
	OPT_INT,	/* int, within min … max */
	OPT_U64,	/* uint64_t, decimal or 0x… */
	OPT_REAL,	/* double, within min … max */
	OPT_CHOICE,	/* int: the number of the word in .choices */
	OPT_REFUSED,	/* an option that people know from another program and that cannot be
			 * had here; .help says why and what to do instead. Neither --help
			 * nor completion shows it. */
};

struct opt {
	enum opt_kind kind;
	char letter;			/* 0: none */
	const char *name;		/* without --; NULL: none */
	const char *arg;		/* how --help calls its value; NULL for a flag */
	const char *help;
	size_t offset, size;		/* TO(struct, field) */
	double min, max;		/* both 0: any */
	const char *const *choices;	/* NULL at the end */
	/* Values that completion offers, by number, from 0 until NULL (`about` may be NULL). Others may
	 * be given, too. `list`: several, comma-separated, as of OPT_EVENTS in any case. */
	const char *(*word)(size_t i, const char **about);
	bool list;
	bool optional;			/* the value may be left out: only -xVALUE and
					 * --long=VALUE give one; OPT_STRING: else "" */
};

/* Whether the option is followed by a value that has to be there. */
bool opt_wants_value(const struct opt *o);
/* Whether --help and completion show it. */
bool opt_is_shown(const struct opt *o);

#define TO(type, field) offsetof(struct type, field), sizeof(((struct type *)0)->field)

struct opt_list {
	size_t n;
	const char **items;		/* lives until the program ends */
};

struct command;

/* Fills *to from argv[1…]. True: go on; operands are argv[*first … *argc - 1] (moved
 * together unless the command runs a command). False: it is over, and *first is
 * the exit status. */
bool opts_parse(const struct command *c, int *argc, char **argv, void *to, int *first);

/* --help of one command. */
void opts_help(const struct command *c, FILE *out);

/* The word of `words` (NULL at the end) nearest to `word`, or NULL when none is
 * near enough to be what was meant. */
const char *nearest_word(const char *word, const char *const *words);

/* Whole text as a number; false: not one, or out of range. */
bool text_to_u64(const char *text, uint64_t *out);
bool text_to_real(const char *text, double *out);

#endif
