/* A machine as files of procfs and sysfs: those by which programs and libraries learn of CPUs. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct files {
	const struct world_choice *c;
	void (*put)(const char *path, const char *text, void *arg);
	void *arg;
	char list[16], map[24];		/* of all CPUs: "0-3", "f" */
};

__attribute__((format(printf, 3, 4)))
static void put(const struct files *f, const char *path, const char *fmt, ...)
{
	struct buf text = { 0 };
	char line[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	buf_str(&text, line);
	buf_chr(&text, '\n');
	if (!buf_failed(&text))
		f->put(path, text.data, f->arg);
	buf_free(&text);
}

static uint64_t all_cpus(unsigned n)
{
	return n >= 64 ? ~0ull : (1ull << n) - 1;
}

/* A set of CPUs as Linux writes it: 32 at a time, and as many digits as there are CPUs. */
static void map_text(char *out, size_t size, uint64_t set, unsigned cpus)
{
	const int digits = (int)((cpus % 32 ? cpus % 32 : 32) + 3) / 4;
	if (cpus > 32)
		snprintf(out, size, "%0*llx,%08llx", digits, (unsigned long long)(set >> 32),
			 (unsigned long long)(set & 0xffffffff));
	else
		snprintf(out, size, "%0*llx", digits, (unsigned long long)set);
}

static const char *cache_type(const struct world_cache *k)
{
	return k->type == 1 ? "Data" : k->type == 2 ? "Instruction" : "Unified";
}

static void cache_files(const struct files *f, unsigned cpu, unsigned i)
{
	const struct world_cache *const k = &f->c->machine->caches[i];
	char path[96], one[24];
	map_text(one, sizeof(one), 1ull << cpu, f->c->cpus);
#define FILE(name, ...) (snprintf(path, sizeof(path), "cpu/cpu%u/cache/index%u/" name, cpu, i), \
			 put(f, path, __VA_ARGS__))
	FILE("level", "%u", k->level);
	FILE("type", "%s", cache_type(k));
	FILE("size", "%uK", k->kib);
	FILE("coherency_line_size", "64");
	FILE("ways_of_associativity", "%u", k->ways);
	FILE("number_of_sets", "%u", k->kib * 16 / k->ways);
	FILE("physical_line_partition", "1");
	FILE("id", "%u", k->level == 3 ? 0 : cpu);
	FILE("shared_cpu_list", k->level == 3 ? "%s" : "%.0s%u", f->list, cpu);
	FILE("shared_cpu_map", "%s", k->level == 3 ? f->map : one);
#undef FILE
}

static void cpu_files(const struct files *f, unsigned cpu)
{
	char path[96], one[24];
	map_text(one, sizeof(one), 1ull << cpu, f->c->cpus);
#define FILE(name, ...) (snprintf(path, sizeof(path), "cpu/cpu%u/" name, cpu), put(f, path, __VA_ARGS__))
	for (unsigned i = 0; i < WORLD_CACHES; i++)
		cache_files(f, cpu, i);
	FILE("topology/core_id", "%u", cpu);
	FILE("topology/physical_package_id", "0");
	FILE("topology/die_id", "0");
	FILE("topology/thread_siblings", "%s", one);
	FILE("topology/thread_siblings_list", "%u", cpu);
	FILE("topology/core_cpus", "%s", one);
	FILE("topology/core_cpus_list", "%u", cpu);
	FILE("topology/core_siblings", "%s", f->map);
	FILE("topology/core_siblings_list", "%s", f->list);
	FILE("topology/package_cpus", "%s", f->map);
	FILE("topology/package_cpus_list", "%s", f->list);
	FILE("topology/die_cpus", "%s", f->map);
	FILE("topology/die_cpus_list", "%s", f->list);
	if (cpu)
		FILE("online", "1");
#undef FILE
}

static void cpuinfo(const struct files *f)
{
	const struct world_machine *const m = f->c->machine;
	struct buf flags = { 0 }, all = { 0 };
	world_flags(m, f->c->cpus, &flags);
	for (unsigned i = 0; i < f->c->cpus; i++)
		buf_printf(&all, "processor\t: %u\nvendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\n"
			   "model name\t: %s\nstepping\t: %u\ncpu MHz\t\t: 2000.000\ncache size\t: %u KB\n"
			   "physical id\t: 0\nsiblings\t: %u\ncore id\t\t: %u\ncpu cores\t: %u\n"
			   "apicid\t\t: %u\ninitial apicid\t: %u\nfpu\t\t: yes\nfpu_exception\t: yes\n"
			   "cpuid level\t: %d\nwp\t\t: yes\nflags\t\t: %s\nbugs\t\t:\n"
			   "bogomips\t: 4000.00\nclflush size\t: 64\ncache_alignment\t: 64\n"
			   "address sizes\t: %d bits physical, 48 bits virtual\npower management:\n\n",
			   i, m->vendor, m->family, m->model, m->brand, m->stepping, m->caches[3].kib,
			   f->c->cpus, i, f->c->cpus, i, i, m->xcr0 ? 13 : 11, flags.data,
			   m->vendor[0] == 'A' ? 48 : 46);
	if (!buf_failed(&all))
		f->put("cpuinfo", all.data, f->arg);
	buf_free(&flags);
	buf_free(&all);
}

void world_files(const struct world_choice *c,
		 void (*put_file)(const char *path, const char *text, void *arg), void *arg)
{
	struct files f = { .c = c, .put = put_file, .arg = arg };
	snprintf(f.list, sizeof(f.list), c->cpus > 1 ? "0-%u" : "%u", c->cpus - 1);
	map_text(f.map, sizeof(f.map), all_cpus(c->cpus), c->cpus);
	cpuinfo(&f);
	put(&f, "stat", "%s", "");		/* made when a program opens it */
	put(&f, "cpu/online", "%s", f.list);
	put(&f, "cpu/possible", "%s", f.list);
	put(&f, "cpu/present", "%s", f.list);
	put(&f, "cpu/offline", "%s", "");
	put(&f, "cpu/isolated", "%s", "");
	put(&f, "cpu/kernel_max", "%u", c->cpus - 1);
	put(&f, "cpu/smt/active", "0");
	put(&f, "cpu/smt/control", "notsupported");
	for (unsigned i = 0; i < c->cpus; i++)
		cpu_files(&f, i);
	put(&f, "node/online", "0");
	put(&f, "node/possible", "0");
	put(&f, "node/has_cpu", "0");
	put(&f, "node/has_memory", "0");
	put(&f, "node/has_normal_memory", "0");
	put(&f, "node/node0/cpulist", "%s", f.list);
	put(&f, "node/node0/cpumap", "%s", f.map);
	put(&f, "node/node0/distance", "10");
}
