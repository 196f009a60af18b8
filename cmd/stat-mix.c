/* tare stat --mix: how often each opcode ran, and what this CPU therefore miscounts.
 *
 * "Adjusted results can be generated if the exact opcode mix of a program is known" (the paper). The
 * certificate of `tare verify` says by how much each opcode deviates on this CPU (certificate.h). With
 * the mix, that predicts what a counter will show of the program; and from a count of the hardware it
 * can be subtracted (--mix-from).
 */
#include "certificate.h"
#include "complain.h"
#include "disassembler.h"
#include "json.h"
#include "stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 20u	/* opcodes, for people */

/* Of the last run that counts: runs of a program that repeats have the same mix. */
static const struct stat_run *last_run(const struct stat_session *s)
{
	for (size_t i = s->n_runs; i-- > 0;)
		if (stat_run_counts(s, &s->runs[i]) && stat_part(&s->runs[i])->code)
			return &s->runs[i];
	return NULL;
}

static struct tare_code_mix *mix_of(const struct stat_session *s, bool *complete)
{
	const struct stat_run *const r = last_run(s);
	struct tare_code_mix *mix = NULL;
	if (!r || tare_code_mix(stat_part(r)->code, &mix, NULL) < 0)
		return NULL;
	*complete = tare_code_is_complete(stat_part(r)->code);
	for (size_t i = 0; i < s->n_events; i++)
		*complete &= !r->counts[i].lower_bound;
	return mix;
}

/* ---- what the CPU makes of it ---- */

/* Opcodes by name, and how often each ran. */
struct opcodes {
	struct { char name[32]; uint64_t runs; } *list;
	size_t n;
	uint64_t instructions;		/* of the whole mix */
};

static void add_opcode(struct opcodes *o, const char *name, uint64_t runs)
{
	if (!(o->n & (o->n - 1))) {
		void *const larger = realloc(o->list, (o->n ? 2 * o->n : 1) * sizeof(*o->list));
		if (!larger)
			abort();
		o->list = larger;
	}
	snprintf(o->list[o->n].name, sizeof(o->list[o->n].name), "%s", name);
	o->list[o->n++].runs = runs;
}

static uint64_t runs_of(const struct opcodes *o, const char *name)
{
	for (size_t i = 0; i < o->n; i++)
		if (!strcmp(o->list[i].name, name))
			return o->list[i].runs;
	return 0;
}

static bool same_text(const struct json_node *n, const char *text)
{
	return n && n->type == JSON_STRING && text && !strcmp(n->text, text);
}

/* By how much one run of an opcode deviates. */
struct deviating {
	struct { char name[32]; double amount; } *list;
	size_t n;
};

static double *amount_of(struct deviating *d, const char *opcode)
{
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->list[i].name, opcode))
			return &d->list[i].amount;
	return NULL;
}

static void add_deviating(struct deviating *d, const char *opcode, double amount)
{
	if (amount_of(d, opcode))
		return;			/* another form of the same opcode */
	if (!(d->n & (d->n - 1))) {
		void *const larger = realloc(d->list, (d->n ? 2 * d->n : 1) * sizeof(*d->list));
		if (!larger)
			abort();
		d->list = larger;
	}
	snprintf(d->list[d->n].name, sizeof(d->list[d->n].name), "%s", opcode);
	d->list[d->n++].amount = amount;
}

#define CASE_INSNS 15

/* The opcodes of a deviation's code, which may be several instructions that were examined together. 0:
 * there is no code, or it is cut off. */
static size_t opcodes_of_code(const struct json_node *code, char names[CASE_INSNS][32])
{
	uint8_t bytes[32];
	size_t size = 0, n = 0;
	unsigned byte;
	if (!code || code->type != JSON_STRING)
		return 0;
	while (size < sizeof(bytes) && code->text_len >= 2 * size + 2 &&
	       sscanf(code->text + 2 * size, "%2x", &byte) == 1)
		bytes[size++] = (uint8_t)byte;
	for (size_t at = 0; at < size;) {
		struct tare_code_insn in;
		if (n == CASE_INSNS || !tare_code_insn(bytes + at, size - at, 0, &in))
			return 0;
		tare_code_opcode_name(bytes + at, size - at, names[n++], 32);
		at += in.size;
	}
	return n;
}

