/* The model as files and as cpuid show it.
 *
 * The launcher wrote a folder with everything that differs; paths that name one of
 * these are led there before the kernel sees them, so that open, stat, readdir and
 * relative names below all work by themselves.
 */
#include "vpmu.h"

#include "sys.h"
#include "text.h"

#include <asm/unistd.h>

/* What is led elsewhere: the path, or anything below it. */
static const struct { const char *path, *to; } moved[] = {
	{ "/sys/bus/event_source/devices", "/devices" },
	{ "/sys/devices/cpu", "/devices/cpu" },
	{ "/proc/cpuinfo", "/cpuinfo" },
	{ "/proc/sys/kernel/perf_event_paranoid", "/perf_event_paranoid" },
	{ "/proc/sys/kernel/nmi_watchdog", "/nmi_watchdog" },
	{ "/proc/sys/kernel/perf_event_mux_interval_ms", "/mux_interval" },
};

#define PATH_SIZE 512

static bool read_path(char *to, uint64_t at)
{
	for (size_t n = 0; n < PATH_SIZE; n++) {
		if (!copy_guest(to + n, (const char *)at + n, 1))
			return false;
		if (!to[n])
			return n > 0;
		if (n == 0 && to[0] != '/')
			return false;
		if (n == 1 && to[1] != 's' && to[1] != 'p' && to[1] != '/' && to[1] != '.')
			return false;
	}
	return false;
}

/* An absolute path without empty, "." and ".." parts. */
static void normalise(char *out, const char *path)
{
	size_t n = 0;
	while (*path) {
		while (*path == '/')
			path++;
		size_t len = 0;
		while (path[len] && path[len] != '/')
			len++;
		if (len == 2 && path[0] == '.' && path[1] == '.') {
			while (n && out[--n] != '/')
				;
		} else if (len && !(len == 1 && path[0] == '.')) {
			out[n++] = '/';
			mem_copy(out + n, path, len);
			n += len;
		}
		path += len;
	}
	out[n] = '\0';
}

/* Whether it names one of ours, and where that is. */
static bool lead(const char *path, char *to)
{
	char plain[PATH_SIZE];
	normalise(plain, path);
	for (unsigned i = 0; i < sizeof(moved) / sizeof(moved[0]); i++) {
		const size_t len = text_len(moved[i].path);
		if (!text_starts(plain, moved[i].path) || (plain[len] && plain[len] != '/'))
			continue;
		struct line l = { 0 };
		line_str(&l, vpmu()->dir);
		line_str(&l, moved[i].to);
		line_str(&l, plain + len);
		if (l.len >= sizeof(l.text))
			return false;
		mem_copy(to, l.text, l.len);
		to[l.len] = '\0';
		return true;
	}
	return false;
}

/* Which argument of the call is the path; -1: none we care for. */
static int path_argument(long nr)
{
	switch (nr) {
	case __NR_open:
	case __NR_stat:
	case __NR_lstat:
	case __NR_access:
	case __NR_readlink:
	case __NR_chdir:
	case __NR_statfs:
	case __NR_getxattr:
	case __NR_lgetxattr:
	case __NR_listxattr:
	case __NR_llistxattr:
		return 0;
	case __NR_openat:
	case __NR_openat2:
	case __NR_newfstatat:
	case __NR_statx:
	case __NR_faccessat:
	case __NR_faccessat2:
	case __NR_readlinkat:
		return 1;
	default:
		return -1;
	}
}

long vpmu_path(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	const int at = path_argument(nr);
	char path[PATH_SIZE], to[PATH_SIZE];
	if (at < 0 || !read_path(path, a[at]) || !lead(path, to))
		return 0;
	uint64_t b[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	b[at] = (uint64_t)to;
	const long ret = gate(t, nr, b);
	/* in another root the files are not to be seen: what is there is the machine's */
	*done = !(ret == -2 && sys2(__NR_access, vpmu()->dir, 0) < 0);
	return ret;
}

/* ---- cpuid ---- */

struct answer {
	uint32_t a, b, c, d;
};

static struct answer ask(uint32_t leaf, uint32_t subleaf)
{
	struct answer r;
	__asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d)
			 : "a"(leaf), "c"(subleaf));
	return r;
}

