/* The call tree.
 *
 * Where there are more stacks than may be in memory, the nodes there are go
 * into a run of sorted ones in a temporary file, and those that are not open are
 * forgotten: at the end, the runs merged are the tree.
 *
 * Where a caller needs only the stacks with some share of the whole, and there are
 * more than fit, those with the smallest totals are forgotten on
 * the way. That is lossy counting (Manku and Motwani): what was forgotten had at
 * most `may_miss`, so a node that is made later may lack that much, and whoever
 * could have the share is still there at the end. A second walk over the file then
 * counts those that stayed, exactly.
 */
#include "stacks.h"

#include "large.h"
#include "options-copy.h"
#include "why.h"

#include <stdlib.h>

#define LEVELS_MOST 65536u		/* of a tree: a path has all names above it */
#define NODES_POSSIBLE (1u << 30)
#define PENDING NODES_POSSIBLE		/* + its place in the batch: a node not looked up yet */
#define UNLISTED (NO_NAME - 1)		/* a stack without a node */
#define BATCH 256u			/* records */

struct frame {
	uint64_t start, end;
	uint32_t node;			/* or PENDING + its place in the batch under way */
	uint32_t hash;			/* of the path */
};

struct thread {
	struct frame *stack;
	uint32_t depth, cap;
	uint64_t start, end;		/* end: of the last interval in the file */
	uint32_t root, root_hash;	/* its node */
	bool any;
};

/* An interval of the batch under way. */
struct item {
	uint64_t start, end;
	uint32_t thread, name;
	uint32_t parent;		/* as in struct frame */
	uint32_t hash;			/* of the path */
	uint32_t node;
};

struct pass {
	struct tare_profile *p;
	struct tare_stacks *t;
	const struct tare_stacks_options *o;
	struct resolver *labels;
	struct threads threads;
	struct thread *thread;
	uint32_t n_thread, cap_thread;
	uint64_t overlaps, backwards;
	uint32_t most;			/* nodes before some leave; 0: any number */
	bool recount;			/* the second walk: no new nodes */
	int err;			/* of a temporary file */
	struct tare_why *why;
};

/* The hash of a path from that of the path around it. It does not need the node of the path
 * around it, so it is known before that node is looked up. */
static uint32_t path_hash(uint32_t around, uint32_t name)
{
	const uint64_t h = ((uint64_t)around << 32 | name) * 0x9E3779B97F4A7C15ull;
	return (uint32_t)(((h ^ h >> 32) * 0xD6E8FEB86659FD93ull) >> 32);
}

static uint64_t slot_of(uint32_t hash, uint32_t node)
{
	return (uint64_t)hash << 32 | (node + 1);
}

/* The node is not there: the first free slot is its own. */
static void put_slot(uint64_t *slots, uint32_t n_slots, unsigned shift, uint64_t slot)
{
	uint32_t s = (uint32_t)(slot >> 32) >> shift;
	while (slots[s])
		s = (s + 1) & (n_slots - 1);
	slots[s] = slot;
}

/* Slots are in the order of their hashes, so twice as many are filled from the first to the
 * last, as they are read. */
static bool grow_slots(struct tare_stacks *t)
{
	const uint32_t n = t->n_slots ? 2 * t->n_slots : 1024;
	const unsigned shift = t->n_slots ? t->shift - 1 : 22;
	uint64_t *const slots = large_grow(NULL, 0, n * sizeof(*slots));
	if (!slots)
		return false;
	large_fill(slots, n * sizeof(*slots));
	for (uint32_t i = 0; i < t->n_slots; i++)
		if (t->slots[i])
			put_slot(slots, n, shift, t->slots[i]);
	large_free(t->slots, t->n_slots * sizeof(*slots));
	t->slots = slots;
	t->n_slots = n;
	t->shift = shift;
	return true;
}

