#include "find-task.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

static bool has_cookie(const struct soft_slot *slot, pid_t tid)
{
	uint64_t word = 0;
	const struct iovec local = { &word, sizeof(word) };
	const struct iovec remote = { (void *)slot->cookie_at, sizeof(word) };
	return process_vm_readv(tid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof(word) &&
	       word == slot->cookie;
}

/* The last number of "NSpid: …": the pid in the innermost namespace. */
static pid_t inner_number(const char *dir, const char *name)
{
	char path[300], line[256];
	pid_t inner = -1;
	snprintf(path, sizeof(path), "%s/%s/status", dir, name);
	FILE *const f = fopen(path, "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		char *save = NULL;
		for (char *p = strtok_r(line + 6, "\t\n ", &save); p;
		     p = strtok_r(NULL, "\t\n ", &save))
			inner = (pid_t)strtol(p, NULL, 10);
		break;
	}
	fclose(f);
	return inner;
}

/* The task in a folder of /proc that has that innermost pid and the cookie; -1 if none. */
static pid_t look_in(const char *dir, pid_t inner, const struct soft_slot *slot)
{
	DIR *const d = opendir(dir);
	pid_t found = -1;
	if (!d)
		return -1;
	for (struct dirent *e; found < 0 && (e = readdir(d));) {
		const pid_t number = (pid_t)strtol(e->d_name, NULL, 10);
		if (number > 0 && inner_number(dir, e->d_name) == inner &&
		    has_cookie(slot, number))
			found = number;
	}
	closedir(d);
	return found;
}

bool find_task(const struct soft_slot *slot, pid_t *pid, pid_t *tid)
{
	if (has_cookie(slot, slot->tid)) {
		*pid = slot->pid;
		*tid = slot->tid;
		return true;
	}
	*pid = *tid = look_in("/proc", slot->pid, slot);
	if (*pid < 0 || slot->tid == slot->pid)
		return *pid > 0;
	char dir[64];
	snprintf(dir, sizeof(dir), "/proc/%d/task", (int)*pid);
	*tid = look_in(dir, slot->tid, slot);
	return *tid > 0;
}