/* An integer opcode of one byte: "89 m". Not x87, the groups F6 and F7, prefixes. */
static bool is_plain(const char *opcode)
{
	unsigned byte;
	return sscanf(opcode, "%2x", &byte) == 1 && (opcode[2] == ' ' || !opcode[2]) && byte != 0x0f &&
	       byte != 0x66 && byte < 0xd8;
}

/* Of several instructions that deviate together, what the known ones do not explain belongs to the one
 * that is left. Integer opcodes of one byte, which set it up, are not it: alone they were examined. False:
 * more than one is left. */
static bool add_together(struct deviating *d, char names[CASE_INSNS][32], size_t n, double amount)
{
	const char *left = NULL;
	bool several = false;
	for (size_t i = 0; i < n; i++) {
		const double *const known = amount_of(d, names[i]);
		if (known)
			amount -= *known;
		if (known || is_plain(names[i]))
			continue;
		several |= left && strcmp(left, names[i]);
		left = names[i];
	}
	if (amount < 0.01 && amount > -0.01)
		return true;
	if (left && !several)
		add_deviating(d, left, amount);
	return left && !several;
}

/* How many deviations cannot be traced to one opcode. */
static size_t read_deviations(const struct json_node *all, const char *event, bool together, struct deviating *d)
{
	size_t lost = 0;
	for (const struct json_node *n = all ? all->first : NULL; n; n = n->next) {
		char names[CASE_INSNS][32];
		double amount;
		if (!same_text(json_get(n, "event"), event) || !json_to_f64(json_get(n, "amount"), &amount))
			continue;
		const size_t k = opcodes_of_code(json_get(n, "code"), names);
		if (k == 1 && !together)
			add_deviating(d, names[0], amount);
		else if (k > 1 && together)
			lost += !add_together(d, names, k, amount);
		else if (!k)
			lost++;
	}
	return lost;
}

/* What the CPU counts too much (or too little) of the certificate's event of that name. *lost: so many of its
 * deviations cannot be traced to one opcode, and the sum is not right. */
static double deviation_of(const struct certificate *c, const char *event, const struct opcodes *o, size_t *lost)
{
	struct deviating d = { 0 };
	double sum = 0;
	read_deviations(json_get(c->root, "deviations"), event, false, &d);
	*lost = read_deviations(json_get(c->root, "deviations"), event, true, &d);
	for (size_t i = 0; i < d.n; i++)
		sum += d.list[i].amount * (double)runs_of(o, d.list[i].name);
	free(d.list);
	return sum;
}

static struct opcodes opcodes_of_mix(const struct tare_code_mix *mix)
{
	struct opcodes o = { .instructions = mix->instructions };
	for (size_t i = 0; i < mix->n; i++)
		add_opcode(&o, mix->opcodes[i].name, mix->opcodes[i].runs);
	return o;
}

/* One line of the table, and its numbers. `engine`: `count` is exact, and the hardware's is predicted;
 * else it is the hardware's, and the exact one is predicted. */
struct adjusted {
	uint64_t count;
	double deviation, result;
	size_t lost;			/* deviations that cannot be traced to one opcode: no result */
	char others[8];			/* letters of causes that are not in a mix */
	char why[240];			/* no result, and why; "": there is one */
};

/* Interrupts, page faults, exceptions, the first use of the FPU. What the event itself subtracts is none of them. */
static void find_others(const struct json_node *row, const struct tare_event *e, char *out)
{
	const struct json_node *const letters = json_get(row, "letters");
	const bool minus = e->kind == TARE_EVENT_MINUS || e->kind == TARE_EVENT_MINUS_TOTAL;
	const bool faults = e->kind == TARE_EVENT_MINUS_TOTAL && e->minus_total & TARE_MINUS_PAGE_FAULTS;
	for (const char *l = letters && letters->type == JSON_STRING ? letters->text : ""; *l; l++)
		if (strchr("hpEF", *l) && strlen(out) < 4 && !(*l == 'h' && minus) && !(*l == 'p' && faults))
			out[strlen(out)] = *l;
}

