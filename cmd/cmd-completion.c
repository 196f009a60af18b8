/* tare completion SHELL: the completion script, made from the option tables. */
#include "command.h"
#include "complain.h"
#include "stat.h"

#include <stdio.h>
#include <string.h>

static const struct opt opts[] = {
	{ OPT_END },
};

/* Events that are worth offering; `tare list` has all of them, and takes its time. */
#define EVENTS "instructions:u branches:u cond-branches:u loads:u stores:u cycles:u "         \
	       "branch-misses:u cache-misses:u page-faults context-switches cpu-migrations " \
	       "task-clock wall-time instructions-minus-irqs:u"

/* What is offered as the value of an option. */
enum offer { OFFER_NOTHING, OFFER_FILES, OFFER_DIRS, OFFER_WORD, OFFER_LIST };

static enum offer offer_of(const struct opt *o)
{
	switch (o->kind) {
	case OPT_FILE:
		return OFFER_FILES;
	case OPT_DIR:
		return OFFER_DIRS;
	case OPT_EVENTS:
		return OFFER_LIST;
	case OPT_CHOICE:
		return OFFER_WORD;
	default:
		return !o->word ? OFFER_NOTHING : o->list ? OFFER_LIST : OFFER_WORD;
	}
}

/* The words of OFFER_WORD and OFFER_LIST. `colon` is how the shell wants one to be written. */
static void put_words(const struct opt *o, const char *colon)
{
	const char *word;

	if (o->kind == OPT_EVENTS && !o->word)
		for (const char *c = EVENTS; *c; c++)
			printf("%.*s", *c == ':' ? 2 : 1, *c == ':' ? colon : c);
	for (int i = 0; o->kind == OPT_CHOICE && o->choices[i]; i++)
		printf("%s%s", i ? " " : "", o->choices[i]);
	for (size_t i = 0; o->word && (word = o->word(i, NULL)); i++)
		printf("%s%s", i ? " " : "", word);
}

/* ---- bash ---- */

static const char head[] =
	"# bash completion for tare; written by `tare completion bash`\n"
	"_tare_words() { COMPREPLY=($(compgen -W \"$1\" -- \"$cur\")); }\n"
	"_tare_files() { compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")); }\n"
	"_tare_dirs() { compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$cur\")); }\n"
	"_tare_list() {\n"
	"\tlocal last=${cur##*,} before=\n"
	"\t[[ $cur == *,* ]] && before=${cur%,*},\n"
	"\tCOMPREPLY=($(compgen -P \"$before\" -W \"$1\" -- \"$last\"))\n"
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
	if (!opt_wants_value(o))
		return;
	pattern(o);
	switch (offer_of(o)) {
	case OFFER_FILES:
		printf("_tare_files");
		break;
	case OFFER_DIRS:
		printf("_tare_dirs");
		break;
	case OFFER_LIST:
		printf("_tare_list '");
		put_words(o, ":");
		printf("'");
		break;
	case OFFER_WORD:
		printf("_tare_words '");
		put_words(o, ":");
		printf("'");
		break;
	case OFFER_NOTHING:
		printf(":");
		break;
	}
	printf("; return ;;\n");
}

