/* The plain writer of tare/profile.h: one thread, events in the order given. */
#include "pagefile.h"

#include "options-copy.h"
#include "why.h"

#include <fcntl.h>
#include <stdlib.h>

#define PAGE_RECORDS (MM_PAGE_MAX / 32)

struct tare_profile_writer {
	struct pagefile *file;
	uint8_t *page;			/* header room, then records */
	size_t n;
	uint64_t dropped;
	struct tare_profile_thread *threads;
	size_t n_threads;
};

int tare_profile_create(const char *path, const struct tare_profile_create_options *meta,
			struct tare_profile_writer **out, struct tare_why *why)
{
	struct tare_profile_create_options own;
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the writer");
	*out = NULL;
	if (!path)
		return why_set(why, TARE_E_INVALID, "no path given");
	int err = options_copy(&own, sizeof(own), meta, "tare_profile_create_options", why);
	if (err < 0)
		return err;
	struct tare_profile_writer *const w = calloc(1, sizeof(*w));
	uint8_t *const page = malloc(MM_PAGE_HEADER_SIZE + MM_PAGE_MAX);
	if (!w || !page) {
		free(w);
		free(page);
		return why_set(why, TARE_E_NOMEM, "%.200s", path);
	}
	w->page = page;
	err = pagefile_open(path, O_TRUNC, &own, &w->file, why);
	if (err < 0) {
		free(page);
		free(w);
		return err;
	}
	*out = w;
	return 0;
}

uint64_t tare_profile_string(struct tare_profile_writer *w, const char *text, size_t len)
{
	if (!w || !text)
		return 0;
	const struct pagefile_part part = { .text = text, .len = len };
	return pagefile_string(w->file, &part, 1);
}

uint64_t tare_profile_event_id(struct tare_profile_writer *w, uint64_t label,
			       const uint64_t *args, size_t n_args)
{
	static const char separator[] = { MM_SEPARATOR };
	struct pagefile_part parts[64] = { { .id = label } };
	if (!w || n_args > 31 || (n_args && !args))
		return 0;
	for (size_t i = 0; i < n_args; i++) {
		parts[1 + 2 * i] = (struct pagefile_part){ .text = separator, .len = 1 };
		parts[2 + 2 * i] = (struct pagefile_part){ .id = args[i] };
	}
	return pagefile_string(w->file, parts, 1 + 2 * n_args);
}

static int flush(struct tare_profile_writer *w)
{
	const int err = w->n ? pagefile_events(w->file, w->page, w->n) : 0;
	if (err < 0)
		w->dropped += w->n;
	w->n = 0;
	return err;
}

int tare_profile_put(struct tare_profile_writer *w, const struct tare_profile_event *e)
{
	if (!w || !e)
		return TARE_E_INVALID;
	struct mm_event m = { .kind = e->kind, .id = e->id, .thread = e->thread, .p1 = e->start };
	switch (e->type) {
	case TARE_PROFILE_INSTANT:
		m.p2 = MM_INSTANT;
		break;
	case TARE_PROFILE_INTEGER:
		m.p2 = MM_INTEGER;
		break;
	default:
		m.p2 = e->end;
		if (e->end < e->start || e->end > MM_VALUE_MAX)
			return TARE_E_RANGE;
	}
	if (m.p1 > MM_INSTANT)
		return TARE_E_RANGE;
	mm_encode(w->page + MM_PAGE_HEADER_SIZE + 32 * w->n++, &m);
	return w->n == PAGE_RECORDS ? flush(w) : pagefile_error(w->file);
}

void tare_profile_name_thread(struct tare_profile_writer *w, uint32_t id, const char *name)
{
	if (!w || !name)
		return;
	struct tare_profile_thread *const grown =
		realloc(w->threads, (w->n_threads + 1) * sizeof(*grown));
	char *const copy = strdup(name);
	if (grown)
		w->threads = grown;
	if (!grown || !copy) {
		free(copy);
		return;
	}
	w->threads[w->n_threads++] = (struct tare_profile_thread){ .id = id, .name = copy };
}

int tare_profile_finish(struct tare_profile_writer *w, struct tare_why *why)
{
	if (!w)
		return 0;
	flush(w);
	const struct pagefile_closing closing = {
		.dropped = w->dropped, .threads = w->threads, .n_threads = w->n_threads,
	};
	const int err = pagefile_close(w->file, &closing, why);
	for (size_t i = 0; i < w->n_threads; i++)
		free((char *)w->threads[i].name);
	free(w->threads);
	free(w->page);
	free(w);
	return err;
}
