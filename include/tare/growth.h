/* How the structs of this library grow from version to version without breaking a program
 * that was compiled earlier.
 *
 * Options (struct tare_…_options): the caller makes them, and the first field is their size.
 *
 *	struct tare_counter_options o = TARE_COUNTER_OPTIONS_INIT;	C and C++
 *	o.unpinned = true;
 *	tare_counter_open_event(event, &o, &c, &why);
 *
 *	tare_counter_open_event(event, &TARE_OPTIONS(counter, .unpinned = true), &c, &why);	C
 *
 * Both set the size and make every other field 0, which is the default. New fields come
 * at the end, and 0 means what earlier versions did.
 *  - A program compiled with an older header passes a smaller size: the missing fields are 0.
 *  - A program compiled with a newer header passes a larger size: that works while the fields
 *    that this library does not know are 0; else the function returns TARE_E_OPTION_UNKNOWN.
 *  - A size of 0 (no initialiser), above 4096, or not a multiple of 8 is TARE_E_INVALID: every
 *    struct of options has a multiple of 8.
 *  - Where a function says so, a NULL pointer means that all options have their default.
 *
 * Results:
 *  - A struct that the library allocates, and hands out as a pointer only, may get new fields at
 *    its end. Do not copy it, embed it, or take its size.
 *  - A struct that the caller allocates and the library fills, or that stands in an array, has
 *    `reserved` fields, which are 0: new fields will take their places. Its size stays the same.
 *    Do not use the reserved fields.
 *  - struct tare_why, struct tare_interval, struct tare_progress, struct tare_output, struct
 *    tare_extremes and struct tare_profile_unit never change.
 *
 * Enumerators keep their numbers, and new ones may be added: a program must expect values that
 * its header does not have. Only an enumerator that says how many there are grows.
 */
#ifndef TARE_GROWTH_H
#define TARE_GROWTH_H

#include <stddef.h>

#ifdef __cplusplus
/* C++17 has no designated initialisers, and warns of fields that an initialiser leaves out. */
extern "C++" {
template <class tare_options> tare_options tare_options_init()
{
	tare_options o = tare_options();
	o.size = sizeof(o);
	return o;
}
}
#define TARE_INIT(type) tare_options_init<type>()
#else
#define TARE_INIT(type) { .size = sizeof(type) }
/* A struct tare_NOUN_options with these fields set. */
#define TARE_OPTIONS(noun, ...) \
	((struct tare_##noun##_options){ .size = sizeof(struct tare_##noun##_options), __VA_ARGS__ })
#endif
/* What the other headers define TARE_NOUN_OPTIONS_INIT with. */
#define TARE_OPTIONS_INIT(noun) TARE_INIT(struct tare_##noun##_options)

#endif
