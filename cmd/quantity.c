#include "quantity.h"

#include "clocale.h"
#include "sink.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static char *text_before(char *end, const char *text, size_t len)
{
	return memcpy(end - len, text, len);
}

/* v / 1000 with three decimals, and its unit. */
static char *thousandths_before(char *end, uint64_t v, const char *unit)
{
	end = text_before(end, unit, strlen(unit));
	for (unsigned i = 0; i < 3; i++, v /= 10)
		*--end = (char)('0' + v % 10);
	*--end = '.';
	return u64_digits(end, v);
}

static char *time_before(char *end, uint64_t ns)
{
	if (ns < 1000)
		return u64_digits(text_before(end, " ns", 3), ns);
	if (ns < 1000000)
		return thousandths_before(end, ns, " us");
	if (ns < 1000000000)
		return thousandths_before(end, ns / 1000, " ms");
	return thousandths_before(end, ns / 1000000, " s");
}

char *quantity_before(char *end, const struct tare_profile_info *i, int64_t v)
{
	const uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	char *at = i->is_time ? time_before(end, u) : u64_grouped(end, u);
	if (v < 0)
		*--at = '-';
	return at;
}

void quantity_add(struct buf *b, const struct tare_profile_info *i, int64_t v)
{
	char text[QUANTITY_BYTES];
	char *const end = text + sizeof(text);
	const char *const at = quantity_before(end, i, v);
	buf_add(b, at, (size_t)(end - at));
}

static char *printed_before(char *end, double v)
{
	char text[QUANTITY_BYTES];
	const int n = clocale_snprintf(text, sizeof(text), "%.2f%%", v);
	return text_before(end, text, n > 0 ? (size_t)n : 0);
}

/* As "%.2f%%" has it: the exact value of the double is rounded, so what is near the middle
 * is left to printf. */
char *percent_before(char *end, double v)
{
	const double scaled = v * 100;
	if (scaled >= 1e11)
		return printed_before(end, v);
	const uint64_t below = (uint64_t)scaled;
	const double middle = scaled - (double)below - 0.5;
	if (middle > -1e-4 && middle < 1e-4)
		return printed_before(end, v);
	const uint64_t whole = (uint64_t)(scaled + 0.5);
	end -= 4;
	end[0] = '.';
	memcpy(end + 1, digit_pairs + 2 * (whole % 100), 2);
	end[3] = '%';
	if (whole < 1000) {
		*--end = (char)('0' + whole / 100);
		return end;
	}
	return u64_digits(end, whole / 100);
}

void percent_add(struct buf *b, double v)
{
	char text[QUANTITY_BYTES];
	char *const end = text + sizeof(text);
	if (!(v >= 0 && v < 1e22)) {
		buf_printf(b, "%.2f%%", v);
		return;
	}
	const char *const at = percent_before(end, v);
	buf_add(b, at, (size_t)(end - at));
}

void quantity_signed(struct buf *b, const struct tare_profile_info *i, int64_t v)
{
	if (v >= 0)
		buf_chr(b, '+');
	quantity_add(b, i, v);
}

static void add_half(struct buf *b, uint64_t twice)
{
	buf_grouped(b, twice / 2);
	buf_str(b, twice % 2 ? ".5" : "");
}

void quantity_range(struct buf *b, const struct tare_profile_info *i, int64_t min, int64_t max)
{
	const uint64_t width = (uint64_t)max - (uint64_t)min;
	if (i->is_time) {
		quantity_add(b, i, min + (int64_t)(width / 2));
		buf_str(b, " ±");
		quantity_add(b, i, (int64_t)(width - width / 2));
		return;
	}
	const int64_t sum = min + max;
	if (sum < 0)
		buf_chr(b, '-');
	add_half(b, sum < 0 ? 0 - (uint64_t)sum : (uint64_t)sum);
	buf_str(b, " ±");
	add_half(b, width);
}

void quantity_half(struct buf *b, uint64_t twice)
{
	buf_printf(b, "%" PRIu64 "%s", twice / 2, twice % 2 ? ".5" : "");
}

struct rust_unit {
	uint64_t factor;
	int digits;		/* of the fraction */
	const char *name;
};

static const struct rust_unit *rust_unit_of(uint64_t v)
{
	static const struct rust_unit units[] = {
		{ 1000000000, 9, "s" }, { 1000000, 6, "ms" }, { 1000, 3, "µs" }, { 1, 0, "ns" },
	};
	for (size_t i = 0; i < 3; i++)
		if (v >= units[i].factor)
			return &units[i];
	return &units[3];
}