static void all_options(const struct command *c)
{
	for (const struct opt *o = c->opts; o->kind != OPT_END; o++) {
		if (!opt_is_shown(o))
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
		if (!opt_wants_value(o))
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
		values |= opt_wants_value(o);
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

/* ---- zsh ---- */

/* Text between single quotes, for _arguments and _describe: ' : [ ] are theirs. */
static void zsh_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			printf("'\\''");
		else if (strchr(":[]\\", *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

static void zsh_value(const struct opt *o)
{
	printf(":%s:", o->arg ? o->arg : "value");
	switch (offer_of(o)) {
	case OFFER_FILES:
		printf("_files");
		break;
	case OFFER_DIRS:
		printf("_files -/");
		break;
	case OFFER_LIST:
		printf("_values -s , %s ", o->arg);
		put_words(o, "\\:");
		break;
	case OFFER_WORD:
		printf("(");
		put_words(o, "\\:");
		printf(")");
		break;
	case OFFER_NOTHING:
		printf(" ");
		break;
	}
}

/* One spelling of an option: '*--name=[help]:ARG:action'. `joint` is what may stand between
 * the option and its value. */
static void zsh_spelling(const struct opt *o, const char *dashes, const char *name,
			 const char *joint)
{
	printf("\t\t'*%s%s%s[", dashes, name, opt_wants_value(o) ? joint : "");
	zsh_text(o->help);
	printf("]");
	if (opt_wants_value(o))
		zsh_value(o);
	printf("' \\\n");
}

static void zsh_option(const struct opt *o)
{
	const char letter[] = { o->letter, '\0' };
	if (!opt_is_shown(o))
		return;
	if (o->letter)
		zsh_spelling(o, "-", letter, "+");
	if (o->name)
		zsh_spelling(o, "--", o->name, "=");
}

static void zsh_command(const struct command *c)
{
	printf("_tare_%s() {\n\t_arguments -s -S : \\\n", c->name);
	for (const struct opt *o = c->opts; o->kind != OPT_END; o++)
		zsh_option(o);
	printf("\t\t'(- *)'{-h,--help}'[this text]' \\\n");
	if (c->runs_command)
		printf("\t\t'(-):command:_command_names -e' \\\n\t\t'*::arguments:_normal'\n}\n");
	else if (strcmp(c->name, "completion") == 0)
		printf("\t\t'1:shell:(bash zsh fish)'\n}\n");
	else
		printf("\t\t'*:file:_files'\n}\n");
}

static void zsh_script(void)
{
	printf("#compdef tare\n# zsh completion for tare; written by `tare completion zsh`\n");
	for (const struct command *const *c = commands; *c; c++)
		zsh_command(*c);
	printf("_tare() {\n\tlocal context curcontext=\"$curcontext\" state line\n"
	       "\tlocal -a tare_commands\n\ttare_commands=(\n");
	for (const struct command *const *c = commands; *c; c++) {
		printf("\t\t'%s:", (*c)->name);
		zsh_text((*c)->summary);
		printf("'\n");
	}
	printf("\t)\n"
	       "\t_arguments -C '(- *)'{-h,--help}'[list the commands]' "
	       "'(- *)'{-V,--version}'[print the version]' \\\n"
	       "\t\t'1: :->command' '*:: :->rest' && return\n"
	       "\tcase $state in\n"
	       "\tcommand) _describe -t commands 'tare command' tare_commands ;;\n"
	       "\trest) (( $+functions[_tare_$words[1]] )) && _tare_$words[1] ;;\n"
	       "\tesac\n}\n"
	       /* loaded by compinit, it is the function itself; sourced, it has to be bound */
	       "if [[ $funcstack[1] == _tare ]]; then _tare \"$@\"; else compdef _tare tare; fi\n");
}

/* ---- fish ---- */

static void fish_text(const char *text)
{
	for (; *text; text++)
		printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void fish_option(const struct command *c, const struct opt *o)
{
	if (!opt_is_shown(o))
		return;
	printf("complete -c tare -n '__fish_tare_in %s'", c->name);
	if (o->letter)
		printf(" -s %c", o->letter);
	if (o->name)
		printf(" -l %s", o->name);
	if (opt_wants_value(o))
		printf(offer_of(o) == OFFER_FILES ? " -rF" : " -x");
	switch (offer_of(o)) {
	case OFFER_DIRS:
		printf(" -a '(__fish_complete_directories)'");
		break;
	case OFFER_WORD:
		if (opt_wants_value(o)) {
			printf(" -a '");
			put_words(o, ":");
			printf("'");
		}
		break;
	case OFFER_LIST:
		printf(" -a '(__fish_tare_list ");
		put_words(o, ":");
		printf(")'");
		break;
	case OFFER_FILES:
	case OFFER_NOTHING:
		break;
	}
	printf(" -d '");
	fish_text(o->help);
	printf("'\n");
}

static const char fish_head[] =
	"# fish completion for tare; written by `tare completion fish`\n"
	"complete -c tare -f\n"
	"function __fish_tare_in\n"
	"\tset -l words (commandline -opc)\n"
	"\ttest (count $words) -ge 2; and test $words[2] = $argv[1]\n"
	"end\n"
	"function __fish_tare_first\n"
	"\ttest (count (commandline -opc)) -eq 1\n"
	"end\n"
	/* the words after the comma, behind what is before it */
	"function __fish_tare_list\n"
	"\tset -l token (commandline -ct | string replace -r '^--[a-z-]+=' '')\n"
	"\tset -l before (string replace -r '[^,]*$' '' -- \"$token\")\n"
	"\tfor word in $argv\n"
	"\t\techo $before$word\n"
	"\tend\n"
	"end\n";

/* Where the measured command begins, its own completion takes over; the options that have
 * a value are named, so that the value is not taken for it. */
static void fish_operands(const struct command *c)
{
	printf("complete -c tare -n '__fish_tare_in %s' -xa '(__fish_complete_subcommand "
	       "--fcs-skip=2", c->name);
	for (const struct opt *o = c->opts; o->kind != OPT_END; o++) {
		if (!opt_wants_value(o))
			continue;
		if (o->letter)
			printf(" -%c", o->letter);
		if (o->name)
			printf(" --%s", o->name);
	}
	printf(")'\n");
}

static void fish_command(const struct command *c)
{
	printf("complete -c tare -n __fish_tare_first -a %s -d '", c->name);
	fish_text(c->summary);
	printf("'\n");
	for (const struct opt *o = c->opts; o->kind != OPT_END; o++)
		fish_option(c, o);
	printf("complete -c tare -n '__fish_tare_in %s' -s h -l help -d 'this text'\n", c->name);
	if (c->runs_command)
		fish_operands(c);
	else if (strcmp(c->name, "completion") == 0)
		printf("complete -c tare -n '__fish_tare_in %s' -a 'bash zsh fish'\n", c->name);
	else
		printf("complete -c tare -n '__fish_tare_in %s' -F\n", c->name);
}

static void fish_script(void)
{
	fputs(fish_head, stdout);
	for (const struct command *const *c = commands; *c; c++)
		fish_command(*c);
	printf("complete -c tare -n __fish_tare_first -s h -l help -d 'list the commands'\n"
	       "complete -c tare -n __fish_tare_first -s V -l version -d 'print the version'\n");
}

/* ---- the command ---- */

static const struct {
	const char *name;
	void (*print)(void);
} shells[] = { { "bash", bash_script }, { "zsh", zsh_script }, { "fish", fish_script } };

static int run(const struct command *self, int argc, char **argv)
{
	int first;
	if (!opts_parse(self, &argc, argv, NULL, &first))
		return first;
	for (size_t i = 0; argc - first == 1 && i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(argv[first], shells[i].name) != 0)
			continue;
		shells[i].print();
		return EXIT_GOOD;
	}
	complain("completion: one of the shells bash, zsh and fish is wanted: tare completion bash");
	return EXIT_USAGE;
}

const struct command cmd_completion = {
	.name = "completion",
	.summary = "print the completion script for a shell",
	.usage = "bash|zsh|fish",
	.about = "Prints a script that completes commands, options and their values; it is "
		 "made from the same tables that parse them. `make install` puts it in place.",
	.opts = opts,
	.run = run,
};
