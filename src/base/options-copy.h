/* Taking the options of a caller that may have been compiled with another version of the
 * header (tare/growth.h has the rule).
 *
 *	struct tare_counter_options o;
 *	const int err = options_copy(&o, sizeof(o), given, "tare_counter_options", why);
 *	if (err < 0)
 *		return err;
 *
 * Afterwards use the copy only: it has all fields of this version, o.size is sizeof(o), and
 * fields that the caller's struct does not have are 0.
 *
 * A new field must begin at or after the end of the former struct, never in the padding there:
 * what a caller has in its padding is not defined.
 */
#ifndef BASE_OPTIONS_COPY_H
#define BASE_OPTIONS_COPY_H

#include <tare/err.h>

#include <stddef.h>

/* The first field of both structs is `size_t size`. `given` may be NULL: every field of the copy
 * is then 0. `type` is the struct's name, for the message.
 * TARE_E_INVALID: the size is none. TARE_E_OPTION_UNKNOWN: a field beyond this version's is set.
 * The copy is filled in any case. */
int options_copy(void *copy, size_t size, const void *given, const char *type,
		 struct tare_why *why);

#endif
