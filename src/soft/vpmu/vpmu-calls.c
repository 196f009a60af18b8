/* perf_event_open of the virtual PMU, and calls on its descriptors.
 *
 * Errors are those of the kernel, checked in its order (kernel/events/core.c). The kernel counts
 * software events, but they are known here, so that they can be in one group with virtual events.
 * A software event whose leader is virtual has no group in the kernel, and is enabled and disabled
 * with its leader here. Virtual events whose leader is a software event follow the state that
 * ioctls give the leader.
 */
#include "vpmu-sampling.h"

#include "sys.h"
#include "text.h"

#include <linux/perf_event.h>

#define MAX_MAPS 65536u
#define ALL_PERF_FLAGS (PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | PERF_FLAG_PID_CGROUP | \
			PERF_FLAG_FD_CLOEXEC)

uint32_t vpmu_maps, vpmu_readable;
static struct { uint64_t at, size; uint32_t event; } maps[MAX_MAPS];
static uint32_t end_map;		/* the highest index ever used, plus 1 */

/* ---- perf_event_open ---- */

static long too_big(uint64_t at)
{
	const uint32_t size = sizeof(struct perf_event_attr);
	put_guest(at + offsetof(struct perf_event_attr, size), &size, 4);
	return -E2BIG;
}

#define BRANCH_LEVELS (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV)

static bool is_sound(const struct perf_event_attr *a)
{
	const uint64_t type = a->sample_type, weights = PERF_SAMPLE_WEIGHT_TYPE;
	if (a->__reserved_1 || a->__reserved_2 || a->__reserved_3 ||
	    type & ~(uint64_t)(PERF_SAMPLE_MAX - 1) ||
	    a->read_format & ~(uint64_t)(PERF_FORMAT_MAX - 1))
		return false;
	if (type & PERF_SAMPLE_BRANCH_STACK &&
	    (a->branch_sample_type & ~(uint64_t)(PERF_SAMPLE_BRANCH_MAX - 1) ||
	     !(a->branch_sample_type & ~(uint64_t)BRANCH_LEVELS)))
		return false;
	if (type & PERF_SAMPLE_REGS_USER && !a->sample_regs_user)
		return false;
	if (type & PERF_SAMPLE_STACK_USER &&
	    (a->sample_stack_user >= 0xffff || a->sample_stack_user % 8))
		return false;
	if (type & PERF_SAMPLE_REGS_INTR && !a->sample_regs_intr)
		return false;
	return (type & weights) != weights && !(a->inherit_thread && !a->inherit) &&
	       !(a->remove_on_exec && a->enable_on_exec) && !(a->sigtrap && !a->remove_on_exec);
}

static long copy_attr(struct perf_event_attr *attr, uint64_t at)
{
	uint32_t size;
	if (!copy_guest(&size, (void *)(at + offsetof(struct perf_event_attr, size)), 4))
		return -EFAULT;
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	if (size < PERF_ATTR_SIZE_VER0 || size > PAGE)
		return too_big(at);
	mem_zero(attr, sizeof(*attr));
	if (!copy_guest(attr, (void *)at, size < sizeof(*attr) ? size : sizeof(*attr)))
		return -EFAULT;
	for (uint64_t i = sizeof(*attr); i < size; i++) {
		uint8_t more;
		if (!copy_guest(&more, (void *)(at + i), 1))
			return -EFAULT;
		if (more)
			return too_big(at);
	}
	attr->size = size < sizeof(*attr) ? size : sizeof(*attr);
	return is_sound(attr) ? 0 : -EINVAL;
}

/* The bits of a raw config that select the event. The kernel clears the others (privilege levels,
 * the interrupt, the enable bit) and sets them itself. */
#define RAW_MASK 0xfff84ffffull

int vpmu_named_row(uint64_t code)
{
	const struct vpmu_model *const m = &vpmu()->model;
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (m->rows[i].has_raw && m->rows[i].raw == code)
			return (int)i;
	return -ENOENT;
}

static int find_generic(uint64_t generic)
{
	const struct vpmu_model *const m = &vpmu()->model;
	for (uint32_t i = 0; i < m->n_rows; i++)
		if (m->rows[i].kind != VPMU_NOTHING && m->rows[i].generic &&
		    m->rows[i].generic - 1u == generic)
			return (int)i;
	return -ENOENT;
}

/* Every code opens, as on hardware, but those of events that the engine cannot count. */
static int find_raw(uint64_t code)
{
	const int row = vpmu_named_row(code);
	if (row < 0)
		return VPMU_DECOY_ROW;
	return vpmu()->model.rows[row].kind == VPMU_NOTHING ? -ENOENT : row;
}

/* Adds the program's name, unless it is there already. */
static void note_program(const struct thread *t, struct vpmu_names *names)
{
	const struct soft_record *const r = &E.shared->records[t->record];
	const char *name = r->exe;
	for (const char *p = r->exe; *p; p++)
		if (*p == '/')
			name = p + 1;
	char short_name[sizeof(names->name[0])];
	copy_text(short_name, sizeof(short_name), *name ? name : "?", text_len(*name ? name : "?"));
	for (uint32_t i = 0; i < names->n; i++)
		if (text_equal(names->name[i], short_name))
			return;
	if (names->n == sizeof(names->name) / sizeof(names->name[0]))
		return;
	mem_copy(names->name[names->n], short_name, sizeof(short_name));
	__atomic_store_n(&names->n, names->n + 1, __ATOMIC_RELEASE);
}

