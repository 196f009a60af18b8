/* The budget of an interval, counted: a child is stepped over begin and end one
 * instruction at a time. The counter's two reads cost what counter-steps.c finds;
 * the recorder may take 40 instructions on top. */
#include "func.h"

#ifndef __x86_64__

int main(void)
{
	SKIP("the stepper knows x86-64 only");
}

#else

#include "steps.h"

#include <tare/record.h>

#define BUDGET 40
#define KIND 77
#define ID 88

extern const char read_begin[], read_end[], pair_read_begin[], pair_read_end[];
extern const char interval_begin[], interval_end[];

static ALONE uint64_t read_one(struct tare_counter *c)
{
	uint64_t v;
	__asm__ volatile("read_begin:" : "+r"(c)::"memory");
	if (tare_counter_read(c, &v) != 0)
		_exit(3);
	__asm__ volatile("read_end:" : "+r"(v)::"memory");
	return v;
}

static ALONE uint64_t read_two(struct tare_counter *c)
{
	uint64_t v;
	__asm__ volatile("pair_read_begin:" : "+r"(c)::"memory");
	if (tare_counter_read_pair(c, &v) != 0)
		_exit(3);
	__asm__ volatile("pair_read_end:" : "+r"(v)::"memory");
	return v;
}

/* What is between them is unknown to the compiler, and so are the ids. */
static ALONE void interval(struct tare_record_thread *t,
							uint64_t kind, uint64_t id)
{
	struct tare_interval i;
	__asm__ volatile("interval_begin:" : "+r"(t), "+r"(kind), "+r"(id)::"memory");
	tare_record_begin(t, &i, kind, id);
	__asm__ volatile("" : "+r"(t) : "r"(&i) : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8",
			 "r9", "r10", "r11");
	tare_record_end(t, &i);
	__asm__ volatile("interval_end:" :: "r"(&i) : "memory");
}

/* The record as the format has it, with the thread's number left out. */
static bool recorded(const uint8_t *r, uint64_t value)
{
	uint64_t kind, id;
	uint32_t low;
	memcpy(&kind, r, 8);
	memcpy(&id, r + 8, 8);
	memcpy(&low, r + 20, 4);
	uint64_t p2 = 0;
	memcpy(&p2, r + 24, 6);
	uint16_t high;
	memcpy(&high, r + 30, 2);
	return kind == KIND && id == ID && ((uint64_t)high << 32 | low) == value && p2 == value;
}

static int child(void)
{
	static uint8_t page[8 * 32] __attribute__((aligned(8)));
	struct tare_counter *const one = make_counter(1, TARE_SERIALIZE_LFENCE);
	struct tare_counter *const two = make_counter(2, TARE_SERIALIZE_LFENCE);
	struct tare_record_thread t = { .counter = one, .next = page, .end = page + sizeof(page),
					.depth = 1 };
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	if (read_one(one) != COUNT_A || read_two(two) != COUNT_A - COUNT_B)
		return 4;
	interval(&t, KIND, ID);
	t.counter = two;
	t.depth = TARE_RECORD_PAIR | 1;
	interval(&t, KIND, ID);
	interval(&t, 0, ID);		/* filtered out */
	if (t.next != page + 64 || t.depth != (TARE_RECORD_PAIR | 1))
		return 5;
	return recorded(page, COUNT_A) && recorded(page + 32, COUNT_A - COUNT_B) ? 0 : 6;
}

int main(void)
{
	const pid_t pid = fork();
	if (pid == 0)
		_exit(child());
	int status;
	waitpid(pid, &status, 0);
	if (!WIFSTOPPED(status))
		SKIP("ptrace is refused here");
	const unsigned read = count(pid, read_begin, read_end);
	const unsigned pair = count(pid, pair_read_begin, pair_read_end);
	const unsigned with_one = count(pid, interval_begin, interval_end);
	const unsigned with_two = count(pid, interval_begin, interval_end);
	const unsigned filtered = count(pid, interval_begin, interval_end);
	while (step(pid, &status))
		;
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wrong record: status %#x", status);
	printf("an interval takes %u instructions on top of two reads of %u, %u on top of two of "
	       "%u (budget %u), %u when filtered out\n", with_one - 2 * read, read,
	       with_two - 2 * pair, pair, BUDGET, filtered);
	CHECK(with_one > 2 * read && with_one - 2 * read <= BUDGET, "%u", with_one - 2 * read);
	CHECK(with_two > 2 * pair && with_two - 2 * pair <= BUDGET, "%u", with_two - 2 * pair);
	CHECK(filtered <= BUDGET, "%u", filtered);
	return 0;
}

#endif
