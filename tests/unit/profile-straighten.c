/* Counters that run back: what is written nests, and is off by no more than they were. */
#include "straighten.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define N(a) (sizeof(a) / sizeof((a)[0]))

struct pair {
	uint64_t p1, p2;
};

static uint64_t run(struct straightener *s, const struct pair *in, struct pair *out, size_t n)
{
	uint8_t *const records = calloc(n, 32);
	assert_non_null(records);
	for (size_t i = 0; i < n; i++)
		mm_encode(records + 32 * i, &(struct mm_event){ 7, 8, in[i].p1, in[i].p2, 9 });
	const uint64_t changed = straighten(s, records, n);
	for (size_t i = 0; i < n; i++) {
		struct mm_event e;
		mm_decode(records + 32 * i, 1, &e);
		assert_true(e.kind == 7 && e.id == 8 && e.thread == 9);
		out[i] = (struct pair){ e.p1, e.p2 };
	}
	free(records);
	return changed;
}

static void becomes(const struct pair *in, const struct pair *want, size_t n, uint64_t changed)
{
	struct straightener s = { 0 };
	struct pair out[16];
	assert_true(n <= N(out));
	assert_int_equal(run(&s, in, out, n), changed);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(out[i].p1, want[i].p1);
		assert_int_equal(out[i].p2, want[i].p2);
	}
}

static void leaves_what_is_straight(void **state)
{
	const struct pair in[] = { { 0, 5 }, { 5, 5 }, { 5, 9 }, { 9, MM_INSTANT }, { 3, MM_INTEGER },
				   { 0, 9 }, { 12, 14 }, { 11, 15 }, { 0, 20 } };
	becomes(in, in, N(in), 0);
}

static void moves_the_least(void **state)
{
	/* begins one before the last one's end */
	becomes((struct pair[]){ { 90, 100 }, { 99, 105 } },
		(struct pair[]){ { 90, 100 }, { 100, 105 } }, 2, 1);
	/* the inner one begins one before the one around it */
	becomes((struct pair[]){ { 89, 100 }, { 90, 105 } },
		(struct pair[]){ { 89, 100 }, { 89, 105 } }, 2, 1);
	/* the one around ends before the inner one, and instants come before */
	becomes((struct pair[]){ { 90, 100 }, { 80, 99 }, { 98, MM_INSTANT } },
		(struct pair[]){ { 90, 100 }, { 80, 100 }, { 100, MM_INSTANT } }, 3, 2);
	/* an inner one hides the one before */
	becomes((struct pair[]){ { 90, 100 }, { 101, 103 }, { 99, 110 } },
		(struct pair[]){ { 90, 100 }, { 101, 103 }, { 100, 110 } }, 3, 1);
}

/* A signal handler recorded after the end was read and before its record was placed: the counter
 * did not run back. */
static void handlers_are_not_counted(void **state)
{
	becomes((struct pair[]){ { 200, 260 }, { 90, 150 }, { 80, 300 } },
		(struct pair[]){ { 200, 260 }, { 90, 260 }, { 80, 300 } }, 3, 0);
	becomes((struct pair[]){ { 200, 230 }, { 240, 260 }, { 210, MM_INSTANT }, { 90, 150 } },
		(struct pair[]){ { 200, 230 }, { 240, 260 }, { 260, MM_INSTANT }, { 90, 260 } }, 4, 0);
	becomes((struct pair[]){ { 260, MM_INSTANT }, { 150, MM_INSTANT } },
		(struct pair[]){ { 260, MM_INSTANT }, { 260, MM_INSTANT } }, 2, 0);
	/* it did, though the latest one began after the end */
	becomes((struct pair[]){ { 101, 101 }, { 90, 100 } },
		(struct pair[]){ { 101, 101 }, { 90, 101 } }, 2, 1);
	/* the handler came on the way to another page: that way is in its values, not in later ones */
	becomes((struct pair[]){ { 90, 200 }, { 34, 61 }, { 0, 196 }, { 190, 210 } },
		(struct pair[]){ { 90, 200 }, { 34, 200 }, { 0, 200 }, { 200, 210 } }, 4, 1);
}

/* Random trees, every read off by up to 2: nested, off by no more than 4, whatever the
 * pages. */
static void random_trees(void **state)
{
	enum { EVENTS = 4000 };
	uint64_t random = 1;
	for (int round = 0; round < 20; round++) {
		static struct pair in[EVENTS], out[EVENTS];
		uint64_t start[30], now = 100;
		size_t n = 0, depth = 0, page = round % 2 ? 1 : EVENTS;
		while (n < EVENTS) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			now += 20 + (random >> 60);
			const uint64_t read = now - (random >> 40) % 3;
			if (depth < 30 && random >> 63)
				start[depth++] = read;
			else if (depth)
				in[n++] = (struct pair){ start[--depth], read };
		}
		struct straightener s = { 0 };
		for (size_t at = 0; at < n; at += page)
			run(&s, in + at, out + at, page < n - at ? page : n - at);
		for (size_t i = 0; i < n; i++) {
			assert_true(llabs((long long)(out[i].p1 - in[i].p1)) <= 4);
			assert_true(llabs((long long)(out[i].p2 - in[i].p2)) <= 4);
			assert_true(out[i].p1 <= out[i].p2 && (!i || out[i].p2 >= out[i - 1].p2));
		}
		/* as a reader goes: last first, with a stack */
		struct pair stack[EVENTS];
		size_t top = 0;
		for (size_t i = n; i-- > 0;) {
			while (top && !(stack[top - 1].p1 <= out[i].p1 && out[i].p2 <= stack[top - 1].p2))
				assert_true(out[i].p2 <= stack[--top].p1);
			stack[top++] = out[i];
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_what_is_straight),
		cmocka_unit_test(moves_the_least),
		cmocka_unit_test(handlers_are_not_counted),
		cmocka_unit_test(random_trees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
