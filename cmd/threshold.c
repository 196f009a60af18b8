#include "threshold.h"

#include "complain.h"

#include <stdlib.h>
#include <string.h>

/* Names may contain = (cpu/event=0x3c/), numbers do not. */
static bool parse(const char *text, struct compare_threshold *t)
{
	char number[64];
	const char *const equals = strrchr(text, '=');
	const char *const value = equals ? equals + 1 : text;
	size_t n = strlen(value);
	*t = (struct compare_threshold){ .percent = -1, .absolute = -1 };
	if (equals) {
		t->event = text;
		t->event_len = (size_t)(equals - text);
	}
	const bool percent = n && value[n - 1] == '%';
	n -= percent;
	double v;
	if (n == 0 || n >= sizeof(number) || (equals && equals == text))
		return false;
	memcpy(number, value, n);
	number[n] = '\0';
	if (!text_to_real(number, &v) || v < 0)
		return false;
	*(percent ? &t->percent : &t->absolute) = v;
	return true;
}

bool thresholds_parse(const char *command, const struct opt_list *l, struct compare_threshold **out,
		      size_t *n)
{
	struct compare_threshold *const t = calloc(l->n + 1, sizeof(*t));
	if (!t)
		abort();
	*out = t;
	*n = 0;
	for (size_t i = 0; i < l->n; i++) {
		if (!parse(l->items[i], &t[i])) {
			complain("%s: --threshold needs [NAME=]N[%%], for example 0.1%% or "
				 "instructions:u=20, not \"%s\"", command, l->items[i]);
			return false;
		}
		++*n;
	}
	return true;
}

static bool names(const struct compare_threshold *t, const char *name)
{
	return strlen(name) == t->event_len && memcmp(name, t->event, t->event_len) == 0;
}

bool thresholds_allow(const struct compare_threshold *t, size_t n, const char *name, double base,
		      bool only_named, double *allowed)
{
	bool any = false;
	*allowed = 0;
	for (int named = 1; named >= only_named && !any; named--) {
		for (size_t i = 0; i < n; i++) {
			if ((t[i].event != NULL) != named || (named && !names(&t[i], name)))
				continue;
			const double v = t[i].percent >= 0 ? t[i].percent / 100 * base : t[i].absolute;
			*allowed = any && *allowed > v ? *allowed : v;
			any = true;
		}
	}
	return any;
}
