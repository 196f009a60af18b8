/* Programs whose tasks all wait for each other, and some that only look so. usage: hermetic-deadlock WHAT */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile int flag;

static void *two_locks(void *backwards)
{
	pthread_mutex_lock(backwards ? &b : &a);
	usleep(10);
	pthread_mutex_lock(backwards ? &a : &b);
	return NULL;
}

static void *no_signal(void *arg)
{
	pthread_mutex_lock(&a);
	pthread_cond_wait(&never, &a);
	return arg;
}

static void *spin(void *arg)
{
	while (!flag)
		;
	return arg;
}

static int read_byte(int fd)
{
	char c;
	return (int)read(fd, &c, 1);
}

int main(int argc, char **argv)
{
	const char *const what = argc > 1 ? argv[1] : "";
	pthread_t t[2];
	int p[2], q[2];
	if (pipe(p) < 0 || pipe(q) < 0)
		return 1;
	if (!strcmp(what, "mutexes")) {
		pthread_create(&t[0], NULL, two_locks, NULL);
		pthread_create(&t[1], NULL, two_locks, &a);
		pthread_join(t[0], NULL);
	} else if (!strcmp(what, "condition")) {
		pthread_create(&t[0], NULL, no_signal, NULL);
		pthread_join(t[0], NULL);
	} else if (!strcmp(what, "pipes")) {
		if (!fork())
			return read_byte(p[0]);
		read_byte(q[0]);
	} else if (!strcmp(what, "own-pipe")) {
		read_byte(p[0]);
	} else if (!strcmp(what, "child")) {
		if (!fork())
			return read_byte(p[0]);
		wait(NULL);
	} else if (!strcmp(what, "signal")) {	/* one may come from outside */
		pthread_create(&t[0], NULL, no_signal, NULL);
		pause();
	} else if (!strcmp(what, "spins")) {
		pthread_create(&t[0], NULL, spin, NULL);
		sleep(1);
		flag = 1;
		pthread_join(t[0], NULL);
		puts("ended");
	} else if (!strcmp(what, "both-spin")) {
		fork();
		spin(NULL);
	} else if (!strcmp(what, "spins-on")) {
		pthread_create(&t[0], NULL, spin, NULL);
		pthread_join(t[0], NULL);
	}
	return 0;
}
