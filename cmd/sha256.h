/* SHA-256 (FIPS 180-4), to tell files apart. */
#ifndef CMD_SHA256_H
#define CMD_SHA256_H

#include <stddef.h>

/* Writes 64 hexadecimal digits and a NUL. */
void sha256_hex(const void *bytes, size_t n, char out[65]);

#endif
