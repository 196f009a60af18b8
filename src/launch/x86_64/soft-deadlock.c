#include "soft-deadlock.h"

#include "abi.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AT(field) (HERMETIC_FILE_OFFSET + offsetof(struct hermetic_shared, field))

static void read_comm(const struct hermetic_task *k, char *comm, size_t size)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)k->pid, (int)k->tid);
	FILE *const f = fopen(path, "re");
	if (f && fgets(comm, (int)size, f))
		comm[strcspn(comm, "\n")] = '\0';
	if (f)
		fclose(f);
}

static void say_futex(const struct hermetic_task *k, char *out, size_t size)
{
	if (k->wait_mutex)
		snprintf(out, size, "for a mutex at 0x%llx, which thread %d holds",
			 (unsigned long long)k->wait_a[0], (int)k->wait_for);
	else if (k->wait_for)
		snprintf(out, size, "for thread %d to end", (int)k->wait_for);
	else
		snprintf(out, size, "to be woken at the futex 0x%llx", (unsigned long long)k->wait_a[0]);
}

static void say_what(const struct hermetic_task *k, char *out, size_t size)
{
	const int fd = (int)k->wait_a[0];
	switch (k->wait_nr) {
	case SYS_futex:
		say_futex(k, out, size);
		break;
	case SYS_wait4:
	case SYS_waitid:
		if (k->wait_for)
			snprintf(out, size, "for process %d to end", (int)k->wait_for);
		else
			snprintf(out, size, "for a child process to end");
		break;
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_splice:
	case SYS_tee:
		snprintf(out, size, "for input at descriptor %d", fd);
		break;
	case SYS_write:
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
		snprintf(out, size, "for descriptor %d to take output", fd);
		break;
	case SYS_poll:
	case SYS_ppoll:
		snprintf(out, size, "for one of %u descriptors", (unsigned)k->wait_a[1]);
		break;
	case SYS_flock:
	case SYS_fcntl:
		snprintf(out, size, "for a lock of the file at descriptor %d", fd);
		break;
	case SYS_semop:
	case SYS_semtimedop:
		snprintf(out, size, "for a semaphore of set %d", fd);
		break;
	case SYS_msgrcv:
		snprintf(out, size, "for a message in queue %d", fd);
		break;
	case SYS_msgsnd:
		snprintf(out, size, "for room in message queue %d", fd);
		break;
	default:
		snprintf(out, size, "in system call %d", (int)k->wait_nr);
		break;
	}
}

static bool read_waits(int memfd, struct tare_world *w)
{
	uint32_t n;
	if (pread(memfd, &n, sizeof(n), (off_t)AT(n_tasks)) != sizeof(n) || n > HERMETIC_TASKS)
		return false;
	struct tare_wait *const waits = calloc(n, sizeof(*waits));
	size_t found = 0;
	for (uint32_t i = 0; waits && i < n; i++) {
		struct hermetic_task k;
		if (pread(memfd, &k, sizeof(k), (off_t)(AT(tasks) + i * sizeof(k))) != sizeof(k) || k.state != HT_WAITS)
			continue;
		struct tare_wait *const to = &waits[found++];
		to->pid = HERMETIC_FIRST_PID + (int)k.group;
		to->tid = HERMETIC_FIRST_PID + (int)i;
		read_comm(&k, to->comm, sizeof(to->comm));
		say_what(&k, to->what, sizeof(to->what));
	}
	w->waits = waits;
	w->n_waits = found;
	return found;
}

void soft_deadlock_look(int memfd, const struct tare_measure_options *o, struct tare_world *w)
{
	uint32_t deadlock = 0;
	if (!w || !w->hermetic)
		return;
	if (pread(memfd, &deadlock, sizeof(deadlock), (off_t)AT(deadlock)) != sizeof(deadlock))
		deadlock = 0;
	if (deadlock && !w->n_waits && read_waits(memfd, w) && o->on_deadlock)
		o->on_deadlock(w, o->arg);
	if (deadlock)
		return;
	free(w->waits);
	w->waits = NULL;
	w->n_waits = 0;
}