/* Does the event count cycles, which the model counts only with --cycles? */
static bool misses_cycles(const struct perf_event_attr *attr)
{
	const struct vpmu_model *const m = &vpmu()->model;
	for (uint32_t i = 0; i < m->n_rows; i++) {
		const struct vpmu_row *const r = &m->rows[i];
		if (r->is_cycles && r->kind == VPMU_NOTHING &&
		    (attr->type == PERF_TYPE_RAW ? r->has_raw && r->raw == (attr->config & RAW_MASK) :
		     attr->type == PERF_TYPE_HARDWARE && r->generic == 1 + (uint32_t)attr->config))
			return true;
	}
	return false;
}

/* The row of the model that counts this event, or an error. */
static int find_row(const struct perf_event_attr *attr)
{
	uint64_t config = attr->config;
	if (attr->type == PERF_TYPE_SOFTWARE)
		return kernel_row(attr);
	if (attr->type == PERF_TYPE_RAW)
		return find_raw(config & RAW_MASK);
	/* the PMU's number may be in the upper half */
	if (config >> 32 == PERF_TYPE_RAW)
		config = (uint32_t)config;
	if (config >> 32)
		return -ENOENT;
	if (attr->type == PERF_TYPE_HARDWARE)
		return config < PERF_COUNT_HW_MAX ? find_generic(config) : -EINVAL;
	return (config & 0xff) < PERF_COUNT_HW_CACHE_MAX &&
	       (config >> 8 & 0xff) < PERF_COUNT_HW_CACHE_OP_MAX &&
	       (config >> 16 & 0xff) < PERF_COUNT_HW_CACHE_RESULT_MAX &&
	       !(config >> 24) ? -ENOENT : -EINVAL;
}

static bool is_hardware(uint32_t type)
{
	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
}

#define UNDER_WAY_NS 10000000000ull	/* (a maker that was killed leaves its slot reserved) */

/* May a slot become the task's? Its maker has not noted its number yet, or a thread of its process
 * is between two images and gets this number. */
static bool is_under_way(int pid)
{
	for (uint32_t i = 1; i <= vpmu()->n_slots; i++) {
		const struct vpmu_slot *const s = vpmu_slot(i);
		if (!s->ended && (s->tid == SLOT_RESERVED || (s->execing && !s->native && s->pid == pid)))
			return true;
	}
	return false;
}

/* The task's slot; 0: *err says why. Waits for a task that is under way. */
static uint32_t find_task(struct thread *t, int pid, long *err)
{
	static const int64_t nap[2] = { 0, 1000000 };
	*err = -ESRCH;
	if (pid == 0)
		return t->vpmu.slot;
	const uint64_t begin = now_ns();
	for (int tries = 0; pid > 0; tries++) {
		for (uint32_t i = 1; i <= vpmu()->n_slots; i++)
			if (vpmu_slot(i)->tid == pid && !vpmu_slot(i)->ended)
				return i;
		if (sys2(__NR_tkill, pid, 0) == -ESRCH) {
			*err = -ESRCH;
			return 0;
		}
		*err = -EACCES;			/* not a task of this run */
		/* on a busy machine a task may be under way for long */
		if (tries >= 20 && (!is_under_way(pid) || now_ns() - begin > UNDER_WAY_NS))
			return 0;
		vpmu_unlock();
		sys2(__NR_nanosleep, nap, 0);
		vpmu_lock(t);
	}
	return 0;
}

/* What the kernel checks before it looks the task up. */
static long check(const struct perf_event_attr *attr, int pid, int cpu, uint64_t flags)
{
	/* paranoid 2; of its own events the kernel knows better */
	if (is_hardware(attr->type) && !attr->exclude_kernel && !(vpmu()->kernel_as_user && !attr->exclude_user))
		return -EACCES;
	const long err = sampling_reasons_against(attr);
	if (err)
		return err;
	if (flags & PERF_FLAG_PID_CGROUP)
		return pid == -1 || cpu == -1 ? -EINVAL :
		       sys3(__NR_fcntl, pid, F_GETFD, 0) < 0 ? -EBADF : -EACCES;
	return 0;
}

/* The CPUs that the task may run on: bytes of `mask`, or -errno. */
static long allowed_cpus(int32_t tid, uint64_t mask[128])
{
	if (!E.machine)
		return sys3(__NR_sched_getaffinity, tid, 128 * 8, mask);
	const uint32_t n = E.shared->machine.cpus;
	mask[0] = n >= 64 ? ~0ull : (1ull << n) - 1;
	return 8;
}

/* Can the task run only on that CPU? Otherwise it is not known where its instructions ran. */
static bool is_bound_to(int32_t tid, int cpu)
{
	uint64_t mask[128];
	const long n = allowed_cpus(tid, mask);
	for (long k = 0; k < n / 8; k++)
		if (mask[k] != (k == cpu / 64 ? 1ull << cpu % 64 : 0))
			return false;
	return n > 0;
}

static uint32_t current_cpu(void)
{
	uint32_t cpu = 0;
	sys3(__NR_getcpu, &cpu, 0, 0);
	return cpu;
}

/* sched_setaffinity: an event that is bound to a CPU fails if its task may leave the CPU now. */
static void check_bound(struct thread *t, int pid)
{
	long err;
	vpmu_lock(t);
	const uint32_t slot = find_task(t, pid, &err);
	bool changed = false;
	for (uint32_t i = slot ? vpmu_slot(slot)->events : 0; i; i = vpmu_event(i)->next) {
		struct vpmu_event *const e = vpmu_event(i);
		if (e->cpu < 0 || e->software || e->unbound || e->state < VE_OFF ||
		    is_bound_to(vpmu_slot(slot)->tid, e->cpu))
			continue;
		e->state = VE_ERROR;
		changed = true;
	}
	if (changed)
		vpmu_schedule(slot);
	vpmu_unlock();
}

