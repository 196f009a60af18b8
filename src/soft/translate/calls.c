/* Contexts of the call graph (calls.h): making them, and the changes that C makes. */
#include "calls.h"
#include "code-abi.h"
#include "sys.h"
#include "text.h"

/* enum tare_code_context_kind of tare/code.h, which the engine cannot include */
enum { ROOT, THREAD, SIGNAL, CALL, TAIL, HANDLER, FOLDED };

#define CALLS_SIZE (THREAD_AREA - THREAD_CALLS)
#define MARK_OF_SIGNAL 0xa5160001u	/* in the shadow of a frame, for rt_sigreturn */

/* ---- sites and targets ---- */

static uint32_t n_slots, n_kept;	/* kept: those that the process has taken over */
static uint32_t slot_hash_size;		/* grows: each page that a table touches is a fault, and most programs are small */
static uint32_t generation;		/* grows when code is unmapped: its contexts are not used again */

/* Zone memory: struct slot_info by number at ZONE_SITES; the hash of numbers. */
#define SLOT_HASH (ZONE_RETURNS + (64ull << 20))
#define SLOT_HASH_SIZE (MAX_SLOTS * 2)	/* at most */
#define SLOT_HASH_FIRST 4096u
_Static_assert(sizeof(struct slot_info) * MAX_SLOTS <= (56ull << 20), "layout");
_Static_assert(SLOT_HASH + SLOT_HASH_SIZE * 4 <= ZONE_SCRATCH, "layout");

static struct slot_info *info_at(uint32_t slot)
{
	return (struct slot_info *)ZONE_SITES + slot;
}

const struct slot_info *slot_info_at(uint32_t slot)
{
	return info_at(slot < MAX_SLOTS ? slot : 0);
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ull;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 32;
}

/* The kind of what is not a site: the function that starts at `target`. */
#define SLOT_FUNCTION 255

/* Where the number of that site or target is, or is to be. */
static uint32_t *slot_place(uint64_t site, uint64_t target, uint8_t kind)
{
	uint32_t *const hash = (uint32_t *)SLOT_HASH;
	uint32_t at = (uint32_t)mix(site * 31 + target + kind) % slot_hash_size;
	for (; hash[at]; at = (at + 1) % slot_hash_size) {
		const struct slot_info *const s = info_at(hash[at]);
		if (s->site == site && s->target == target && s->kind == kind)
			break;
	}
	return &hash[at];
}

static void grow_slot_hash(void)
{
	mem_zero((void *)SLOT_HASH, slot_hash_size * 4);
	slot_hash_size *= 4;
	for (uint32_t n = 1; n <= n_slots; n++)
		if (!info_at(n)->hidden)
			*slot_place(info_at(n)->site, info_at(n)->target, info_at(n)->kind) = n;
}

static uint32_t find_slot(uint64_t site, uint64_t target, uint8_t kind, bool make);

/* What is no site: the indirect branch there always goes to the same target. */
#define SLOT_CONSTANT 254

/* Gives a new site one of the places of its function, while there are. */
static uint8_t new_place(uint64_t site)
{
	const struct function f = function_at(site);
	const uint32_t n = f.fid == FID_UNKNOWN ? 0 : find_slot(0, f.start, SLOT_FUNCTION, true);
	if (!n || info_at(n)->n_sites == CALLS_CHILDREN)
		return CALLS_CHILDREN;
	return info_at(n)->n_sites++;
}

static uint32_t find_slot(uint64_t site, uint64_t target, uint8_t kind, bool make)
{
	const uint32_t known = *slot_place(site, target, kind);
	if (known || !make || n_slots + 2 >= MAX_SLOTS)
		return known;
	if (2 * (n_slots + 2) > slot_hash_size && slot_hash_size < SLOT_HASH_SIZE)
		grow_slot_hash();
	const uint8_t place = site && target ? new_place(site) : CALLS_CHILDREN;
	const uint32_t n = *slot_place(site, target, kind) = ++n_slots;
	const struct function f = target ? function_at(target) : (struct function){ 0 };
	*info_at(n) = (struct slot_info){ .site = site, .target = target, .kind = kind,
					  .fid = target ? f.fid : 0, .place = place,
					  .is_start = f.start == target || f.fid == FID_UNKNOWN };
	return n;
}

uint32_t calls_site(uint64_t pc, uint64_t target, uint8_t kind, bool make)
{
	return find_slot(pc, target, kind, make);
}

uint32_t calls_target(uint64_t pc, bool make)
{
	return find_slot(0, pc, 0, make);
}

/* Of all PLT stubs .eh_frame makes one function; but a context of one of them has one jump. */
uint32_t calls_site_constant(uint64_t pc, uint64_t target, uint8_t kind, bool make)
{
	const uint32_t n = find_slot(pc, 0, SLOT_CONSTANT, make);
	const uint32_t was = info_at(n)->slot;
	if (!make || (was && info_at(was)->target == target))
		return was;
	const uint32_t slot = find_slot(pc, target, kind, true);
	if (kind == TAIL)
		info_at(slot)->place = 0;
	else if (was)			/* the code must not become longer */
		info_at(slot)->place = info_at(was)->place;
	return info_at(n)->slot = slot;
}

uint32_t calls_site_through(uint64_t pc, uint64_t target, uint8_t kind, const struct calls_stub *stub)
{
	const uint32_t slot = calls_site_constant(pc, target, kind + CALLS_THROUGH, true);
	info_at(slot)->stub = *stub;
	return slot;
}

