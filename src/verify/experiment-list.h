/* One line per experiment: EXPERIMENT(x) registers `const struct experiment experiment_x`. They
 * run in this order; those that find causes come first. No include guard: verify.c reads it
 * twice. */
EXPERIMENT(faults)
EXPERIMENT(interrupts)
EXPERIMENT(exceptions)
EXPERIMENT(lazy_fp)
EXPERIMENT(instructions)
EXPERIMENT(generated)
EXPERIMENT(registers)
EXPERIMENT(loaded)
EXPERIMENT(wrap)
EXPERIMENT(migration)
EXPERIMENT(sibling)
EXPERIMENT(threads)
EXPERIMENT(patterns)
EXPERIMENT(serialisers)
EXPERIMENT(replay)
EXPERIMENT(multiplexing)
