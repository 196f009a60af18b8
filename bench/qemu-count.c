/* A plugin for qemu-user that counts instructions, the cheapest way its interface has: each
 * translated block adds its length to a number. (A block that is left in the middle counts
 * as a whole, and threads lose additions: it is here for its speed.)
 *
 * Distributions do not package the header, so what is used of it is declared here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;
enum { INLINE_ADD_U64 };		/* enum qemu_plugin_op */

extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
	void (*cb)(plugin_id id, struct qemu_plugin_tb *tb));
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op,
	void *number, uint64_t add);
extern void qemu_plugin_register_atexit_cb(plugin_id id, void (*cb)(plugin_id id, void *arg),
	void *arg);

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int qemu_plugin_version = 1;
static uint64_t instructions;
static int to = 2;		/* a copy: some programs close their standard error at the end */

static void on_translation(plugin_id id, struct qemu_plugin_tb *tb)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &instructions,
						 qemu_plugin_tb_n_insns(tb));
}

static void at_exit(plugin_id id, void *arg)
{
	(void)id;
	(void)arg;
	dprintf(to, "%" PRIu64 " instructions\n", instructions);
}

PUBLIC int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);
PUBLIC int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	(void)info;
	(void)argc;
	(void)argv;
	to = dup(to);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
