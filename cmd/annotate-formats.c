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

static const struct {
	annotate_writer *write;
	bool has_lines;
} formats[] = {			/* as annotate_format_words */
	{ tare_codeprofile_write, true },
	{ tare_codeprofile_export_collapsed, false },
	{ flamegraph_file, false },
	{ callgrind_file, true },
	{ cachegrind_file, true },
	{ annotate_pprof, true },
	{ annotate_bbv, false },
};

annotate_writer *annotate_format(int format)
{
	return formats[format].write;
}

bool annotate_format_has_lines(int format)
{
	return formats[format].has_lines;
}