uint64_t calls_keep(uint32_t *n)
{
	*n = n_slots;
	for (uint32_t i = 1; i <= n_slots; i++)
		info_at(i)->hidden = true;
	return (n_slots + 1ull) * sizeof(struct slot_info);
}

void calls_take(uint32_t n)
{
	n_kept = n_slots = n;
	while (slot_hash_size && 2 * (n + 2) > slot_hash_size && slot_hash_size < SLOT_HASH_SIZE)
		slot_hash_size *= 4;
}

/* What leads elsewhere (calls_site_constant()) is made anew: what is there may not be what it was. */
void calls_take_unit(uint64_t start, uint64_t end)
{
	for (uint32_t n = 1; n <= n_kept; n++) {
		struct slot_info *const s = info_at(n);
		const uint64_t first = s->site ? s->site : s->target, second = s->target ? s->target : first;
		if (first < start || first >= end || second < start || second >= end || s->kind == SLOT_CONSTANT)
			continue;
		s->hidden = false;
		*slot_place(s->site, s->target, s->kind) = n;
	}
}

bool calls_slots_full(void)
{
	return cache.calls && n_slots > MAX_SLOTS - MAX_SLOTS / 16;
}

uint32_t calls_hash_of(uint32_t slot)
{
	return slot / 512 % FOUND_PARTS * (4 * FOUND_PART) + (slot * 68 & 0xfffcu);
}

void calls_code_unmapped(void)
{
	generation++;
}

/* ---- contexts ---- */

uint32_t calls_node_size(void)
{
	return ((uint32_t)sizeof(struct calls_hot) + 8 * calls_bits(cache.calls) + HOT_UNIT - 1) / HOT_UNIT *
	       HOT_UNIT;
}

static uint32_t offset_of(uint32_t n)
{
	return n * calls_node_size();
}

static uint32_t number_of(uint64_t offset)
{
	return (uint32_t)offset / calls_node_size();
}

static struct calls_node *node_at(const struct thread *t, uint32_t n)
{
	return (struct calls_node *)((uint64_t)t + CALLS_INFO) + n;
}

static struct calls_hot *hot_of(const struct thread *t, uint32_t n)
{
	return (struct calls_hot *)((uint64_t)t + THREAD_NODES + offset_of(n));
}

static bool is_node(const struct thread *t, uint32_t offset)
{
	return offset && offset % calls_node_size() == 0 && number_of(offset) <= calls_of(t)->n_nodes;
}

void calls_forget_sites(void)
{
	if (!cache.calls)
		return;
	sys3(__NR_madvise, SLOT_HASH, SLOT_HASH_SIZE * 4, MADV_DONTNEED);
	slot_hash_size = SLOT_HASH_FIRST;
	n_slots = n_kept = 0;
	for (uint32_t i = 0; i < E.n_threads; i++) {
		struct thread *const t = thread_at(i);
		if (!t->mapped)
			continue;
		sys3(__NR_madvise, (uint64_t)t + CALLS_SLOTS, CALLS_HASH - CALLS_SLOTS, MADV_DONTNEED);
		for (uint32_t n = 1; t->calls_mapped && n <= calls_of(t)->n_nodes; n++) {
			mem_zero(hot_of(t, n)->child, sizeof(hot_of(t, n)->child));
			hot_of(t, n)->branch_key = 0;
		}
	}
}

/* Limited by the memory of the hot parts, too. */
static uint32_t nodes_max(uint32_t most)
{
	const uint64_t fit = (THREAD_AREA - THREAD_NODES) / calls_node_size() - 2;
	const uint64_t n = fit < MAX_NODES ? fit * most / MAX_NODES : most;
	return (uint32_t)n;
}

/* An entry of the table: the number of a context or proxy, and bits of its hash. Most others that hash to the same place
 * have other bits, so that their memory need not be looked at. */
#define NUMBER_BITS 21
#define NUMBER_OF(entry) ((entry) & ((1u << NUMBER_BITS) - 1))
_Static_assert(MAX_NODES < 1u << NUMBER_BITS, "fits");

static uint64_t node_hash(uint64_t set, uint64_t edge)
{
	return mix(set + edge * 3);
}

static uint32_t node_entry(uint64_t hash, uint32_t n)
{
	return (uint32_t)(hash >> 32) << NUMBER_BITS | n;
}

/* Where the entry of the context of that path and call is, or is to be. */
static uint32_t *hash_place(struct thread *t, uint64_t set, uint64_t edge)
{
	uint32_t *const table = (uint32_t *)((uint64_t)t + CALLS_HASH);
	const uint32_t size = calls_of(t)->hash_size;
	const uint64_t hash = node_hash(set, edge);
	const uint32_t like = node_entry(hash, 0);
	uint32_t at = (uint32_t)hash % size;
	for (; table[at]; at = (at + 1) % size) {
		if ((table[at] ^ like) >> NUMBER_BITS)
			continue;
		const struct calls_node *const n = node_at(t, NUMBER_OF(table[at]));
		if (n->set == set && n->edge == edge)
			break;
	}
	return &table[at];
}

static uint32_t known_node(struct thread *t, uint64_t set, uint64_t edge)
{
	return NUMBER_OF(*hash_place(t, set, edge));
}

static void put_in_table(struct thread *t, uint32_t n)
{
	const uint64_t set = node_at(t, n)->set, edge = node_at(t, n)->edge;
	*hash_place(t, set, edge) = node_entry(node_hash(set, edge), n);
}

