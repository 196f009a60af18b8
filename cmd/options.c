/* The option tables at work: parsing and --help. Completion reads the same tables
 * in cmd-completion.c. */
#include "options.h"
#include "command.h"
#include "complain.h"
#include "term.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct parse {
	const struct command *c;
	int argc;
	char **argv;
	int at;				/* next argument to look at */
	void *to;
};

bool opt_wants_value(const struct opt *o)
{
	return o->kind != OPT_FLAG && o->kind != OPT_COUNT && o->kind != OPT_GROUP &&
	       o->kind != OPT_REFUSED && !o->optional;
}

bool opt_is_shown(const struct opt *o)
{
	return o->kind != OPT_GROUP && o->kind != OPT_REFUSED;
}

/* ---- numbers ---- */

bool text_to_u64(const char *text, uint64_t *out)
{
	if (!isdigit((unsigned char)text[0]))
		return false;
	const bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *rest;
	errno = 0;
	const unsigned long long v = strtoull(text, &rest, hex ? 16 : 10);
	if (errno || *rest || (hex && !text[2]))
		return false;
	*out = v;
	return true;
}

bool text_to_real(const char *text, double *out)
{
	char *rest;
	if (!isdigit((unsigned char)text[0]) && text[0] != '.' && text[0] != '-')
		return false;
	errno = 0;
	*out = strtod(text, &rest);
	return !errno && rest != text && !*rest && *out - *out == 0;
}

/* ---- the nearest word ---- */

/* Edit distance with swapped neighbours (optimal string alignment). Words are
 * short; anything longer is as far as can be. */
static size_t distance(const char *a, const char *b)
{
	enum { MAX = 64 };
	const size_t n = strlen(a), m = strlen(b);
	if (n >= MAX || m >= MAX)
		return MAX;
	size_t d[3][MAX + 1];
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *const row = d[i % 3];
		const size_t *const up = d[(i + 2) % 3], *const up2 = d[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);
			if (up[j] + 1 < best)
				best = up[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    up2[j - 2] + 1 < best)
				best = up2[j - 2] + 1;
			row[j] = best;
		}
	}
	return d[n % 3][m];
}

const char *nearest_word(const char *word, const char *const *words)
{
	const size_t len = strlen(word);
	const char *best = NULL;
	size_t best_distance = len / 3 + 2;	/* further than this is another word */
	for (; *words; words++) {
		size_t d = distance(word, *words);
		if (len >= 2 && strncmp(word, *words, len) == 0)
			d = 1;
		if (d < best_distance) {
			best_distance = d;
			best = *words;
		}
	}
	return best;
}

/* ---- parsing ---- */

static void name_of(const struct opt *o, char *out, size_t size)
{
	if (o->name)
		snprintf(out, size, "--%s", o->name);
	else
		snprintf(out, size, "-%c", o->letter);
}

static int wrong_value(const struct parse *p, const struct opt *o, const char *value,
		       const char *wanted)
{
	char name[64];
	name_of(o, name, sizeof(name));
	complain("%s: %s wants %s, not \"%s\"", p->c->name, name, wanted, value);
	return EXIT_USAGE;
}

static int set_choice(const struct parse *p, const struct opt *o, const char *value, int *to)
{
	for (int i = 0; o->choices[i]; i++) {
		if (strcmp(o->choices[i], value) == 0) {
			*to = i;
			return 0;
		}
	}
	char wanted[256] = "one of";
	for (int i = 0; o->choices[i]; i++) {
		const size_t n = strlen(wanted);
		snprintf(wanted + n, sizeof(wanted) - n, "%s %s", i ? "," : "", o->choices[i]);
	}
	return wrong_value(p, o, value, wanted);
}

static int set_number(const struct parse *p, const struct opt *o, const char *value, void *to)
{
	char wanted[128];
	uint64_t whole = 0;
	double real = 0;
	const bool is_real = o->kind == OPT_REAL, minus = o->kind == OPT_INT && value[0] == '-';
	const bool good = is_real ? text_to_real(value, &real) : text_to_u64(value + minus, &whole);
	const double v = is_real ? real : minus ? -(double)whole : (double)whole;
	const bool bounded = o->min != 0 || o->max != 0;
	if (bounded)
		snprintf(wanted, sizeof(wanted), "a %snumber from %g to %.12g",
			 is_real ? "" : "whole ", o->min, o->max);
	else
		snprintf(wanted, sizeof(wanted), "a %snumber", is_real ? "" : "whole ");
	if (!good || (bounded && (v < o->min || v > o->max)) ||
	    (o->kind == OPT_UINT && whole > UINT32_MAX))
		return wrong_value(p, o, value, wanted);
	if (is_real)
		*(double *)to = real;
	else if (o->kind == OPT_U64)
		*(uint64_t *)to = whole;
	else if (o->kind == OPT_INT)
		*(int *)to = (int)v;
	else
		*(unsigned *)to = (unsigned)whole;
	return 0;
}

