/* pages MAIN [CHILD [THREAD]]: touches that many new pages, in the process itself, in
 * a forked child and in a thread: page faults that can be counted to the last one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void touch(size_t pages)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *const p = mmap(NULL, (pages + 1) * size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		exit(1);
	madvise(p, (pages + 1) * size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		p[i * size] = 1;
}

static void *thread(void *arg)
{
	touch((size_t)atoi(arg));
	return NULL;
}

int main(int argc, char **argv)
{
	int status = 0;
	if (argc > 1)
		touch((size_t)atoi(argv[1]));
	if (argc > 2) {
		const pid_t child = fork();
		if (child == 0) {
			touch((size_t)atoi(argv[2]));
			_exit(0);
		}
		waitpid(child, &status, 0);
	}
	if (argc > 3) {
		pthread_t t;
		if (pthread_create(&t, NULL, thread, argv[3]) != 0)
			return 1;
		pthread_join(t, NULL);
	}
	return status != 0;
}
