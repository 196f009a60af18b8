#include "summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void summarize_values(struct summary *s, const uint64_t *values, size_t n)
{
	*s = (struct summary){ .n = n };
	if (!n)
		return;
	s->min = s->max = values[0];
	for (size_t i = 0; i < n; i++) {
		if (values[i] < s->min)
			s->min = values[i];
		if (values[i] > s->max)
			s->max = values[i];
		s->sum += values[i];
	}
	/* Offsets from the smallest value keep every digit: counts near 2^63 that
	 * differ by one still differ as doubles. */
	const double offset = (double)(uint64_t)((s->sum - (unsigned __int128)s->min * n) / n) +
			      (double)((s->sum - (unsigned __int128)s->min * n) % n) / (double)n;
	const double range = (double)(s->max - s->min);
	double squares = 0;
	for (size_t i = 0; i < n; i++) {
		const double d = (double)(values[i] - s->min) - offset;
		squares += d * d;
	}
	s->mean = (double)s->min + offset;
	s->distance = fmax(offset, range - offset);
	s->stddev = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
}

double summary_midpoint(const struct summary *s)
{
	return (double)s->min + (double)(s->max - s->min) / 2;
}

double summary_half_range(const struct summary *s)
{
	return (double)(s->max - s->min) / 2;
}

double summary_percent(const struct summary *s)
{
	const double mid = summary_midpoint(s);
	return mid > 0 ? 100 * summary_half_range(s) / mid : 0;
}

static void put_whole(struct buf *b, uint64_t value, bool grouped)
{
	if (grouped)
		buf_grouped(b, value);
	else
		buf_printf(b, "%llu", (unsigned long long)value);
}

void put_midpoint(struct buf *b, const struct summary *s, bool grouped)
{
	const uint64_t range = s->max - s->min;
	put_whole(b, s->min + range / 2, grouped);
	if (range % 2)
		buf_str(b, ".5");
}

void put_half_range(struct buf *b, const struct summary *s, bool grouped)
{
	const uint64_t range = s->max - s->min;
	put_whole(b, range / 2, grouped);
	if (range % 2)
		buf_str(b, ".5");
}

void put_mean(struct buf *b, const struct summary *s)
{
	/* In tenths, rounded to nearest. */
	const unsigned __int128 tenths = (s->sum * 10 + s->n / 2) / s->n;
	buf_grouped(b, (uint64_t)(tenths / 10));
	if (s->sum % s->n)
		buf_printf(b, ".%d", (int)(tenths % 10));
}

void put_real(struct buf *b, double value, int decimals)
{
	char text[64];
	if (!(fabs(value) < 1e15)) {
		buf_printf(b, "%g", value);
		return;
	}
	snprintf(text, sizeof(text), "%.*f", decimals, fabs(value));
	const size_t whole = strcspn(text, ".");
	if (value < 0)
		buf_chr(b, '-');
	for (size_t i = 0; i < whole; i++) {
		if (i && (whole - i) % 3 == 0)
			buf_chr(b, ',');
		buf_chr(b, text[i]);
	}
	buf_str(b, text + whole);
}

void put_percent(struct buf *b, double percent)
{
	if (percent == 0) {
		buf_chr(b, '0');
		return;
	}
	const int magnitude = (int)floor(log10(fabs(percent)));
	const int decimals = magnitude >= 1 ? 0 : 1 - magnitude;
	char text[64];
	snprintf(text, sizeof(text), "%.*f", decimals < 30 ? decimals : 30, percent);
	if (strchr(text, '.')) {
		size_t n = strlen(text);
		while (n && text[n - 1] == '0')
			text[--n] = '\0';
		if (n && text[n - 1] == '.')
			text[n - 1] = '\0';
	}
	buf_str(b, text);
}