static bool grow_nodes(struct tare_stacks *t, bool lossy)
{
	const uint32_t cap = t->cap ? 2 * t->cap : 512;
	uint64_t *const missed = lossy ? realloc(t->missed, cap * sizeof(*missed)) : NULL;
	if (lossy && !missed)
		return false;
	t->missed = missed;
	struct stack_node *const nodes = large_grow(t->nodes, t->cap * sizeof(*nodes),
						    cap * sizeof(*nodes));
	if (!nodes)
		return false;
	t->nodes = nodes;
	t->cap = cap;
	return true;
}

/* Nodes are written from the first to the last: some more of them get their memory at once. */
static void fill_nodes(struct tare_stacks *t)
{
	enum { AT_ONCE = 1 << 15 };
	const uint32_t left = t->cap - t->n, n = left < AT_ONCE ? left : AT_ONCE;
	large_fill_part(t->nodes, t->cap * sizeof(*t->nodes), t->n * sizeof(*t->nodes),
			n * sizeof(*t->nodes));
	t->filled = t->n + n;
}

/* Room for one node more. Above NODES_POSSIBLE are the numbers that mean something else. */
static bool reserve_node(struct tare_stacks *t)
{
	if (t->n == t->cap && (t->cap >= NODES_POSSIBLE || !grow_nodes(t, t->missed)))
		return false;
	if (t->n >= t->filled)
		fill_nodes(t);
	return t->n_hashed < t->n_slots / 4 * 3 || grow_slots(t);
}

/* Where the node is, or an empty slot. Nodes with another hash are not looked at: most stacks
 * are new, and each look would miss the cache. */
static uint32_t find(const struct tare_stacks *t, uint32_t parent, uint32_t name, uint32_t hash)
{
	uint32_t s = hash >> t->shift;
	for (; t->slots[s]; s = (s + 1) & (t->n_slots - 1)) {
		if ((uint32_t)(t->slots[s] >> 32) != hash)
			continue;
		const struct stack_node *const n = &t->nodes[(uint32_t)t->slots[s] - 1];
		if (n->parent == parent && n->name == name)
			break;
	}
	return s;
}

/* find() soon reads this slot, and often one of the next eight. */
static inline void fetch_slot(const struct tare_stacks *t, uint32_t hash)
{
	const uintptr_t slot = (uintptr_t)&t->slots[hash >> t->shift];
	__builtin_prefetch((const void *)slot);
	__builtin_prefetch((const void *)(slot + 64));
}

/* The node of a path that is there, or NO_NAME; *n_list: how many nodes the list has that it would
 * be in. */
static inline uint32_t find_child(const struct tare_stacks *t, uint32_t parent, uint32_t name,
				  uint32_t hash, uint32_t *n_list)
{
	*n_list = 0;
	for (uint32_t i = t->nodes[parent].inside; i; i = t->nodes[i].next, ++*n_list)
		if (t->nodes[i].name == name)
			return i;
	return *n_list < STACK_LIST_MOST ? NO_NAME : (uint32_t)t->slots[find(t, parent, name, hash)] - 1;
}

/* The node can be found from now on; its parent's list has `n_list`. */
static inline void link_node(struct tare_stacks *t, uint32_t node, uint32_t hash, uint32_t n_list)
{
	struct stack_node *const n = &t->nodes[node];
	if (n_list < STACK_LIST_MOST) {
		n->next = t->nodes[n->parent].inside;
		t->nodes[n->parent].inside = node;
		return;
	}
	put_slot(t->slots, t->n_slots, t->shift, slot_of(hash, node));
	t->n_hashed++;
}

/* NO_NAME: out of memory. */
static uint32_t child(struct tare_stacks *t, uint32_t parent, uint32_t name, uint32_t hash)
{
	uint32_t n_list;
	const uint32_t known = find_child(t, parent, name, hash, &n_list);
	if (known != NO_NAME)
		return known;
	if (!reserve_node(t))
		return NO_NAME;
	t->nodes[t->n] = (struct stack_node){ .parent = parent, .name = name };
	if (t->missed)
		t->missed[t->n] = t->may_miss;
	link_node(t, t->n, hash, n_list);
	return t->n++;
}