static void grow_node_hash(struct thread *t)
{
	struct calls_thread *const c = calls_of(t);
	mem_zero((void *)((uint64_t)t + CALLS_HASH), c->hash_size * 4ull);
	c->hash_size *= 4;
	for (uint32_t n = 1; n <= c->n_nodes; n++)
		put_in_table(t, n);
}

/* How many there are, without proxies. */
static uint32_t contexts_of(const struct calls_thread *c)
{
	return c->n_nodes - c->n_proxies;
}

/* Makes a context that is new. 0: there is no room. */
static uint32_t new_node(struct thread *t, const struct calls_node *like)
{
	struct calls_thread *const c = calls_of(t);
	if (2 * (c->n_nodes + 2) > c->hash_size && c->hash_size < NODE_HASH)
		grow_node_hash(t);
	const bool last_resort = like->kind == FOLDED;
	if (contexts_of(c) >= nodes_max(last_resort ? MAX_NODES : FOLD_FROM) ||
	    c->n_nodes >= nodes_max(last_resort ? MAX_NODES : (MAX_NODES + FOLD_FROM) / 2))
		return 0;
	const uint32_t n = ++c->n_nodes;
	*node_at(t, n) = *like;
	put_in_table(t, n);
	hot_of(t, n)->mix = n * 16;
	return n;
}

static uint32_t find_node(struct thread *t, const struct calls_node *like)
{
	const uint32_t known = known_node(t, like->set, like->edge);
	return known ? known : new_node(t, like);
}

#define PROXY_SET 0x70726f7879000000ull

static uint64_t proxy_edge(uint32_t n, uint32_t stub)
{
	return (uint64_t)stub << 32 | n;
}

/* The context itself, if n is a proxy of it. */
static uint32_t context_of(const struct thread *t, uint32_t n)
{
	return node_at(t, n)->proxy ? (uint32_t)node_at(t, n)->edge : n;
}

/* The proxy of context n, for calls through the stub with the context `stub`; or for jumps back (0). 0: there is no
 * room for more. */
static uint32_t proxy_of(struct thread *t, uint32_t n, uint32_t stub, uint64_t worth)
{
	struct calls_thread *const c = calls_of(t);
	struct calls_node like = *node_at(t, n);
	like.set = PROXY_SET;
	like.edge = proxy_edge(n, stub);
	const uint32_t known = known_node(t, like.set, like.edge);
	if (known || c->n_nodes >= nodes_max(PROXIES_UP_TO))
		return known;
	like.proxy = PROXY_BACK;
	like.next_proxy = c->last_proxy;
	if (stub) {
		like.proxy = PROXY_STUB;
		like.stub = stub;
		like.worth = worth;
	}
	const uint32_t proxy = new_node(t, &like);
	if (proxy) {
		c->last_proxy = proxy;
		c->n_proxies++;
	}
	return proxy;
}

static uint32_t find_root(struct thread *t, uint8_t kind, uint8_t signal, uint64_t entry)
{
	uint32_t number;
	struct calls_node root = { .kind = kind, .signal = signal, .entry = entry,
				   .fid = entry ? function_at(entry).fid : 0,
				   .set = mix(kind + 256u * signal + entry * 65536), .edge = 0 };
	if (entry && watch_at(entry, &number) & WATCH_IN)	/* the first function of the run is not entered */
		root.watch = WATCHED_IN;
	return find_node(t, &root);
}

/* A context that is not made, because there are too many. The last resort is the folded root. */
static uint32_t fold(struct thread *t, struct calls_node like)
{
	const uint32_t root = find_root(t, FOLDED, like.watch, 0);
	node_at(t, root)->watch = like.watch;
	calls_of(t)->folded++;
	like.kind = FOLDED;
	like.repeats = false;
	like.set = 1u + like.watch;
	like.parent = root;
	const uint32_t n = find_node(t, &like);
	if (n && node_at(t, n)->outermost)
		node_at(t, n)->top = n;
	return n ? n : root;
}

/* A recursive call, when there are many contexts: the path goes back to the first call of the
 * function. Otherwise the calls of a large recursive program, such as an interpreter, would make
 * millions of sets. */
static void cut_cycle(struct thread *t, struct calls_node *like)
{
	for (uint32_t p = like->parent; p; p = node_at(t, p)->parent) {
		const struct calls_node *const n = node_at(t, p);
		if (n->entry == like->entry && n->kind == like->kind) {
			like->repeats = like->cut = true;
			like->parent = p;
			calls_of(t)->any_cut = true;
			return;
		}
		if (n->outermost)		/* its function is on the stack: it must stay in the path */
			return;
	}
}

/* What the path of a new context, which `of` leads to, has of watched functions. */
static void watch_node(const struct thread *t, const struct calls_node *of, struct calls_node *like)
{
	uint32_t number;
	like->watch = of->watch;
	like->top = of->top;
	const uint32_t what = like->repeats ? 0 : watch_at(like->entry, &number);
	bool inside = of->kind == FOLDED && of->watch;	/* its path is not known */
	for (uint32_t n = of->top; what && n && !inside; n = node_at(t, n)->above)
		inside = node_at(t, n)->entry == like->entry;
	if (!what || inside)
		return;
	like->outermost = true;
	like->above = of->top;
	like->watch ^= what & WATCH_TOGGLE ? WATCHED_ODD : 0;
	like->watch |= what & WATCH_IN ? WATCHED_IN : 0;
}