/* False: the event was not counted. */
static bool adjust(const struct stat_session *s, size_t i, const struct opcodes *o, bool engine,
		   struct adjusted *a)
{
	const struct certificate *const c = certificate_here();
	const struct tare_event *const e = stat_event(s, i);
	struct stat_series v;
	*a = (struct adjusted){ 0 };
	stat_series(s, i, &v);
	const bool ok = v.sum.n;
	a->count = ok ? v.values[v.sum.n - 1] : 0;
	stat_series_free(&v);
	if (!ok || certificate_is_useless(c, e, a->why, sizeof(a->why)))
		return ok;
	const struct json_node *const row = certificate_row(c, e);
	a->deviation = deviation_of(c, json_get(row, "event")->text, o, &a->lost);
	a->result = (double)a->count + (engine ? a->deviation : -a->deviation);
	find_others(row, e, a->others);
	if (a->lost)
		snprintf(a->why, sizeof(a->why), "%zu deviation%s not of one opcode", a->lost,
			 a->lost == 1 ? " is" : "s are");
	return true;
}

static void put_signed(struct buf *out, double v)
{
	struct buf number = { 0 };
	buf_str(&number, v < 0 ? "-" : v > 0 ? "+" : "");
	buf_grouped(&number, (uint64_t)(v < 0 ? -v + 0.5 : v + 0.5));
	buf_printf(out, "%20s", number.data);
	buf_free(&number);
}

static const char *word_of(char letter)
{
	return letter == 'h' ? "interrupts" : letter == 'p' ? "page faults" :
	       letter == 'E' ? "exceptions" : "the first use of the FPU";
}

static void adjusted_row(const struct adjusted *a, const char *name, bool engine, struct buf *out)
{
	if (a->why[0]) {
		buf_printf(out, "%20s%20s  %s: %s\n", "?", "", name, a->why);
		return;
	}
	struct buf number = { 0 };
	buf_grouped(&number, a->result > 0 ? (uint64_t)(a->result + 0.5) : 0);
	buf_printf(out, "%20s", number.data);
	buf_free(&number);
	put_signed(out, a->deviation);
	buf_printf(out, "  %s", name);
	for (const char *l = a->others; *l; l++)
		buf_printf(out, "%s%s", l > a->others ? ", " : engine ? "; besides, it counts " :
			   "; still in it: ", word_of(*l));
	buf_str(out, "\n");
}

static void adjusted_text(const struct stat_session *s, const struct opcodes *o, bool engine, struct buf *out)
{
	const struct certificate *const c = certificate_here();
	bool any = false;
	if (c->state == CERTIFICATE_EXPIRED || c->state == CERTIFICATE_DAMAGED)
		buf_printf(out, "\n What the counters of this machine show is not predicted: the certificate %s: %s\n",
			   c->state == CERTIFICATE_EXPIRED ? "has expired" : "is damaged", c->why);
	if (c->state != CERTIFICATE_VALID || !certificate_did(c, "instructions"))
		return;
	for (size_t i = 0; i < s->n_events; i++) {
		struct adjusted a;
		if (!adjust(s, i, o, engine, &a))
			continue;
		if (!any)
			buf_printf(out, "\n %s, by the mix and the certificate of %s%s%s%s:\n\n%20s%20s  \n",
				   engine ? "What the counters of this machine show of it" : "Corrected",
				   c->date, c->part[0] ? ", which is of a part (" : "", c->part,
				   c->part[0] ? ")" : "", engine ? "predicted" : "corrected", "deviation");
		any = true;
		adjusted_row(&a, stat_event(s, i)->name, engine, out);
	}
}

