/* Counts parts of itself, for stat-parts.py:
 *
 *	parts-program toggle TIMES N		the same by toggling
 *	parts-program region TIMES N [more]	TIMES regions (tare/region.h) of N rounds; more: zero and dump
 *	parts-program control CTL ACK N PAGES	enables counting by the descriptors of --control, makes N
 *						rounds, touches PAGES pages, and disables counting
 *	parts-program threads N			a thread counts N rounds of itself while the others wait, and
 *						one that runs is not counted (callgrind.h's toggle)
 *
 * A round is the same number of instructions every time. */
#include <tare/region.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile unsigned x;

__attribute__((noinline)) static void rounds(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		x++;
}

static int toggles(char **argv)
{
	const int times = atoi(argv[0]);
	const unsigned n = (unsigned)atoi(argv[1]);
	int obeyed = 0;
	rounds(1000);
	for (int i = 0; i < times; i++) {
		obeyed += tare_region_toggle();
		rounds(n);
		obeyed += tare_region_toggle();
		rounds(17);
	}
	printf("%d\n", obeyed);
	return 0;
}

static int regions(char **argv, int more)
{
	const int times = atoi(argv[0]);
	const unsigned n = (unsigned)atoi(argv[1]);
	int obeyed = 0;
	rounds(1000);
	for (int i = 0; i < times; i++) {
		obeyed += tare_region_start();
		rounds(n);
		obeyed += tare_region_stop();
		rounds(17);
	}
	if (more) {
		tare_region_start();
		rounds(5000);
		tare_region_zero();
		rounds(n);
		tare_region_dump("first");
		rounds(2 * n);
		tare_region_dump(NULL);
		tare_region_stop();
	}
	printf("%d\n", obeyed);
	return 0;
}

static void command(const int fds[2], const char *text)
{
	char answer[5];
	size_t got = 0;
	if (write(fds[0], text, strlen(text)) < 0)
		exit(1);
	while (got < sizeof(answer)) {
		const ssize_t n = read(fds[1], answer + got, sizeof(answer) - got);
		if (n <= 0)
			exit(1);
		got += (size_t)n;
	}
	if (memcmp(answer, "ack\n", 5) != 0)
		exit(1);
}

static int control(char **argv)
{
	const int fds[2] = { atoi(argv[0]), atoi(argv[1]) };
	const unsigned n = (unsigned)atoi(argv[2]);
	const size_t size = 4096u * (size_t)atoi(argv[3]);
	char *const p = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, size + 4096, MADV_NOHUGEPAGE);
	rounds(1000);
	command(fds, "ping\n");
	command(fds, "enable\n");
	rounds(n);
	for (size_t i = 0; i < size; i += 4096)
		p[i] = 1;
	command(fds, "disable\n");
	rounds(1000);
	return 0;
}

/* ---- threads ---- */

static void toggle(void)
{
	tare_region_ask_('C' << 24 | 'T' << 16 | 2, NULL);
}

static volatile int quit;

static void *others(void *arg)
{
	(void)arg;
	while (!quit)
		rounds(100);
	return NULL;
}

static void *counts(void *arg)
{
	toggle();
	rounds(*(unsigned *)arg);
	toggle();
	return NULL;
}

static int threads(char **argv)
{
	unsigned n = (unsigned)atoi(argv[0]);
	pthread_t a, b;
	pthread_create(&a, NULL, others, NULL);
	pthread_create(&b, NULL, counts, &n);
	pthread_join(b, NULL);
	quit = 1;
	pthread_join(a, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "toggle"))
		return toggles(argv + 2);
	if (argc >= 4 && !strcmp(argv[1], "region"))
		return regions(argv + 2, argc > 4);
	if (argc == 6 && !strcmp(argv[1], "control"))
		return control(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "threads"))
		return threads(argv + 2);
	return 2;
}
