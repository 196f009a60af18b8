#include "soft-machine.h"

#include "why.h"
#include "world.h"

#include <cpuid.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(WORLD_MAX_LEAVES <= MACHINE_LEAVES, "layout");

/* XSAVE's components are where the CPU puts them: AMD's CPUs have those of AVX-512 at other offsets than
 * Intel's. Programs that look for state in an area must find it, so cpuid shows the host's offsets. */
static void host_components(struct soft_machine *m)
{
	for (uint32_t i = 2; i < MACHINE_COMPONENTS; i++) {
		uint32_t a = 0, b = 0, c, d;
		if (m->xcr0 >> i & 1)
			__get_cpuid_count(0xd, i, &a, &b, &c, &d);
		m->size[i] = a;
		m->offset[i] = b;
	}
	for (uint32_t i = 0; i < m->n_leaves; i++) {
		struct soft_leaf *const l = &m->leaves[i];
		if (l->leaf == 0xd && l->sub >= 2 && l->sub < MACHINE_COMPONENTS)
			l->b = m->offset[l->sub];
	}
}

static const char *const extensions[] = {
#define MACHINE_EXT(name, flag) [EXT_##name] = (flag),
	MACHINE_EXTENSIONS(MACHINE_EXT)
#undef MACHINE_EXT
};

int soft_machine_beyond(const struct soft_machine *m, struct tare_world *w)
{
	if (!w || !m->on)
		return 0;
	struct tare_beyond *const list = calloc(N_EXTENSIONS, sizeof(*list));
	if (!list)
		return TARE_E_NOMEM;
	size_t n = 0;
	for (unsigned i = 1; i < N_EXTENSIONS; i++)
		if (m->beyond[i])
			list[n++] = (struct tare_beyond){ .extension = extensions[i], .address = m->beyond[i] };
	free(w->beyond);
	w->beyond = list;
	w->n_beyond = n;
	return 0;
}

_Static_assert((int)HERMETIC_NETWORK == TARE_LEFT_NETWORK && (int)HERMETIC_SHARED == TARE_LEFT_SHARED &&
	       (int)HERMETIC_NATIVE == TARE_LEFT_NATIVE && (int)HERMETIC_LATE_INPUT == TARE_LEFT_LATE_INPUT &&
	       (int)HERMETIC_FULL == TARE_LEFT_FULL && (int)HERMETIC_UNORDERED == TARE_LEFT_ORDER &&
	       (int)HERMETIC_TERMINAL == TARE_LEFT_TERMINAL && (int)HERMETIC_TAKEN == TARE_LEFT_TAKEN &&
	       (int)HERMETIC_HOST_FILE == TARE_LEFT_HOST_FILE && (int)HERMETIC_LOCKED == TARE_LEFT_LOCKED, "the same bits");

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* As far as address space randomisation moves things, or as far as there is room. */
void soft_layout_setup(struct soft_layout *l, unsigned number)
{
	enum { PAGE = 4096, STACK = 65536, PROGRAM_PAGES = 32768, LIBRARY_PAGES = 65536, HEAP_PAGES = 8192 };
	uint64_t state = number;
	if (!number)
		return;
	l->on = 1;
	l->stack = (uint32_t)(next_random(&state) % (STACK / 16) * 16);
	l->program = next_random(&state) % PROGRAM_PAGES * PAGE;
	l->libraries = next_random(&state) % LIBRARY_PAGES * PAGE;
	l->heap = next_random(&state) % HEAP_PAGES * PAGE;
}

void soft_hermetic_setup(struct soft_hermetic *h, const char *seed, const char *schedule)
{
	h->on = seed && world_seed(seed, &h->seed);
	h->scheduled = schedule && world_seed(schedule, &h->schedule);
}

void soft_hermetic_left(const struct soft_hermetic *h, struct tare_world *w)
{
	if (w && h->on)
		w->left = __atomic_load_n(&h->left, __ATOMIC_RELAXED);
}

