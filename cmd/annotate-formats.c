/* What `tare annotate -o FILE` writes: one line per format. */
#include "annotate.h"

const char *const annotate_format_words[] = { "json", NULL };

static annotate_writer *const writers[] = { tare_codeprofile_write };

annotate_writer *annotate_format(int format)
{
	return writers[format];
}
