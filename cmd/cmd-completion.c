/* tare completion bash: the completion script, made from the option tables. */
#include "command.h"
#include "complain.h"

#include <stdio.h>
#include <string.h>

static const struct opt opts[] = {
	{ OPT_END },
};

static const char head[] =
	"# bash completion for tare; written by `tare completion bash`\n"
	"_tare_words() { COMPREPLY=($(compgen -W \"$1\" -- \"$cur\")); }\n"
	"_tare_files() { compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")); }\n"
	"_tare_dirs() { compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$cur\")); }\n"
	"_tare_events() {\n"
	"\tlocal events=${cur##*,} before=\n"
	"\t[[ $cur == *,* ]] && before=${cur%,*},\n"
	"\tCOMPREPLY=($(compgen -P \"$before\" -W \"instructions:u branches:u cond-branches:u"
	" loads:u stores:u cycles:u branch-misses:u cache-misses:u page-faults"
	" context-switches cpu-migrations task-clock wall-time"
	" instructions-minus-irqs:u\" -- \"$events\"))\n"
	"\tcompopt -o nospace 2>/dev/null\n"
	"}\n"
	"_tare() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i\n"
	"\tCOMPREPLY=()\n"
	"\tif ((COMP_CWORD == 1)); then\n";

/* The patterns of `case $prev` for one option: -o|--output */
static void pattern(const struct opt *o)
{
	printf("\t\t");
	if (o->letter)
		printf("-%c", o->letter);
	if (o->letter && o->name)
		putchar('|');
	if (o->name)
		printf("--%s", o->name);
	printf(") ");
}

static void value_case(const struct opt *o)
{
	if (o->kind == OPT_FLAG || o->kind == OPT_GROUP || o->optional)
		return;
	pattern(o);
	switch (o->kind) {
	case OPT_FILE:
		printf("_tare_files");
		break;
	case OPT_DIR:
		printf("_tare_dirs");
		break;
	case OPT_EVENTS:
		printf("_tare_events");
		break;
	case OPT_CHOICE:
		printf("_tare_words '");
		for (int i = 0; o->choices[i]; i++)
			printf("%s%s", i ? " " : "", o->choices[i]);
		printf("'");
		break;
	default:
		printf(":");	/* anything: nothing to offer */
		break;
	}
	printf("; return ;;\n");
}

static void all_options(const struct command *c)
{
	for (const struct opt *o = c->opts; o->kind != OPT_END; o++) {
		if (o->kind == OPT_GROUP)
			continue;
		if (o->letter)
			printf("-%c ", o->letter);
		if (o->name)
			printf("--%s ", o->name);
	}
	printf("-h --help");
}

/* Where the measured command begins, its own completion takes over. */
static void command_operands(const struct command *c)
{
	printf("\t\tlocal skip=0\n"
	       "\t\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	       "\t\t\tif ((skip)); then skip=0; continue; fi\n"
	       "\t\t\tcase ${COMP_WORDS[i]} in\n"
	       "\t\t\t--) ((i++)); break ;;\n");
	for (const struct opt *o = c->opts; o->kind != OPT_END; o++) {
		if (o->kind == OPT_FLAG || o->kind == OPT_GROUP || o->optional)
			continue;
		printf("\t");
		pattern(o);
		printf("skip=1 ;;\n");
	}
	printf("\t\t\t-*) ;;\n"
	       "\t\t\t*) break ;;\n"
	       "\t\t\tesac\n"
	       "\t\tdone\n"
	       "\t\tif ((!skip && i < COMP_CWORD)) || [[ ${COMP_WORDS[i-1]} == -- ]]; then\n"
	       "\t\t\tif declare -F _command_offset >/dev/null; then _command_offset $i\n"
	       "\t\t\telif ((i == COMP_CWORD)); then COMPREPLY=($(compgen -c -- \"$cur\"))\n"
	       "\t\t\telse _tare_files; fi\n"
	       "\t\t\treturn\n"
	       "\t\tfi\n");
}

static void one_command(const struct command *c)
{
	bool values = false;
	printf("\t%s)\n", c->name);
	if (c->runs_command)
		command_operands(c);
	for (const struct opt *o = c->opts; o->kind != OPT_END; o++)
		values |= o->kind != OPT_FLAG && o->kind != OPT_GROUP && !o->optional;
	if (values) {
		printf("\t\tcase $prev in\n");
		for (const struct opt *o = c->opts; o->kind != OPT_END; o++)
			value_case(o);
		printf("\t\tesac\n");
	}
	printf("\t\tif [[ $cur == -* ]]; then _tare_words '");
	all_options(c);
	printf("'\n\t\telse %s; fi ;;\n",
	       c->runs_command ? "COMPREPLY=($(compgen -c -- \"$cur\"))" : "_tare_files");
}

static void bash_script(void)
{
	fputs(head, stdout);
	printf("\t\t_tare_words '");
	for (const struct command *const *c = commands; *c; c++)
		printf("%s ", (*c)->name);
	printf("help --help --version'\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	for (const struct command *const *c = commands; *c; c++)
		one_command(*c);
	printf("\tesac\n}\ncomplete -F _tare tare\n");
}

static int run(const struct command *self, int argc, char **argv)
{
	int first;
	if (!opts_parse(self, &argc, argv, NULL, &first))
		return first;
	if (argc - first != 1 || strcmp(argv[first], "bash") != 0) {
		complain("completion: the shell is wanted, and only bash is known: "
			 "tare completion bash");
		return EXIT_USAGE;
	}
	bash_script();
	return EXIT_GOOD;
}

const struct command cmd_completion = {
	.name = "completion",
	.summary = "print the completion script for bash",
	.usage = "bash",
	.about = "Prints a script that completes commands, options and their values; it is "
		 "made from the same tables that parse them. `make install` puts it in place.",
	.opts = opts,
	.run = run,
};