static bool thread_root(struct pass *s, uint32_t id, struct thread *t)
{
	if (!s->o->by_thread)
		return true;
	const char *const name = thread_name(&s->p->info, id);
	struct buf b = { 0 };
	buf_printf(&b, name ? "thread %u (%s)" : "thread %u", id, name);
	const uint32_t n = buf_failed(&b) ? NO_NAME : names_add(&s->t->names, b.data, b.len);
	buf_free(&b);
	if (n == NO_NAME)
		return false;
	t->root_hash = path_hash(0, n);
	t->root = child(s->t, 0, n, t->root_hash);
	return t->root != NO_NAME;
}

static struct thread *thread_of(struct pass *s, uint32_t id)
{
	const uint32_t i = threads_index(&s->threads, id);
	if (i == UINT32_MAX)
		return NULL;
	if (i < s->n_thread)
		return &s->thread[i];
	if (i >= s->cap_thread) {
		const uint32_t cap = 2 * i + 16;
		struct thread *const grown = realloc(s->thread, cap * sizeof(*grown));
		if (!grown)
			return NULL;
		s->thread = grown;
		s->cap_thread = cap;
	}
	s->n_thread = i + 1;
	s->thread[i] = (struct thread){ 0 };
	return thread_root(s, id, &s->thread[i]) ? &s->thread[i] : NULL;
}

static inline bool push(struct thread *t, const struct frame *f)
{
	if (t->depth == t->cap) {
		const uint32_t cap = t->cap ? 2 * t->cap : STACK_FIRST;
		if (t->depth > LEVELS_MOST)
			return false;
		struct frame *const stack = realloc(t->stack, cap * sizeof(*stack));
		if (!stack)
			return false;
		t->stack = stack;
		t->cap = cap;
	}
	t->stack[t->depth++] = *f;
	return true;
}

static uint64_t could_be(const struct tare_stacks *t, uint32_t node)
{
	return t->nodes[node].total + (t->missed ? t->missed[node] : 0);
}

/* The bound that half of the nodes do not exceed, or a little more. */
static uint64_t lower_half(const struct tare_stacks *t)
{
	uint32_t n[4 * 64] = { 0 };
	for (uint32_t i = 1; i < t->n; i++) {
		const uint64_t v = could_be(t, i) | 4;
		const unsigned top = 63u - (unsigned)__builtin_clzll(v);
		n[4 * top + (v >> (top - 2) & 3)]++;
	}
	uint32_t sum = 0;
	unsigned b = 0;
	for (; b < 4 * 63 && sum + n[b] < t->n / 2; b++)
		sum += n[b];
	return ((uint64_t)(b % 4 + 5) << (b / 4 - 2)) - 1;
}

/* Stacks that are open, and the roots of threads, have to stay. */
static void mark_open(const struct pass *s, uint8_t *keep)
{
	for (uint32_t i = 0; i < s->n_thread; i++) {
		const struct thread *const t = &s->thread[i];
		keep[t->root] = 1;
		for (uint32_t d = 0; d < t->depth; d++)
			keep[t->stack[d].node] = 1;
	}
}

/* Closes the gaps; a parent stays before its children. */
static void close_gaps(struct tare_stacks *t, const uint8_t *keep, uint32_t *moved)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		if (!keep[i])
			continue;
		moved[i] = n;
		t->nodes[n] = t->nodes[i];
		t->nodes[n].parent = moved[t->nodes[i].parent];
		if (t->missed)
			t->missed[n] = t->missed[i];
		n++;
	}
	t->n = n;
}

static uint32_t list_length(const struct tare_stacks *t, uint32_t parent)
{
	uint32_t n = 0;
	for (uint32_t i = t->nodes[parent].inside; i; i = t->nodes[i].next)
		n++;
	return n;
}

