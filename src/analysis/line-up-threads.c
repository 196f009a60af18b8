/* Which threads of the runs belong together, and in what order they are compared. */
#include "line-up.h"

#include "why.h"

#include <stdlib.h>

#define LANES_MOST 256u			/* threads compared at once; each takes 64 KiB a run */

/* The thread `ids[r]` of every run (a run without it gives no points). */
static int compare_thread(struct line_up *s, const uint32_t *ids)
{
	int err = 0;
	s->thread = ids[0];
	s->has_prev = false;
	for (size_t r = 0; r < s->n; r++) {
		const int opened = points_open(&s->feed[r], &s->st->run[r], ids[r]);
		err = err < 0 ? err : opened;
	}
	if (err == 0)
		err = line_up_rest(s);
	for (size_t r = 0; r < s->n; r++)
		points_close(&s->feed[r]);
	s->a->n_threads++;
	return err;
}

static int compare_ids(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* The timed threads of a run, without `skip` if that is done, ascending. */
static uint32_t *other_threads(const struct points_run *r, uint32_t skip, bool done, size_t *n)
{
	uint32_t *const ids = malloc((r->n_range + 1) * sizeof(*ids));
	*n = 0;
	for (uint32_t i = 0; ids && i < r->n_range; i++)
		if (!(done && r->threads.ids[i] == skip) && r->range[i].n_timed)
			ids[(*n)++] = r->threads.ids[i];
	if (ids)
		qsort(ids, *n, sizeof(*ids), compare_ids);
	return ids;
}

static const char *name_in(const struct line_up *s, size_t run, uint32_t id)
{
	const char *const name = thread_name(&s->a->runs[run]->info, id);
	return name ? name : "";
}

/* The threads of a run that are still to be compared, ascending. */
struct rest {
	uint32_t *ids;
	bool *taken;
	size_t n, next;		/* none before `next` is left */
};

static int rest_of(struct line_up *s, size_t run, uint32_t skip, bool done, struct rest *rest)
{
	rest->ids = other_threads(&s->st->run[run], skip, done, &rest->n);
	rest->taken = calloc(rest->n + 1, sizeof(*rest->taken));
	return rest->ids && rest->taken ? 0 : line_up_no_memory(s);
}

static uint32_t take(struct rest *rest, size_t i)
{
	rest->taken[i] = true;
	while (rest->next < rest->n && rest->taken[rest->next])
		rest->next++;
	return rest->ids[i];
}

/* Where the id is, or rest->n. */
static size_t place_of(const struct rest *rest, uint32_t id)
{
	const uint32_t *const at = bsearch(&id, rest->ids, rest->n, sizeof(id), compare_ids);
	return at && !rest->taken[at - rest->ids] ? (size_t)(at - rest->ids) : rest->n;
}

/* The partner of thread `id` of the first run among those of another: of the same name
 * and id, of the same name, of the same id, or else the next one. A number no thread
 * has: none is left. */
static uint32_t partner(const struct line_up *s, size_t run, uint32_t id, struct rest *rest)
{
	const char *const name = name_in(s, 0, id);
	const size_t same = place_of(rest, id);
	if (rest->next == rest->n)
		return UINT32_MAX;
	if (same < rest->n && strcmp(name_in(s, run, id), name) == 0)
		return take(rest, same);
	for (size_t i = rest->next; *name && i < rest->n; i++)
		if (!rest->taken[i] && strcmp(name_in(s, run, rest->ids[i]), name) == 0)
			return take(rest, i);
	return take(rest, same < rest->n ? same : rest->next);
}

/* The threads of the first run with their partners, then those that only others have. */
static int compare_rest(struct line_up *s, struct rest *rest, uint32_t *ids)
{
	int err = 0;
	for (size_t i = 0; err == 0 && i < rest[0].n; i++) {
		ids[0] = rest[0].ids[i];
		for (size_t r = 1; r < s->n; r++)
			ids[r] = partner(s, r, ids[0], &rest[r]);
		err = compare_thread(s, ids);
	}
	for (size_t r = 1; err == 0 && r < s->n; r++)
		while (err == 0 && rest[r].next < rest[r].n) {
			for (size_t k = 0; k < s->n; k++)
				ids[k] = UINT32_MAX;
			ids[r] = take(&rest[r], rest[r].next);
			err = compare_thread(s, ids);
		}
	return err;
}

int line_up_threads(struct line_up *s)
{
	uint32_t *const ids = calloc(s->n, sizeof(*ids));
	struct rest *const rest = calloc(s->n, sizeof(*rest));
	bool any = false, same = true;
	s->feed = calloc(s->n, sizeof(*s->feed));
	s->prev = calloc(s->n, sizeof(*s->prev));
	int err = ids && rest && s->feed && s->prev ? 0 : line_up_no_memory(s);
	for (size_t r = 0; err == 0 && r < s->n; r++) {
		any |= points_last_thread(&s->st->run[r], &ids[r]);
		same &= ids[r] == ids[0] &&
			strcmp(name_in(s, r, ids[r]), name_in(s, 0, ids[0])) == 0;
	}
	/* When all runs end in the same thread, the walk over it finds the others. */
	if (err == 0 && any && same)
		err = compare_thread(s, ids);
	for (size_t r = 0; err == 0 && r < s->n; r++) {
		if (!points_scan(&s->st->run[r]))
			err = s->st->run[r].err;
		if (err == 0)
			err = rest_of(s, r, ids[0], same, &rest[r]);
		if (err == 0 && s->o->identical && rest[r].n + same > 1)
			err = why_set(s->why, TARE_E_MISMATCH, "%.120s has more than one thread, and "
				      "one is required",
				      s->a->runs[r]->info.path);
	}
	if (err == 0)
		err = compare_rest(s, rest, ids);
	for (size_t r = 0; rest && r < s->n; r++) {
		free(rest[r].ids);
		free(rest[r].taken);
	}
	free(ids);
	free(rest);
	free(s->feed);
	free(s->prev);
	s->feed = NULL;
	s->prev = NULL;
	return err;
}


/* All threads at once, as long as thread N of one run is thread N of the others, and runs
 * about when it does in them: then each file is read once, from its end to its start, and the
 * points of a thread wait only for those of the other runs. */
struct lane {
	uint32_t thread;
	bool has_prev;
	struct points *feed;		/* per run */
	struct point *prev;
};

struct lanes {
	struct line_up *s;
	struct lane *lane[LANES_MOST];
	size_t n;
	bool too_many;
};

#define FEED_RECORDS 2048u		/* of each run in turn */

static void free_lane(struct lane *l, size_t n)
{
	for (size_t r = 0; l->feed && r < n; r++)
		if (l->feed[r].run)
			points_close(&l->feed[r]);
	free(l->feed);
	free(l->prev);
	free(l);
}

/* A run has come upon another thread. */
static bool new_lane(void *arg, uint32_t thread)
{
	struct lanes *const all = arg;
	struct line_up *const s = all->s;
	if (all->n == LANES_MOST) {
		all->too_many = true;
		return false;
	}
	struct lane *const l = calloc(1, sizeof(*l));
	if (!l)
		return false;
	all->lane[all->n++] = l;
	l->thread = thread;
	l->feed = calloc(s->n, sizeof(*l->feed));
	l->prev = calloc(s->n, sizeof(*l->prev));
	int err = l->feed && l->prev ? 0 : line_up_no_memory(s);
	for (size_t r = 0; err == 0 && r < s->n; r++)
		err = points_join(&l->feed[r], &s->st->run[r], thread);
	return err == 0;
}

static int in_lane(struct line_up *s, struct lane *l, int (*compare)(struct line_up *))
{
	s->thread = l->thread;
	s->feed = l->feed;
	s->prev = l->prev;
	s->has_prev = l->has_prev;
	const int err = compare(s);
	l->has_prev = s->has_prev;
	return err;
}

static int feed_run(struct points_run *r)
{
	for (size_t i = 0; i < FEED_RECORDS && !r->ended; i += 256)
		if (!points_feed(r))
			return r->err;
	return points_waiting(r) > POINTS_WAITING_MOST ? POINTS_TOO_MANY : 0;
}

static int feed_all(struct lanes *all, bool *ended)
{
	struct line_up *const s = all->s;
	*ended = true;
	for (size_t r = 0; r < s->n; r++) {
		struct points_run *const run = &s->st->run[r];
		const int err = run->ended ? 0 : feed_run(run);
		if (err < 0)
			return err;
		*ended &= run->ended;
	}
	return 0;
}

/* Is every thread in all runs, by the same name? */
static bool partners_alike(const struct lanes *all)
{
	const struct line_up *const s = all->s;
	for (size_t i = 0; i < all->n; i++)
		for (size_t r = 0; r < s->n; r++)
			if (!all->lane[i]->feed[r].any ||
			    strcmp(name_in(s, r, all->lane[i]->thread),
				   name_in(s, 0, all->lane[i]->thread)) != 0)
				return false;
	return true;
}

static int compare_lanes(struct lanes *all)
{
	struct line_up *const s = all->s;
	bool ended = false;
	int err = 0;
	while (err == 0 && !ended) {
		err = feed_all(all, &ended);
		for (size_t i = 0; err == 0 && i < all->n; i++)
			err = in_lane(s, all->lane[i], line_up_blocks);
	}
	if (err == 0 && !partners_alike(all))
		return POINTS_TOO_MANY;
	for (size_t i = 0; err == 0 && i < all->n; i++)
		err = in_lane(s, all->lane[i], line_up_rest);
	s->a->n_threads = all->n;
	return err;
}

int line_up_together(struct line_up *s)
{
	struct lanes *const all = calloc(1, sizeof(*all));
	if (!all)
		return line_up_no_memory(s);
	all->s = s;
	for (size_t r = 0; r < s->n; r++)
		points_share(&s->st->run[r], new_lane, all);
	int err = compare_lanes(all);
	if (all->too_many)
		err = POINTS_TOO_MANY;
	for (size_t i = 0; i < all->n; i++)
		free_lane(all->lane[i], s->n);
	free(all);
	s->feed = NULL;
	s->prev = NULL;
	return err == POINTS_TOO_MANY ? 1 : err;
}
