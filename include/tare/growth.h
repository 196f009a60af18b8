/* How the structs of this library grow from version to version without breaking a program
 * that was compiled earlier. Nothing here is called by a program, except the macros
 * TARE_…_OPTIONS_INIT that the other headers define with TARE_OPTIONS_INIT().
 *
 * Options (struct tare_…_options): the caller makes them, and the first field is their size.
 *
 *	struct tare_counter_options o = TARE_COUNTER_OPTIONS_INIT;
 *	o.unpinned = true;
 *
 *	C only: &(struct tare_counter_options){ .size = sizeof(struct tare_counter_options),
 *						.unpinned = true }
 *
 * The macro sets the size and makes every other field 0, which is the default. New fields come
 * at the end, and 0 means what earlier versions did.
 *  - A program compiled with an older header passes a smaller size: the missing fields are 0.
 *  - A program compiled with a newer header passes a larger size: that works while the fields
 *    that this library does not know are 0; else the function returns TARE_E_OPTION_UNKNOWN.
 *  - A size of 0 (no initialiser) or above 4096 is TARE_E_INVALID.
 *  - Where a function says so, a NULL pointer means that all options have their default.
 *
 * Results:
 *  - A struct that the library allocates, and hands out as a pointer only, may get new fields at
 *    its end. Do not copy it, embed it, or take its size.
 *  - A struct that the caller allocates and the library fills, or that stands in an array, has
 *    `reserved` fields, which are 0: new fields will take their places. Its size stays the same.
 *    Do not use the reserved fields.
 *  - struct tare_why and struct tare_interval never change.
 *
 * Enumerators keep their numbers, and new ones may be added: a program must expect values that
 * its header does not have.
 */
#ifndef TARE_GROWTH_H
#define TARE_GROWTH_H

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
#define TARE_OPTIONS_INIT(type) tare_options_init<type>()
#else
#define TARE_OPTIONS_INIT(type) { .size = sizeof(type) }
#endif

#endif