/* All nodes can be found again. `hash`: room for that of each. */
static void link_all(struct tare_stacks *t, uint32_t *hash)
{
	memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
	t->n_hashed = 0;
	t->nodes[0].inside = 0;
	hash[0] = 0;
	for (uint32_t i = 1; i < t->n; i++) {
		const uint32_t parent = t->nodes[i].parent;
		t->nodes[i].inside = t->nodes[i].next = 0;
		hash[i] = path_hash(hash[parent], t->nodes[i].name);
		link_node(t, i, hash[i], list_length(t, parent));
	}
}

static void compact(struct pass *s, const uint8_t *keep, uint32_t *moved)
{
	close_gaps(s->t, keep, moved);
	for (uint32_t i = 0; i < s->n_thread; i++) {
		struct thread *const th = &s->thread[i];
		th->root = moved[th->root];
		for (uint32_t d = 0; d < th->depth; d++)
			th->stack[d].node = moved[th->stack[d].node];
	}
	link_all(s->t, moved);
}

/* Forgets nodes that cannot have more than `bound`. */
static bool forget(struct pass *s, uint64_t bound)
{
	struct tare_stacks *const t = s->t;
	uint8_t *const keep = calloc(t->n, 1);
	uint32_t *const moved = malloc(t->n * sizeof(*moved));
	if (keep && moved) {
		keep[0] = 1;
		mark_open(s, keep);
		for (uint32_t i = t->n; i-- > 1;) {
			keep[i] |= could_be(t, i) > bound;
			keep[t->nodes[i].parent] |= keep[i];
		}
		compact(s, keep, moved);
		if (bound > t->may_miss)
			t->may_miss = bound;
	}
	const bool ok = keep && moved;
	free(keep);
	free(moved);
	return ok;
}

static int write_node(void *arg, uint32_t node, uint32_t depth, const struct buf *key)
{
	const struct pass *const s = arg;
	const struct stack_node *const n = &s->t->nodes[node];
	(void)depth;
	if (node && !n->count && !n->self)	/* only around others */
		return 0;
	return sorted_runs_add(s->t->runs, &(struct run_item){
		.key = key->data ? key->data : "", .len = key->len,
		.v = { (int64_t)n->total, n->self, (int64_t)n->count } }, s->why);
}

/* What there is becomes a run. */
static int write_run(struct pass *s)
{
	struct tare_stacks *const t = s->t;
	int err = t->runs ? 0 : sorted_runs_new(&t->runs, s->why);
	if (err == 0)
		err = stacks_walk(t, STACKS_BY_NAME, write_node, s);
	if (err == 0)
		err = sorted_runs_end(t->runs, s->why);
	if (err == TARE_E_NOMEM)
		why_set(s->why, TARE_E_NOMEM, "%.120s: stacks", s->p->path);
	return err;
}

static int move_out(struct pass *s)
{
	const int err = write_run(s);
	if (err < 0)
		return err;
	for (uint32_t i = 0; i < s->t->n; i++) {
		struct stack_node *const n = &s->t->nodes[i];
		n->total = n->count = 0;
		n->self = 0;
	}
	return forget(s, 0) ? 0 : TARE_E_NOMEM;
}

static bool make_room(struct pass *s)
{
	if (s->o->least > 0) {
		if (!forget(s, lower_half(s->t)))
			return false;
	} else {
		s->err = move_out(s);
		if (s->err < 0)
			return false;
	}
	if (s->t->n > s->most / 4 * 3)		/* deep stacks, all of them open */
		s->most *= 2;
	return true;
}

/* The node of a path: made, or in the second walk only found. */
static uint32_t enter(struct pass *s, uint32_t parent, const struct item *e)
{
	if (!s->recount)
		return child(s->t, parent, e->name, e->hash);
	uint32_t n_list;
	const uint32_t node = parent == UNLISTED ? NO_NAME
			      : find_child(s->t, parent, e->name, e->hash, &n_list);
	if (node != NO_NAME)
		return node;
	s->t->left_out++;
	return UNLISTED;
}