int soft_machine_setup(struct soft_machine *m, const char *text, struct tare_why *why)
{
	struct world_choice c;
	struct world_host h;
	struct world_leaf leaves[WORLD_MAX_LEAVES];
	if (!text)
		return 0;
	int err = tare_machine_check(text, why);
	if (!err)
		err = world_parse(text, &c, why);
	if (err)
		return err;
	world_host_read(&h);
	m->cpus = c.cpus;
	m->xcr0 = c.machine->xcr0;
	m->has_xgetbv1 = h.has_xgetbv1;
	m->min_signal_stack = world_min_signal_stack();
	m->hwcap2 = world_hwcap2(c.machine);
	m->n_leaves = world_leaves(&c, leaves);
	for (uint32_t i = 0; i < m->n_leaves; i++) {
		const struct world_leaf *const l = &leaves[i];
		m->leaves[i] = (struct soft_leaf){ l->leaf, l->sub, l->each, l->a, l->b, l->c, l->d };
		if (l->leaf == 1)
			m->hwcap = l->d;
	}
	host_components(m);
	for (unsigned i = 1; i < N_EXTENSIONS; i++)
		if (world_has(c.machine, extensions[i]))
			m->has |= 1ull << i;
	m->on = 1;
	return 0;
}

/* ---- files ---- */

void soft_files_setup(struct soft_files *f, const char *dir, uint32_t of)
{
	struct stat st;
	/* By these device numbers the engine recognises files of procfs and sysfs. */
	if (stat("/proc/self/stat", &st) == 0)
		f->proc_dev = st.st_dev;
	if (stat("/sys", &st) == 0)
		f->sys_dev = st.st_dev;
	if (dir != f->dir)
		snprintf(f->dir, sizeof(f->dir), "%s", dir);
	f->of |= of;
}

struct folder {
	const char *dir;
	int err;		/* the first errno; then nothing more is written */
};

static void put_file(const char *name, const char *text, void *arg)
{
	struct folder *const f = arg;
	char path[PATH_MAX];
	if (f->err)
		return;
	const size_t start = (size_t)snprintf(path, sizeof(path), "%s/", f->dir);
	snprintf(path + start, sizeof(path) - start, "%s", name);
	FILE *out = fopen(path, "we");
	if (!out && errno == ENOENT) {
		for (char *p = path + start; (p = strchr(p, '/')); *p++ = '/') {
			*p = '\0';
			if (mkdir(path, 0755) < 0 && errno != EEXIST)
				f->err = errno;
		}
		out = fopen(path, "we");
	}
	if (!out) {
		f->err = errno;
		return;
	}
	fputs(text, out);
	if (fchmod(fileno(out), 0444) < 0 || fclose(out))
		f->err = errno;
}

int soft_machine_name(struct soft_shared *shared, struct run_folder *folder, struct tare_why *why)
{
	const int err = run_folder_name(folder, why);
	if (!err)
		soft_files_setup(&shared->files, folder->path, FILES_MACHINE);
	return err;
}

int soft_machine_folder(const struct soft_shared *shared, struct run_folder *folder, struct tare_why *why)
{
	if (folder->lock >= 0)
		return 0;
	const int err = run_folder_make(folder, why);
	if (!err)
		run_folder_keep(folder, (int)shared->reserved_fd, shared->hermetic.on);
	return err;
}

static int write_files(struct soft_shared *shared, struct run_folder *folder, const char *text)
{
	struct world_choice c;
	struct folder f = { .dir = shared->files.dir };
	struct tare_why why = { 0 };
	if (soft_machine_folder(shared, folder, &why))
		return why.sys_errno ? why.sys_errno : EIO;
	if (world_parse(text, &c, NULL) == 0)
		world_files(&c, put_file, &f);
	return f.err;
}

int soft_machine_files(struct soft_shared *shared, struct run_folder *folder, const char *text)
{
	if (shared->files.made)
		return shared->files.err;
	shared->files.err = write_files(shared, folder, text);
	__atomic_store_n(&shared->files.made, 1, __ATOMIC_RELEASE);
	return shared->files.err;
}
