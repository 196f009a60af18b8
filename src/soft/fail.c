/* Ending the process when the engine cannot go on. */
#include "engine.h"
#include "sys.h"
#include "text.h"

#define EXIT_STATUS 125		/* as env, timeout and the like end when they cannot go on */

/* The record says why. If the launcher does not serve any more, this process says it itself. */
static void end_with(struct line *l, enum soft_reason why) __attribute__((noreturn));
static void end_with(struct line *l, enum soft_reason why)
{
	struct soft_record *const r = &E.shared->records[thread_self()->record];
	r->reason = why;
	copy_text(r->message, sizeof(r->message), l->text, l->len);
	__atomic_store_n(&r->state, REC_FAILED, __ATOMIC_RELEASE);
	if (__atomic_load_n(&E.shared->closed, __ATOMIC_ACQUIRE)) {
		struct line all = { 0 };
		line_str(&all, "tare: ");
		line_str(&all, l->text);
		line_str(&all, "\n");
		sys3(__NR_write, STDERR_FD, all.text, all.len);
	}
	for (;;)
		sys1(__NR_exit_group, EXIT_STATUS);
}

/* An internal error: the message has `what`, the pc and the bytes there. */
void die(const char *what, uint64_t pc)
{
	struct line l = { 0 };
	line_str(&l, what);
	line_str(&l, " (pc ");
	line_hex(&l, pc);
	uint8_t bytes[16];
	if (copy_guest(bytes, (const void *)pc, sizeof(bytes))) {
		line_str(&l, ", bytes");
		for (unsigned i = 0; i < 15; i++) {
			line_str(&l, bytes[i] < 16 ? " 0" : " ");
			line_num(&l, bytes[i], 16);
		}
	}
	line_str(&l, ")");
	end_with(&l, WHY_FAILED);
}

void refuse(const char *what)
{
	struct line l = { 0 };
	line_str(&l, what);
	end_with(&l, WHY_REFUSED);
}

void no_memory(void)
{
	struct line l = { 0 };
	line_str(&l, "the engine's own tables in the memory of the program");
	end_with(&l, WHY_NO_MEMORY);
}