/* Intervals of one thread: what is around each, and the hash of its path. */
static bool nest(struct pass *s, struct thread *t, struct item *item, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct item *const e = &item[i];
		if (!t->any) {
			t->start = e->start;
			t->end = e->end;
			t->any = true;
		}
		if (e->start < t->start)
			t->start = e->start;
		while (t->depth) {
			const struct frame *const top = &t->stack[t->depth - 1];
			if ((top->start <= e->start) & (e->end <= top->end))
				break;
			s->overlaps += e->end > top->start;
			t->depth--;
		}
		const struct frame *const around = t->depth ? &t->stack[t->depth - 1] : NULL;
		e->parent = around ? around->node : t->root;
		e->hash = path_hash(around ? around->hash : t->root_hash, e->name);
		fetch_slot(s->t, e->hash);
		if (e->start == e->end && !s->o->nest_empty)
			continue;		/* nothing is inside */
		if (!push(t, &(struct frame){ e->start, e->end, PENDING + i, e->hash }))
			return false;
	}
	return true;
}

static uint32_t node_of(const struct item *item, uint32_t node)
{
	return node - PENDING < BATCH ? item[node - PENDING].node : node;
}

/* Their nodes. */
static bool count(struct pass *s, struct item *item, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct item *const e = &item[i];
		const uint64_t d = e->end - e->start;
		const uint32_t parent = node_of(item, e->parent);
		if (parent != UNLISTED)
			s->t->nodes[parent].self -= (int64_t)d;
		e->node = enter(s, parent, e);
		if (e->node == NO_NAME)
			return false;
		if (e->node == UNLISTED)
			continue;
		struct stack_node *const node = &s->t->nodes[e->node];
		node->self += (int64_t)d;
		node->total += d;
		node->count++;
	}
	return true;
}

/* Intervals of one thread. A look-up misses the cache and waits for that of the node around it,
 * so for all of them first the hashes are found, and the slots fetched. */
static bool intervals(struct pass *s, struct item *item, uint32_t n)
{
	struct thread *const t = thread_of(s, item->thread);
	if (!t || !nest(s, t, item, n) || !count(s, item, n))
		return false;
	for (uint32_t d = t->depth; d && t->stack[d - 1].node - PENDING < BATCH; d--)
		t->stack[d - 1].node = node_of(item, t->stack[d - 1].node);
	return true;
}

/* Up to BATCH records from the last on; their intervals with their names looked up. False: the
 * resolver says why. */
static bool look_up(struct pass *s, const uint8_t *records, size_t n_records, struct item *item,
		    uint32_t *n)
{
	*n = 0;
	for (size_t i = n_records; i-- > 0;) {
		struct mm_event e;
		mm_decode(records + i * s->p->record_size, s->p->wide, &e);
		prefetch_back(records + i * s->p->record_size);
		if (e.p2 >= MM_INTEGER)
			continue;
		if (__builtin_expect(e.p1 == e.p2, 0) && is_hole(&e)) {
			s->labels->err = hole_error(s->p, s->why);
			return false;
		}
		const uint32_t name = resolve(s->labels, e.id);
		if (name == NO_NAME)
			return false;
		s->backwards += e.p2 < e.p1;
		item[(*n)++] = (struct item){ .start = e.p1, .end = e.p2 < e.p1 ? e.p1 : e.p2,
					      .thread = e.thread, .name = name };
	}
	return true;
}

