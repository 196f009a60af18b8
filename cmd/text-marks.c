#include "text-marks.h"

#include <stdlib.h>
#include <string.h>

bool text_marks_add(struct text_marks *m, uint32_t number, const char *text, size_t len)
{
	const bool plain = m->is_plain(text, len);
	if (number >= m->n) {
		const size_t n = 2 * (size_t)number + 256;
		uint8_t *const marks = n > UINT32_MAX ? NULL : realloc(m->marks, n);
		if (!marks)
			return plain;
		memset(marks + m->n, 0, n - m->n);
		m->marks = marks;
		m->n = (uint32_t)n;
	}
	m->marks[number] = plain ? 1 : 2;
	return plain;
}

void text_marks_free(struct text_marks *m)
{
	free(m->marks);
}