static void add_to_list(struct opt_list *l, const char *value)
{
	const char **const items = realloc(l->items, (l->n + 2) * sizeof(*items));
	if (!items)
		abort();
	l->items = items;
	l->items[l->n++] = value;
	l->items[l->n] = NULL;
}

static void join_events(const char **to, const char *value)
{
	char *joined;
	if (!*to) {
		*to = value;
		return;
	}
	if (asprintf(&joined, "%s,%s", *to, value) < 0)
		abort();
	*to = joined;
}

static int set(const struct parse *p, const struct opt *o, const char *value)
{
	void *const to = (char *)p->to + o->offset;
	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)to = true;
		return 0;
	case OPT_COUNT:
		++*(unsigned *)to;
		return 0;
	case OPT_STRING:
	case OPT_FILE:
	case OPT_DIR:
		*(const char **)to = value;
		return 0;
	case OPT_EVENTS:
		join_events(to, value);
		return 0;
	case OPT_LIST:
		add_to_list(to, value);
		return 0;
	case OPT_UINT:
	case OPT_INT:
	case OPT_U64:
	case OPT_REAL:
		return set_number(p, o, value, to);
	case OPT_CHOICE:
		return set_choice(p, o, value, to);
	case OPT_REFUSED:
	case OPT_GROUP:
	case OPT_END:
		break;
	}
	assert(!"an option without a kind");
	return EXIT_USAGE;
}

/* The value of option o: `joined` when it was written in the same word, else the
 * next word. */
static int take(struct parse *p, const struct opt *o, const char *joined)
{
	char name[64];
	name_of(o, name, sizeof(name));
	if (o->kind == OPT_REFUSED) {
		complain("%s: %s: %s", p->c->name, name, o->help);
		return EXIT_USAGE;
	}
	if (o->kind == OPT_FLAG || o->kind == OPT_COUNT) {
		if (!joined)
			return set(p, o, NULL);
		complain("%s: %s takes no value, but got \"%s\"", p->c->name, name, joined);
		return EXIT_USAGE;
	}
	if (joined || o->optional)
		return set(p, o, joined ? joined : "");
	if (p->at < p->argc)
		return set(p, o, p->argv[p->at++]);
	complain("%s: %s wants a value: %s %s", p->c->name, name, name, o->arg);
	return EXIT_USAGE;
}

static int unknown(const struct parse *p, const char *name)
{
	const char *names[128];
	size_t n = 0;
	for (const struct opt *o = p->c->opts; o->kind != OPT_END && n < 126; o++)
		if (o->name && opt_is_shown(o))
			names[n++] = o->name;
	names[n++] = "help";
	names[n] = NULL;
	const char *const near = nearest_word(name, names);
	if (near)
		complain("%s: unknown option --%s; did you mean --%s?", p->c->name, name, near);
	else
		complain("%s: unknown option --%s; `tare %s --help` lists them", p->c->name,
			 name, p->c->name);
	return EXIT_USAGE;
}

/* The one option whose name begins like that, as with getopt_long(3) and perf; more than
 * one is said, and *status set. */
static const struct opt *by_beginning(const struct parse *p, const char *word, size_t len,
				      int *status)
{
	const struct opt *found = NULL;
	for (const struct opt *o = p->c->opts; len && o->kind != OPT_END; o++) {
		if (!o->name || !opt_is_shown(o) || strncmp(o->name, word, len) != 0)
			continue;
		if (found) {
			complain("%s: --%.*s can be --%s or --%s", p->c->name, (int)len, word,
				 found->name, o->name);
			*status = EXIT_USAGE;
			return NULL;
		}
		found = o;
	}
	return found;
}

/* --name or --name=value; `word` is without the dashes. -1: help was asked for. */
static int long_option(struct parse *p, const char *word)
{
	const char *const equals = strchr(word, '=');
	const size_t len = equals ? (size_t)(equals - word) : strlen(word);
	for (const struct opt *o = p->c->opts; o->kind != OPT_END; o++)
		if (o->name && strlen(o->name) == len && strncmp(o->name, word, len) == 0)
			return take(p, o, equals ? equals + 1 : NULL);
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)(len < 60 ? len : 60), word);
	if (strcmp(name, "help") == 0)
		return -1;
	int status = 0;
	const struct opt *const o = by_beginning(p, word, len, &status);
	if (o)
		return take(p, o, equals ? equals + 1 : NULL);
	return status ? status : unknown(p, name);
}

