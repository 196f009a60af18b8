/* What every func test needs: a check that tells, and a skip that says why. */
#ifndef TESTS_FUNC_H
#define TESTS_FUNC_H

#include <stdio.h>
#include <stdlib.h>

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

#endif
