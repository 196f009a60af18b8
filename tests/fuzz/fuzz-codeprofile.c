/* Any bytes are a code profile of `tare annotate -o`: read, or refused with a reason. What is read has
 * the sums that tare/codeprofile.h promises, is written and read again without a change, is added to
 * itself, cut to a part, and exported in every format.
 */
#include <tare/code.h>
#include <tare/codeprofile.h>

#include "buf.h"
#include "provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The library's own has the decoder of the engine behind it. */
unsigned tare_code_insn(const uint8_t *bytes, size_t size, uint64_t address, struct tare_code_insn *insn)
{
	(void)address;
	*insn = (struct tare_code_insn){ .is_call = size && bytes[0] == 0xe8 };
	return (unsigned)size;
}

static void need(bool holds)
{
	if (!holds)
		abort();
}

static int keep(void *arg, const void *bytes, size_t size)
{
	buf_add(arg, bytes, size);
	return 0;
}

static struct tare_codeprofile *read_bytes(const void *bytes, size_t size)
{
	struct tare_codeprofile *p = NULL;
	struct tare_why why = { 0 };
	char path[64];
	const int fd = memfd_create("profile", MFD_CLOEXEC);
	need(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	const int err = tare_codeprofile_read(path, &p, &why);
	close(fd);
	need(err < 0 ? !p && why.what[0] : p != NULL);
	return p;
}

static void check_sums(const struct tare_codeprofile *p)
{
	for (size_t e = 0; e < p->n_events; e++) {
		uint64_t insns = 0, lines = 0, functions = 0, objects = 0;
		for (size_t i = 0; i < p->n_insns; i++)
			insns += (uint64_t)p->insns[i].counts[e];
		for (size_t i = 0; i < p->n_lines; i++)
			lines += (uint64_t)p->lines[i].counts[e];
		for (size_t i = 0; i < p->n_functions; i++)
			functions += (uint64_t)p->functions[i].counts[e];
		for (size_t i = 0; i < p->n_objects; i++)
			objects += (uint64_t)p->objects[i].counts[e];
		const uint64_t total = (uint64_t)p->events[e].total;
		need(insns == total && lines == total && functions == total && objects == total);
	}
}

static bool every_second(const struct tare_codeprofile_function *f, void *arg)
{
	unsigned *const n = arg;
	(void)f;
	return (*n)++ % 2 == 0;
}

static void exports(const struct tare_codeprofile *p, unsigned choice)
{
	struct buf out = { 0 };
	const struct tare_output to = { .write = keep, .arg = &out };
	struct tare_callgrind_options o = TARE_CALLGRIND_OPTIONS_INIT;
	o.insns = choice & 1;
	o.no_lines = choice & 2;
	o.fold_plt = choice & 4;
	need(tare_codeprofile_export_collapsed(p, &to, NULL) == 0);
	need(tare_codeprofile_export_callgrind(p, &o, &to, NULL) == 0);
	need(tare_codeprofile_export_cachegrind(p, NULL, &to, NULL) == 0);
	buf_free(&out);
}

static void write_and_read(const struct tare_codeprofile *p)
{
	struct buf first = { 0 }, second = { 0 };
	const struct tare_output to = { .write = keep, .arg = &first }, again = { .write = keep, .arg = &second };
	need(tare_codeprofile_write(p, &to, NULL) == 0 && !buf_failed(&first));
	struct tare_codeprofile *const q = read_bytes(first.data, first.len);
	need(q != NULL);
	need(tare_codeprofile_write(q, &again, NULL) == 0 && first.len == second.len &&
	     !memcmp(first.data, second.data, first.len));
	tare_codeprofile_free(q);
	buf_free(&first);
	buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct tare_codeprofile *const p = read_bytes(bytes, size), *q = NULL;
	unsigned n = 0;
	if (!p)
		return 0;
	check_sums(p);
	write_and_read(p);
	exports(p, size ? bytes[size - 1] : 0);
	const struct tare_codeprofile *const both[2] = { p, p };
	if (tare_codeprofile_merge(both, 2, &q, NULL) == 0)
		check_sums(q);
	tare_codeprofile_free(q);
	if (tare_codeprofile_in(p, every_second, &n, &q, NULL) == 0)
		check_sums(q);
	tare_codeprofile_free(q);
	tare_codeprofile_free(p);
	return 0;
}
