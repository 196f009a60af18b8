#include "json.h"
#include "utf8.h"

#include "clocale.h"
#include "why.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- out ---- */

static void newline(struct json *j)
{
	if (!j->indent)
		return;
	buf_chr(j->out, '\n');
	for (int i = 0; i < j->depth; i++)
		buf_str(j->out, "  ");
}

static void quoted(struct buf *out, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	buf_chr(out, '"');
	for (size_t i = 0; i < len;) {
		const size_t n = utf8_length(s + i, len - i);
		if (n == 0) {
			buf_str(out, UTF8_REPLACEMENT);
			i++;
		} else if (n > 1) {
			buf_add(out, s + i, n);
			i += n;
		} else if (s[i] == '"' || s[i] == '\\') {
			buf_chr(out, '\\');
			buf_chr(out, (char)s[i++]);
		} else if (s[i] < 0x20) {
			buf_printf(out, "\\u%04x", s[i++]);
		} else {
			buf_chr(out, (char)s[i++]);
		}
	}
	buf_chr(out, '"');
}

static void value_start(struct json *j, const char *key)
{
	if (j->depth > 0) {
		if (j->filled[j->depth - 1])
			buf_chr(j->out, ',');
		j->filled[j->depth - 1] = true;
		newline(j);
	}
	if (key) {
		quoted(j->out, key, strlen(key));
		buf_str(j->out, j->indent ? ": " : ":");
	}
}

static void open_value(struct json *j, const char *key, char kind)
{
	value_start(j, key);
	buf_chr(j->out, kind);
	if (j->depth < JSON_DEPTH) {
		j->kind[j->depth] = kind;
		j->filled[j->depth] = false;
	}
	j->depth++;
}

void json_object(struct json *j, const char *key)
{
	open_value(j, key, '{');
}

void json_array(struct json *j, const char *key)
{
	open_value(j, key, '[');
}

void json_end(struct json *j)
{
	j->depth--;
	if (j->filled[j->depth])
		newline(j);
	buf_chr(j->out, j->kind[j->depth] == '{' ? '}' : ']');
	if (j->depth == 0 && j->indent)
		buf_chr(j->out, '\n');
}

void json_strn(struct json *j, const char *key, const char *value, size_t len)
{
	value_start(j, key);
	quoted(j->out, value, len);
}

void json_str(struct json *j, const char *key, const char *value)
{
	if (!value) {
		json_null(j, key);
		return;
	}
	json_strn(j, key, value, strlen(value));
}

void json_u64(struct json *j, const char *key, uint64_t value)
{
	value_start(j, key);
	buf_printf(j->out, "%llu", (unsigned long long)value);
}

void json_i64(struct json *j, const char *key, int64_t value)
{
	value_start(j, key);
	buf_printf(j->out, "%lld", (long long)value);
}