static bool batch(struct pass *s, const uint8_t *records, size_t n_records)
{
	struct item item[BATCH];
	uint32_t n;
	if (!look_up(s, records, n_records, item, &n))
		return false;
	for (uint32_t i = 0, end; i < n; i = end) {
		if (s->most && s->t->n >= s->most && !make_room(s))
			return false;
		const uint32_t room = !s->most ? BATCH : s->t->n < s->most ? s->most - s->t->n : 1;
		for (end = i + 1; end < n && end - i < room && item[end].thread == item[i].thread; )
			end++;
		if (!intervals(s, item + i, end - i))
			return false;
	}
	return true;
}

static int pass_error(const struct pass *s)
{
	if (s->labels->err < 0)
		return s->labels->err;
	if (s->err < 0 && s->err != TARE_E_NOMEM)
		return s->err;
	for (uint32_t i = 0; i < s->n_thread; i++)
		if (s->thread[i].depth > LEVELS_MOST)
			return nesting_error(s->p, LEVELS_MOST, s->why);
	return why_set(s->why, TARE_E_NOMEM, "%.120s: stacks", s->p->path);
}

static int walk_all(struct pass *s)
{
	struct walk w;
	struct run run;
	const struct tare_progress *const progress = &s->o->progress;
	const uint64_t total = s->p->info.n_events;
	uint64_t told = 0;
	walk_init(&w, s->p, true);
	while (walk_next(&w, &run)) {
		for (size_t end = run.n, n; end; end -= n) {
			n = end < BATCH ? end : BATCH;
			if (!batch(s, run.records + (end - n) * s->p->record_size, n)) {
				walk_done(&w);
				return pass_error(s);
			}
		}
		if (progress->tell && total - run.first - told > (1u << 20)) {
			told = total - run.first;
			progress->tell(progress->arg, told, total);
		}
	}
	walk_done(&w);
	return 0;
}

/* What no interval covers between a thread's first start and last end. */
static void add_gaps(struct pass *s)
{
	for (uint32_t i = 0; i < s->n_thread; i++) {
		const struct thread *const t = &s->thread[i];
		if (!t->any)
			continue;
		struct stack_node *const root = &s->t->nodes[t->root];
		root->total += t->end - t->start;
		root->self += (int64_t)(t->end - t->start);	/* top-level intervals are taken off */
		root->count++;
		if (t->root)
			s->t->nodes[0].total += t->end - t->start;
	}
}

/* The program's name: the last part of the command's first word. */
static uint32_t root_name(struct tare_stacks *t, const char *root)
{
	const char *const cmd = t->info->cmd;
	const size_t len = strcspn(cmd, " ");
	size_t at = len;
	if (root)
		return names_add(&t->names, root, strlen(root));
	while (at && cmd[at - 1] != '/')
		at--;
	if (at == len)
		return names_add(&t->names, "all", 3);
	struct buf b = { 0 };
	buf_add(&b, cmd + at, len - at);
	text_tame(&b, 0);
	const uint32_t name = buf_failed(&b) ? NO_NAME : names_add(&t->names, b.data, b.len);
	buf_free(&b);
	return name;
}

/* The second walk, over those that may have their share. */
static int recount(struct pass *s)
{
	struct tare_stacks *const t = s->t;
	const double least = s->o->least * (double)t->nodes[0].total;
	for (uint32_t i = 0; i < s->n_thread; i++) {
		struct thread *const th = &s->thread[i];
		th->depth = 0;
		th->any = false;
	}
	const uint64_t may_miss = t->may_miss;
	if (least >= 1 && !forget(s, (uint64_t)least - 1))
		return why_set(s->why, TARE_E_NOMEM, "%.120s: stacks", s->p->path);
	t->may_miss = may_miss;
	for (uint32_t i = 0; i < t->n; i++) {
		struct stack_node *const n = &t->nodes[i];
		n->total = n->count = 0;
		n->self = 0;
	}
	s->most = 0;
	s->recount = true;
	s->overlaps = s->backwards = 0;
	const int err = walk_all(s);
	if (err == 0)
		add_gaps(s);
	return err;
}

