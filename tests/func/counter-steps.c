/* The budget of an undisturbed read, counted: a child is stepped over the inline
 * reads one instruction at a time. The report's figures are 11 instructions for one
 * counter and 22 for a corrected one; ours must not be more.
 */
#include "func.h"

#include <stdint.h>

#ifndef __x86_64__

int main(void)
{
	SKIP("the stepper knows x86-64 only");
}

#else

#include "steps.h"

/* Where the stepped code begins and ends. */
extern const char single_begin[], single_end[], pair_begin[], pair_end[];
extern const char other_begin[], other_end[];

static ALONE uint64_t read_single(struct tare_counter *c)
{
	uint64_t v;
	__asm__ volatile("single_begin:" : "+r"(c)::"memory");
	if (tare_counter_read(c, &v) != 0)
		_exit(3);
	__asm__ volatile("single_end:" : "+r"(v)::"memory");
	return v;
}

static ALONE uint64_t read_pair(struct tare_counter *c)
{
	uint64_t v;
	__asm__ volatile("pair_begin:" : "+r"(c)::"memory");
	if (tare_counter_read_pair(c, &v) != 0)
		_exit(3);
	__asm__ volatile("pair_end:" : "+r"(v)::"memory");
	return v;
}

/* With a serialising instruction that is not the inline one. */
static ALONE uint64_t read_other(struct tare_counter *c)
{
	uint64_t v;
	__asm__ volatile("other_begin:" : "+r"(c)::"memory");
	if (tare_counter_read(c, &v) != 0)
		_exit(3);
	__asm__ volatile("other_end:" : "+r"(v)::"memory");
	return v;
}

/* r12 has the longest addresses: the short jump of the read must reach its target. */
static ALONE uint64_t read_pair_r12(struct tare_counter *counter)
{
	register struct tare_counter *c __asm__("r12") = counter;
	uint64_t v;
	__asm__ volatile("" : "+r"(c)::"memory");
	return tare_counter_read_pair(c, &v) != 0 ? 0 : v;
}

static int child(void)
{
	struct tare_counter *const one = make_counter(1, TARE_SERIALIZE_LFENCE);
	struct tare_counter *const two = make_counter(2, TARE_SERIALIZE_LFENCE);
	struct tare_counter *const other = make_counter(1, TARE_SERIALIZE_MFENCE);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	if (read_single(one) != COUNT_A)
		return 4;
	if (read_pair(two) != COUNT_A - COUNT_B)
		return 5;
	if (read_pair_r12(two) != COUNT_A - COUNT_B)
		return 7;
	if (read_other(other) != COUNT_A)
		return 6;
	if (read_other(other) != COUNT_A)
		return 6;
	return 0;
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
	const unsigned single = count(pid, single_begin, single_end);
	const unsigned pair = count(pid, pair_begin, pair_end);
	count(pid, other_begin, other_end);	/* the first binds symbols */
	const unsigned other = count(pid, other_begin, other_end);
	while (step(pid, &status))
		;
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wrong value: status %#x", status);
	printf("%u instructions for a counter (budget 11), %u for a pair (budget 22), "
	       "%u by the slow path\n", single, pair, other);
	CHECK(single == 11, "%u", single);
	CHECK(pair == 20, "%u", pair);
	CHECK(other > single && other < 250, "%u", other);	/* libtare(3): some 200 */
	return 0;
}

#endif
