/* A command of the program: one file, cmd-NAME.c, that ends in
 *
 *	static const struct opt opts[] = { … , { OPT_END } };
 *	const struct command cmd_NAME = {
 *		.name = "NAME", .summary = "…", .usage = "[OPTION]… FILE…",
 *		.opts = opts, .run = run,
 *	};
 *
 * and is registered by one line in command-list.h and one in meson.build. The
 * table gives parsing, --help and completion; a command never prints usage itself.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include "options.h"

/* Exit statuses. A wrong command line is EXIT_USAGE in every command. The commands that run a
 * command (stat, run, record) return that command's status, and EXIT_FAILED for every failure of
 * tare itself: with 125, as env(1) and timeout(1) have it, neither can be taken for the status of
 * the command or for a verdict. The other commands return EXIT_BAD for a failure. */
enum {
	EXIT_GOOD = 0,
	EXIT_BAD = 1,
	EXIT_USAGE = 125,
	EXIT_FAILED = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

struct command {
	const char *name;
	const char *summary;		/* one line, for `tare --help` */
	const char *usage;		/* what follows the name */
	const char *about;		/* paragraph for --help, or NULL */
	const struct opt *opts;		/* ends with OPT_END */
	bool runs_command;		/* the operands are a command line: options end
					 * at the first operand, as with perf and env */
	/* argv[0] is the command's name. Returns the exit status. */
	int (*run)(const struct command *self, int argc, char **argv);
};

/* All of them, in the order of command-list.h; NULL at the end. */
extern const struct command *const commands[];

#endif
