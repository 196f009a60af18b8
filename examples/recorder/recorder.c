/* A program that records itself: three threads, nested intervals, arguments, an
 * instant and an integer.
 *
 *	cc -O2 -o recorder recorder.c $(pkg-config --cflags --libs tare) -pthread
 *	tare record -r 10 -o runs --counter instructions:u -- ./recorder
 *	tare aggregate runs
 *
 * It records only when `tare record` asks for it ($TARE_RECORD_DIR is set). What it
 * computes is the same in every run, so that what varies is the counter's noise.
 */
#include <tare/record.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define N 20000

static struct tare_recorder *recorder;
static uint64_t activity, marker, size;		/* kinds */
static uint64_t fill_id, sort_id, check_id, work_id, done_id, bytes_id;

static void fill(struct tare_record_thread *t, unsigned *data, unsigned seed)
{
	struct tare_interval i;
	tare_record_begin(t, &i, activity, fill_id);
	for (unsigned k = 0; k < N; k++) {
		seed = seed * 1664525u + 1013904223u;
		data[k] = seed >> 8;
	}
	tare_record_end(t, &i);
}

/* Our own (Ciura's gaps), not qsort(): that of the C library allocates memory, and the first
 * thread to call it looks up how much there is. Which thread is first is up to the scheduler. */
static void shell_sort(unsigned *data)
{
	static const unsigned gaps[] = { 8839, 3923, 1744, 701, 301, 132, 57, 23, 10, 4, 1 };
	for (unsigned g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++) {
		const unsigned gap = gaps[g];
		for (unsigned k = gap; k < N; k++) {
			const unsigned value = data[k];
			unsigned at = k;
			for (; at >= gap && data[at - gap] > value; at -= gap)
				data[at] = data[at - gap];
			data[at] = value;
		}
	}
}

static void sort(struct tare_record_thread *t, unsigned *data)
{
	struct tare_interval i;
	tare_record_begin(t, &i, activity, sort_id);
	shell_sort(data);
	tare_record_end(t, &i);
}

static unsigned check(struct tare_record_thread *t, const unsigned *data)
{
	struct tare_interval i;
	unsigned sum = 0;
	tare_record_begin(t, &i, activity, check_id);
	for (unsigned k = 1; k < N; k++)
		sum += data[k] >= data[k - 1] ? data[k] : 0;
	tare_record_end(t, &i);
	return sum;
}

/* One round of work, named after its number. */
static unsigned round_of(struct tare_record_thread *t, unsigned *data, unsigned seed, unsigned n)
{
	char text[16];
	struct tare_interval i;
	snprintf(text, sizeof(text), "%u", n);
	const uint64_t arg = tare_record_string(recorder, text);
	const uint64_t id = tare_record_event_id(recorder, work_id, &arg, 1);
	tare_record_begin(t, &i, activity, id);
	fill(t, data, seed + n);
	sort(t, data);
	const unsigned sum = check(t, data);
	tare_record_end(t, &i);
	return sum;
}

struct job {
	const char *name;
	unsigned seed, rounds, sum;
};

static void *work(void *arg)
{
	struct job *const job = arg;
	struct tare_record_thread *const t = tare_record_here(recorder);
	unsigned *const data = malloc(N * sizeof(*data));
	if (!data)
		return NULL;
	tare_record_name(t, job->name);
	for (unsigned n = 0; n < job->rounds; n++)
		job->sum += round_of(t, data, job->seed, n);
	tare_record_instant(t, marker, done_id);
	tare_record_integer(t, size, bytes_id, N * sizeof(*data));
	free(data);
	return job;
}

static void names(void)
{
	activity = tare_record_kind(recorder, "GenericActivity");
	marker = tare_record_kind(recorder, "Marker");
	size = tare_record_kind(recorder, "ArtifactSize");
	fill_id = tare_record_string(recorder, "fill");
	sort_id = tare_record_string(recorder, "sort");
	check_id = tare_record_string(recorder, "check");
	work_id = tare_record_string(recorder, "round");
	done_id = tare_record_string(recorder, "done");
	bytes_id = tare_record_string(recorder, "data");
}

int main(void)
{
	struct tare_why why = { 0 };
	const struct tare_record_options opts =
		TARE_OPTIONS(record, .name = "recorder", .only_when_asked = true);
	if (tare_record_start(&opts, &recorder, &why) < 0) {
		fprintf(stderr, "recorder: %s: %s\n%s\n", why.what, tare_err_sentence(why.code),
			tare_why_remedy(&why));
		return 1;
	}
	names();
	struct job jobs[3] = { { "main", 1, 12, 0 }, { "worker 1", 2, 8, 0 }, { "worker 2", 3, 8, 0 } };
	pthread_t threads[3];
	for (int i = 1; i < 3; i++)
		if (pthread_create(&threads[i], NULL, work, &jobs[i]) != 0)
			return 1;
	work(&jobs[0]);
	for (int i = 1; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%u %u %u\n", jobs[0].sum, jobs[1].sum, jobs[2].sum);
	if (tare_record_stop(recorder, &why) < 0) {
		fprintf(stderr, "recorder: %s: %s\n", why.what, tare_err_sentence(why.code));
		return 1;
	}
	return 0;
}