static uint32_t four(const char *s)
{
	uint32_t v;
	__builtin_memcpy(&v, s, 4);
	return v;
}

static uint32_t signature(const struct vpmu_model *m)
{
	const uint32_t family = m->family > 15 ? 15 : m->family;
	return (m->stepping & 15) | (m->model & 15) << 4 | family << 8 |
	       (m->model >> 4 & 15) << 16 | (m->family - family) << 20;
}

static void put_vendor(struct answer *r)
{
	const char *const v = vpmu()->model.vendor;
	r->b = four(v);
	r->d = four(v + 4);
	r->c = four(v + 8);
}

/* Intel's leaf 0xA: version, counters, width; no event is declared missing. */
static struct answer pmu_leaf(const struct vpmu_model *m)
{
	if (!m->arch_version)
		return (struct answer){ 0 };
	return (struct answer){
		.a = m->arch_version | m->gp << 8 | m->width << 16 | 7u << 24,
		.b = 0,
		.d = m->fixed | m->width << 5,
	};
}

/* AMD: six core counters instead of four, and their MSRs. */
#define AMD_PERFCTR_CORE (1u << 23)
#define AMD_PERFMON_V2_LEAF 0x80000022u

static struct answer virtual_cpuid(uint32_t leaf, uint32_t sub)
{
	const struct vpmu_model *const m = &vpmu()->model;
	struct answer r = ask(leaf, sub);
	switch (leaf) {
	case 0:
		put_vendor(&r);
		if (m->arch_version && r.a < 10)
			r.a = 10;
		break;
	case 1:
		r.a = signature(m);
		break;
	case 0xa:
		r = pmu_leaf(m);
		break;
	case 0x1a:
		r = (struct answer){ 0 };		/* no model here is hybrid */
		break;
	case 7:
		if (!sub)
			r.d &= ~(1u << 15);
		break;
	case 0x80000000u:
		put_vendor(&r);
		break;
	case 0x80000001u:
		r.a = signature(m);
		r.c = (r.c & ~AMD_PERFCTR_CORE) |
		      (!m->arch_version && m->gp > 4 ? AMD_PERFCTR_CORE : 0);
		break;
	case 0x80000002u:
	case 0x80000003u:
	case 0x80000004u: {
		const char *const s = m->brand + 16 * (leaf - 0x80000002u);
		r = (struct answer){ four(s), four(s + 4), four(s + 8), four(s + 12) };
		break;
	}
	case AMD_PERFMON_V2_LEAF:
		r = (struct answer){ 0 };
		break;
	default:
		break;
	}
	return r;
}

void vpmu_cpuid(struct thread *t)
{
	/* cpuid is slow in a virtual machine: remember the answers */
	static struct { uint32_t leaf, sub; struct answer r; bool known; } seen[64];
	const uint32_t leaf = (uint32_t)t->regs[RAX], sub = (uint32_t)t->regs[RCX];
	const unsigned at = (leaf ^ leaf >> 26 ^ sub * 7) % 64;
	struct answer r;
	/* 1, 7, 0xB, 0xD and 0x1F tell of this CPU or of XCR0: asked each time */
	const bool keep = leaf != 1 && leaf != 0xb && leaf != 0xd && leaf != 0x1f;
	lock_take(t);
	if (keep && seen[at].known && seen[at].leaf == leaf && seen[at].sub == sub) {
		r = seen[at].r;
	} else {
		r = virtual_cpuid(leaf, sub);
		seen[at].leaf = leaf;
		seen[at].sub = sub;
		seen[at].r = r;
		seen[at].known = keep;
	}
	lock_drop();
	t->regs[RAX] = r.a;
	t->regs[RBX] = r.b;
	t->regs[RCX] = r.c;
	t->regs[RDX] = r.d;
}
