/* What every func test needs: a check that tells, and a skip that says why. */
#ifndef TESTS_FUNC_H
#define TESTS_FUNC_H

#include <stdio.h>
#include <stdlib.h>

/* A function that stays one function. clang makes no clones and does not know the word. */
#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noinline, noclone))
#endif

/* Whether a sanitizer is in this program: its own memory faults, too, and its own instructions
 * count. There the number of page faults is at least what the code touches, and an exact
 * comparison is for the plain build. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif
#define IS_COUNT(got, want) (SANITIZED ? (got) >= (want) : (got) == (want))

/* For numbers of the kernel's that other processes can change: a page fault more, because memory was
 * reclaimed or moved. One of a dozen attempts must hold. */
#define WHEN_STILL(cond)                                                       \
	({                                                                     \
		int still_ = 0;                                                \
		for (int try_ = 0; try_ < 12 && !still_; try_++)               \
			still_ = (cond);                                       \
		still_;                                                        \
	})

#define CHECK(cond, ...)                                                       \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #cond); \
			fprintf(stderr, __VA_ARGS__);                          \
			fputc('\n', stderr);                                   \
			exit(1);                                               \
		}                                                              \
	} while (0)

#define SKIP(...)                                                              \
	do {                                                                   \
		printf(__VA_ARGS__);                                           \
		putchar('\n');                                                 \
		exit(77);                                                      \
	} while (0)

/* A part of the test cannot be run; the rest goes on. tools/report-tests counts the line. */
#define SKIPPED(what, ...)                                                     \
	do {                                                                   \
		printf("skipped: %s: ", what);                                 \
		printf(__VA_ARGS__);                                           \
		putchar('\n');                                                 \
	} while (0)

#endif
