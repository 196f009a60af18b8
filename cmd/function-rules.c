#include "function-rules.h"

#include "buf.h"
#include "complain.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool callgrind_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *from = NULL;		/* the last *, and what it stands for ends here */
	const size_t len = strlen(name);
	if (len > 4 && !strcmp(name + len - 4, "@plt"))	/* no function of callgrind's */
		return false;
	while (*name) {
		if (*pattern == '*') {
			star = pattern++;
			from = name;
		} else if (*pattern && (*pattern == '?' || *pattern == *name)) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star + 1;
			name = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* ---- nearest names ---- */

#define COMPARED 64		/* characters */

/* How many characters must be inserted, deleted or replaced. */
static size_t distance(const char *a, size_t m, const char *b, size_t n)
{
	size_t row[COMPARED + 1];
	for (size_t k = 0; k <= n; k++)
		row[k] = k;
	for (size_t i = 1; i <= m; i++) {
		size_t before = row[0];
		row[0] = i;
		for (size_t k = 1; k <= n; k++) {
			const size_t replaced = before + (a[i - 1] != b[k - 1]);
			before = row[k];
			const size_t shorter = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;
			row[k] = replaced < shorter ? replaced : shorter;
		}
	}
	return row[n];
}

/* A name that contains the pattern is near, "f" and "ns::f(int)"; so is one with its last part. */
static size_t distance_of(const char *pattern, const char *name)
{
	char bare[COMPARED + 1];
	size_t n = 0;
	for (const char *p = pattern; *p && n < COMPARED; p++)
		if (*p != '*' && *p != '?')
			bare[n++] = *p;
	bare[n] = '\0';
	const char *const in = n > 2 ? strstr(name, bare) : NULL;
	if (in)
		return (in != name) + (strlen(name) != n);
	const char *last = bare;
	for (const char *colons; (colons = strstr(last, "::"));)
		last = colons + 2;
	if (last != bare && strlen(last) > 2 && strstr(name, last))
		return 3;
	size_t m = strcspn(name, "(<");
	m = m && m < COMPARED ? m : strnlen(name, COMPARED);
	const size_t far = distance(bare, n, name, m), most = n / 2 < 2 ? 2 : n / 2;
	return far < n && far <= most ? 2 + far : SIZE_MAX;
}

void function_rule_consider(struct function_rule *r, const char *name)
{
	const size_t d = distance_of(r->pattern, name);
	size_t at = RULE_NEAREST;
	for (size_t i = 0; i < RULE_NEAREST; i++)
		if (!strncmp(r->nearest[i].name, name, RULE_NAME - 1))
			return;
	while (at && (!r->nearest[at - 1].name[0] || d < r->nearest[at - 1].distance))
		at--;
	if (d == SIZE_MAX || at == RULE_NEAREST)
		return;
	memmove(&r->nearest[at + 1], &r->nearest[at], (RULE_NEAREST - 1 - at) * sizeof(r->nearest[0]));
	r->nearest[at].distance = d;
	snprintf(r->nearest[at].name, RULE_NAME, "%s", name);
}

void function_rule_nearest(const struct function_rule *r, struct buf *out)
{
	for (size_t i = 0; i < RULE_NEAREST && r->nearest[i].name[0]; i++)
		buf_printf(out, "%s%s", i ? ", " : "; nearest names: ", r->nearest[i].name);
	buf_str(out, "");
}

/* ---- rules ---- */

void function_rules_add(struct function_rules *r, const char *option, const char *pattern, unsigned what)
{
	r->list = reallocarray(r->list, r->n + 1, sizeof(*r->list));
	if (!r->list)
		abort();
	r->list[r->n++] = (struct function_rule){ .option = option, .pattern = pattern, .what = what };
}

static unsigned what_of(const char *name, const char *linkage, void *arg)
{
	struct function_rules *const r = arg;
	unsigned what = 0;
	for (size_t i = 0; i < r->n; i++) {
		struct function_rule *const rule = &r->list[i];
		if (r->matches(rule->pattern, name) || (linkage && r->matches(rule->pattern, linkage))) {
			what |= rule->what;
			rule->found++;
		} else if (!rule->found) {
			function_rule_consider(rule, name);
		}
	}
	return what;
}

const struct tare_watch *function_rules_watch(struct function_rules *r, bool *ok)
{
	struct tare_why why = { 0 };
	*ok = true;
	if (!r->n)
		return NULL;
	if (tare_watch_names_new(what_of, r, &r->names, &why) == 0)
		return tare_watch_names_watch(r->names);
	complain_why(&why);
	*ok = false;
	return NULL;
}

bool function_rules_found(const struct function_rules *r)
{
	bool all = true;
	const char *const note = tare_watch_names_note(r->names);
	for (size_t i = 0; i < r->n; i++) {
		const struct function_rule *const rule = &r->list[i];
		struct buf near = { 0 };
		if (rule->found)
			continue;
		all = false;
		function_rule_nearest(rule, &near);
		complain("%s=%s: no function of the program or of the libraries that it used has this name%s%s%s", rule->option,
			 rule->pattern, buf_failed(&near) ? "" : near.data, note ? "; " : "", note ? note : "");
		buf_free(&near);
	}
	return all;
}

void function_rules_free(struct function_rules *r)
{
	tare_watch_names_free(r->names);
	free(r->list);
	*r = (struct function_rules){ 0 };
}
