/* Inside of an opened profile, for the rooms that read many events fast.
 *
 *	struct walk w;
 *	walk_init(&w, p, true);
 *	struct run run;
 *	while (walk_next(&w, &run))
 *		for (size_t i = run.n; i-- > 0;)
 *			mm_decode(run.records + i * p->record_size, p->wide, &e);
 *	walk_done(&w);
 *
 * A run is a stretch of whole records that lie side by side in the map; a record
 * cut by a page boundary comes as a run of one, put together in the walk.
 */
#ifndef PROFILE_READER_H
#define PROFILE_READER_H

#include "buf.h"
#include "format.h"
#include "json.h"

#include <tare/profile.h>

#include <stdatomic.h>

/* One page's payload: where in the stream, where in the file. */
struct piece {
	uint64_t stream_off, file_off;
};

struct stream {
	struct piece *pieces;	/* n + 1: the last one holds the end */
	size_t n, cap;
	uint64_t size;		/* with its 8-byte header; 0: absent */
};

struct tare_profile {
	struct tare_profile_info info;
	const uint8_t *bytes;
	size_t size;
	void *map;		/* munmap this, or NULL */
	void *heap;		/* free this, or NULL */
	int fd;			/* of the file that is mapped; -1: it is not kept open */
	bool wide;		/* version 9 */
	unsigned record_size, id_size;
	struct stream streams[MM_TAGS];
	/* The index: dense by virtual id where that is no waste, else sorted. */
	uint32_t *dense;	/* address by id; 0: unmapped; n_dense and one more, a 0 */
	uint16_t *narrow;	/* instead of `dense`, where two bytes hold every address */
	uint64_t n_dense;
	uint64_t *sparse;	/* id << SPARSE_SHIFT | number of the index entry */
	size_t n_sparse;
	uint64_t metadata_addr;	/* 0: none */
	struct buf meta_text;
	struct json_node *meta;
	struct tare_profile_unit *units;
	struct tare_profile_thread *threads;
	char *path;
	_Atomic uint64_t warned[TARE_PROFILE_WARNINGS];
};

static inline void profile_warn(struct tare_profile *p, enum tare_profile_warning_kind k,
				uint64_t n)
{
	atomic_fetch_add_explicit(&p->warned[k], n, memory_order_relaxed);
}

/* spool.c: bytes that cannot be mapped as they are. */
int spool_fd(struct tare_profile *p, int fd, struct tare_why *why);
int spool_repack(struct tare_profile *p, struct tare_why *why);
int spool_file(struct tare_why *why);	/* an unnamed file, or an error */
int spool_write(int fd, const void *bytes, size_t n, struct tare_why *why);

/* meta.c */
int meta_read(struct tare_profile *p, struct tare_why *why);

/* strings.c: the text of an id, appended to out. */
int strings_index(struct tare_profile *p, struct tare_why *why);
uint64_t strings_addr(const struct tare_profile *p, uint64_t id);	/* 0: no string */
/* The same without a branch for what nearly all ids are; 0: ask strings_addr(). Regular
 * and virtual ids take turns at random, and a wrong guess costs more than both ways. */
struct ids_fast {
	const uint16_t *narrow;		/* as in struct tare_profile */
	const uint32_t *dense;
	uint64_t n_dense;
};
static inline struct ids_fast ids_fast(const struct tare_profile *p)
{
	return (struct ids_fast){ p->narrow, p->dense, p->n_dense };
}
static inline uint64_t ids_addr(const struct ids_fast *f, uint64_t id)
{
	const uint64_t at = id < f->n_dense ? id : f->n_dense;
	uint64_t mapped;
	/* Ids are given in order, and the file is walked backwards. */
	if (f->narrow) {
		mapped = f->narrow[at];
		__builtin_prefetch((const void *)((uintptr_t)&f->narrow[at] - 1024));
	} else {
		mapped = f->dense[at];
		__builtin_prefetch((const void *)((uintptr_t)&f->dense[at] - 2048));
	}
	return id < MM_FIRST_REGULAR ? mapped : id - MM_FIRST_REGULAR;
}
/* The same, and 0 where the address is not below `end`. Which of the two arrays there is is a
 * constant; `end` is more than two bytes hold. */
