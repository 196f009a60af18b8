/* event_id := text ( 0x1E text )*, the first the label, the rest arguments.
 *
 * A text has at least one byte and no ASCII control byte but white space. As in
 * measureme's tools a bad label makes the event "<parse error>"; a bad argument
 * ends the arguments, those before it stay.
 */
#include "reader.h"

static bool is_control(unsigned char c)
{
	if (c == '\t' || c == '\n' || c == '\f' || c == '\r')
		return false;
	return c < 0x20 || c == 0x7f;
}

/* How many bytes from the start are neither control bytes nor the separator: no more than these,
 * by eights. */
static size_t plain_bytes(const char *text, size_t len)
{
	static const uint64_t ones = 0x0101010101010101ull;
	for (size_t n = 0; n + 8 <= len; n += 8) {
		uint64_t v;
		memcpy(&v, text + n, 8);
		v = le64toh(v);
		/* A byte below 0x20 or 0x7f sets a top bit, as may one behind it; so do those from
		 * 0x80 on, which are looked at one by one. */
		const uint64_t others = (v | (v - 0x20 * ones) | (v + ones)) & 0x80 * ones;
		if (others)
			return n + (unsigned)__builtin_ctzll(others) / 8;
	}
	return len & ~(size_t)7;
}

/* The end of the text that starts at `at`, or 0 and the complaint. */
static size_t text_end(const char *text, size_t at, size_t len, struct event_name *n)
{
	size_t end = at + plain_bytes(text + at, len - at);
	bool control = false;
	while (end < len && (unsigned char)text[end] != MM_SEPARATOR)
		control |= is_control((unsigned char)text[end++]);
	if (end == at) {
		n->error = "Zero-length <text>";
		n->error_pos = at;
		return 0;
	}
	if (control) {
		n->error = "Found ASCII control character in <text>";
		n->error_pos = end;
		return 0;
	}
	return end;
}

void event_name_split(const char *text, size_t len, struct event_name *n)
{
	static const char parse_error[] = "<parse error>";
	*n = (struct event_name){ .label = text };
	size_t end = text_end(text, 0, len, n);
	if (!end) {
		n->label = parse_error;
		n->label_len = sizeof(parse_error) - 1;
		return;
	}
	n->label_len = end;
	if (end == len)
		return;
	n->args = text + end + 1;
	while (end < len) {
		const size_t next = text_end(text, end + 1, len, n);
		if (!next)
			return;
		end = next;
		n->n_args++;
		n->args_len = (size_t)(text + end - n->args);
	}
}
