/* JSON out and in.
 *
 * Writing appends to a buf; commas and nesting are kept here, so that output is
 * valid by construction:
 *
 *	struct json j = { .out = &b, .indent = true };
 *	json_object(&j, NULL);
 *	json_str(&j, "schema", "tare.stat/1");
 *	json_array(&j, "runs");
 *	json_u64(&j, NULL, 42);
 *	json_end(&j);
 *	json_end(&j);
 *
 * Strings are taken as UTF-8; bytes that are not become U+FFFD, so the result
 * is always valid JSON.
 *
 * Reading builds a tree from text (tools, never the fast path). Numbers keep
 * their text, so 64-bit integers survive.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "buf.h"

#include <tare/err.h>

#define JSON_DEPTH 64

struct json {
	struct buf *out;
	bool indent;
	int depth;
	char kind[JSON_DEPTH];	/* '{' or '[' */
	bool filled[JSON_DEPTH];
};

void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j);
void json_str(struct json *j, const char *key, const char *value);	/* NULL: null */
void json_strn(struct json *j, const char *key, const char *value, size_t len);
void json_u64(struct json *j, const char *key, uint64_t value);
void json_i64(struct json *j, const char *key, int64_t value);
void json_f64(struct json *j, const char *key, double value);	/* NaN, inf: null */
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_node {
	enum json_type type;
	bool truth;			/* JSON_BOOL */
	const char *text;		/* JSON_STRING (decoded), JSON_NUMBER (as written) */
	size_t text_len;
	const char *key;		/* member name, when inside an object */
	struct json_node *first;	/* children, in order */
	struct json_node *next;
};

/* Parses exactly one value. On success *root owns everything; json_free(root).
 * TARE_E_FORMAT names the byte offset and what was expected. */
int json_parse(const char *text, size_t len, struct json_node **root, struct tare_why *why);
void json_free(struct json_node *root);
const struct json_node *json_get(const struct json_node *object, const char *key);
bool json_to_u64(const struct json_node *n, uint64_t *out);
bool json_to_f64(const struct json_node *n, double *out);

#endif
