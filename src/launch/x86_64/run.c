/* tare_run(): a command under the engine, with a virtual PMU. */
#include <tare/run.h>

#include "descriptors.h"
#include "model.h"
#include "run-folder.h"
#include "soft-run.h"
#include "why.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct run {
	const struct tare_run_opts *o;
	const struct model *model;
	struct vpmu_flaws flaws;
	struct run_folder folder;
	const struct soft_shared *shared;
	struct vpmu_shared *v;
	void (*ended)(const struct soft_shared *shared, void *arg);
	void *arg;
};

/* How the kernel turns the time-stamp counter into its clock, for the pages. */
static void tsc_fields(struct vpmu_shared *v)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1,
					.exclude_hv = 1 };
	const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return;
	const struct perf_event_mmap_page *const p = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE),
							  PROT_READ, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		v->has_time = p->cap_user_time && p->cap_user_time_zero;
		v->time_shift = p->time_shift;
		v->time_mult = p->time_mult;
		v->time_zero = p->time_zero;
		munmap((void *)p, (size_t)sysconf(_SC_PAGESIZE));
	}
	close(fd);
}

/* Since Linux 6.13 an event can be inherited and be read with its group. */
static bool kernel_inherits_groups(void)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(a),
				     .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1,
				     .inherit = 1, .read_format = PERF_FORMAT_GROUP };
	const int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* What the PMU's tare_simulated says: how far its counts are the engine's own, then the codes
 * of events that are not, and whether what includes the kernel is (counter/perf-facts.h). */
static void make_marker(const struct run *r, const struct vpmu_shared *v, char *out, size_t size)
{
	const char *const list = r->o->flaws;
	size_t n = (size_t)snprintf(out, size, "%s%.120s", list && *list ? "flaws " : "exact",
				    list && *list ? list : "");
	if (r->o->kernel_as_user)
		n += (size_t)snprintf(out + n, size - n, "\nkernel-as-user");
	if (!r->o->cycles)
		return;
	n += (size_t)snprintf(out + n, size - n, "\ncycles");
	for (uint32_t i = 0; i < v->model.n_rows; i++)
		if (v->model.rows[i].is_cycles)
			n += (size_t)snprintf(out + n, size - n, " 0x%jx", (uintmax_t)v->model.rows[i].raw);
}

static int make_files(struct run *r, struct vpmu_shared *v, struct tare_why *why)
{
	char marker[256];
	make_marker(r, v, marker, sizeof(marker));
	int err = run_folder_make(&r->folder, why);
	if (err)
		return err;
	memcpy(v->dir, r->folder.path, sizeof(v->dir));
	err = model_files(v, marker, r->folder.path);
	return err ? why_errno(why, TARE_E_IO, err, "files in %s", r->folder.path) : 0;
}

/* By which the engine knows files of theirs. */
static void note_devices(struct vpmu_shared *v)
{
	struct stat st;
	if (stat("/proc/self/stat", &st) == 0)
		v->proc_dev = st.st_dev;
	if (stat("/sys", &st) == 0)
		v->sys_dev = st.st_dev;
}

/* The file has holes almost everywhere; a limit on the size of files means others. */
static bool make_room(int memfd, struct tare_why *why)
{
	struct rlimit limit, most;
	getrlimit(RLIMIT_FSIZE, &limit);
	most = limit;
	most.rlim_cur = most.rlim_max;
	if (most.rlim_max < VPMU_FILE_END) {
		why_set(why, TARE_E_IO,
			"the virtual PMU needs a file of %ju bytes, and ulimit -H -f allows %ju",
			(uintmax_t)VPMU_FILE_END, (uintmax_t)most.rlim_max);
		return false;
	}
	setrlimit(RLIMIT_FSIZE, &most);
	const int err = ftruncate(memfd, (off_t)VPMU_FILE_END) < 0 ? errno : 0;
	setrlimit(RLIMIT_FSIZE, &limit);
	if (err)
		why_errno(why, TARE_E_ENGINE, err, "shared memory for the virtual PMU");
	return !err;
}