static int collect(struct pass *s)
{
	struct tare_stacks *const t = s->t;
	s->labels = malloc(sizeof(*s->labels));
	if (!s->labels || !grow_nodes(t, s->o->least > 0) || !grow_slots(t))
		return why_set(s->why, TARE_E_NOMEM, "%.120s: stacks", s->p->path);
	resolver_init(s->labels, s->p, &t->names, s->o->args ? RESOLVE_ARGS : RESOLVE_LABEL, s->why);
	const uint32_t name = root_name(t, s->o->root);
	if (name == NO_NAME)
		return why_set(s->why, TARE_E_NOMEM, "%.120s: stacks", s->p->path);
	t->nodes[0] = (struct stack_node){ .name = name };
	t->n = 1;
	s->most = t->most;
	int err = walk_all(s);
	if (err < 0)
		return err;
	add_gaps(s);
	if (t->may_miss)
		err = recount(s);
	else if (t->runs)
		err = write_run(s);
	if (err < 0)
		return err;
	profile_warn(s->p, TARE_PROFILE_OVERLAP, s->overlaps);
	profile_warn(s->p, TARE_PROFILE_BACKWARDS, s->backwards);
	return 0;
}

/* Nothing is looked up any more. */
static void forget_slots(struct tare_stacks *t)
{
	large_free(t->slots, t->n_slots * sizeof(*t->slots));
	t->slots = NULL;
	t->n_slots = 0;
}

/* Of a tree in runs only the root stays. */
static bool keep_root(struct tare_stacks *t)
{
	struct stack_node *const root = malloc(sizeof(*root));
	if (!root)
		return false;
	*root = t->nodes[0];
	large_free(t->nodes, t->cap * sizeof(*t->nodes));
	t->nodes = root;
	t->n = t->cap = 1;
	return true;
}

int tare_stacks_collect(struct tare_profile *p, const struct tare_stacks_options *given,
			struct tare_stacks **out, struct tare_why *why)
{
	struct tare_stacks_options o;
	if (!out)
		return why_set(why, TARE_E_INVALID, "no place given for the call tree");
	*out = NULL;
	if (!p)
		return why_set(why, TARE_E_INVALID, "no profile given");
	int err = options_copy(&o, sizeof(o), given, "tare_stacks_options", why);
	if (err < 0)
		return err;
	struct tare_stacks *const t = calloc(1, sizeof(*t));
	if (!t)
		return why_set(why, TARE_E_NOMEM, "%.120s: stacks", p->path);
	t->info = &p->info;
	t->raw_names = o.raw_names;
	t->most = o.most ? o.most : o.least > 0 ? STACK_NODES_LOSSY_MOST : STACK_NODES_MOST;
	struct pass s = { .p = p, .t = t, .o = &o, .why = why };
	err = collect(&s);
	for (uint32_t i = 0; i < s.n_thread; i++)
		free(s.thread[i].stack);
	free(s.thread);
	threads_free(&s.threads);
	if (s.labels)
		resolver_free(s.labels);
	free(s.labels);
	if (err < 0) {
		tare_stacks_free(t);
		return err;
	}
	forget_slots(t);
	if (t->runs && !keep_root(t)) {
		tare_stacks_free(t);
		return why_set(why, TARE_E_NOMEM, "%.120s: stacks", p->path);
	}
	t->result = (struct tare_stacks_info){
		.profile = t->info, .total = t->nodes[0].total, .left_out = t->left_out,
		.may_miss = t->may_miss, .in_memory = !t->runs,
	};
	*out = t;
	return 0;
}

const struct tare_stacks_info *tare_stacks_info(const struct tare_stacks *t)
{
	return t ? &t->result : NULL;
}

void tare_stacks_free(struct tare_stacks *t)
{
	if (!t)
		return;
	sorted_runs_free(t->runs);
	names_free(&t->names);
	large_free(t->nodes, t->cap * sizeof(*t->nodes));
	free(t->missed);
	forget_slots(t);
	free(t);
}