/* The unit is chosen before rounding (999.995 ms is 1000.00ms); half goes to even. */
void rust_duration2(struct buf *b, uint64_t v)
{
	const struct rust_unit *const u = rust_unit_of(v);
	uint64_t whole = v / u->factor, hundredths = 0;
	if (u->factor > 1) {
		const uint64_t step = u->factor / 100;
		const uint64_t rest = v % u->factor;
		hundredths = rest / step;
		const uint64_t twice = 2 * (rest % step);
		if (twice > step || (twice == step && hundredths % 2))
			hundredths++;
		if (hundredths == 100) {
			hundredths = 0;
			whole++;
		}
	}
	buf_printf(b, "%" PRIu64 ".%02" PRIu64 "%s", whole, hundredths, u->name);
}

void rust_duration(struct buf *b, uint64_t v)
{
	const struct rust_unit *const u = rust_unit_of(v);
	char fraction[16];
	int n = 0;
	if (u->digits)
		n = snprintf(fraction, sizeof(fraction), "%0*" PRIu64, u->digits, v % u->factor);
	while (n && fraction[n - 1] == '0')
		n--;
	buf_printf(b, "%" PRIu64 "%s%.*s%s", v / u->factor, n ? "." : "", n, fraction, u->name);
}

void rust_float(struct buf *b, double v, int decimals, bool plus)
{
	if (isnan(v))
		buf_str(b, "NaN");
	else if (isinf(v))
		buf_str(b, v < 0 ? "-inf" : plus ? "+inf" : "inf");
	else
		buf_printf(b, plus ? "%+.*f" : "%.*f", decimals, v);
}

static unsigned code_width(uint32_t c)
{
	static const struct { uint32_t lo, hi; } zero[] = {
		{ 0x300, 0x36F }, { 0x200B, 0x200F }, { 0x20D0, 0x20FF }, { 0xFE00, 0xFE0F },
	}, wide[] = {
		{ 0x1100, 0x115F }, { 0x2E80, 0x303E }, { 0x3041, 0xA4CF }, { 0xAC00, 0xD7A3 },
		{ 0xF900, 0xFAFF }, { 0xFE30, 0xFE6F }, { 0xFF00, 0xFF60 }, { 0xFFE0, 0xFFE6 },
		{ 0x1F300, 0x1F64F }, { 0x1F900, 0x1F9FF }, { 0x20000, 0x3FFFD },
	};
	if (c < 0x20 || c == 0x7F)
		return 0;
	for (size_t i = 0; i < sizeof(zero) / sizeof(zero[0]); i++)
		if (c >= zero[i].lo && c <= zero[i].hi)
			return 0;
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++)
		if (c >= wide[i].lo && c <= wide[i].hi)
			return 2;
	return 1;
}

/* How many bytes from the start are plain, one column each. */
static size_t plain_bytes(const char *text, size_t len)
{
	const uint64_t ones = 0x0101010101010101ull, tops = 0x80 * ones;
	size_t n = 0;
	for (; n + 8 <= len; n += 8) {
		uint64_t v;
		memcpy(&v, text + n, 8);
		/* a byte of 0x80 and more, below 0x20, or 0x7F sets its top bit */
		if ((v | (v - 0x20 * ones) | (v + ones)) & tops)
			break;
	}
	if (len >= 8) {				/* the last ones with some of those before */
		uint64_t v;
		memcpy(&v, text + len - 8, 8);
		if (n + 8 > len && !((v | (v - 0x20 * ones) | (v + ones)) & tops))
			return len;
	}
	while (n < len && (unsigned char)text[n] >= 0x20 && (unsigned char)text[n] < 0x7F)
		n++;
	return n;
}

size_t display_width(const char *text, size_t len)
{
	size_t width = plain_bytes(text, len);
	text += width;
	len -= width;
	for (size_t i = 0; i < len; ) {
		const unsigned char c = (unsigned char)text[i++];
		uint32_t code = c < 0x80 ? c : c < 0xE0 ? c & 0x1F : c < 0xF0 ? c & 0xF : c & 7;
		while (i < len && ((unsigned char)text[i] & 0xC0) == 0x80)
			code = code << 6 | ((unsigned char)text[i++] & 0x3F);
		width += code_width(code);
	}
	return width;
}