/* Most calls that are not in a path are not looked for there: in its contexts, each at another place of memory. */
static uint64_t edge_bit(uint64_t edge)
{
	return 1ull << (edge >> 58);
}

static bool in_path_of(const struct thread *t, uint32_t n, uint64_t edge)
{
	if (!(node_at(t, n)->edges & edge_bit(edge)))
		return false;
	while (n && node_at(t, n)->edge != edge)
		n = node_at(t, n)->parent;
	return n;
}

/* The context that a call of that kind leads to; `fid` is of the function at `entry`. */
static uint32_t child_of(struct thread *t, uint32_t from, uint8_t kind, uint64_t site, uint64_t entry, uint32_t fid)
{
	const uint32_t n = context_of(t, from);
	const struct calls_node *const of = node_at(t, n);
	const uint32_t base = of->repeats ? of->parent : n;
	const uint64_t edge = mix(mix(site ^ (uint64_t)generation << 48) + entry * 8 + kind) | 1;
	const uint64_t set = node_at(t, base)->set;
	/* with one call more in the path; or with the same path, which has the call then (or is cut) */
	const bool may_repeat = node_at(t, base)->edges & edge_bit(edge) || calls_of(t)->any_cut;
	const uint32_t longer = known_node(t, set + mix(edge), edge);
	const uint32_t known = longer || !may_repeat ? longer : known_node(t, set, edge);
	if (known)
		return known;
	struct calls_node like = { .site = site, .entry = entry, .kind = kind, .parent = base, .from = n,
				   .fid = fid, .edge = edge, .cut = of->cut };
	if (of->kind == FOLDED) {
		watch_node(t, of, &like);
		return fold(t, like);
	}
	like.repeats = in_path_of(t, base, edge);
	if (!like.repeats && contexts_of(calls_of(t)) > nodes_max(CUT_FROM))
		cut_cycle(t, &like);
	like.set = node_at(t, like.parent)->set + (like.repeats ? 0 : mix(like.edge));
	like.edges = node_at(t, like.parent)->edges | edge_bit(edge);
	watch_node(t, of, &like);
	/* what both searches looked for is not there; a path that is cut is another one */
	const uint32_t found = like.cut ? find_node(t, &like) : new_node(t, &like);
	if (found && node_at(t, found)->outermost)
		node_at(t, found)->top = found;
	return found ? found : fold(t, like);
}

/* A jump from context n into another function. A jump into its middle goes back to the context that
 * came from there by a tail call, if one did. */
static uint32_t jump_to_function(struct thread *t, uint32_t n, uint64_t site,
				 const struct slot_info *to, bool *counts)
{
	*counts = false;
	for (uint32_t c = n; c && !to->is_start; c = node_at(t, c)->from) {
		if (node_at(t, c)->fid == to->fid)
			return c;
		if (node_at(t, c)->kind != TAIL)
			break;
	}
	*counts = true;
	return child_of(t, n, TAIL, site, to->target, to->fid);
}

/* ---- changes ---- */

static uint64_t *sums_of_cur(const struct thread *t)
{
	return ((struct calls_hot *)((uint64_t)t + THREAD_NODES + calls_of(t)->cur))->sums;
}

static uint64_t accumulated(const struct thread *t, unsigned k)
{
	uint64_t sum = 0;
	for (unsigned i = 0; i < CALLS_BANKS; i++)
		sum += calls_of(t)->acc[CALLS_BANKS * k + i];
	return sum;
}

/* The first events up to `to`; … */
static void leave_cur(struct thread *t, unsigned to)
{
	for (unsigned k = 0; k < to; k++)
		sums_of_cur(t)[k] += accumulated(t, k);
}

/* … those between. */
static void enter_cur(struct thread *t, unsigned from, unsigned to)
{
	for (unsigned k = from; k < to; k++)
		sums_of_cur(t)[k] -= accumulated(t, k);
}

static void change_to(struct thread *t, uint32_t n)
{
	const unsigned events = calls_bits(cache.calls);
	leave_cur(t, events);
	calls_of(t)->cur = offset_of(n);
	enter_cur(t, 0, events);
}

static uint32_t current(const struct thread *t)
{
	return number_of(calls_of(t)->cur);
}

void calls_count(struct thread *t, int event, int64_t n)
{
	if (cache.calls >> event & 1)
		calls_of(t)->acc[CALLS_BANKS * calls_bits(cache.calls & ((1u << event) - 1))] += (uint64_t)n;
}

/* Lets code find the answer next time, in a slot and in the hash table. */
static void remember_in_slot(struct thread *t, uint32_t slot, uint32_t site, uint64_t cur, uint32_t to)
{
	/* a site's own slot does not say which site */
	const bool branch = !info_at(slot)->site;
	const uint64_t key = cur + (branch ? calls_from(site) : 0);
	const uint32_t mixed = hot_of(t, number_of(cur))->mix + (branch ? calls_from_word(site) : 0);
	struct calls_slot *const s = (struct calls_slot *)((uint64_t)t + CALLS_SLOTS +
							   (uint64_t)slot * SLOT_BYTES + (mixed & 0xff));
	const uint32_t hash = calls_hash_of(slot);
	const uint32_t at = (hash & ~0xffffu) | ((hash + mixed) & 0xffff);
	struct calls_found *const f = (struct calls_found *)((uint64_t)t + CALLS_FOUND + at / 4 * 32ull);
	*s = (struct calls_slot){ 0 - key, offset_of(to) };
	*f = (struct calls_found){ .key = s->key, .slot = 0 - (uint64_t)slot * SLOT_BYTES, .to = s->to };
}

