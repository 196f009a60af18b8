/* Words of the table files (uarch-*.c): short names of the trust bits, and the
 * sources. How to add a row: docs/adding-a-cpu.md.
 */
#ifndef CPU_ROWS_H
#define CPU_ROWS_H

#include "cpu-room.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

#define DETERMINISTIC TARE_TRUST_DETERMINISTIC
#define NOISY_IRQ TARE_TRUST_NOISY_INTERRUPTS
#define NOISY_FAULT TARE_TRUST_NOISY_FAULTS
#define OVER_EXC TARE_TRUST_OVER_EXCEPTIONS
#define OVER_FP TARE_TRUST_OVER_LAZY_FP
#define OVER TARE_TRUST_OVER_INSNS
#define UNDER TARE_TRUST_UNDER_INSNS
#define UOPS TARE_TRUST_UOPS
#define EXECUTED TARE_TRUST_SPECULATIVE
#define UNTESTED TARE_TRUST_UNTESTED
#define BROKEN TARE_TRUST_BROKEN
/* The paper's usual verdicts: hp, hpEF. */
#define HP (NOISY_IRQ | NOISY_FAULT)
#define HPEF (HP | OVER_EXC | OVER_FP)

/* Programmable counters that can count an event: all from A to B, or one. */
#define COUNTERS(a, b) ((2u << (b)) - (1u << (a)))
#define COUNTER(n) (1u << (n))

/* Weaver, Terpstra, Moore: "Non-Determinism and Overcount on Modern Hardware
 * Performance Counter Implementations", extended version of 18 March 2021. */
#define PAPER(where) "the paper, " where
/* The measurements published beside it (deater/deterministic). */
#define PAPER_SITE "the paper's results site"
/* eddyb: the report on counters in a compiler's self-profiler. */
#define REPORT "the report"
#define PERFMON(lists) "Intel perfmon event lists (" lists ")"
#define PERF_JSON(folder) "Linux perf event lists (" folder ")"
#define KERNEL(file) "Linux " file
#define LIBPFM4(pmu) "libpfm4 " pmu
#define LIKWID "likwid event lists (zen4, zen4c, zen5)"
#define MEASUREME "measureme counters.rs"
#define RR "rr PerfCounters"
#define ARCH_PMUV3 "Arm PMUv3 architecture, by Linux perf event lists (arm64)"

#endif