static void adjusted_json(struct json *j, const struct stat_session *s, const struct opcodes *o, bool engine)
{
	const struct certificate *const c = certificate_here();
	if (c->state != CERTIFICATE_VALID || !certificate_did(c, "instructions"))
		return;
	json_array(j, "adjusted");
	for (size_t i = 0; i < s->n_events; i++) {
		struct adjusted a;
		if (!adjust(s, i, o, engine, &a))
			continue;
		json_object(j, NULL);
		json_str(j, "event", stat_event(s, i)->name);
		json_u64(j, "count", a.count);
		if (c->part[0])
			json_str(j, "part", c->part);
		json_str(j, "certificate", c->date);
		if (a.lost)
			json_u64(j, "not_traced", a.lost);
		if (a.why[0]) {
			json_str(j, "no_result", a.why);
		} else {
			json_f64(j, "deviation", a.deviation);
			json_f64(j, engine ? "predicted" : "corrected", a.result);
			json_str(j, "other_causes", a.others);
		}
		json_end(j);
	}
	json_end(j);
}

/* ---- --mix ---- */

static void put_row(struct buf *out, uint64_t runs, uint64_t all)
{
	struct buf number = { 0 };
	buf_grouped(&number, runs);
	buf_printf(out, "%20s %6.2f %%  ", number.data, 100.0 * (double)runs / (double)all);
	buf_free(&number);
}

void stat_mix_text(const struct stat_session *s, struct buf *out)
{
	bool complete;
	struct tare_code_mix *const mix = mix_of(s, &complete);
	if (!mix)
		return;
	buf_str(out, "\n Opcodes of ");
	buf_grouped(out, mix->instructions);
	buf_printf(out, " instructions, %s:\n\n",
		   tare_provenance_name(complete ? TARE_PROV_EXACT : TARE_PROV_INCOMPLETE));
	const size_t shown = mix->n < SHOWN ? mix->n : SHOWN;
	uint64_t others = mix->instructions;
	for (size_t i = 0; i < shown; i++) {
		const struct tare_code_opcode *const o = &mix->opcodes[i];
		const char *const mnemonic = disassemble_mnemonic(o->bytes, o->size);
		put_row(out, o->runs, mix->instructions);
		buf_printf(out, mnemonic ? "%-22s%s\n" : "%s%s\n", o->name, mnemonic ? mnemonic : "");
		others -= o->runs;
	}
	if (shown < mix->n) {
		put_row(out, others, mix->instructions);
		buf_printf(out, "%zu others, which -j lists\n", mix->n - shown);
	}
	struct opcodes o = opcodes_of_mix(mix);
	adjusted_text(s, &o, true, out);
	free(o.list);
	tare_code_mix_free(mix);
}

static void opcode_json(struct json *j, const struct tare_code_opcode *o)
{
	char bytes[2 * sizeof(o->bytes) + 1] = "";
	const char *const mnemonic = disassemble_mnemonic(o->bytes, o->size);
	for (unsigned i = 0; i < o->size; i++)
		snprintf(bytes + 2 * i, 3, "%02x", o->bytes[i]);
	json_object(j, NULL);
	json_str(j, "opcode", o->name);
	if (mnemonic)
		json_str(j, "mnemonic", mnemonic);
	json_str(j, "bytes", bytes);
	json_u64(j, "runs", o->runs);
	json_end(j);
}

void stat_mix_json(struct json *j, const struct stat_session *s)
{
	bool complete;
	struct tare_code_mix *const mix = mix_of(s, &complete);
	if (!mix)
		return;
	json_object(j, "mix");
	json_u64(j, "instructions", mix->instructions);
	json_str(j, "provenance",
		 tare_provenance_name(complete ? TARE_PROV_EXACT : TARE_PROV_INCOMPLETE));
	json_array(j, "opcodes");
	for (size_t i = 0; i < mix->n; i++)
		opcode_json(j, &mix->opcodes[i]);
	json_end(j);
	json_end(j);
	struct opcodes o = opcodes_of_mix(mix);
	adjusted_json(j, s, &o, true);
	free(o.list);
	tare_code_mix_free(mix);
}

