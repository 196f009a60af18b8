/* tare COMMAND …: finds the command and runs it. */
#include "callgrind.h"
#include "command.h"
#include "complain.h"
#include "term.h"

#include <tare/version.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND(x) extern const struct command cmd_##x;
#include "command-list.h"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(x) &cmd_##x,
#include "command-list.h"
#undef COMMAND
	NULL,
};

static const struct command *find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

static void overview(FILE *out)
{
	char usage[] = "usage: tare COMMAND [OPTION]…\n\n"
		       "Exact, repeatable counts of what a program executed.\n\n";
	term_own_text(usage);
	fputs(usage, out);
	for (const struct command *const *c = commands; *c; c++)
		fprintf(out, "  %-14s %s\n", (*c)->name, (*c)->summary);
	fputs("\n`tare COMMAND --help` shows the options of one. See tare(1).\n", out);
}

/* Somebody left out the name of the command: "tare ls" for "tare stat ls". */
static bool is_program(const char *name)
{
	const char *const path = getenv("PATH");
	char file[4096];
	if (strchr(name, '/'))
		return access(name, X_OK) == 0;
	for (const char *at = path; at && *name; at = *at ? at + 1 : NULL) {
		const int len = (int)strcspn(at, ":");
		snprintf(file, sizeof(file), "%.*s/%s", len, at, name);
		if (len && access(file, X_OK) == 0)
			return true;
		at += len;
	}
	return false;
}

static int unknown_command(const char *name)
{
	const char *names[64];
	size_t n = 0;
	for (const struct command *const *c = commands; *c && n < 63; c++)
		names[n++] = (*c)->name;
	names[n] = NULL;
	const char *const near = nearest_word(name, names);
	if (near)
		complain("%s: no such command; did you mean `tare %s`?", name, near);
	else if (is_program(name))
		complain("%s: no such command; to count what it executes: tare stat %s", name, name);
	else
		complain("%s: no such command; `tare --help` lists them", name);
	return EXIT_USAGE;
}

static int help(const char *name)
{
	if (!name) {
		overview(stdout);
		return EXIT_GOOD;
	}
	const struct command *const c = find(name);
	if (!c)
		return unknown_command(name);
	opts_help(c, stdout);
	return EXIT_GOOD;
}

/* A closed descriptor 0, 1 or 2 would be given to the next file opened, and output
 * meant for the user would land in it. They are filled with something that fails
 * on use, and that no command we run inherits. */
static void guard_descriptors(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		if (open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
			_exit(EXIT_BAD);
	}
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2) {
		overview(stderr);
		return EXIT_USAGE;
	}
	const char *const name = argv[1];
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		puts("tare " TARE_VERSION);
		return EXIT_GOOD;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return help(NULL);
	if (strcmp(name, "help") == 0)
		return help(argc > 2 ? argv[2] : NULL);
	if (name[0] == '-') {
		complain("unknown option %s; options follow the command, as in `tare stat %s`; "
			 "`tare --help` lists the commands", name, name);
		return EXIT_USAGE;
	}
	const struct command *const c = find(name);
	if (!c)
		return unknown_command(name);
	return c->run(c, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	guard_descriptors();
	mallopt(M_ARENA_MAX, 1);
	return finish_stdout(argc && callgrind_is_name(argv[0]) ? callgrind_main(argc, argv) : dispatch(argc, argv));
}