/* The same in the context itself. False: the context remembers another answer there. */
static bool remember_in_context(struct thread *t, uint32_t slot, uint32_t site, uint64_t cur, uint32_t to)
{
	struct calls_hot *const hot = hot_of(t, number_of(cur));
	const uint8_t place = info_at(slot)->place;
	if (!info_at(slot)->site) {
		/* the newest: the first branch of a PLT stub may lead to the dynamic linker */
		const uint64_t key = 0 - calls_branch_key(site, slot);
		const bool was_free = !hot->branch_key || hot->branch_key == key;
		hot->branch_key = key;
		hot->branch_to = offset_of(to);
		return was_free;
	}
	if (place == CALLS_CHILDREN || (hot->child[place].site && hot->child[place].site != slot))
		return false;
	hot->child[place].site = slot;
	hot->child[place].to = offset_of(to);
	return true;
}

static void remember(struct thread *t, uint32_t slot, uint32_t site, uint64_t cur, uint32_t to)
{
	if (!remember_in_context(t, slot, site, cur, to))
		remember_in_slot(t, slot, site, cur, to);
}

/* ---- the shadow ---- */

struct shadow_word {
	uint16_t number;
	uint16_t high;
	uint32_t node;
};

/* In the handler of a SIGSEGV another fault would be fatal: so nothing is tried. */
static bool has_shadow(const struct thread *t, uint64_t sp)
{
	const uint64_t at = shadow_of(t, sp);
	return shadow_is_mapped(t, at) && shadow_is_mapped(t, at + sizeof(struct shadow_word) - 1);
}

static struct shadow_word shadow_at(struct thread *t, uint64_t sp)
{
	struct shadow_word w = { 0 };
	if (has_shadow(t, sp))
		__builtin_memcpy(&w, (const void *)shadow_of(t, sp), sizeof(w));
	return w;
}

static void shadow_write(struct thread *t, uint64_t sp, struct shadow_word w)
{
	if (!has_shadow(t, sp)) {
		shadow_fault(t, shadow_of(t, sp));
		shadow_fault(t, shadow_of(t, sp) + sizeof(w) - 1);
	}
	__builtin_memcpy((void *)shadow_of(t, sp), &w, sizeof(w));
}

/* The number of the call whose return address is there; 0: none. */
static uint32_t call_number(struct shadow_word w)
{
	return w.number ? w.number : w.high;
}

/* ---- watched functions ---- */

/* Code looks the return from this function up in R by its number: C gets it instead. */
static void hide_return(struct thread *t)
{
	struct shadow_word w = shadow_at(t, t->regs[RSP]);
	if (!w.number || (w.number | (uint32_t)w.high << 16) == MARK_OF_SIGNAL)
		return;
	w.high = w.number;
	w.number = 0;
	shadow_write(t, t->regs[RSP], w);
}

static bool on_stack(const struct thread *t, uint32_t context, uint32_t outermost)
{
	uint32_t n = node_at(t, context)->top;
	while (n && n != outermost)
		n = node_at(t, n)->above;
	return n;
}

static void request(struct calls_thread *c, uint32_t what, uint32_t number)
{
	if (what && c->n_requests < CALLS_REQUESTS)
		c->requests[c->n_requests++] = (struct calls_request){ what, number };
}

/* C has changed the context. */
static void watch_change(struct thread *t, uint32_t from)
{
	const uint32_t to = current(t);
	uint32_t number = 0;
	if (!cache.watch || node_at(t, from)->top == node_at(t, to)->top)
		return;
	for (uint32_t n = node_at(t, from)->top; n; n = node_at(t, n)->above)
		if (!on_stack(t, to, n)) {
			const uint32_t what = watch_at(node_at(t, n)->entry, &number);
			request(calls_of(t), what & WATCH_DUMP_AFTER, number);
		}
	for (uint32_t n = node_at(t, to)->top; n; n = node_at(t, n)->above) {
		if (on_stack(t, from, n))
			continue;
		const uint32_t what = watch_at(node_at(t, n)->entry, &number);
		request(calls_of(t), what & WATCH_DUMP_BEFORE ? WATCH_DUMP_BEFORE : what & WATCH_ZERO_BEFORE, number);
	}
	if (node_at(t, to)->outermost)
		hide_return(t);
}

unsigned calls_watch_now(const struct thread *t)
{
	return node_at(t, current(t))->watch;
}

/* So many calls came through the stub whose context is n. */
static void count_stub(struct thread *t, uint32_t n, uint64_t worth, uint64_t calls)
{
	struct calls_hot *const hot = hot_of(t, n);
	hot->calls += calls;
	for (unsigned k = 0; k < calls_bits(cache.calls); k++)
		hot->sums[k] += calls * (worth >> (WORTH_BITS * k) & ((1u << WORTH_BITS) - 1));
}

/* The next context of a call or jump through a stub. Where there is no proxy, the stub is counted now, and code
 * must not learn the context. */