/* ---- --mix-from ---- */

static char *read_whole(const char *path, size_t *len)
{
	FILE *const f = fopen(path, "re");
	struct buf b = { 0 };
	char part[65536];
	size_t n;
	if (!f)
		return NULL;
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_add(&b, part, n);
	fclose(f);
	*len = b.len;
	return b.data ? b.data : calloc(1, 1);
}

/* The mix in a file of `tare stat --mix -j`. False: complained. */
static bool load_opcodes(const char *path, struct opcodes *o)
{
	size_t len;
	struct json_node *root = NULL;
	struct tare_why why = { 0 };
	char *const text = read_whole(path, &len);
	if (!text) {
		complain("stat: --mix-from %s: %s", path, strerror(errno));
		return false;
	}
	if (json_parse(text, len, &root, &why) < 0) {
		complain("stat: --mix-from %s: not JSON: %s", path, why.what);
		free(text);
		return false;
	}
	const struct json_node *const mix = json_get(root, "mix");
	const struct json_node *const list = mix ? json_get(mix, "opcodes") : NULL;
	if (!list || !same_text(json_get(mix, "provenance"), tare_provenance_name(TARE_PROV_EXACT)))
		complain("stat: --mix-from %s: it has no %smix; `tare stat --mix -j -o FILE` makes one", path,
			 list ? "exact " : "");
	for (const struct json_node *n = list ? list->first : NULL; n; n = n->next) {
		const struct json_node *const name = json_get(n, "opcode");
		uint64_t runs;
		if (name && name->type == JSON_STRING && json_to_u64(json_get(n, "runs"), &runs)) {
			add_opcode(o, name->text, runs);
			o->instructions += runs;
		}
	}
	json_free(root);
	free(text);
	return o->n;
}

static struct opcodes from_file;

bool stat_mix_load(const struct stat_opts *o)
{
	const struct certificate *const c = certificate_here();
	if (!o->mix_from)
		return true;
	if (!load_opcodes(o->mix_from, &from_file))
		return false;
	if (c->state == CERTIFICATE_VALID && certificate_did(c, "instructions"))
		return true;
	complain("stat: --mix-from wants a certificate of this machine, which says by how much each opcode "
		 "deviates; %s: %s; `tare verify` makes one", c->path,
		 c->state == CERTIFICATE_VALID ? "it is without the experiment instructions" :
		 c->why[0] ? c->why : "there is none");
	return false;
}

static bool counts_instructions(const struct tare_event *e)
{
	return e->base.exclude_kernel && !e->base.exclude_user &&
	       (e->role == TARE_ROLE_INSTRUCTIONS || e->role == TARE_ROLE_INSTRUCTIONS_FIXED ||
		e->role == TARE_ROLE_INSTRUCTIONS_PRECISE);
}

/* Code that the mix does not have is not corrected. Only a count of instructions tells whether there was such
 * code; what is still in that count is not taken for it. */
static void compare_code(const struct stat_session *s)
{
	for (size_t i = 0; i < s->n_events; i++) {
		struct adjusted a;
		if (!counts_instructions(stat_event(s, i)) || !adjust(s, i, &from_file, false, &a) || a.why[0])
			continue;
		const double more = a.result - (double)from_file.instructions;
		if ((more > -0.5 && more < 0.5) || (more > 0 && a.others[0]))
			continue;
		caution("stat: %s: the mix has %" PRIu64 " instructions, and this run %.0f: other code ran than "
			"in the mix, for which nothing is corrected", stat_event(s, i)->name,
			from_file.instructions, a.result);
		return;
	}
}

void stat_mix_from_text(const struct stat_session *s, struct buf *out)
{
	adjusted_text(s, &from_file, false, out);
	compare_code(s);
}

void stat_mix_from_json(struct json *j, const struct stat_session *s)
{
	adjusted_json(j, s, &from_file, false);
	compare_code(s);
}
