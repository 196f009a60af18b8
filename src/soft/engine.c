/* Start, and the dispatcher: the one file that sees all rooms. */
#include "decode.h"
#include "guest.h"
#include "still.h"
#include "sys.h"
#include "translate.h"
#include "vpmu.h"

struct engine E;

static void raise_trap(struct thread *t)
{
	uint64_t flags;
	if (t->step.pushf && copy_guest(&flags, (const void *)t->regs[RSP], 8)) {
		flags |= FLAG_TF;
		put_guest(t->regs[RSP], &flags, 8);
	}
	signal_raise(t, SIGTRAP, TRAP_TRACE, t->pc, X86_TRAP_DB, 0);
}

/* The program set TF: its instructions run one by one, with a trap after each. A signal that waits comes
 * after the trap of an instruction that has retired, and before the next instruction. */
static void single_step(struct thread *t)
{
	if (t->step.trap) {
		t->step.trap = false;
		if (!t->step.flags_loaded)
			t->rflags |= FLAG_TF;
		t->step.flags_loaded = false;
		if (t->step.done)
			raise_trap(t);
	}
	if (!(t->rflags & FLAG_TF) || t->pending || t->signal.held & ~t->signal.mask)
		return;
	t->rflags &= ~(uint64_t)FLAG_TF;
	t->step.trap = true;
	t->step.done = false;
	t->code.single_pc = t->pc;
	uint8_t op = 0;
	t->step.pushf = copy_guest(&op, (const void *)t->pc, 1) && op == 0x9c;
}

/* A run that was limited, because a budget is used up, is over. */
static void stepped(struct thread *t)
{
	if (E.vpmu)
		vpmu_stepped(t);
	else
		exact_stepped(t);
}

uint64_t resume(struct thread *t)
{
	t->again = 0;
	if (t->code.falling_into) {		/* it left the chain instead */
		count_left(t, t->code.falling_into);
		t->code.falling_into = 0;
	}
	left_cache(t);
	if (t->vpmu.n_told)
		vpmu_catch_up(t);
	if (t->vpmu.stepping)
		stepped(t);
	if (t->task.trace_asked) {
		t->task.trace_asked = false;
		traced_resumes(t);
	}
	if (t->step.trap || t->rflags & FLAG_TF)
		single_step(t);
	traced_step(t);
	if (t->pending)
		signal_deliver_pending(t);
	if (t->signal.held)
		signal_deliver_held(t);
	part_follow(t);
	t->exit_link = 1;		/* neither an indirect branch nor a return */
	return cache_lookup(t);
}

/* A budget was used up in one bank only: the block runs without being looked up. Most ticks are such, and
 * they are as many as samples, times five. The thread stays inside. 0: it must leave. */
static uint64_t tick_again(struct thread *t, const struct link *l, const struct block_to_run *next)
{
	if (t->step.trap || t->traced.step || t->rflags & FLAG_TF || t->signal.held || t->task.trace_asked)
		return 0;
	const uint64_t code = l->target == block_at(l->bumps)->pc ? cache_again(l->bumps) : 0;
	if (!code || !vpmu_tick_again(t, next))
		return 0;
	t->pc = l->target;
	return code;
}

/* The thread has left the cache. Returns the address of the code to go on at. The link is read
 * before left_cache(): after that, another thread may empty the cache at any time. */
uint64_t engine_exit(struct thread *t);
uint64_t engine_exit(struct thread *t)
{
	const uint32_t id = (uint32_t)t->exit_link;
	t->code.falling_into = 0;
	if (t->traced.step)
		t->traced.step = STEP_RAN;
	t->step.done = true;
	if (id == EXIT_CALLS)
		t->pc = calls_exit(t);
	else if (cache.calls && id == EXIT_INDIRECT)
		calls_arrived(t);
	else if (cache.calls && id == EXIT_RETURN)
		calls_returned(t);
	if (id == EXIT_INDIRECT || id == EXIT_RETURN || id == EXIT_CALLS) {
		left_cache(t);
		if (t->pending || t->step.trap || t->vpmu.stepping || t->traced.step)
			return resume(t);
		part_follow(t);
		return cache_lookup(t);
	}
	const struct link l = *link_at(id);
	if (l.kind == LINK_SIDE_EXIT)
		count_left(t, l.bumps);
	struct block_to_run next = { 0 };
	if (l.kind == LINK_TICK) {
		next = count_tick(t, &l);
		const uint64_t code = E.vpmu ? tick_again(t, &l, &next) : 0;
		if (code)
			return code;
	}
	if (link_is_before(l.kind)) {		/* it left before the instruction */
		t->step.done = false;
		if (t->traced.step)
			t->traced.step = STEP_ARMED;
	}
	const uint32_t flushes = cache.flushes;
	left_cache(t);
	switch (l.kind) {
	case LINK_SIDE_EXIT:
	case LINK_JUMP:
		t->pc = l.target;
		return t->pending || t->traced.step ? resume(t) : cache_exit(t, id, flushes);
	case LINK_SYSCALL:
		return syscall_exit(t, &l);
	case LINK_SPECIAL:
		return special_exit(t, &l);
	case LINK_TICK:
		t->pc = l.target;
		if (E.vpmu)
			vpmu_tick(t, &next);
		else
			exact_tick(t, &next);
		break;
	case LINK_TRACE:
		trace_room(t);
		break;
	case LINK_LOCKED:
		vpmu_locked(t);
		break;
	case LINK_SERIAL:
		vpmu_serialised(t);
		break;
	case LINK_FP:
		vpmu_fp(t, l.insn);
		break;
	case LINK_FP_ENV:
		fp_env_stored(t, l.insn);
		if (E.vpmu)
			vpmu_fp_changed(t);
		break;
	case LINK_X87:
		vpmu_x87(t);
		vpmu_fp_changed(t);
		if (l.insn)		/* fnsave */
			fp_env_stored(t, l.insn);
		break;
	case LINK_STALE:
		lock_take();
		cache_invalidate(l.target, l.target + 1);
		lock_drop();
		break;
	default:
		break;
	}
	t->pc = l.target;
	return resume(t);
}

