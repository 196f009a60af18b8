#include "options-copy.h"

#include "why.h"

#include <tare/version.h>

#include <stdbool.h>
#include <string.h>

/* A larger size is not a struct but garbage, as in the kernel's copy_struct_from_user(). So is a
 * size that is not a multiple of 8: it would cut a field in two. */
#define LARGEST 4096

static bool all_zero(const unsigned char *bytes, size_t n)
{
	while (n && !*bytes)
		bytes++, n--;
	return n == 0;
}

int options_copy(void *copy, size_t size, const void *given, const char *type,
		 struct tare_why *why)
{
	size_t theirs = size;

	memset(copy, 0, size);
	memcpy(copy, &size, sizeof(size));
	if (!given)
		return 0;
	memcpy(&theirs, given, sizeof(theirs));
	if (theirs < sizeof(theirs) || theirs > LARGEST || theirs % sizeof(theirs)) {
		why_set(why, TARE_E_INVALID, "struct %s: its size is given as %zu, and %zu is right",
			type, theirs, size);
		why_remedy(why, "initialise the struct with its macro …_INIT (see tare/growth.h)");
		return TARE_E_INVALID;
	}
	if (theirs > size && !all_zero((const unsigned char *)given + size, theirs - size))
		return why_set(why, TARE_E_OPTION_UNKNOWN,
			       "struct %s: a field after its first %zu bytes is set, and libtare %s "
			       "knows those only", type, size, tare_version());
	const size_t common = theirs < size ? theirs : size;
	memcpy((char *)copy + sizeof(size), (const char *)given + sizeof(size),
	       common - sizeof(size));
	return 0;
}
