/* What `tare annotate -o FILE` writes: one line per format. */
#include "annotate.h"

const char *const annotate_format_words[] = { "json", "collapsed", "flamegraph", "callgrind", "cachegrind", "pprof",
					    "bbv", NULL };

static int flamegraph_file(const struct tare_codeprofile *p, const struct tare_output *out, struct tare_why *why)
{
	return annotate_flamegraph(p, false, out, why);
}

static int callgrind_file(const struct tare_codeprofile *p, const struct tare_output *out, struct tare_why *why)
{
	return tare_codeprofile_export_callgrind(p, &TARE_OPTIONS(callgrind, .insns = true), out, why);
}

static int cachegrind_file(const struct tare_codeprofile *p, const struct tare_output *out, struct tare_why *why)
{
	return tare_codeprofile_export_cachegrind(p, NULL, out, why);
}

static annotate_writer *const writers[] = { tare_codeprofile_write, tare_codeprofile_export_collapsed,
					    flamegraph_file, callgrind_file, cachegrind_file, annotate_pprof,
					    annotate_bbv };

annotate_writer *annotate_format(int format)
{
	return writers[format];
}
