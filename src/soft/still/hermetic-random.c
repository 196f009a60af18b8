/* Random numbers of the still world. Each task has a sequence of its own, which follows from the seed and
 * from the task's number: what other tasks ask for does not change it. */
#include "decode.h"
#include "still-room.h"
#include "sys.h"
#include "text.h"

#include <linux/auxvec.h>

#define LONGEST 33554431u		/* what the kernel gives at once */
#define DEVICE_RANDOM 0x108		/* major 1, minor 8 and 9 */
#define DEVICE_URANDOM 0x109
#define PIECE 256

/* A bijection in which every bit of the result depends on every bit of x (splitmix64). */
static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t next_word(const struct thread *t)
{
	const uint64_t golden = 0x9e3779b97f4a7c15ull;
	const uint64_t key = mixed(E.shared->hermetic.seed + golden) + mixed(t->hermetic.number + 1ull) * golden;
	return mixed(key + ++own_task(t)->randoms * golden);
}

void random_fill(const struct thread *t, void *to, size_t n)
{
	uint8_t *p = to;
	for (; n >= 8; n -= 8, p += 8) {
		const uint64_t w = next_word(t);
		__builtin_memcpy(p, &w, 8);
	}
	if (n) {
		const uint64_t w = next_word(t);
		mem_copy(p, &w, n);
	}
}

/* The 16 bytes at AT_RANDOM. */
void random_start(struct thread *t)
{
	const uint64_t *p = (const uint64_t *)t->regs[RSP];
	p += 2 + p[0];
	while (*p)
		p++;
	for (p++; p[0] != AT_NULL; p += 2)
		if (p[0] == AT_RANDOM)
			random_fill(t, (void *)p[1], 16);
}

static bool put_random(struct thread *t, uint64_t to, uint64_t n)
{
	uint8_t piece[PIECE];
	for (uint64_t done = 0; done < n; done += PIECE) {
		const uint64_t len = n - done < PIECE ? n - done : PIECE;
		random_fill(t, piece, len);
		if (!put_guest(to + done, piece, len))
			return false;
	}
	return true;
}

long random_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	const uint64_t n = a[1] < LONGEST ? a[1] : LONGEST;
	*done = nr == __NR_getrandom;
	if (!*done)
		return 0;
	if (a[2] & ~7ull || (a[2] & 6) == 6)	/* GRND_RANDOM and GRND_INSECURE */
		return -EINVAL;
	return put_random(t, a[0], n) ? (long)n : -EFAULT;
}

static bool is_device(long fd)
{
	struct k_stat st;
	return sys2(__NR_fstat, fd, &st) == 0 && (st.mode & S_IFMT) == S_IFCHR &&
	       (st.rdev == DEVICE_RANDOM || st.rdev == DEVICE_URANDOM);
}

void random_opened(long fd)
{
	if (is_device(fd))
		hermetic_shared()->random_open = 1;
}

bool random_device(long fd)
{
	return hermetic_shared()->random_open && is_device(fd);
}

long random_move(const struct thread *t, uint64_t out, uint64_t n)
{
	uint8_t piece[PIECE];
	const uint64_t len = n < sizeof(piece) ? n : sizeof(piece);
	random_fill(t, piece, len);
	return sys3(__NR_write, out, piece, len);
}

void random_read(struct thread *t, long nr, const uint64_t *a, long ret)
{
	if (ret <= 0 || !hermetic_shared()->random_open || !is_device((int32_t)a[0]))
		return;
	if (nr == __NR_read || nr == __NR_pread64) {
		put_random(t, a[1], (uint64_t)ret);
		return;
	}
	uint64_t left = (uint64_t)ret;
	for (uint64_t i = 0; left && i < a[2]; i++) {
		struct { uint64_t at, len; } v;
		if (!copy_guest(&v, (const void *)(a[1] + i * sizeof(v)), sizeof(v)))
			return;
		const uint64_t n = v.len < left ? v.len : left;
		put_random(t, v.at, n);
		left -= n;
	}
}

/* rdtscp has the number of the CPU, which is 0, in rcx. */
static void do_rdtsc(struct thread *t, const struct insn *in)
{
	const uint64_t now = UPTIME_S * NS + clock_now(t);
	if (cache.no_tsc)
		signal_try(t);
	t->regs[RAX] = (uint32_t)now;
	t->regs[RDX] = now >> 32;
	if (in->opcode == 0x01)
		t->regs[RCX] = 0;
}

void hermetic_insn(struct thread *t, const struct insn *in)
{
	if (decode_is_pause(in)) {
		turn_pause(t);
		return;
	}
	if (in->special == SPECIAL_RDTSC) {
		do_rdtsc(t, in);
		return;
	}
	uint64_t *const r = &t->regs[modrm_rm(in)];
	const uint64_t v = next_word(t), flags = FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF;
	*r = in->rex & 8 ? v : in->opsize16 ? (*r & ~0xffffull) | (uint16_t)v : (uint32_t)v;
	t->rflags = (t->rflags & ~flags) | FLAG_CF;
}
