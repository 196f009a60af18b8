#include "descriptors.h"
#include "why.h"

#include <pthread.h>

/* Descriptors that a run has open at the same time: sockets, a pidfd, shared memory, files of /proc,
 * counters, beside the standard three and an output file. */
#define NEEDED 12
/* The soft limit during a run: at least PLENTY, and ABOVE more than the command's, since the engine's
 * own descriptor has a number above the command's limit. */
#define ABOVE 64
#define PLENTY 256

/* Protects own, depth and the limit of the process. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct rlimit own;	/* the caller's limit, valid while depth > 0 */
static unsigned depth;		/* runs between descriptors_begin() and descriptors_end() */

static rlim_t larger(rlim_t a, rlim_t b)
{
	return a > b ? a : b;
}

/* Needs the mutex. Root may also raise the hard limit. */
static void limit_raise(void)
{
	const rlim_t wanted = larger(own.rlim_cur + ABOVE, PLENTY);
	if (own.rlim_cur > 2048)
		return;
	const struct rlimit raised = { wanted, larger(own.rlim_max, wanted) };
	const struct rlimit to_hard = { own.rlim_max, own.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, &raised) < 0)
		setrlimit(RLIMIT_NOFILE, &to_hard);
}

int descriptors_begin(struct tare_why *why)
{
	struct rlimit now = { RLIM_INFINITY, RLIM_INFINITY };
	pthread_mutex_lock(&mutex);
	if (depth++ == 0 && getrlimit(RLIMIT_NOFILE, &own) == 0)
		limit_raise();
	getrlimit(RLIMIT_NOFILE, &now);
	pthread_mutex_unlock(&mutex);
	if (now.rlim_cur >= NEEDED)
		return 0;
	descriptors_end();
	return why_set(why, TARE_E_TOO_MANY_FILES,
		       "the hard limit is %llu open files (ulimit -Hn), and a run needs %d",
		       (unsigned long long)now.rlim_cur, NEEDED);
}

void descriptors_end(void)
{
	pthread_mutex_lock(&mutex);
	if (--depth == 0)
		setrlimit(RLIMIT_NOFILE, &own);
	pthread_mutex_unlock(&mutex);
}

struct rlimit descriptors_limit(void)
{
	struct rlimit l = { RLIM_INFINITY, RLIM_INFINITY };
	pthread_mutex_lock(&mutex);
	if (depth)
		l = own;
	else
		getrlimit(RLIMIT_NOFILE, &l);
	pthread_mutex_unlock(&mutex);
	return l;
}
