/* Any bytes are JSON: read, or refused with a reason. What was read and is written again is valid;
 * read and written once more it is the same text. (The first time, bytes that are not UTF-8 and
 * numbers that are too large change.)
 */
#include "json.h"

#include <stdlib.h>
#include <string.h>

static void write_node(struct json *j, const struct json_node *n)
{
	uint64_t u;
	double d;
	switch (n->type) {
	case JSON_NULL: json_null(j, n->key); return;
	case JSON_BOOL: json_bool(j, n->key, n->truth); return;
	case JSON_STRING: json_strn(j, n->key, n->text, n->text_len); return;
	case JSON_NUMBER:
		if (json_to_u64(n, &u))
			json_u64(j, n->key, u);
		else if (json_to_f64(n, &d))
			json_f64(j, n->key, d);
		else
			json_null(j, n->key);
		return;
	case JSON_ARRAY: json_array(j, n->key); break;
	case JSON_OBJECT: json_object(j, n->key); break;
	}
	for (const struct json_node *c = n->first; c; c = c->next)
		write_node(j, c);
	json_end(j);
}

static void write_tree(const struct json_node *root, bool indent, struct buf *out)
{
	struct json j = { .out = out, .indent = indent };
	write_node(&j, root);
}

static unsigned depth(const struct json_node *n)
{
	unsigned most = 0;
	for (const struct json_node *c = n->first; c; c = c->next) {
		const unsigned d = depth(c);
		most = d > most ? d : most;
	}
	return most + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct json_node *root, *again;
	struct tare_why why = { 0 };
	const int err = json_parse((const char *)bytes, size, &root, &why);
	if (err < 0) {
		if (!why.what[0])
			abort();
		return 0;
	}
	if (depth(root) < JSON_DEPTH) {
		struct buf once = { 0 }, twice = { 0 };
		write_tree(root, size & 1, &once);
		if (json_parse(once.data, once.len, &again, &why) < 0)
			abort();
		write_tree(again, size & 1, &twice);
		if (once.len != twice.len || memcmp(once.data, twice.data, once.len))
			abort();
		json_free(again);
		buf_free(&once);
		buf_free(&twice);
	}
	json_free(root);
	return 0;
}