void json_f64(struct json *j, const char *key, double value)
{
	if (!isfinite(value)) {
		json_null(j, key);
		return;
	}
	value_start(j, key);
	buf_printf(j->out, "%.17g", value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	value_start(j, key);
	buf_str(j->out, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	value_start(j, key);
	buf_str(j->out, "null");
}

/* ---- in ---- */

struct parser {
	const char *start;
	const char *p;
	const char *end;
	int depth;
	struct tare_why *why;
};

static int fail(struct parser *ps, const char *expected)
{
	return why_set(ps->why, TARE_E_FORMAT, "JSON, byte %zu: expected %s",
		       (size_t)(ps->p - ps->start), expected);
}

static void skip_space(struct parser *ps)
{
	while (ps->p < ps->end && strchr(" \t\r\n", *ps->p) && *ps->p)
		ps->p++;
}

static bool eat(struct parser *ps, char c)
{
	skip_space(ps);
	if (ps->p >= ps->end || *ps->p != c)
		return false;
	ps->p++;
	return true;
}

static bool hex4(struct parser *ps, unsigned *out)
{
	unsigned v = 0;
	if (ps->end - ps->p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		const char c = *ps->p++;
		v <<= 4;
		if (c >= '0' && c <= '9')
			v |= (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v |= (unsigned)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			v |= (unsigned)(c - 'A' + 10);
		else
			return false;
	}
	*out = v;
	return true;
}

static char *put_utf8(char *o, unsigned c)
{
	if (c < 0x80) {
		*o++ = (char)c;
	} else if (c < 0x800) {
		*o++ = (char)(0xc0 | c >> 6);
		*o++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*o++ = (char)(0xe0 | c >> 12);
		*o++ = (char)(0x80 | (c >> 6 & 0x3f));
		*o++ = (char)(0x80 | (c & 0x3f));
	} else {
		*o++ = (char)(0xf0 | c >> 18);
		*o++ = (char)(0x80 | (c >> 12 & 0x3f));
		*o++ = (char)(0x80 | (c >> 6 & 0x3f));
		*o++ = (char)(0x80 | (c & 0x3f));
	}
	return o;
}

/* \uXXXX, with surrogate pairs; lone surrogates become U+FFFD. */
static bool unicode_escape(struct parser *ps, char **o)
{
	unsigned c, low;
	if (!hex4(ps, &c))
		return false;
	if (c >= 0xd800 && c <= 0xdbff && ps->end - ps->p >= 6 && ps->p[0] == '\\' &&
	    ps->p[1] == 'u') {
		ps->p += 2;
		if (!hex4(ps, &low))
			return false;
		if (low >= 0xdc00 && low <= 0xdfff)
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		else
			c = 0xfffd;
	} else if (c >= 0xd800 && c <= 0xdfff) {
		c = 0xfffd;
	}
	*o = put_utf8(*o, c);
	return true;
}

/* The opening quote was eaten. The decoded text is never longer than the source. */
static int parse_string(struct parser *ps, const char **text, size_t *len)
{
	const char *q = ps->p;
	while (q < ps->end && *q != '"')
		q += (*q == '\\' && q + 1 < ps->end) ? 2 : 1;
	if (q >= ps->end)
		return fail(ps, "closing quote");
	char *const out = malloc((size_t)(q - ps->p) + 1);
	if (!out)
		return why_set(ps->why, TARE_E_NOMEM, "JSON string");
	char *o = out;
	while (ps->p < q) {
		if (*ps->p != '\\') {
			*o++ = *ps->p++;
			continue;
		}
		ps->p++;
		const char e = *ps->p++;
		static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
		const char *const at = e ? strchr(from, e) : NULL;
		if (at) {
			*o++ = to[at - from];
		} else if (e != 'u' || !unicode_escape(ps, &o)) {
			free(out);
			return fail(ps, "a valid escape");
		}
	}
	*o = '\0';
	ps->p = q + 1;
	*text = out;
	*len = (size_t)(o - out);
	return 0;
}

static int parse_value(struct parser *ps, struct json_node **out);

static int parse_children(struct parser *ps, struct json_node *n, char close)
{
	struct json_node **tail = &n->first;
	if (eat(ps, close))
		return 0;
	do {
		const char *key = NULL;
		size_t key_len;
		if (close == '}') {
			if (!eat(ps, '"'))
				return fail(ps, "a member name");
			const int err = parse_string(ps, &key, &key_len);
			if (err)
				return err;
			if (!eat(ps, ':')) {
				free((void *)key);
				return fail(ps, "':'");
			}
		}
		const int err = parse_value(ps, tail);
		if (*tail)
			(*tail)->key = key;
		else
			free((void *)key);
		if (err)
			return err;
		tail = &(*tail)->next;
	} while (eat(ps, ','));
	if (!eat(ps, close))
		return fail(ps, close == '}' ? "',' or '}'" : "',' or ']'");
	return 0;
}

static int parse_number(struct parser *ps, struct json_node *n)
{
	const char *const start = ps->p;
	while (ps->p < ps->end && *ps->p && strchr("+-.0123456789eE", *ps->p))
		ps->p++;
	char *const text = strndup(start, (size_t)(ps->p - start));
	if (!text)
		return why_set(ps->why, TARE_E_NOMEM, "JSON number");
	char *rest;
	n->text = text;
	n->text_len = (size_t)(ps->p - start);
	n->type = JSON_NUMBER;
	clocale_strtod(text, &rest);
	if (!*text || *rest) {
		ps->p = start;
		return fail(ps, "a value");
	}
	return 0;
}

static bool literal(struct parser *ps, const char *word)
{
	const size_t n = strlen(word);
	if ((size_t)(ps->end - ps->p) < n || memcmp(ps->p, word, n) != 0)
		return false;
	ps->p += n;
	return true;
}

static int parse_value(struct parser *ps, struct json_node **out)
{
	struct json_node *const n = calloc(1, sizeof(*n));
	if (!n)
		return why_set(ps->why, TARE_E_NOMEM, "JSON value");
	*out = n;
	skip_space(ps);
	if (ps->p >= ps->end)
		return fail(ps, "a value");
	if (++ps->depth > JSON_DEPTH)
		return fail(ps, "less nesting");
	int err = 0;
	if (eat(ps, '{')) {
		n->type = JSON_OBJECT;
		err = parse_children(ps, n, '}');
	} else if (eat(ps, '[')) {
		n->type = JSON_ARRAY;
		err = parse_children(ps, n, ']');
	} else if (eat(ps, '"')) {
		n->type = JSON_STRING;
		err = parse_string(ps, &n->text, &n->text_len);
	} else if (literal(ps, "true")) {
		n->type = JSON_BOOL;
		n->truth = true;
	} else if (literal(ps, "false")) {
		n->type = JSON_BOOL;
	} else if (literal(ps, "null")) {
		n->type = JSON_NULL;
	} else {
		err = parse_number(ps, n);
	}
	ps->depth--;
	return err;
}

int json_parse(const char *text, size_t len, struct json_node **root, struct tare_why *why)
{
	struct parser ps = { text, text, text + len, 0, why };
	*root = NULL;
	int err = parse_value(&ps, root);
	if (!err) {
		skip_space(&ps);
		if (ps.p < ps.end)
			err = fail(&ps, "end of text");
	}
	if (err) {
		json_free(*root);
		*root = NULL;
	}
	return err;
}

void json_free(struct json_node *n)
{
	while (n) {
		struct json_node *const next = n->next;
		json_free(n->first);
		free((void *)n->key);
		free((void *)n->text);
		free(n);
		n = next;
	}
}

const struct json_node *json_get(const struct json_node *object, const char *key)
{
	if (!object || object->type != JSON_OBJECT)
		return NULL;
	for (const struct json_node *n = object->first; n; n = n->next)
		if (strcmp(n->key, key) == 0)
			return n;
	return NULL;
}

bool json_to_u64(const struct json_node *n, uint64_t *out)
{
	char *rest;
	if (!n || n->type != JSON_NUMBER || n->text[0] == '-')
		return false;
	errno = 0;
	*out = strtoull(n->text, &rest, 10);
	return errno == 0 && *rest == '\0';
}

bool json_to_f64(const struct json_node *n, double *out)
{
	if (!n || n->type != JSON_NUMBER)
		return false;
	*out = clocale_strtod(n->text, NULL);
	return true;
}
