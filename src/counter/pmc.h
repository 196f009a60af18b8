/* What differs between architectures when a counter register is read by the
 * program itself. x86_64/pmc-here.c and aarch64/pmc-here.c implement it.
 */
#ifndef COUNTER_PMC_H
#define COUNTER_PMC_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <tare/counter.h>
#include <tare/cpu.h>

/* From the page's `index` (never 0) to the word that selects the register in
 * struct tare_counter; `second`: for select2. 0: there is no such register. */
uint64_t pmc_select(uint32_t index, bool second);
/* `select` with a number that changes with `age`, in bits that do not select anything; or as
 * it is, where there are none. */
uint64_t pmc_aged(uint64_t select, uint64_t age);
/* What an inline read adds to the page's key: the word that it began with. */
uint64_t pmc_check(uint64_t aged, uint64_t age);
/* Whether it begins again by itself when that is another one now; else by the slow path. */
bool pmc_begins_again(void);
/* Reads that register. Faults where the kernel does not allow it; false when the read
 * guard is installed and has caught that fault. */
bool pmc_read(uint64_t select, uint64_t *value);

/* The signal of such a fault; 0: nothing to guard on this architecture. */
int pmc_guard_signal(void);
/* Moves the context of a fault at one of our reads to where the read goes on without the
 * register; false: it is no such fault. */
bool pmc_guard_recover(const siginfo_t *info, void *context);

/* The serialising instructions: which this CPU has, the best of them, the one the
 * inline reads of the public header have built in. */
bool pmc_can_serialize(enum tare_serializer s, const struct tare_cpu *cpu);
enum tare_serializer pmc_best_serializer(const struct tare_cpu *cpu);
enum tare_serializer pmc_inline_serializer(void);
void pmc_serialize(enum tare_serializer s);

/* Values of attr.config1 to try in turn to have user reads, most wanted first;
 * the last is always `config1` itself. Returns how many, at most 3. */
unsigned pmc_user_config1(uint64_t config1, uint64_t out[3]);

/* The clock of the page's time fields. */
uint64_t pmc_cycles(void);

#endif
