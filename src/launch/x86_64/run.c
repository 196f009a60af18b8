/* tare_run(): a command under the engine, with a virtual PMU. */
#include <tare/run.h>

#include "child.h"
#include "descriptors.h"
#include "file-size.h"
#include "model.h"
#include "options-copy.h"
#include "run-folder.h"
#include "soft-machine.h"
#include "soft-run.h"
#include "why.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct run {
	const struct tare_run_options *o;
	struct vpmu_model model;
	struct vpmu_flaws flaws;
	struct run_folder folder;
	const struct soft_shared *shared;
	struct vpmu_shared *v;
	void (*ended)(const struct soft_shared *shared, void *arg);
	void *arg;
};

/* How the kernel converts the time-stamp counter to its clock, for the mapped pages. */
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

/* The text of the PMU's file tare_simulated, for people: whether the counts are
 * exact, then the options that make some events inexact and the codes of these events. */
static void make_marker(const struct run *r, const struct vpmu_shared *v, char *out, size_t size)
{
	const char *const list = model_flaws_are_random(r->o->flaws) ? "random" : r->o->flaws;
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

static int make_files(struct run *r, struct vpmu_shared *v, struct soft_shared *shared, struct tare_why *why)
{
	char marker[256];
	make_marker(r, v, marker, sizeof(marker));
	const bool has_folder = shared->files.of;	/* that of the machine */
	int err = has_folder ? 0 : run_folder_name(&r->folder, why);
	if (!err && !has_folder)
		err = run_folder_make(&r->folder, why);
	if (err)
		return err;
	soft_files_setup(&shared->files, has_folder ? shared->files.dir : r->folder.path, FILES_VPMU);
	if (!shared->files.dir[0])
		return why_set(why, TARE_E_IO, "no folder for the files of the CPU");
	err = err ? err : model_files(v, marker, shared->files.dir);
	return err ? why_errno(why, TARE_E_IO, err, "files in %s", shared->files.dir) : 0;
}

/* Puts the virtual PMU into the run's shared memory. */
static int setup(int memfd, struct soft_shared *shared, void *arg, struct tare_why *why)
{
	struct run *const r = arg;
	r->shared = shared;
	int err = file_set_size(memfd, VPMU_FILE_END, "the virtual PMU", why);	/* mostly holes */
	if (err)
		return err;
	struct vpmu_shared *const v = mmap(NULL, sizeof(*v), PROT_READ | PROT_WRITE, MAP_SHARED,
					   memfd, (off_t)VPMU_FILE_OFFSET);
	if (v == MAP_FAILED)
		return why_errno(why, TARE_E_ENGINE, errno, "shared memory for the virtual PMU");
	v->model = r->model;
	v->flaws = r->flaws;
	v->kernel_as_user = r->o->kernel_as_user;
	tsc_fields(v);
	v->rdpmc = 1;
	v->n_cpus = shared->machine.on ? shared->machine.cpus : (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	v->inherits_groups = kernel_inherits_groups();
	err = make_files(r, v, shared, why);
	if (!err && r->folder.path[0])
		run_folder_keep(&r->folder, memfd, false);
	r->v = v;
	if (!err)
		shared->flags |= SOFT_FLAG_VPMU;
	return err;
}

static void on_end(pid_t child, void *arg)
{
	const struct run *const r = arg;
	(void)child;
	if (r->ended)
		r->ended(r->shared, r->arg);
}

/* Counters that the task was to inherit, or that were opened on it, cannot count it any more: the
 * engine reports that when they are read (vpmu-read.c). */
static void on_native(uint32_t vslot, void *arg)
{
	const struct run *const r = arg;
	if (vslot < VPMU_MAX_TASKS)
		__atomic_store_n(&r->v->slots[vslot].native, 1, __ATOMIC_RELEASE);
}

/* ---- the report ---- */

/* A report and the texts it points to. */
struct reported {
	struct tare_run_report r;
	char asked_cycles[256], kernel_as_user[256];
};

static void join_names(char *out, size_t size, const struct vpmu_names *names)
{
	const uint32_t n = __atomic_load_n(&names->n, __ATOMIC_ACQUIRE);
	size_t at = 0;
	for (uint32_t i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%.15s", i ? ", " : "", names->name[i]);
}

/* Takes the tasks of *m. */
static struct tare_run_report *new_report(const struct run *r, struct tare_measurement *m)
{
	struct reported *const to = calloc(1, sizeof(*to));
	if (!to)
		return NULL;
	join_names(to->asked_cycles, sizeof(to->asked_cycles), &r->v->asked_cycles);
	join_names(to->kernel_as_user, sizeof(to->kernel_as_user), &r->v->used_as_user);
	to->r = (struct tare_run_report){ .exit_status = m->exit_status, .stopped = m->stopped,
					  .asked_cycles = to->asked_cycles,
					  .kernel_as_user = to->kernel_as_user,
					  .n_tasks = m->n_tasks, .tasks = m->tasks };
	m->tasks = NULL;
	return &to->r;
}

void tare_run_report_free(struct tare_run_report *report)
{
	if (!report)
		return;
	free(report->tasks);
	free((struct reported *)report);	/* its first member */
}

/* ---- the run ---- */

static int run_model(struct run *r, struct tare_run_report **report, struct tare_why *why)
{
	struct tare_measurement m = { 0 };
	const struct tare_measure_options mo = { .size = sizeof(mo), .argv = r->o->argv,
						 .aslr = r->o->aslr, .machine = r->o->machine, .stop = r->o->stop,
						 .per_task = r->o->all_tasks };
	const struct soft_hooks hooks = { .setup = setup, .before_reap = on_end,
					  .went_native = on_native, .arg = r };
	int err = descriptors_begin(why);
	if (err)
		return err;
	err = soft_run(&mo, &hooks, &m, why);
	descriptors_end();
	if (!err && report) {
		*report = new_report(r, &m);
		if (!*report)
			err = why_set(why, TARE_E_NOMEM, "the report of the run");
	}
	free(m.tasks);
	if (r->v)
		munmap(r->v, sizeof(*r->v));
	run_folder_remove(&r->folder);
	return err;
}

int run_watched(const struct tare_run_options *given,
		void (*ended)(const struct soft_shared *shared, void *arg), void *arg,
		struct tare_run_report **report, struct tare_why *why)
{
	struct tare_why local;
	struct tare_why *const w = why ? why : &local;
	struct tare_run_options o;
	if (report)
		*report = NULL;
	int err = options_copy(&o, sizeof(o), given, "tare_run_options", w);
	if (err)
		return err;
	if (!o.argv || !o.argv[0])
		return why_set(w, TARE_E_NO_COMMAND, "no command");
	if (!child_status_kept(w))
		return TARE_E_INVALID;
	struct run r = { .o = &o, .flaws = { .seed = o.seed }, .ended = ended, .arg = arg,
			 .folder = RUN_FOLDER_NONE };
	const struct model *const m = model_find(o.cpu, w);
	if (!m)
		return TARE_E_INVALID;
	model_fill(m, &r.model);
	model_add_cycles(&r.model, o.cycles);
	err = model_flaws(m, &r.model, o.flaws, &r.flaws, w);
	return err ? err : run_model(&r, report, w);
}

int tare_run(const struct tare_run_options *o, struct tare_run_report **report,
	     struct tare_why *why)
{
	return run_watched(o, NULL, NULL, report, why);
}