static inline uint64_t ids_addr_below(const struct ids_fast *f, uint64_t id, uint64_t end,
				      const int narrow)
{
	const uint64_t at = id < f->n_dense ? id : f->n_dense;
	const uint64_t mapped = narrow ? f->narrow[at] : f->dense[at];
	__builtin_prefetch(narrow ? (const void *)((uintptr_t)&f->narrow[at] - 1024)
				  : (const void *)((uintptr_t)&f->dense[at] - 2048));
	const uint64_t below = narrow || mapped < end ? mapped : 0;
	return id - MM_FIRST_REGULAR < end ? id - MM_FIRST_REGULAR : below;
}
static inline uint64_t strings_addr_fast(const struct tare_profile *p, uint64_t id)
{
	const struct ids_fast f = ids_fast(p);
	return ids_addr(&f, id);
}
int strings_text(struct tare_profile *p, uint64_t id, struct buf *out, struct tare_why *why);
/* When the entry of `id` begins with nothing but a reference that ends there or is
 * followed by a separator, the id referred to: its text is the label. 0 otherwise. */
uint64_t strings_label_id(struct tare_profile *p, uint64_t id);
/* The bytes of a stream at `off`: how many of them lie side by side (0: past the end). */
size_t stream_span(const struct tare_profile *p, const struct stream *s, uint64_t off,
		   const uint8_t **bytes);
/* The page of it that the byte at `off` is in: its first byte, where that is in the stream, and how
 * many there are. NULL: past the end. */
const uint8_t *stream_page(const struct tare_profile *p, const struct stream *s, uint64_t off,
			   uint64_t *from, size_t *len);
/* n bytes at off, which may lie in several pages; false when the stream ends before. */
bool stream_copy(const struct tare_profile *p, const struct stream *s, uint64_t off,
		 void *out, size_t n);

/* eventid.c: an event id's text split into label and arguments. */
struct event_name {
	const char *label;
	size_t label_len;
	const char *args;	/* arguments joined by MM_SEPARATOR, none at the front */
	size_t args_len;
	unsigned n_args;
	const char *error;	/* measureme's complaint, or NULL */
	size_t error_pos;
};
void event_name_split(const char *text, size_t len, struct event_name *n);

/* walk.c */
struct run {
	const uint8_t *records;
	size_t n;
	uint64_t first;		/* number of records[0] in the file */
};

struct walk {
	struct tare_profile *p;
	bool back;
	uint64_t next, stop;	/* record numbers: [next, stop) forward, [stop, next) back */
	uint64_t from, to;	/* where they are in the file */
	uint64_t dropped;	/* file offset up to (back: down to) which pages were dropped */
	uint8_t *bytes;		/* the run, read from the file; NULL: it is in the map */
	uint8_t cut[32];
};

void walk_init(struct walk *w, struct tare_profile *p, bool back);
/* Only records [first, end). */
void walk_range(struct walk *w, struct tare_profile *p, bool back, uint64_t first, uint64_t end);
bool walk_next(struct walk *w, struct run *run);
void walk_done(struct walk *w);
/* n bytes of the file at `at`, read into `room`; or where that fails, and where the file is not
 * open, in the map. For what is gone through once: mapping it page by page takes longer. */
#define PROFILE_READ_BYTES (256u << 10)
const uint8_t *profile_bytes(const struct tare_profile *p, uint64_t at, size_t n, uint8_t *room);
/* These bytes of the file are done with for now. */
void window_drop(const struct tare_profile *p, uint64_t from, uint64_t to);
/* For whoever goes backwards over records: what comes soon. The processor guesses it,
 * but not beyond a page. There need not be anything. */
static inline void prefetch_back(const uint8_t *record)
{
	__builtin_prefetch((const void *)((uintptr_t)record - 4096));
}
/* One record by its number. */
void profile_record(const struct tare_profile *p, uint64_t number, struct mm_event *e);

#endif