static uint32_t through_stub(struct thread *t, const struct slot_info *site, bool *learn)
{
	const uint32_t stub = child_of(t, current(t), site->kind - CALLS_THROUGH, site->site, site->stub.start,
				       site->stub.fid);
	const uint32_t n = child_of(t, stub, TAIL, site->stub.jump, site->target, site->fid);
	const uint32_t proxy = proxy_of(t, n, stub, site->stub.worth);
	*learn = proxy;
	if (!proxy)
		count_stub(t, stub, site->stub.worth, 1);
	return proxy ? proxy : n;
}

/* The context n that a jump goes back to, which is no call. Code counts all that it learns as calls. */
static uint32_t back_to(struct thread *t, uint32_t n, bool *learn)
{
	const bool leaves = cache.watch && node_at(t, n)->top != node_at(t, current(t))->top;
	const uint32_t proxy = leaves || trace_wanted() ? 0 : proxy_of(t, context_of(t, n), 0, 0);
	*learn = proxy;
	return proxy ? proxy : n;
}

/* A call or jump of `site`, of a context that is known by its site and target, or the arrival of an
 * indirect branch of `site` at the target of `slot`. */
static void transition(struct thread *t, uint32_t slot, uint32_t site)
{
	const struct slot_info *const to = info_at(slot), *const from = info_at(site);
	const uint64_t cur = calls_of(t)->cur;
	bool counts = true, learn = true;
	uint32_t n = from->kind & CALLS_THROUGH ? through_stub(t, from, &learn) :
		     from->kind == CALL ? child_of(t, current(t), CALL, from->site, to->target, to->fid) :
					  jump_to_function(t, current(t), from->site, to, &counts);
	if (!counts)
		n = back_to(t, n, &learn);
	else if (node_at(t, n)->outermost)
		learn = false;
	change_to(t, n);
	watch_change(t, number_of(cur));
	hot_of(t, n)->calls += counts;
	if (learn)
		remember(t, slot, site, cur, n);
}

/* A return with an operand has changed the context before the thread arrives; the target is not known to code there. */
static bool has_returned(const struct calls_thread *c)
{
	return (uint32_t)c->from_fid == FID_UNKNOWN && c->from == FROM_RETURNED;
}

/* The common lookup found nothing; the program is at the target. */
static uint64_t lookup_failed(struct thread *t)
{
	struct calls_thread *const c = calls_of(t);
	const uint32_t slot = (uint32_t)c->slot / SLOT_BYTES;
	const uint64_t target = info_at(slot)->target;
	if (info_at(slot)->site || !has_returned(c))
		transition(t, slot, info_at(slot)->site ? slot : calls_from_site(c->from));
	return target;
}

uint64_t calls_exit(struct thread *t)
{
	lock_take();
	const uint64_t pc = lookup_failed(t);
	lock_drop();
	return pc;
}

/* ---- returns, and what goes on elsewhere ---- */

/* Is there a call in the path of n after which the program goes on at pc? */
static bool path_returns_to(const struct thread *t, uint32_t n, uint64_t pc)
{
	for (; n; n = node_at(t, n)->parent) {
		const uint64_t d = pc - node_at(t, n)->site;
		if (node_at(t, n)->kind == CALL && d >= 2 && d <= 15)
			return true;
	}
	return false;
}

/* The nearest context of the path that runs that function; 0: none. */
static uint32_t in_path(const struct thread *t, uint32_t n, uint32_t fid)
{
	for (; n; n = node_at(t, n)->parent)
		if (node_at(t, n)->fid == fid)
			return n;
	return 0;
}

/* The thread, which was in context `was`, goes on at pc, with its stack pointer right above `sp`: by a
 * return whose address no call left there, by longjmp, by a switch of stacks. The last call that the
 * function at pc made has left its context in the shadow at `sp`, unless the function has just begun,
 * or the stack is used in a way of its own. */
static uint32_t context_at(struct thread *t, uint32_t was, uint64_t sp, uint64_t pc)
{
	const struct shadow_word w = shadow_at(t, sp);
	const struct function f = function_at(pc);
	const bool known = is_node(t, w.node);
	const uint32_t n = known ? number_of(w.node) : 0;
	bool counts;
	const uint32_t number = call_number(w);
	if (known && number && *return_pc(number) == pc)
		return n;
	if (known && f.fid != FID_UNKNOWN && f.start != pc && node_at(t, n)->fid == f.fid)
		return n;
	uint32_t base = was;
	if (known && (node_at(t, n)->kind == SIGNAL ||
		      (number && path_returns_to(t, was, *return_pc(number)))))
		base = n;
	const uint32_t above = f.start == pc || f.fid == FID_UNKNOWN ? 0 : in_path(t, base, f.fid);
	if (above)
		return above;
	const struct slot_info target = { .target = pc, .fid = f.fid,
					  .is_start = f.start == pc || f.fid == FID_UNKNOWN };
	const uint32_t to = jump_to_function(t, base, 0, &target, &counts);
	if (counts)
		hot_of(t, to)->calls++;
	return to;
}

void calls_recover_return(struct thread *t, uint64_t sp, uint64_t pc)
{
	const struct shadow_word w = shadow_at(t, sp);
	const uint32_t from = current(t), number = call_number(w);
	const bool right = number && *return_pc(number) == pc && is_node(t, w.node);
	change_to(t, right ? number_of(w.node) : context_at(t, from, sp, pc));
	watch_change(t, from);
}

void calls_returned(struct thread *t)
{
	lock_take();
	calls_recover_return(t, t->regs[RSP] - 8, t->pc);
	lock_drop();
}

