/* The inline functions of the public headers as symbols, for languages that
 * cannot include C. */
#define TARE_INLINE
/* A definition in a header is its own declaration. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include <tare/tare.h>
