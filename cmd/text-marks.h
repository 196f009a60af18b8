/* Which texts of a stream of events can be written as they are. A text is looked at once, when
 * its number comes for the first time. Out of memory, a text is looked at each time. */
#ifndef CMD_TEXT_MARKS_H
#define CMD_TEXT_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text_marks {
	bool (*is_plain)(const char *text, size_t len);
	uint8_t *marks;			/* by number: 0 is not known, 1 plain, 2 not plain */
	uint32_t n;
};

bool text_marks_add(struct text_marks *m, uint32_t number, const char *text, size_t len);
void text_marks_free(struct text_marks *m);

static inline bool text_is_plain(struct text_marks *m, uint32_t number, const char *text, size_t len)
{
	if (__builtin_expect(number < m->n && m->marks[number], 1))
		return m->marks[number] == 1;
	return text_marks_add(m, number, text, len);
}

#endif