/* Puts the virtual PMU into the run's shared memory. */
static int setup(int memfd, struct soft_shared *shared, void *arg, struct tare_why *why)
{
	struct run *const r = arg;
	r->shared = shared;
	if (!make_room(memfd, why))
		return why->code;
	struct vpmu_shared *const v = mmap(NULL, sizeof(*v), PROT_READ | PROT_WRITE, MAP_SHARED,
					   memfd, (off_t)VPMU_FILE_OFFSET);
	if (v == MAP_FAILED)
		return why_errno(why, TARE_E_ENGINE, errno, "shared memory for the virtual PMU");
	model_fill(r->model, &v->model);
	v->flaws = r->flaws;
	model_add_cycles(&v->model, r->o->cycles);
	v->kernel_as_user = r->o->kernel_as_user;
	tsc_fields(v);
	note_devices(v);
	v->rdpmc = 1;
	v->n_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	v->inherits_groups = kernel_inherits_groups();
	const int err = make_files(r, v, why);
	if (!err)
		run_folder_keep(&r->folder, memfd, (struct run_folder_map[]){
			{ v, sizeof(*v) }, { shared, sizeof(*shared) }, { 0 } });
	r->v = v;
	if (!err)
		shared->flags |= SOFT_FLAG_VPMU;
	return err;
}

static void tell_end(pid_t child, void *arg)
{
	const struct run *const r = arg;
	(void)child;
	if (r->ended)
		r->ended(r->shared, r->arg);
}

/* ---- what is to be said ---- */

static void join_names(char *out, size_t size, const struct vpmu_names *names)
{
	const uint32_t n = __atomic_load_n(&names->n, __ATOMIC_ACQUIRE);
	size_t at = 0;
	out[0] = '\0';
	for (uint32_t i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%.15s", i ? ", " : "", names->name[i]);
}

static void fill_report(const struct run *r, const struct tare_measurement *m)
{
	struct tare_run_report *const to = r->o->report;
	if (!to)
		return;
	*to = (struct tare_run_report){ 0 };
	if (r->v) {
		join_names(to->asked_cycles, sizeof(to->asked_cycles), &r->v->asked_cycles);
		join_names(to->kernel_as_user, sizeof(to->kernel_as_user), &r->v->used_as_user);
	}
	for (size_t i = 0; i < m->n_tasks; i++) {
		const struct tare_task *const t = &m->tasks[i];
		const size_t k = to->n_uncounted;
		if (!t->not_counted)
			continue;
		to->n_uncounted++;
		if (k >= sizeof(to->uncounted) / sizeof(to->uncounted[0]))
			continue;
		to->uncounted[k].pid = t->pid;
		to->uncounted[k].why = t->not_counted;
		snprintf(to->uncounted[k].name, sizeof(to->uncounted[k].name), "%.31s", t->comm);
	}
}

int tare_run(const struct tare_run_opts *o, int *status, struct tare_why *why)
{
	return run_watched(o, NULL, NULL, status, why);
}

int run_watched(const struct tare_run_opts *o,
		void (*ended)(const struct soft_shared *shared, void *arg), void *arg, int *status,
		struct tare_why *why)
{
	struct run r = { .o = o, .flaws = { .seed = o->seed }, .ended = ended, .arg = arg,
			 .folder = RUN_FOLDER_NONE };
	struct tare_measurement m = { 0 };
	const struct tare_measure_opts mo = { .argv = o->argv, .aslr = o->aslr, .stop = o->stop };
	const struct soft_hooks hooks = { .setup = setup, .before_reap = tell_end, .arg = &r };
	r.model = model_find(o->cpu, why);
	if (!r.model)
		return TARE_E_INVALID;
	int err = model_flaws(r.model, o->flaws, &r.flaws, why);
	if (!err)
		err = descriptors_begin(why);
	if (err)
		return err;
	err = soft_run(&mo, &hooks, &m, why);
	descriptors_end();
	fill_report(&r, &m);
	for (size_t i = 0; i < m.n_tasks; i++)
		free(m.tasks[i].counts);
	free(m.tasks);
	if (r.v)
		munmap(r.v, sizeof(*r.v));
	run_folder_remove(&r.folder);
	*status = m.exit_status;
	return err;
}