/* Clocks that may be read in an NMI. */
static bool is_clock(const struct perf_event_attr *attr)
{
	return !attr->use_clockid || attr->clockid == CLOCK_MONOTONIC ||
	       attr->clockid == CLOCK_MONOTONIC_RAW;
}

static uint32_t clock_of_attr(const struct perf_event_attr *attr)
{
	return attr->use_clockid ? 1 + (uint32_t)attr->clockid : 0;
}

static long check_leader(uint32_t leader, uint32_t slot, const struct perf_event_attr *attr, int cpu)
{
	const struct vpmu_event *const e = vpmu_event(leader);
	if (e->slot != slot || e->leader != leader || e->cpu != cpu ||
	    e->clock != clock_of_attr(attr) || attr->exclusive || attr->pinned)
		return -EINVAL;
	return 0;
}

/* How many bytes a read of a group of so many events returns (__perf_event_read_size()). */
static uint64_t read_size(uint64_t format, uint64_t events)
{
	uint64_t size = 0, entry = 8;
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		size += 8;
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		size += 8;
	if (format & PERF_FORMAT_ID)
		entry += 8;
	if (format & PERF_FORMAT_LOST)
		entry += 8;
	return format & PERF_FORMAT_GROUP ? size + 8 + entry * events : size + entry;
}

#define MAX_READ (16 * 1024)

/* Would a read of the group be too large with one more event (perf_event_validate_size())? */
static bool is_full(uint32_t leader, uint64_t format)
{
	const uint32_t first = vpmu_slot(vpmu_event(leader)->slot)->events;
	uint64_t n = 1;
	for (uint32_t k = first; k; k = vpmu_event(k)->next)
		n += vpmu_event(k)->leader == leader;
	if (read_size(format, n) > MAX_READ)
		return true;
	for (uint32_t k = first; k; k = vpmu_event(k)->next)
		if (vpmu_event(k)->leader == leader &&
		    read_size(vpmu_event(k)->read_format, n) > MAX_READ)
			return true;
	return false;
}

static void fill_event(struct vpmu_event *e, const struct perf_event_attr *attr, int cpu)
{
	e->cpu = cpu;
	e->clock = clock_of_attr(attr);
	e->read_format = attr->read_format;
	e->pinned = attr->pinned;
	e->exclusive = attr->exclusive;
	e->inherit = attr->inherit;
	e->inherit_thread = attr->inherit_thread;
	e->inherit_stat = attr->inherit_stat;
	e->enable_on_exec = attr->enable_on_exec;
	e->remove_on_exec = attr->remove_on_exec;
	e->no_user = attr->exclude_user;
	e->with_kernel = !attr->exclude_kernel;
	e->user_read = vpmu()->rdpmc != 0 && is_hardware(attr->type);
	e->state = attr->disabled ? VE_OFF : VE_INACTIVE;
	e->unnoticed = !attr->disabled;
}

/* The first CPU that the task may run on: all its code counts for the events of that CPU. */
static uint32_t home_of(uint32_t slot)
{
	struct vpmu_slot *const s = vpmu_slot(slot);
	uint64_t mask[128];
	const long n = s->home ? 0 : allowed_cpus(s->tid, mask);
	for (long k = 0; k < n / 8 && !s->home; k++)
		if (mask[k])
			s->home = 1 + (uint32_t)k * 64 + (uint32_t)__builtin_ctzll(mask[k]);
	return s->home ? s->home - 1 : 0;
}

/* An event of a CPU, for a task that may run on others, too: perf opens one for each CPU. */
static void choose_cpu(struct vpmu_event *e)
{
	e->unbound = e->cpu >= 0 && !is_bound_to(vpmu_slot(e->slot)->tid, e->cpu);
	e->elsewhere = e->unbound && (uint32_t)e->cpu != home_of(e->slot);
}

/* Of events that need a counter. */
static long reasons_against_counter(const struct perf_event_attr *attr, uint32_t leader, int row)
{
	if (attr->precise_ip > vpmu()->model.max_precise)
		return -EOPNOTSUPP;
	if (attr->precise_ip && !attr->sample_period)
		return -EINVAL;
	if (row < 0)
		return row;
	if (!vpmu_fits(leader, (uint32_t)row))
		return -EINVAL;
	return attr->sample_period && vpmu()->model.rows[row].kind >= SOFT_EVENTS ? -EOPNOTSUPP : 0;
}

/* What the kernel checks from perf_event_alloc() on. `slot` is 0 for an event of a CPU. */
static long reasons_against(const struct perf_event_attr *attr, uint32_t slot, uint32_t leader,
			    int row, uint32_t output, int cpu)
{
	if (leader && slot && !!vpmu_event(leader)->inherit != attr->inherit)
		return -EINVAL;
	if ((uint32_t)cpu >= vpmu()->n_cpus && (!slot || cpu != -1))
		return -EINVAL;
	if (attr->inherit && attr->read_format & PERF_FORMAT_GROUP && !vpmu()->inherits_groups)
		return -EINVAL;
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK || (attr->sigtrap && attr->sample_period))
		return -EOPNOTSUPP;
	if (attr->inherit && attr->sample_type & PERF_SAMPLE_READ &&
	    !(vpmu()->inherits_groups && attr->sample_type & PERF_SAMPLE_TID))
		return -EINVAL;
	const long err = is_hardware(attr->type) ? reasons_against_counter(attr, leader, row) : 0;
	if (err)
		return err;
	if (!is_clock(attr))
		return -EINVAL;
	if (!slot)
		return -EACCES;
	if (leader && check_leader(leader, slot, attr, cpu))
		return -EINVAL;
	if (output && !vpmu_event(output)->maps)
		return -EINVAL;
	if (leader && is_full(leader, attr->read_format))
		return -E2BIG;
	if (cpu >= 0 && !attr->sample_period && is_hardware(attr->type) &&
	    !is_bound_to(vpmu_slot(slot)->tid, cpu) && !(leader && vpmu_has_period(leader)))
		return -EOPNOTSUPP;
	return 0;
}

