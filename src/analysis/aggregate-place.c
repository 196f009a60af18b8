/* Where a sample interval lies, in words: the events at its two ends, and the event around. */
#include "aggregate.h"

#include "why.h"

#include <stdlib.h>

static enum point_type type_of(uint64_t record)
{
	return (enum point_type)(record & 3);
}

static enum tare_place_kind kind_of(const struct tare_extreme *x)
{
	const bool starts = type_of(x->from) == POINT_START, ends = type_of(x->to) == POINT_END;
	return starts && ends ? TARE_PLACE_EVENT : starts ? TARE_PLACE_BEFORE
	       : ends ? TARE_PLACE_AFTER : TARE_PLACE_BETWEEN;
}

/* The description of a record, behind the texts so far; *at: where it starts. */
static int describe(struct tare_profile *p, uint64_t record, struct buf *texts, size_t *at,
		    struct tare_why *why)
{
	*at = texts->len;
	const int err = points_describe(p, record, texts, why);
	buf_add(texts, "", 1);
	return err;
}

int tare_aggregate_place(const struct tare_aggregate *a, const struct tare_extreme *x,
			 struct tare_place **out, struct tare_why *why)
{
	struct buf texts = { 0 };
	size_t from, to, inside = 0;
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the description");
	*out = NULL;
	if (!a || !x)
		return why_set(why, TARE_E_INVALID, "no aggregate, or no extreme given");
	struct tare_profile *const p = a->runs[0];
	int err = describe(p, x->from >> 2, &texts, &from, why);
	if (err == 0)
		err = describe(p, x->to >> 2, &texts, &to, why);
	if (err == 0 && x->parent != NO_RECORD)
		err = describe(p, x->parent, &texts, &inside, why);
	struct tare_place *const place = malloc(sizeof(*place) + texts.len);
	if (err == 0 && (!place || buf_failed(&texts)))
		err = why_set(why, TARE_E_NOMEM, "%.120s: names", p->info.path);
	if (err < 0) {
		free(place);
	} else {
		char *const copy = memcpy(place + 1, texts.data, texts.len);
		*place = (struct tare_place){ kind_of(x), copy + from, copy + to,
					      inside ? copy + inside : NULL };
		*out = place;
	}
	buf_free(&texts);
	return err;
}

void tare_place_free(struct tare_place *place)
{
	free(place);
}
