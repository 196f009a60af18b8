/* Writes a profile shaped like a compiler's: nested intervals, most ids virtual
 * (one per invocation, mapped to a few hundred names), instants, integers at the
 * end. The bytes are put together here and not by the library, so that the bench
 * does not measure the library against itself.
 *
 *	profile-gen -n 24000000 -t 1 -s 1 -j 0 OUT.mm_profdata
 *
 * -s fixes the shape, -j (jitter) varies only the values: files that differ in -j
 * alone are runs of one program. -a: every third event has arguments of its own.
 * -x N: leaves out every N-th interval (runs that took different ways).
 */
#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 262144u
#define LABELS 300
#define REGULAR 100000003ull

struct stream {
	uint8_t page[PAGE];
	size_t n;
	uint64_t total;
	int tag;
};

struct open_interval {
	uint64_t start, id;
	unsigned kind;
};

struct thread {
	uint64_t clock;
	unsigned depth;
	struct open_interval stack[64];
};

static FILE *out;
static struct stream events = { .tag = 0 }, strings = { .tag = 1 }, index_ = { .tag = 2 };
static uint64_t shape, jitter, next_virtual, written, skipped;
static uint64_t label_id[LABELS], kind_id[4];
static uint16_t *label_of;		/* of each virtual id */
static bool with_args;
static uint64_t drop_every;

static void flush(struct stream *s)
{
	uint8_t head[5] = { (uint8_t)s->tag };
	const uint32_t n = htole32((uint32_t)s->n);
	if (!s->n)
		return;
	memcpy(head + 1, &n, 4);
	fwrite(head, 1, 5, out);
	fwrite(s->page, 1, s->n, out);
	s->n = 0;
}

static void put(struct stream *s, const void *bytes, size_t n)
{
	if (s->n + n > PAGE)
		flush(s);
	memcpy(s->page + s->n, bytes, n);
	s->n += n;
	s->total += n;
}

static void put64(struct stream *s, uint64_t v)
{
	v = htole64(v);
	put(s, &v, 8);
}

static uint64_t text(const char *t)
{
	const uint64_t id = strings.total + REGULAR;
	put(&strings, t, strlen(t));
	put(&strings, "\xff", 1);
	return id;
}

static uint64_t random_from(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static void record(uint64_t kind, uint64_t id, uint32_t thread, uint64_t p1, uint64_t p2)
{
	struct { uint64_t kind, id; uint32_t thread, lo1, lo2, hi; } r = {
		htole64(kind), htole64(id), htole32(thread), htole32((uint32_t)p1),
		htole32((uint32_t)p2), htole32((uint32_t)(p1 >> 32 << 16 | (p2 >> 32 & 0xFFFF))),
	};
	put(&events, &r, 32);
	written++;
}

static void begin(struct thread *t)
{
	const unsigned label = (unsigned)(random_from(&shape) * random_from(&shape) % LABELS);
	const unsigned kind = random_from(&shape) % 10 < 7 ? 0 : 1;
	uint64_t id = label_id[label];
	if (kind == 0) {
		id = next_virtual;
		label_of[next_virtual++] = (uint16_t)label;
	} else if (with_args) {
		char arg[32];
		id = strings.total + REGULAR;
		const uint64_t ref = htole64(label_id[label]);
		put(&strings, "\xfe", 1);
		put(&strings, &ref, 8);
		put(&strings, arg, (size_t)sprintf(arg, "\x1e%" PRIu64 "\xff", written));
	}
	t->stack[t->depth++] = (struct open_interval){ t->clock, id, kind };
}

static void end(struct thread *t, uint32_t number)
{
	const struct open_interval *const o = &t->stack[--t->depth];
	if (drop_every && ++skipped % drop_every == 0)
		return;
	record(kind_id[o->kind], o->id, number, o->start, t->clock);
}

static void step(struct thread *t, uint32_t number)
{
	t->clock += 20 + random_from(&shape) % 1000;
	if (jitter)
		t->clock += random_from(&jitter) % 4;
	const uint64_t r = random_from(&shape) % 100;
	if (r < 20)
		record(kind_id[2], label_id[r], number, t->clock, 0xFFFFFFFFFFFF);
	else if (t->depth == 0 || (r < 60 && t->depth < 40))
		begin(t);
	else
		end(t, number);
}

static void header(struct stream *s, const char *magic)
{
	put(s, magic, 4);
	put(s, "\x09\0\0\0", 4);
}

static void tables(void)
{
	static const char meta[] =
		"{ \"start_time\": 1700000000000000000, \"process_id\": 4711, \"cmd\": \"rustc "
		"--crate-name generated \", \"counter\": { \"name\": \"instructions:u\", "
		"\"units\": [[\"instructions\", 1]] } }";
	static const char *const kinds[] = { "Query", "GenericActivity", "QueryCacheHit",
					     "ArtifactSize" };
	header(&events, "MMES");
	header(&strings, "MMSD");
	header(&index_, "MMSI");
	put64(&index_, 100000001);
	put64(&index_, text(meta) - REGULAR);
	for (unsigned i = 0; i < 4; i++)
		kind_id[i] = text(kinds[i]);
	for (unsigned i = 0; i < LABELS; i++) {
		char name[32];
		sprintf(name, "%s_%u", i % 2 ? "typeck" : "metadata_decode_entry", i);
		label_id[i] = text(name);
	}
}

int main(int argc, char **argv)
{
	uint64_t n = 1000000, n_threads = 1;
	shape = 1;
	for (int c; (c = getopt(argc, argv, "n:t:s:j:ax:")) != -1; ) {
		switch (c) {
		case 'n': n = strtoull(optarg, NULL, 10); break;
		case 't': n_threads = strtoull(optarg, NULL, 10); break;
		case 's': shape = strtoull(optarg, NULL, 10); break;
		case 'j': jitter = strtoull(optarg, NULL, 10); break;
		case 'a': with_args = true; break;
		case 'x': drop_every = strtoull(optarg, NULL, 10); break;
		default: return 2;
		}
	}
	out = optind < argc ? fopen(argv[optind], "wb") : NULL;
	label_of = malloc((n + 100) * sizeof(*label_of));
	struct thread *const threads = calloc(n_threads, sizeof(*threads));
	if (!out || !label_of || !threads) {
		fprintf(stderr, "usage: profile-gen [-n EVENTS] [-t THREADS] [-s SHAPE] "
			"[-j JITTER] [-a] [-x N] FILE\n");
		return 2;
	}
	fwrite("MMPD\x09\0\0\0", 1, 8, out);
	tables();
	for (uint64_t turn = 0; written + 64 * n_threads < n; turn++) {
		const uint32_t number = (uint32_t)(turn / 500 % n_threads);
		step(&threads[number], number + 1);
	}
	for (uint32_t i = 0; i < n_threads; i++)
		while (threads[i].depth)
			threads[i].clock += 50, end(&threads[i], i + 1);
	while (written < n)
		record(kind_id[3], label_id[written % 20], 1, written, 0xFFFFFFFFFFFE);
	for (uint64_t i = 0; i < next_virtual; i++) {
		put64(&index_, i);
		put64(&index_, label_id[label_of[i]] - REGULAR);
	}
	flush(&strings);
	flush(&events);
	flush(&index_);
	free(label_of);
	free(threads);
	return fclose(out) != 0;
}