static long open_event(struct thread *t, const struct perf_event_attr *attr, uint32_t slot,
		       uint32_t group, uint64_t flags, int cpu)
{
	const uint32_t leader = flags & PERF_FLAG_FD_NO_GROUP ? 0 : group;
	const uint32_t output = flags & PERF_FLAG_FD_OUTPUT ? group : 0;
	const int row = find_row(attr);
	const long err = reasons_against(attr, slot, leader, row, output, cpu);
	if (row < 0 && misses_cycles(attr))
		note_program(t, &vpmu()->asked_cycles);
	if (err)
		return err;
	if (!attr->exclude_kernel && is_hardware(attr->type))
		note_program(t, &vpmu()->used_as_user);
	vpmu_start_clock(slot);
	const uint32_t i = vpmu_new_event(slot);
	if (!i)
		return -ENFILE;
	struct vpmu_event *const e = vpmu_event(i);
	fill_event(e, attr, cpu);
	e->row = (uint32_t)row;
	e->code = is_hardware(attr->type) ? attr->config & RAW_MASK : attr->config;
	e->owner = t->vpmu.slot;
	e->leader = leader ? leader : i;
	choose_cpu(e);
	sampling_open(i, attr);
	if (output && ring_redirect(i, output) < 0) {
		vpmu_free_event(i);
		return -EINVAL;
	}
	const long fd = fd_new(i, flags & PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		vpmu_free_event(i);
		return fd;
	}
	fd_note(t, (uint32_t)fd, i);
	vpmu_schedule_new(i);
	return fd;
}

/* ---- software events ---- */

static bool is_on(const struct vpmu_event *e)
{
	return e->state >= VE_INACTIVE;
}

/* Notes a software event. If there is no room, or its task is not of this run, only the kernel
 * knows it. */
static void register_software(struct thread *t, long fd, const struct perf_event_attr *attr, int pid,
			      int cpu, uint32_t leader)
{
	long err;
	const uint32_t slot = pid == -1 ? 0 : find_task(t, pid, &err);
	const uint32_t i = slot ? vpmu_new_event(slot) : 0;
	if (!i)
		return;
	struct vpmu_event *const e = vpmu_event(i);
	fill_event(e, attr, cpu);
	e->software = 1;
	e->is_faults = vpmu()->flaws.faults && attr->type == PERF_TYPE_SOFTWARE &&
		       attr->config == PERF_COUNT_SW_PAGE_FAULTS;
	e->kernel_on = is_on(e);
	e->leader = leader ? leader : i;
	e->id = e->kernel_id = fd_kernel_id((uint64_t)fd);
	if (!fd_note(t, (uint32_t)fd, i))
		vpmu_free_event(i);
	vpmu_schedule(slot);
}

/* A software event in a group that a virtual event leads. */
static long open_under(struct thread *t, const struct perf_event_attr *attr, const uint64_t *a,
		       uint32_t leader)
{
	struct vpmu_event *const l = vpmu_event(leader);
	struct perf_event_attr alone = *attr;
	long err;
	const uint32_t slot = find_task(t, (int)a[1], &err);
	if (!slot)
		return err;
	if (!!l->inherit != attr->inherit || check_leader(leader, slot, attr, (int)a[2]))
		return -EINVAL;
	if (is_full(leader, attr->read_format))
		return -E2BIG;
	if (!is_on(l)) {
		alone.disabled = 1;
		alone.enable_on_exec |= l->enable_on_exec && !attr->disabled;
	}
	const long fd = sys6(__NR_perf_event_open, (long)&alone, (long)a[1], (long)a[2], -1, (long)a[4], 0);
	if (fd < 0)
		return fd;
	register_software(t, fd, attr, (int)a[1], (int)a[2], leader);
	const uint32_t i = fd_event((uint64_t)fd);
	if (i)
		vpmu_event(i)->kernel_on = !alone.disabled;
	return fd;
}

static long set_output(struct thread *t, uint32_t i, uint64_t fd)
{
	const uint32_t to = fd == (uint64_t)-1 ? 0 : fd_event(fd);
	if (fd != (uint64_t)-1 && (!to || vpmu_event(to)->software))
		return to || fd_kernel_id(fd) ? -EINVAL : -EBADF;
	vpmu_lock(t);
	const long err = ring_redirect(i, to);
	vpmu_unlock();
	return err;
}

static long open_software(struct thread *t, const struct perf_event_attr *attr, const uint64_t *a)
{
	const uint32_t output = (int)a[3] == -1 || !(a[4] & PERF_FLAG_FD_OUTPUT) ? 0 : fd_event(a[3]);
	if (output && !vpmu_event(output)->software)
		return -EINVAL;
	const uint32_t leader = (int)a[3] == -1 || a[4] & PERF_FLAG_FD_NO_GROUP ? 0 : fd_event(a[3]);
	if (leader && !vpmu_event(leader)->software) {
		vpmu_lock(t);
		const long fd = open_under(t, attr, a, leader);
		vpmu_unlock();
		return fd;
	}
	/* the kernel does not know the virtual events of the group */
	if (leader) {
		vpmu_lock(t);
		const bool full = is_full(leader, attr->read_format);
		vpmu_unlock();
		if (full)
			return -E2BIG;
	}
	const long fd = gate(t, __NR_perf_event_open, a);
	if (fd < 0)
		return fd;
	vpmu_lock(t);
	register_software(t, fd, attr, (int)a[1], (int)a[2], leader);
	vpmu_unlock();
	return fd;
}

