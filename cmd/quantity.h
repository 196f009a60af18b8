/* Values for people, in the counter's own unit; and durations as Rust prints them, for output
 * that must equal measureme's. */
#ifndef CMD_QUANTITY_H
#define CMD_QUANTITY_H

#include "buf.h"

#include <tare/profile.h>

/* A time as 1.234 ms; other counts grouped, 1,234,567. Without unit. */
void quantity_add(struct buf *b, const struct tare_profile_info *i, int64_t v);
/* The same before `end`, in up to QUANTITY_BYTES; returns where it starts. */
#define QUANTITY_BYTES 32
char *quantity_before(char *end, const struct tare_profile_info *i, int64_t v);
/* "12.34%". */
void percent_add(struct buf *b, double v);
/* The same before `end`, for values from 0 to 1e22. */
char *percent_before(char *end, double v);
void quantity_signed(struct buf *b, const struct tare_profile_info *i, int64_t v);
/* The middle of a range and half its width: "1,234 ±56", "1,234 ±0". Of a time the half is
 * rounded up, so that the two contain the range. */
void quantity_range(struct buf *b, const struct tare_profile_info *i, int64_t min, int64_t max);
/* twice / 2 in plain digits: "0.5", "12". */
void quantity_half(struct buf *b, uint64_t twice);
/* {:.2?} of a Duration of v ns: 1.23ms. */
void rust_duration2(struct buf *b, uint64_t v);
/* {:?}: all digits, no trailing zeros. */
void rust_duration(struct buf *b, uint64_t v);
/* {:.N} and {:+.N} of an f64. */
void rust_float(struct buf *b, double v, int decimals, bool plus);
/* Columns that a UTF-8 text takes on a terminal. */
size_t display_width(const char *text, size_t len);

#endif
