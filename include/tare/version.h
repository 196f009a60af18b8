/* The version of the headers, for the preprocessor, and of the library, at run time.
 *
 *	#if TARE_VERSION_NUMBER < 10200
 *	#error "needs libtare 1.2.0"
 *	#endif
 *	if (tare_version_number() < TARE_VERSION_NUMBER) …	the library is older than its headers
 *
 * Until 1.0.0 a minor version may change the ABI; from then on only a new major version does,
 * with a new soname.
 *
 * Threads: any thread, and signal handlers. No side effects.
 */
#ifndef TARE_VERSION_H
#define TARE_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

#define TARE_VERSION_MAJOR 0
#define TARE_VERSION_MINOR 2
#define TARE_VERSION_PATCH 0
#define TARE_VERSION "0.2.0"
/* Ordered: 1.2.3 is 10203. */
#define TARE_VERSION_NUMBER \
	(TARE_VERSION_MAJOR * 10000 + TARE_VERSION_MINOR * 100 + TARE_VERSION_PATCH)

/* TARE_VERSION and TARE_VERSION_NUMBER of the library in use. The text is static. */
const char *tare_version(void);
int tare_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