/* Enables or disables the software events of a group in the kernel, by their own and their leader's
 * state. */
static void switch_software(uint32_t leader)
{
	const struct vpmu_event *const l = vpmu_event(leader);
	if (l->software)
		return;
	for (uint32_t k = vpmu_slot(l->slot)->events; k; k = vpmu_event(k)->next) {
		struct vpmu_event *const e = vpmu_event(k);
		const bool on = is_on(l) && is_on(e);
		if (e->leader != leader || !e->software || e->kernel_on == on)
			continue;
		const long fd = fd_of_event(k);
		if (fd < 0)
			continue;
		sys3(__NR_ioctl, fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
		e->kernel_on = on;
	}
}

/* A seccomp filter of the program may refuse the call, or end the program. So a call with the same
 * arguments is made, for an event that counts nothing. If the kernel itself gives the same error,
 * the filter has not refused the call. */
static bool is_filtered(struct thread *t, const uint64_t *a, long *err)
{
	const struct perf_event_attr nothing = { .type = PERF_TYPE_SOFTWARE,
		.size = PERF_ATTR_SIZE_VER0, .config = PERF_COUNT_SW_DUMMY, .disabled = 1,
		.exclude_kernel = 1, .exclude_hv = 1 };
	const uint64_t b[6] = { (uint64_t)&nothing, a[1], a[2], a[3], a[4] };
	if (!guest.filtered)
		return false;
	*err = gate(t, __NR_perf_event_open, b);
	if (*err >= 0) {
		sys1(__NR_close, *err);
		return false;
	}
	const long kernel = sys6(__NR_perf_event_open, (long)b[0], (long)b[1], (long)b[2], (long)b[3],
				 (long)b[4], 0);
	if (kernel >= 0)
		sys1(__NR_close, kernel);
	return kernel != *err;
}

/* A debugger holds another task of this memory in code that does not count what the new event needs. */
static long take_back(struct thread *t, long fd)
{
	struct vpmu_slot *const s = vpmu_slot(t->vpmu.slot);
	fd_forget(t, (uint32_t)fd);
	sys1(__NR_close, fd);
	vpmu_lock(t);
	s->want = s->budgets = 0;
	vpmu_want(t->vpmu.slot);
	vpmu_unlock();
	return -EBUSY;
}

/* Is the software event one of the virtual PMU's? Of tasks outside the run and of whole CPUs it is not. */
static bool is_sampled_here(struct thread *t, const struct perf_event_attr *attr, int pid, uint32_t leader)
{
	long err;
	if (pid == -1 || !kernel_is_sampled_here(attr, leader))
		return false;
	vpmu_lock(t);
	const bool found = find_task(t, pid, &err);
	vpmu_unlock();
	return found;
}

static long do_open(struct thread *t, const uint64_t *a)
{
	struct perf_event_attr attr;
	const int pid = (int)a[1], cpu = (int)a[2], group = (int)a[3];
	long refusal;
	if (is_filtered(t, a, &refusal))
		return refusal;
	if (a[4] & ~(uint64_t)ALL_PERF_FLAGS)
		return -EINVAL;
	long err = copy_attr(&attr, a[0]);
	if (err)
		return err;
	const uint32_t leader = group == -1 ? 0 : fd_event((uint64_t)group);
	if (!is_hardware(attr.type) && !is_sampled_here(t, &attr, pid, leader))
		return open_software(t, &attr, a);
	err = check(&attr, pid, cpu, a[4]);
	if (err)
		return err;
	if (group != -1 && !leader)
		return fd_kernel_id((uint64_t)group) ? -EINVAL : -EBADF;
	vpmu_lock(t);
	const uint32_t slot = pid == -1 ? 0 : find_task(t, pid, &err);
	if (slot || pid == -1)
		err = open_event(t, &attr, slot, leader, a[4], cpu);
	vpmu_tell(t);
	vpmu_unlock();
	if (err >= 0 && slot == t->vpmu.slot && !t->is_vfork && !vpmu_can_follow(t))
		return take_back(t, err);
	return err;
}

/* ---- ioctl ---- */

static bool in_group(uint32_t i, uint32_t leader)
{
	return vpmu_event(i)->leader == leader;
}

static void apply(uint32_t i, uint32_t what)
{
	struct vpmu_event *const e = vpmu_event(i);
	if (what == PERF_EVENT_IOC_RESET) {
		e->value = 0;
		return;
	}
	vpmu_set_state(i, what == PERF_EVENT_IOC_ENABLE);
}

/* The event and, for enable and disable, everything inherited from it; brought
 * up to date first. */
static void apply_to_family(uint32_t i, uint32_t what)
{
	vpmu_schedule(vpmu_event(i)->slot);
	apply(i, what);
	if (what != PERF_EVENT_IOC_RESET)
		for (uint32_t c = vpmu_event(i)->children; c; c = vpmu_event(c)->next_child)
			apply_to_family(c, what);
	vpmu_schedule(vpmu_event(i)->slot);
}

/* The kernel switches a software event; if its leader is virtual, switch_software() does. */
static long apply_to_one(uint32_t i, uint32_t what)
{
	struct vpmu_event *const e = vpmu_event(i);
	const bool alone = e->software && !vpmu_event(e->leader)->software;
	if (e->software && (!alone || what == PERF_EVENT_IOC_RESET)) {
		const long fd = fd_of_event(i);
		const long err = fd < 0 ? 0 : sys3(__NR_ioctl, fd, what, 0);
		if (err < 0)
			return err;
	}
	apply_to_family(i, what);
	return 0;
}

static long switch_event(struct thread *t, uint32_t i, uint32_t what, bool group)
{
	vpmu_lock(t);
	const uint32_t leader = vpmu_event(i)->leader;
	long err = apply_to_one(group ? leader : i, what);
	for (uint32_t k = vpmu_slot(vpmu_event(leader)->slot)->events; group && !err && k;
	     k = vpmu_event(k)->next)
		if (k != leader && in_group(k, leader))
			err = apply_to_one(k, what);
	switch_software(leader);
	vpmu_tell(t);
	vpmu_unlock();
	return err;
}

static long pause_output(struct thread *t, uint32_t i, bool paused)
{
	vpmu_lock(t);
	const uint32_t owner = ring_of(i);
	if (owner)
		vpmu_sampler(owner)->ring.paused = paused;
	vpmu_unlock();
	return owner ? 0 : -EINVAL;
}

static long set_period(struct thread *t, uint32_t i, uint64_t at)
{
	uint64_t period;
	if (!copy_guest(&period, (const void *)at, 8))
		return -EFAULT;
	vpmu_lock(t);
	const long err = sampling_period(i, period);
	vpmu_tell(t);
	vpmu_unlock();
	return err;
}

static long refresh(struct thread *t, uint32_t i, uint64_t n)
{
	vpmu_lock(t);
	const long err = sampling_refresh(i, n);
	vpmu_unlock();
	return err ? err : switch_event(t, i, PERF_EVENT_IOC_ENABLE, false);
}

/* prctl: all events that the calling task has opened, on any task. The kernel does the same to the
 * events that it knows. */
static void switch_owned(struct thread *t, bool on)
{
	vpmu_lock(t);
	for (uint32_t i = 1; i <= vpmu()->n_events; i++)
		if (vpmu_event(i)->used && vpmu_event(i)->owner == t->vpmu.slot)
			apply_to_family(i, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE);
	vpmu_tell(t);
	vpmu_unlock();
}

static long do_ioctl(struct thread *t, uint32_t i, uint64_t what, uint64_t arg)
{
	switch ((uint32_t)what) {
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
	case PERF_EVENT_IOC_RESET:
		return switch_event(t, i, (uint32_t)what, arg & PERF_IOC_FLAG_GROUP);
	case PERF_EVENT_IOC_ID:
		return put_guest(arg, &vpmu_event(i)->id, 8) ? 0 : -EFAULT;
	case PERF_EVENT_IOC_PERIOD:
		return set_period(t, i, arg);
	case PERF_EVENT_IOC_REFRESH:
		return refresh(t, i, arg);
	case PERF_EVENT_IOC_SET_OUTPUT:
		return set_output(t, i, arg);
	case PERF_EVENT_IOC_PAUSE_OUTPUT:
		return pause_output(t, i, arg);
	case PERF_EVENT_IOC_SET_BPF:
		return sys3(__NR_fcntl, arg, F_GETFD, 0) < 0 ? -EBADF : -EINVAL;
	case PERF_EVENT_IOC_SET_FILTER:
	case PERF_EVENT_IOC_QUERY_BPF:
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES:
		return -EINVAL;
	default:
		return -ENOTTY;
	}
}

/* ---- mmap ---- */

/* As with CR4.PCE: all tasks of the process may use rdpmc while the process has an event mapped. */
static void count_readable(uint32_t event, int step)
{
	if (!vpmu_event(event)->user_read)
		return;
	vpmu_readable += (uint32_t)step;
	if (vpmu_readable != (step > 0))
		return;
	for (uint32_t i = 1; i <= vpmu()->n_slots; i++) {
		struct vpmu_slot *const s = vpmu_slot(i);
		if (s->pid != E.pid || s->ended)
			continue;
		s->may_rdpmc = vpmu_readable;
		vpmu_schedule(i);
	}
}

static long do_mmap(struct thread *t, uint32_t i, const uint64_t *a)
{
	struct vpmu_event *const e = vpmu_event(i);
	const uint64_t size = PAGE_UP(a[1]), data = size / PAGE - 1;
	const uint64_t kind = a[3] & MAP_KIND;
	if ((e->inherit && e->cpu == -1) || (kind != MAP_SHARED && kind != MAP_SHARED_VALIDATE) ||
	    a[5] || !a[1])
		return -EINVAL;
	if (data & (data - 1) || (e->maps && e->map_pages != size / PAGE))
		return -EINVAL;
	const bool first = !e->maps;
	if (first && data) {
		vpmu_lock(t);
		const long err = ring_make(i, data, !(a[2] & PROT_WRITE));
		e->had_page = 1;
		vpmu_unlock();
		if (err)
			return err;
	}
	const uint64_t ring = data ? vpmu_sampler(i)->ring.at : 0;
	const long fixed = (long)((a[3] & ~(uint64_t)MAP_FIXED_NOREPLACE) | MAP_FIXED);
	/* maps all pages, then each part from the run's file */
	const uint64_t all[6] = { a[0], size, a[2],
				  (a[3] & ~(uint64_t)MAP_KIND) | MAP_SHARED | MAP_ANONYMOUS, -1ull };
	long at = memory_syscall(t, __NR_mmap, all);
	if (at > 0 && data && sys6(__NR_mmap, at + (long)PAGE, (long)(size - PAGE), (long)a[2], fixed,
				   E.reserved_fd, (long)(VPMU_RINGS_OFFSET + ring)) < 0)
		return -ENOMEM;
	if (at > 0)
		at = sys6(__NR_mmap, at, PAGE, (long)a[2], fixed, E.reserved_fd,
			  (long)(VPMU_PAGES_OFFSET + i * PAGE));
	if (at < 0)
		return at;
	sys3(__NR_madvise, at, size, MADV_DONTFORK);
	vpmu_lock(t);
	uint32_t k = 0;
	while (k < end_map && maps[k].size)
		k++;
	if (k == MAX_MAPS) {
		vpmu_unlock();
		sys2(__NR_munmap, at, size);
		return -ENOMEM;
	}
	maps[k].at = (uint64_t)at;
	maps[k].size = size;
	maps[k].event = i;
	if (k == end_map)
		end_map++;
	vpmu_maps++;
	count_readable(i, 1);
	hold_take(i);			/* the descriptor may be closed now */
	e->maps++;
	e->had_page = 1;
	e->map_pages = (uint32_t)(size / PAGE);
	if (data)
		vpmu_sampler(i)->ring.reader = E.pid;
	vpmu_schedule(e->slot);
	sideband_ring(t, (uint64_t)at, size, a[2]);
	vpmu_unlock();
	return at;
}

bool event_mapped_here(uint32_t event)
{
	for (uint32_t k = 0; vpmu_maps && k < end_map; k++)
		if (maps[k].size && maps[k].event == event)
			return true;
	return false;
}

void vpmu_called(struct thread *t)
{
	if (t->vpmu.tells)
		vpmu_catch_up(t);
	if (!vpmu_maps || !__atomic_load_n(&vpmu()->rings_hidden, __ATOMIC_RELAXED))
		return;
	vpmu_lock(t);
	for (uint32_t k = 0; k < end_map; k++)
		if (maps[k].size && vpmu_event(maps[k].event)->sampler)
			ring_show(maps[k].event);
	vpmu_unlock();
}

/* An exec unmaps the events' pages. */
void vpmu_maps_before_exec(int step)
{
	for (uint32_t k = 0; vpmu_maps && k < end_map; k++)
		if (maps[k].size)
			vpmu_event(maps[k].event)->maps += (uint32_t)step;
}

void vpmu_maps_after_fork(void)
{
	vpmu_maps = vpmu_readable = 0;	/* MADV_DONTFORK */
	for (uint32_t k = 0; k < end_map; k++)
		maps[k].size = 0;
	end_map = 0;
}

static void note_unmap(struct thread *t, uint64_t at, uint64_t size)
{
	if (!vpmu_maps)
		return;
	vpmu_lock(t);
	for (uint32_t k = 0; vpmu_maps && k < end_map; k++) {
		if (!maps[k].size || at > maps[k].at || at + size <= maps[k].at)
			continue;
		maps[k].size = 0;
		vpmu_maps--;
		count_readable(maps[k].event, -1);
		if (!--vpmu_event(maps[k].event)->maps && vpmu_event(maps[k].event)->sampler)
			ring_free(maps[k].event);
		hold_drop(maps[k].event);
	}
	vpmu_unlock();
}

/* A page may be moved, but not grow. */
static long do_mremap(struct thread *t, const uint64_t *a, bool *done)
{
	uint32_t k = 0;
	while (k < end_map && !(maps[k].size && maps[k].at == a[0]))
		k++;
	*done = k < end_map;
	if (!*done)
		return 0;
	if (PAGE_UP(a[2]) > maps[k].size)
		return -EFAULT;
	const long at = memory_syscall(t, __NR_mremap, a);
	if (at > 0)
		maps[k].at = (uint64_t)at;
	return at;
}

/* ---- all of it ---- */

/* FIOCLEX and the like, and calls that the kernel must check: it gives the same error for the
 * software event behind the descriptor. */
static bool is_kernels(uint32_t what, uint32_t i)
{
	switch (what) {
	case FIONCLEX:
	case FIOCLEX:
	case FIONBIO:
	case FIOASYNC:
		return true;
	case PERF_EVENT_IOC_SET_BPF:
	case PERF_EVENT_IOC_SET_FILTER:
	case PERF_EVENT_IOC_QUERY_BPF:
	case PERF_EVENT_IOC_MODIFY_ATTRIBUTES:
		return vpmu_event(i)->kernel_id;
	default:
		return false;
	}
}

/* On a descriptor of a virtual event. */
static long event_call(struct thread *t, long nr, const uint64_t *a, uint32_t i, bool *done)
{
	*done = true;
	switch (nr) {
	case __NR_read:
		return vpmu_read_event(t, i, a[1], a[2]);
	case __NR_readv:
		return vpmu_readv_event(t, i, a[1], a[2]);
	case __NR_fcntl:
		return async_call(t, i, nr, a);
	case __NR_ioctl:
		if ((uint32_t)a[1] == FIOASYNC)
			return async_call(t, i, nr, a);
		if (!is_kernels((uint32_t)a[1], i))
			return do_ioctl(t, i, a[1], a[2]);
		break;
	case __NR_write:
	case __NR_writev:
		return -EINVAL;
	case __NR_pread64:
	case __NR_preadv:
	case __NR_preadv2:
	case __NR_pwrite64:
	case __NR_pwritev:
		return -ESPIPE;
	default:
		break;
	}
	*done = false;
	return 0;
}

/* On a descriptor of a software event: the kernel does it, unless it knows only part of the
 * group, or counts other page faults than the virtual PMU. */
static long software_call(struct thread *t, long nr, const uint64_t *a, uint32_t i, bool *done)
{
	const uint32_t what = (uint32_t)a[1];
	*done = true;
	if (nr == __NR_read && vpmu_reads(i))
		return vpmu_read_event(t, i, a[1], a[2]);
	if (nr == __NR_readv && vpmu_reads(i))
		return vpmu_readv_event(t, i, a[1], a[2]);
	if (nr == __NR_ioctl && (what == PERF_EVENT_IOC_ENABLE || what == PERF_EVENT_IOC_DISABLE ||
				 what == PERF_EVENT_IOC_RESET))
		return switch_event(t, i, what, a[2] & PERF_IOC_FLAG_GROUP);
	*done = false;
	return 0;
}

static bool is_about_signals(uint32_t what)
{
	return what == F_SETFL || what == F_SETSIG || what == F_SETOWN || what == F_SETOWN_EX;
}

static long fd_call(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	const uint32_t i = fd_event(a[0]);
	switch (nr) {
	case __NR_close:
		if (i)
			fd_forget(t, (uint32_t)a[0]);
		epoll_forget(t, (uint32_t)a[0], (uint32_t)a[0]);
		return 0;
	case __NR_dup:
		*done = i;
		break;
	case __NR_dup2:
	case __NR_dup3:
		if (a[0] != a[1])
			epoll_forget(t, (uint32_t)a[1], (uint32_t)a[1]);
		*done = (i || fd_event(a[1])) && (uint32_t)a[1] != E.reserved_fd;
		break;
	case __NR_fcntl:
		if (i && !vpmu_event(i)->software && is_about_signals((uint32_t)a[1]))
			return event_call(t, nr, a, i, done);
		*done = i && ((uint32_t)a[1] == F_DUPFD || (uint32_t)a[1] == F_DUPFD_CLOEXEC);
		break;
	case __NR_poll:
	case __NR_ppoll:
		return poll_call(t, nr, a, done);
	case __NR_select:
	case __NR_pselect6:
		return select_call(t, nr, a, done);
	case __NR_epoll_ctl:
		return epoll_change(t, a, done);
	case __NR_epoll_wait:
	case __NR_epoll_pwait:
	case __NR_epoll_pwait2:
		return epoll_wait_call(t, nr, a, done);
	default:
		if (!i)
			return 0;
		return vpmu_event(i)->software ? software_call(t, nr, a, i, done) :
						 event_call(t, nr, a, i, done);
	}
	return *done ? fd_dup(t, nr, a) : 0;
}

/* A dup over the descriptor of the run's file closes it, and the kernel drops the record lock by
 * which other processes see that this one lives (vpmu-holds.c): takes the lock again. */
static void keep_lock(struct thread *t, long nr, const uint64_t *a)
{
	static bool lost;
	if (t->is_vfork)
		return;
	if (lost) {
		lost = false;
		vpmu_lock(t);
		holds_relock();
		vpmu_unlock();
	}
	lost |= (nr == __NR_dup2 || nr == __NR_dup3) && (uint32_t)a[1] == E.reserved_fd;
}

/* The program gives the task a name, of at most so many bytes. */
static void note_name(struct thread *t, uint64_t at, uint64_t size)
{
	char name[16] = { 0 };
	for (unsigned k = 0; k < 15 && k < size && copy_guest(&name[k], (const void *)(at + k), 1) && name[k]; k++)
		;
	vpmu_lock(t);
	sideband_comm(t, name, false);
	vpmu_unlock();
}

long vpmu_syscall(struct thread *t, long nr, const uint64_t *a, bool *done)
{
	__atomic_store_n(&vpmu_slot(t->vpmu.slot)->in_call, nr != __NR_rt_sigreturn, __ATOMIC_RELAXED);
	sampling_call(t);
	order_syscall(t, nr, a);
	keep_lock(t, nr, a);
	vpmu_note_usage(t);
	vpmu_serialised(t);
	switch (nr) {
	case __NR_perf_event_open:
		*done = true;
		return do_open(t, a);
	case __NR_mmap: {
		const uint32_t i = a[3] & MAP_ANONYMOUS ? 0 : fd_event(a[4]);
		if (vpmu_maps && a[3] & MAP_FIXED)
			note_unmap(t, a[0], PAGE_UP(a[1]));
		if (!i || vpmu_event(i)->software)
			return 0;
		*done = true;
		/* with its output redirected, an event has the ring of the other */
		return do_mmap(t, vpmu_event(i)->sampler && vpmu_sampler(i)->output ? vpmu_sampler(i)->output : i, a);
	}
	case __NR_prctl:
		if (a[0] == PR_SET_NAME)
			note_name(t, a[1], 15);
		if (a[0] == PR_TASK_PERF_EVENTS_DISABLE || a[0] == PR_TASK_PERF_EVENTS_ENABLE)
			switch_owned(t, a[0] == PR_TASK_PERF_EVENTS_ENABLE);
		return 0;
	case __NR_munmap:
		note_unmap(t, a[0], PAGE_UP(a[1]));
		return 0;
	case __NR_mremap:
		return vpmu_maps ? do_mremap(t, a, done) : 0;
	case __NR_close_range:
		fd_close_range(t, a);
		if (vpmu_fds && !(a[2] & 4))		/* CLOSE_RANGE_CLOEXEC */
			epoll_forget(t, (uint32_t)a[0], (uint32_t)a[1]);
		return 0;
	case __NR_write:
	case __NR_pwrite64: {
		if (vpmu_is_own_comm(t, a[0]))
			note_name(t, a[1], a[2]);
		const long ret = vpmu_write(t, a, done);
		if (*done)
			return ret;
		break;
	}
	case __NR_sendmsg:
	case __NR_recvmsg:
	case __NR_pidfd_getfd:
		return fd_message(t, nr, a, done);
	case __NR_sched_setaffinity: {
		if (E.machine)
			return 0;		/* guest/machine-calls.c answers */
		*done = vpmu()->n_open;
		const uint32_t from = current_cpu();
		const long ret = *done ? gate(t, nr, a) : 0;
		if (*done && ret == 0) {
			check_bound(t, (int)a[0]);
			if (a[0] == 0 || (int)a[0] == t->tid)
				vpmu_slot(t->vpmu.slot)->migrations += current_cpu() != from;
		}
		return ret;
	}
	default:
		break;
	}
	if (vpmu_fds) {
		const long ret = fd_call(t, nr, a, done);
		if (*done)
			return ret;
	}
	return 0;
}
