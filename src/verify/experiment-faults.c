/* p: what an event counts for a page fault.
 *
 * The same code writes to each page of a mapping twice. The first time each write faults, the
 * second time none does: the difference is what the faults counted, whatever the code is.
 */
#include "experiment.h"

#include "why.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 10000		/* as in the paper */
#define FEW 1000		/* where memory is short */

struct pages {
	volatile uint8_t *start;
	size_t n, size;
};

static void touch(void *arg)
{
	const struct pages *const p = arg;
	for (size_t i = 0; i < p->n; i++)
		p->start[i * p->size] = 1;
}

static bool map_pages(struct pages *p)
{
	static const size_t numbers[] = { PAGES, FEW };
	for (size_t i = 0; i < 2; i++) {
		p->n = numbers[i];
		p->size = (size_t)sysconf(_SC_PAGESIZE);
		void *const m = mmap(NULL, p->n * p->size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (m == MAP_FAILED)
			continue;
		madvise(m, p->n * p->size, MADV_NOHUGEPAGE);
		p->start = m;
		return true;
	}
	return false;
}

static struct observation minus(const struct observation *a, const struct observation *b)
{
	return (struct observation){
		.excess = a->excess - b->excess,
		.counted_interrupts = a->counted_interrupts - b->counted_interrupts,
		.listed_interrupts = a->listed_interrupts - b->listed_interrupts,
		.faults = a->faults - b->faults,
		.ns = a->ns - b->ns,
	};
}

static int count_pages(struct verify *v, const struct batch *b, struct trial *t, unsigned run,
		       struct tare_why *why)
{
	struct pages pages;
	struct observation fresh[TRIAL_EVENTS], old[TRIAL_EVENTS];
	const struct trial_code code = { .function = touch, .argument = &pages };
	if (!map_pages(&pages))
		return why_set(why, TARE_E_NOMEM, "%d fresh pages", FEW);
	int err = batch_count(v, b, t, &code, NULL, fresh, why);
	if (!err)
		err = batch_count(v, b, t, &code, NULL, old, why);
	munmap((void *)pages.start, pages.n * pages.size);
	for (size_t i = 0; !err && i < b->n; i++)
		b->subjects[i]->pages[run] = minus(&fresh[i], &old[i]);
	return err;
}

double verify_per_fault(const struct verify *v, const struct subject *s, double *error)
{
	double each[PAGE_RUNS], copy[PAGE_RUNS], most = 0;
	*error = 0;
	if (!v->has_pages)
		return 0;
	for (int i = 0; i < PAGE_RUNS; i++) {
		const struct observation *const o = &s->pages[i];
		const double irqs = s->per_interrupt ?
			s->per_interrupt * verify_interrupts(v, o, s->source) : 0;
		if (o->faults < FEW / 2.0)
			return 0;
		each[i] = copy[i] = (o->excess - irqs) / o->faults;
		most = fmax(most, o->faults);
	}
	const double middle = verify_median(copy, PAGE_RUNS);
	for (int i = 0; i < PAGE_RUNS; i++)
		*error = fmax(*error, fabs(each[i] - middle));
	return fabs(middle) > 2 * *error + 2 / most ? middle : 0;
}

/* Some events that count interrupts also count page faults (AMD's 0x0420). */
static void irq_per_fault(struct verify *v)
{
	double each[PAGE_RUNS];
	const struct subject *const s = v->batches[0].subjects[0];
	if (!v->irq || v->batches[0].n_events == v->batches[0].n)
		return;
	for (int i = 0; i < PAGE_RUNS; i++)
		each[i] = s->pages[i].counted_interrupts / s->pages[i].faults;
	const double middle = verify_median(each, PAGE_RUNS);
	v->irq_per_fault = middle > 0.5 ? round(middle) : 0;
}

static int run(struct verify *v, struct tare_why *why)
{
	for (size_t i = 0; i < v->n_batches; i++) {
		const struct batch *const b = &v->batches[i];
		struct trial t;
		int err = batch_open(v, b, &t, why);
		for (unsigned r = 0; !err && r < PAGE_RUNS; r++)
			err = count_pages(v, b, &t, r, why);
		trial_close(&t);
		if (err && err != TARE_E_NOMEM && !verify_is_lost(err))
			return err;
		for (size_t k = 0; err && k < b->n; k++)
			verify_doubt(b->subjects[k], "page faults could not be tried: %s", why->what);
	}
	v->has_pages = v->n_batches > 0;
	if (v->has_pages && !v->batches[0].subjects[0]->reason[0])
		irq_per_fault(v);
	return 0;
}

const struct experiment experiment_faults = {
	.name = "page-faults",
	.about = "what a page fault adds: no fresh pages, and 10,000",
	.hardware = true, .cause = true, .with = (const char *const[]){ "interrupts", NULL },
	.run = run,
};