static const struct opt *by_letter(const struct command *c, char letter)
{
	for (const struct opt *o = c->opts; o->kind != OPT_END; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

/* -abcVALUE; `word` is without the dash. -1: help was asked for. */
static int short_options(struct parse *p, const char *word)
{
	for (; *word; word++) {
		const struct opt *const o = by_letter(p->c, *word);
		if (!o && *word == 'h')
			return -1;
		if (!o) {
			complain("%s: unknown option -%c; `tare %s --help` lists them",
				 p->c->name, *word, p->c->name);
			return EXIT_USAGE;
		}
		if (o->kind != OPT_FLAG && o->kind != OPT_COUNT)
			return take(p, o, word[1] ? word + 1 : NULL);
		const int status = take(p, o, NULL);
		if (status)
			return status;
	}
	return 0;
}

bool opts_parse(const struct command *c, int *argc, char **argv, void *to, int *first)
{
	struct parse p = { c, *argc, argv, 1, to };
	int operands = 1;		/* argv[1 … operands - 1] are operands seen */
	while (p.at < p.argc) {
		char *const word = argv[p.at++];
		int status;
		if (strcmp(word, "--") == 0)
			break;
		if (word[0] != '-' || !word[1]) {
			if (c->runs_command) {
				p.at--;
				break;
			}
			argv[operands++] = word;
			continue;
		}
		if (word[1] == '-')
			status = long_option(&p, word + 2);
		else
			status = short_options(&p, word + 1);
		if (status < 0)
			opts_help(c, stdout);
		if (status) {
			*first = status < 0 ? 0 : status;
			return false;
		}
	}
	if (operands == 1) {
		*first = p.at;
		return true;
	}
	while (p.at < p.argc)
		argv[operands++] = argv[p.at++];
	argv[operands] = NULL;
	*argc = operands;
	*first = 1;
	return true;
}

/* ---- --help ---- */

enum { HELP_COLUMN = 28, HELP_WIDTH = 80 };

/* `text` filled to HELP_WIDTH, starting at `column`, every line indented to `indent`. */
static void fill(FILE *out, const char *text, int column, int indent)
{
	bool first = true;
	while (*text) {
		const size_t n = strcspn(text, " ");
		int wide = 0;			/* columns, not bytes */
		for (size_t i = 0; i < n; i++)
			wide += (text[i] & 0xc0) != 0x80;
		if (!first && column + 1 + wide > HELP_WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
			first = true;
		}
		fprintf(out, "%s%.*s", first ? "" : " ", (int)n, text);
		column += !first + wide;
		first = false;
		text += n;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

static void help_option(const struct opt *o, FILE *out)
{
	char left[128];
	const char *const open = o->optional ? "[" : "", *const close = o->optional ? "]" : "";
	int n = snprintf(left, sizeof(left), "  ");
	if (o->letter)
		n += snprintf(left + n, sizeof(left) - (size_t)n, "-%c%s", o->letter,
			      o->name ? ", " : "");
	else
		n += snprintf(left + n, sizeof(left) - (size_t)n, "    ");
	if (o->name)
		n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s", o->name);
	if (o->arg)
		n += snprintf(left + n, sizeof(left) - (size_t)n, "%s%s%s%s", open,
			      o->optional ? "=" : " ", o->arg, close);
	if (n >= HELP_COLUMN) {
		fprintf(out, "%s\n%*s", left, HELP_COLUMN, "");
	} else {
		fprintf(out, "%-*s", HELP_COLUMN, left);
	}
	fill(out, o->help, HELP_COLUMN, HELP_COLUMN);
}

static void write_help(const struct command *c, FILE *out)
{
	static const struct opt help = { OPT_FLAG, 'h', "help", NULL, "this text" };
	fprintf(out, "usage: tare %s %s\n\n", c->name, c->usage);
	fill(out, c->about ? c->about : c->summary, 0, 0);
	fputc('\n', out);
	for (const struct opt *o = c->opts; o->kind != OPT_END; o++) {
		if (o->kind == OPT_GROUP)
			fprintf(out, "%s%s:\n", o == c->opts ? "" : "\n", o->help);
		else if (opt_is_shown(o))
			help_option(o, out);
	}
	help_option(&help, out);
	fprintf(out, "\nSee tare-%s(1).\n", c->name);
}

void opts_help(const struct command *c, FILE *out)
{
	char *text = NULL;
	size_t len;
	FILE *const memory = open_memstream(&text, &len);
	if (memory)
		write_help(c, memory);
	if (memory && fclose(memory) == 0) {
		term_own_text(text);
		fputs(text, out);
	}
	free(text);
}