/* AMD, and Hygon, which is one of its designs. */
static bool cpu_is_amd(void)
{
	uint32_t r[4] = { 0 };
	glue_cpuid(0, 0, r);
	return r[1] == 0x68747541 || r[1] == 0x6f677948;	/* "Auth", "Hygo" */
}

/* The first C function that runs in a new image. */
uint64_t engine_main(void);
uint64_t engine_main(void)
{
	struct thread *const t = thread_self();
	const struct soft_start soft_start = *(struct soft_start *)((uint64_t)t + THREAD_ALT);
	E.shared = (struct soft_shared *)ZONE_SHARED;
	E.machine = E.shared->machine.on;
	E.hermetic = E.shared->hermetic.on;
	E.has_fsgsbase = soft_start.has_fsgsbase;
	cache.has_bmi2 = soft_start.has_bmi2;
	cache.counts_taken = E.shared->event_mask >> SOFT_TAKEN & 1;
	E.pid = (int32_t)sys0(__NR_getpid);
	E.reserved_fd = soft_start.reserved_fd;
	if (soft_start.trap_ignored) {
		const struct k_sigaction ignore = { .handler = SIGNAL_IGNORED };
		sys4(__NR_rt_sigaction, SIGTRAP, &ignore, 0, SIGSET_SIZE);
	}
	decode_amd_branches = cpu_is_amd();
	E.threads[0] = t;
	E.n_threads = E.n_thread_addresses = 1;
	for (int i = 0; i < 2; i++)
		if (soft_start.cache_near_size[i])
			cache.hoods[cache.n_hoods++] = (struct hood){
				.start = soft_start.cache_near[i],
				.next = soft_start.cache_near[i],
				.end = soft_start.cache_near[i] + soft_start.cache_near_size[i],
			};
	cache.hoods[cache.n_hoods++] = (struct hood){ .start = ZONE_CACHE, .next = ZONE_CACHE,
					      .end = ZONE_CACHE + (1ull << 32) };
	t->self = t;
	t->in_use = t->mapped = true;
	E.n_running = E.n_own = 1;
	t->tid = (int32_t)sys0(__NR_gettid);
	t->engine_rsp = (uint64_t)t + THREAD_STACK_END;
	t->record = soft_start.record;
	for (int i = 0; i < 16; i++)
		t->regs[i] = soft_start.regs[i];
	t->pc = soft_start.rip;
	t->rflags = soft_start.rflags;
	if (E.shared->layout.on)
		layout_start(t);
	shadow_fault(t, shadow_of(t, t->regs[RSP] - 64));
	cache_init();
	places_init();
	regions_init();
	calls_init();
	if (!calls_thread(t, true))
		no_memory();
	signals_init(t);
	rseq_init();
	if (E.machine)
		machine_start(t);
	part_init(t);
	if (t->record) {
		struct soft_record *const r = &E.shared->records[t->record];
		r->pid = E.pid;
		r->tid = t->tid;
		r->image = t->record;
		record_names(r);
		record_live(t, r);
		__atomic_store_n(&r->state, REC_RUNNING, __ATOMIC_RELEASE);
	}
	if (E.hermetic)
		hermetic_start(t);
	kept_start(t);
	if (E.shared->flags & SOFT_FLAG_VPMU)
		vpmu_start(t);
	else if (E.shared->n_stops)
		exact_start(t);
	traced_begin(t);
	return resume(t);
}
