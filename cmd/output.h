/* Where results go: stderr, stdout (`-`) or a file that is tried before the
 * command runs, so that no measurement is lost to a typing mistake.
 *
 *	struct output out;
 *	if (!output_open(&out, path))		// complained already
 *		return 125;
 *	…
 *	ok = output_write(&out, text, len);
 *	ok &= output_close(&out);
 *
 * What cannot be written to a file (a full disk) is written to stderr instead,
 * after the error: a result once measured is never thrown away.
 */
#ifndef CMD_OUTPUT_H
#define CMD_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output {
	const char *path;	/* NULL: stderr */
	int fd;
	bool created;		/* the file was not there before */
	bool begun;		/* something was written; the old content is gone */
	bool failed;
	bool spoiled;		/* output_bytes() failed: what is in the file is of no use */
	bool append;		/* set after output_open(): the old content stays */
};

/* NULL: stderr; "-": stdout. False: it cannot be written, and that was said. */
bool output_open(struct output *out, const char *path);
/* False: failed; what could not be written there went to stderr. */
bool output_write(struct output *out, const char *text, size_t len);
/* The same for a format that is of no use on a terminal: for struct tare_output, `out` is a struct output.
 * 0 or an errno value; then nothing more is written, and output_close() removes the file. */
int output_bytes(void *out, const void *bytes, size_t n);
/* Closes; a file that we created and never wrote to is removed again. */
bool output_close(struct output *out);

#endif