static void arrive(struct thread *t, uint64_t pc)
{
	struct calls_thread *const c = calls_of(t);
	const uint32_t fid = (uint32_t)c->from_fid;
	const struct function f = function_at(pc);
	if (has_returned(c))
		return;
	if (fid == FID_RETURN) {
		calls_recover_return(t, c->return_sp, pc);
	} else if (fid == f.fid) {
		return;
	} else if (fid == FID_CALL || f.start == pc || f.fid == FID_UNKNOWN) {
		transition(t, calls_target(pc, true), calls_from_site(c->from));
	} else {
		const uint32_t from = current(t);
		change_to(t, context_at(t, from, t->regs[RSP] - 8, pc));
		watch_change(t, from);
	}
}

void calls_popped(struct thread *t)
{
	calls_of(t)->from_fid = FID_RETURN;
	calls_of(t)->return_sp = t->regs[RSP] - 8;
	calls_arrived(t);
}

void calls_arrived(struct thread *t)
{
	lock_take();
	arrive(t, t->pc);
	lock_drop();
}

/* ---- signals ---- */

void calls_recover(struct thread *t, enum calls_state state, unsigned events, uint64_t pc)
{
	switch (state) {
	case CALLS_LEFT:
		enter_cur(t, 0, events);
		break;
	case CALLS_ENTERING:
		hot_of(t, current(t))->calls++;
		enter_cur(t, events, calls_bits(cache.calls));
		break;
	case CALLS_RETURNING:
		enter_cur(t, events, calls_bits(cache.calls));
		break;
	case CALLS_ARRIVING_LEFT:
		enter_cur(t, 0, events);
		arrive(t, pc);
		break;
	case CALLS_ARRIVING:
		arrive(t, pc);
		break;
	default:
		break;
	}
}

uint64_t calls_recover_lookup(struct thread *t)
{
	return lookup_failed(t);
}

/* The handler starts at a root of its own. Its frame is at `at`: the shadow there gets the root, for the
 * handler's return, and the context that was interrupted, for rt_sigreturn. */
void calls_signal(struct thread *t, int sig, uint64_t handler, uint64_t at)
{
	lock_take();
	const uint32_t was = (uint32_t)calls_of(t)->cur;
	const uint32_t root = find_root(t, SIGNAL, (uint8_t)sig, 0);
	const uint32_t n = root ? child_of(t, root, HANDLER, 0, handler, function_at(handler).fid) : find_root(t, FOLDED, 0, 0);
	shadow_write(t, at, (struct shadow_word){ .node = offset_of(root) });
	shadow_write(t, at + 8, (struct shadow_word){ .number = (uint16_t)MARK_OF_SIGNAL,
						      .high = MARK_OF_SIGNAL >> 16, .node = was });
	hot_of(t, n)->calls++;
	change_to(t, n);
	lock_drop();
}

/* The program has returned from a signal frame at `at`, and is at t->pc. */
void calls_sigreturn(struct thread *t, uint64_t at)
{
	lock_take();
	const struct shadow_word w = shadow_at(t, at + 8);
	if ((w.number | (uint32_t)w.high << 16) == MARK_OF_SIGNAL && is_node(t, w.node)) {
		const struct function f = function_at(t->pc);
		const uint32_t was = number_of(w.node);
		change_to(t, was);
		/* the handler may have changed the pc in the frame */
		if (node_at(t, was)->fid != f.fid && f.start == t->pc && f.fid != FID_UNKNOWN) {
			const uint32_t n = child_of(t, was, TAIL, 0, t->pc, f.fid);
			hot_of(t, n)->calls++;
			change_to(t, n);
		}
	} else {
		change_to(t, context_at(t, current(t), t->regs[RSP] - 8, t->pc));
	}
	lock_drop();
}

/* ---- threads, processes ---- */

void calls_init(void)
{
	if (!(E.shared->flags & SOFT_FLAG_CALLS) || E.vpmu)
		return;
	cache.calls = code_context_events(E.shared->event_mask);
	watch_init();
	zone_map(ZONE_SITES, sizeof(struct slot_info) * MAX_SLOTS);
	zone_map(SLOT_HASH, SLOT_HASH_SIZE * 4);
	slot_hash_size = SLOT_HASH_FIRST;
	zone_map((uint64_t)return_pc(0), MAX_RETURNS * 8);
}

bool calls_thread(struct thread *t, bool first)
{
	if (!code_log_wanted())
		return true;
	const uint64_t at = (uint64_t)t + THREAD_CALLS;
	const uint64_t size = cache.calls ? CALLS_SIZE : PAGE_UP(sizeof(struct calls_thread));
	if (t->calls_mapped)
		sys3(__NR_madvise, at, size, MADV_DONTNEED);
	else if (!zone_try_map(at, size))
		return false;
	t->calls_mapped = true;
	if (!cache.calls)
		return true;
	lock_take();
	calls_of(t)->hash_size = NODE_HASH_FIRST;
	const uint32_t root = find_root(t, first ? ROOT : THREAD, 0, t->pc);
	lock_drop();
	calls_of(t)->cur = offset_of(root);
	hot_of(t, root)->calls = 1;
	return true;
}

static void hot_zero(struct calls_hot *hot)
{
	hot->calls = 0;
	mem_zero(hot->sums, 8ull * calls_bits(cache.calls));
}

