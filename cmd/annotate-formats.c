/* What `tare annotate -o FILE` writes: one line per format. */
#include "annotate.h"

const char *const annotate_format_words[] = { "json", "collapsed", "flamegraph", NULL };

static int flamegraph_file(const struct tare_codeprofile *p, const struct tare_output *out, struct tare_why *why)
{
	return annotate_flamegraph(p, false, out, why);
}

static annotate_writer *const writers[] = { tare_codeprofile_write, tare_codeprofile_export_collapsed,
					    flamegraph_file };

annotate_writer *annotate_format(int format)
{
	return writers[format];
}
