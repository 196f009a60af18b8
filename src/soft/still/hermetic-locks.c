/* Locks of files that a program outside of the run holds: a result that another run may not repeat. Java, for one, locks a
 * file in /tmp that has its process id as name, and process ids are the same in each run.
 *
 * Who holds a lock stands in /proc/locks: NUMBER: KIND ADVISORY MODE PID MAJOR:MINOR:INODE START END. The kernel's id of a task
 * that has ended may stand there; it is known, too. An open file description's own lock (OFD) has no task, and is not named.
 */
#include "still-room.h"
#include "sys.h"

struct reader {
	int64_t fd;
	uint32_t at, n;
	char bytes[512];
};

static int next_byte(struct reader *r)
{
	if (r->at == r->n) {
		const long n = sys3(__NR_read, r->fd, r->bytes, sizeof(r->bytes));
		if (n <= 0)
			return -1;
		r->at = 0;
		r->n = (uint32_t)n;
	}
	return (uint8_t)r->bytes[r->at++];
}

/* The next word: its last decimal number, and how many colons it has. False: the end. */
static bool next_word(struct reader *r, int64_t *number, unsigned *colons)
{
	int c;
	while ((c = next_byte(r)) == ' ' || c == '\n')
		;
	*number = 0;
	*colons = 0;
	for (; c >= 0 && c != ' ' && c != '\n'; c = next_byte(r)) {
		*colons += c == ':';
		*number = c >= '0' && c <= '9' ? *number * 10 + (c - '0') : 0;
	}
	return c >= 0;
}

static bool is_of_run(int32_t pid)
{
	return id_shown(pid) >= HERMETIC_FIRST_PID;
}

void locks_refused(int64_t fd)
{
	struct k_stat st;
	struct reader r = { .fd = own_open(AT_FDCWD, "/proc/locks", O_RDONLY | O_CLOEXEC) };
	int64_t before = 0, number;
	unsigned colons;
	if (r.fd < 0)
		return;
	if (sys2(__NR_fstat, fd, &st) == 0)
		for (; next_word(&r, &number, &colons); before = number)
			if (colons == 2 && (uint64_t)number == st.ino && before > 0 && !is_of_run((int32_t)before))
				hermetic_note_left(HERMETIC_LOCKED);
	sys1(__NR_close, r.fd);
}
