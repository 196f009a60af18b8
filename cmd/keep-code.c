#include "keep-code.h"

#include "complain.h"

#include <tare/measure.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MIB 1048576u

static bool default_folder(struct keep_code *k)
{
	const char *const cache = getenv("XDG_CACHE_HOME"), *const home = getenv("HOME");
	int n = -1;
	if (cache && cache[0] == '/')
		n = snprintf(k->folder, sizeof(k->folder), "%s/tare/code", cache);
	else if (home && home[0] == '/')
		n = snprintf(k->folder, sizeof(k->folder), "%s/.cache/tare/code", home);
	else
		complain("no place for kept code: neither XDG_CACHE_HOME nor HOME is set; name a folder: "
			 "--keep-code=FOLDER");
	if (n >= (int)sizeof(k->folder))
		complain("the name of the folder for kept code is too long");
	return n >= 0 && n < (int)sizeof(k->folder);
}

static bool given_folder(struct keep_code *k, const char *name)
{
	if ((size_t)snprintf(k->folder, sizeof(k->folder), "%s", name) < sizeof(k->folder))
		return true;
	complain("--keep-code: the name of the folder is too long");
	return false;
}

/* TARE_KEEP_CODE_SIZE, in MiB */
static bool choose_size(struct keep_code *k)
{
	const char *const text = getenv("TARE_KEEP_CODE_SIZE");
	if (!text || !text[0])
		return true;
	char *end;
	errno = 0;
	const unsigned long long mib = strtoull(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || !mib || mib > MOST_MIB) {
		complain("TARE_KEEP_CODE_SIZE is \"%s\"; it wants a number of MiB, 1 to %u", text, MOST_MIB);
		return false;
	}
	k->bytes = (uint64_t)mib << 20;
	return true;
}

bool keep_code_choose(struct keep_code *k, const char *given)
{
	*k = (struct keep_code){ .folder = "" };
	const char *const asked = getenv("TARE_KEEP_CODE");
	if (!given && (!asked || !asked[0] || !strcmp(asked, "0")))
		return true;
	if (!choose_size(k))
		return false;
	if (given)
		return given[0] ? given_folder(k, given) : default_folder(k);
	if (!strcmp(asked, "1"))
		return default_folder(k);
	if (asked[0] == '/')
		return given_folder(k, asked);
	complain("TARE_KEEP_CODE is \"%s\"; it wants 1 (tare/code in the XDG cache folder), 0, or a folder from / on", asked);
	return false;
}

void keep_code_tell(struct keep_code *k, const struct tare_measurement *m)
{
	if (k->told || (!m->kept.damaged && !m->kept.problem.code))
		return;
	k->told = true;
	if (m->kept.damaged)
		caution("%s: %" PRIu64 " file%s of kept code had been changed or damaged, and %s not used", k->folder,
			m->kept.damaged, m->kept.damaged == 1 ? "" : "s", m->kept.damaged == 1 ? "was" : "were");
	if (m->kept.problem.code)
		caution("%s; the counts are right, only the next run saves no time", m->kept.problem.what);
}
