/* One line per command: COMMAND(x) registers `const struct command cmd_x`. The
 * order is that of `tare --help`. No include guard: main.c reads it twice. */
COMMAND(stat)
COMMAND(run)
COMMAND(list)
COMMAND(doctor)
COMMAND(compare)
COMMAND(record)
COMMAND(summarize)
COMMAND(aggregate)
COMMAND(diff)
COMMAND(export)
COMMAND(view)
COMMAND(completion)