void calls_forked(struct thread *t)
{
	struct calls_thread *const c = calls_of(t);
	if (!t->calls_mapped)
		return;
	mem_zero(c->syscalls, sizeof(c->syscalls));
	c->n_syscalls = 0;
	if (!cache.calls)
		return;
	for (uint32_t n = 1; n <= c->n_nodes; n++) {
		node_at(t, n)->logged = false;
		hot_zero(hot_of(t, n));
	}
	c->folded = 0;
	mem_zero(c->acc, sizeof(c->acc));
}

/* ---- the log ---- */

static void log_node(struct thread *t, uint32_t n, const struct calls_hot *hot)
{
	struct calls_node *const i = node_at(t, n);
	const unsigned events = calls_bits(cache.calls);
	uint64_t room[sizeof(struct code_context) / 8 + SOFT_EVENTS] = { 0 };
	struct code_context *const r = (struct code_context *)room;
	*r = (struct code_context){ .id = n, .parent = i->parent, .site = i->site, .kind = i->kind,
				    .repeats = i->repeats, .cut = i->cut, .signal = i->signal,
				    .n_events = events };
	for (unsigned k = 0; k < events; k++)
		r->counts[k] = (int64_t)hot->sums[k];
	code_log_record(t, CODE_CONTEXT, i->entry, (int64_t)hot->calls, r,
			(uint16_t)(sizeof(*r) + 8 * events));
	i->logged = true;
}

static void log_syscalls(struct thread *t)
{
	struct calls_thread *const c = calls_of(t);
	for (uint32_t i = 0; c->n_syscalls && i < MAX_SYSCALLS; i++) {
		struct calls_syscall *const s = &c->syscalls[i];
		const struct code_syscall r = { .number = s->number, .context = s->node,
						.errors = s->errors };
		if (!s->times)
			continue;
		code_log_record(t, CODE_SYSCALL, s->pc, (int64_t)s->times, &r, sizeof(r));
		s->times = 0;
		c->n_syscalls--;
	}
}

/* What proxies have counted becomes that of their contexts. */
static void fold_proxies(struct thread *t)
{
	for (uint32_t n = calls_of(t)->last_proxy; n; n = (uint32_t)node_at(t, n)->next_proxy) {
		const struct calls_node *const proxy = node_at(t, n);
		struct calls_hot *const hot = hot_of(t, n), *const of = hot_of(t, context_of(t, n));
		for (unsigned k = 0; k < calls_bits(cache.calls); k++)
			of->sums[k] += hot->sums[k];
		if (proxy->proxy == PROXY_STUB && hot->calls) {
			of->calls += hot->calls;
			count_stub(t, proxy->stub, proxy->worth, hot->calls);
		}
		hot_zero(hot);
	}
}

void calls_fold(struct thread *t)
{
	struct calls_thread *const c = calls_of(t);
	const unsigned events = calls_bits(cache.calls);
	if (!t->calls_mapped)
		return;
	if (cache.calls) {
		leave_cur(t, events);
		mem_zero(c->acc, sizeof(c->acc));
		fold_proxies(t);
		for (uint32_t n = 1; n <= c->n_nodes; n++) {
			struct calls_hot *const hot = hot_of(t, n);
			if (node_at(t, n)->proxy)
				continue;
			uint64_t any = hot->calls | (node_at(t, n)->logged ? 0 : 1);
			for (unsigned k = 0; k < events; k++)
				any |= hot->sums[k];
			if (!any)
				continue;
			if (part_drops(t, node_at(t, n)->watch))
				hot_zero(hot);
			log_node(t, n, hot);
			hot_zero(hot);
		}
	}
	log_syscalls(t);
}

/* ---- system calls ---- */

#define SYSCALL_TRIES 16u
#define FIRST_SYSCALLS 96u

/* The one with that key, or a free one; NULL: neither. */
static struct calls_syscall *find_syscall(struct calls_thread *c, uint64_t pc, int32_t number, uint32_t node)
{
	const uint64_t hash = mix(pc + (uint64_t)(uint32_t)number * 64 + ((uint64_t)node << 40));
	/* Most programs use the first page only. */
	for (uint32_t i = 0; i < 2 * SYSCALL_TRIES; i++) {
		const uint64_t at = hash + i % SYSCALL_TRIES;
		struct calls_syscall *const s = &c->syscalls[at % (i < SYSCALL_TRIES ? FIRST_SYSCALLS : MAX_SYSCALLS)];
		if (!s->times || (s->pc == pc && s->number == number && s->node == node))
			return s;
	}
	return NULL;
}

void calls_syscall(struct thread *t, uint64_t pc, long number, bool failed)
{
	struct calls_thread *const c = calls_of(t);
	if (!t->calls_mapped || t->code.off)
		return;
	const uint32_t node = cache.calls ? context_of(t, current(t)) : 0;
	struct calls_syscall *s;
	while (!(s = find_syscall(c, pc, (int32_t)number, node))) {
		lock_take();
		code_log_begin(t);
		calls_fold(t);
		lock_drop();
	}
	if (!s->times) {
		*s = (struct calls_syscall){ .pc = pc, .number = (int32_t)number, .node = node };
		c->n_syscalls++;
	}
	s->times++;
	s->errors += failed;
}

void calls_syscall_failed(struct thread *t, uint64_t pc, long number)
{
	const struct code_syscall r = { .number = (int32_t)number, .errors = 1,
					.context = cache.calls ? context_of(t, current(t)) : 0 };
	code_log_record(t, CODE_SYSCALL, pc, 0, &r, sizeof(r));
}
