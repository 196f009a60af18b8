/* Where things are in a thread's memory: for C, assembly (glue.S) and emitted code, which
 * reaches them through gs. engine.h checks the offsets against struct thread.
 */
#ifndef SOFT_LAYOUT_H
#define SOFT_LAYOUT_H

#ifdef __ASSEMBLER__
#define BYTES(n) n
#else
#define BYTES(n) n##ull
#endif

/* gs points so far above a struct thread; the shadow of its stack begins there. */
#define THREAD_AREA	BYTES(0x20000000)
/* Offsets from struct thread. */
#define THREAD_FP	BYTES(0x4000)		/* pending fpstate, 16 KiB */
#define THREAD_ALT	BYTES(0x10000)		/* signal stack, 64 KiB */
#define THREAD_STACK	BYTES(0x20000)		/* engine stack, 128 KiB up to … */
#define THREAD_STACK_END BYTES(0x40000)
#define THREAD_TRACE	BYTES(0x80000)		/* a trace that nobody reads (trace.c) */
#define THREAD_ACC	BYTES(0xd0000)		/* struct vpmu_task_mem, under `tare run` */
#define THREAD_KERNEL	BYTES(0xd8000)		/* rings of events of the kernel's (vpmu-kernel.c) */
#define THREAD_COUNTS	BYTES(0x100000)		/* counter array */
#define THREAD_CALLS	BYTES(0xd000000)	/* the call graph: struct calls_thread … */
#define THREAD_NODES	BYTES(0x18000000)	/* … and the counts of its contexts */

/* Offsets in struct thread. */
#define OFF_SELF	0x00
#define OFF_REGS	0x08
#define OFF_PC		0x88
#define OFF_RFLAGS	0x90
#define OFF_RETURN_NUMBER	0x98
#define OFF_S1		0xa0
#define OFF_S2		0xa8
#define OFF_S3		0xb0
#define OFF_ENGINE_RSP	0xb8
#define OFF_EXIT	0xc0
#define OFF_TARGET	0xc8
#define OFF_APP_GS	0xd0
#define OFF_PENDING	0xd8
#define OFF_AGAIN	0xdc
#define OFF_APP_GS_NEG	0xe0
#define OFF_S0		0xe8

/* thread.exit_link, where it is not a link's number */
#define EXIT_INDIRECT	0
#define EXIT_RETURN	0x7fffffff
#define EXIT_CALLS	0x7ffffffe		/* a call whose context C must find */

/* gate_call() answers these besides the kernel's results. */
#define GATE_ABORTED	(-600)		/* a signal came first; the call was not made */
#define GATE_RESTART	(-601)		/* the kernel wants it made again after the handler */
#define GATE_TRAPPED	(-602)		/* a seccomp filter wants SIGSYS instead */

#endif
