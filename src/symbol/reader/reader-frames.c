/* The bounds of functions, from what unwinding needs: also stripped files have it.
 *
 * .eh_frame_hdr (PT_GNU_EH_FRAME) is a table in order of addresses: the start of a function, and where its FDE is
 * in .eh_frame. The FDE has the size; the pointer encoding of the CIE that it belongs to says how it is
 * written. (dwarf_cfi_addrframe() of libdw reads all FDEs up to the address where one is missing: 40 ms for
 * librustc_driver.)
 *
 *	header:	version 1, encodings (of a pointer, the count, the table), pointer, count, {start, FDE}[count]
 *	CIE:	length, 0, version, augmentation "zR…", alignments, return register, augmentation data
 *	FDE:	length, distance to the CIE, start, size, …
 */
#include "symbol-reader.h"

#include <string.h>

#define ENCODED_HEADER 0x03u	/* count: four bytes, unsigned */
#define ENCODED_TABLE 0x3bu	/* four bytes, signed, from the header on */

/* A place in the file. Reading beyond the end gives 0 and sets `bad`. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t take(struct cursor *c, size_t n)
{
	uint64_t value = 0;
	if (c->bad || (size_t)(c->end - c->at) < n) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->at, n);	/* little-endian machines only */
	c->at += n;
	return value;
}

static uint64_t take_leb(struct cursor *c)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint64_t byte = take(c, 1);
		value |= (byte & 127) << shift;
		if (!(byte & 128))
			break;
	}
	return value;
}

/* Bytes that a pointer takes; 0: not known. */
static size_t size_of(uint8_t encoding)
{
	switch (encoding & 7) {
	case 0: case 4: return 8;
	case 2: return 2;
	case 3: return 4;
	default: return 0;
	}
}

static bool file_of_address(Elf *elf, uint64_t address, struct cursor *c)
{
	size_t size = 0, n = 0;
	const char *const file = elf_rawfile(elf, &size);
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; file && i < n; i++) {
		GElf_Phdr ph;
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || address < ph.p_vaddr ||
		    address - ph.p_vaddr >= ph.p_filesz)
			continue;
		const uint64_t offset = address - ph.p_vaddr + ph.p_offset;
		*c = (struct cursor){ (const uint8_t *)file + offset, (const uint8_t *)file + size, offset > size };
		return offset < size;
	}
	return false;
}

static bool find_header(Elf *elf, struct reader_frames *f)
{
	size_t n = 0;
	GElf_Phdr ph;
	struct cursor c;
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_GNU_EH_FRAME ||
		    !file_of_address(elf, ph.p_vaddr, &c))
			continue;
		const uint64_t version = take(&c, 1);
		const size_t pointer = size_of((uint8_t)take(&c, 1));
		const uint64_t count = take(&c, 1), table = take(&c, 1);
		take(&c, pointer);
		f->n = (size_t)take(&c, 4);
		f->table = c.at;
		f->header = ph.p_vaddr;
		return version == 1 && pointer && count == ENCODED_HEADER && table == ENCODED_TABLE && !c.bad &&
		       f->n <= (size_t)(c.end - c.at) / 8;
	}
	return false;
}

static uint64_t entry(const struct reader_frames *f, size_t i, size_t field)
{
	int32_t value;
	memcpy(&value, f->table + 8 * i + 4 * field, sizeof(value));
	return f->header + (uint64_t)(int64_t)value;
}

/* How the CIE's FDEs write pointers; 0xff: not known. */
static uint8_t encoding_of(struct cursor c)
{
	char augmentation[8] = "";
	uint8_t encoding = 0;
	const uint64_t length = take(&c, 4), id = take(&c, 4), version = take(&c, 1);
	for (size_t i = 0; i < sizeof(augmentation) - 1; i++)
		if (!(augmentation[i] = (char)take(&c, 1)))
			break;
	if (c.bad || length == UINT32_MAX || id || augmentation[sizeof(augmentation) - 1])
		return 0xff;
	take_leb(&c);
	take_leb(&c);
	if (version == 1)
		take(&c, 1);
	else
		take_leb(&c);
	if (augmentation[0] == 'z')
		take_leb(&c);
	for (const char *a = augmentation + (augmentation[0] == 'z'); *a && !c.bad; a++) {
		if (*a == 'R')
			return c.bad ? 0xff : (uint8_t)take(&c, 1);
		if (*a == 'L')
			take(&c, 1);
		else if (*a == 'P')
			take(&c, size_of((uint8_t)take(&c, 1)));
		else if (*a != 'S' && *a != 'B')
			return 0xff;
	}
	return encoding;
}

static uint64_t size_in_fde(Elf *elf, uint64_t fde)
{
	struct cursor c, cie;
	if (!file_of_address(elf, fde, &c))
		return 0;
	const uint64_t length = take(&c, 4), distance = take(&c, 4);
	if (c.bad || length == UINT32_MAX || !distance || !file_of_address(elf, fde + 4 - distance, &cie))
		return 0;
	const size_t pointer = size_of(encoding_of(cie));
	take(&c, pointer);
	const uint64_t size = take(&c, pointer);
	return pointer && !c.bad ? size : 0;
}

/* The first entry after the address; n where there is none. */
static size_t entry_after(struct reader_object *o, uint64_t address)
{
	struct reader_frames *const f = &o->frames;
	if (!f->tried)
		f->there = o->own.elf && find_header(o->own.elf, f);
	f->tried = true;
	if (!f->there)
		f->n = 0;
	size_t low = 0, high = f->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (entry(f, middle, 0) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t end_of_frame(struct reader_object *o, size_t i)
{
	return entry(&o->frames, i, 0) + size_in_fde(o->own.elf, entry(&o->frames, i, 1));
}

bool reader_frame_at(struct reader_object *o, uint64_t address, uint64_t *start, uint64_t *end)
{
	const size_t next = entry_after(o, address);
	if (!next)
		return false;
	*start = entry(&o->frames, next - 1, 0);
	*end = end_of_frame(o, next - 1);
	return *start <= address && address < *end;
}

/* The section of code that the address is in; in a file without sections, the segment. */
static bool code_around(const struct reader_elf *e, uint64_t address, uint64_t *start, uint64_t *end)
{
	GElf_Shdr sh;
	GElf_Phdr ph;
	size_t n = 0;
	const uint64_t at = address - e->bias;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(e->elf, s));)
		if (gelf_getshdr(s, &sh) && sh.sh_flags & SHF_ALLOC && sh.sh_flags & SHF_EXECINSTR &&
		    at >= sh.sh_addr && at - sh.sh_addr < sh.sh_size) {
			*start = sh.sh_addr + e->bias;
			*end = *start + sh.sh_size;
			return true;
		}
	elf_getphdrnum(e->elf, &n);
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(e->elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_flags & PF_X &&
		    at >= ph.p_vaddr && at - ph.p_vaddr < ph.p_memsz) {
			*start = ph.p_vaddr + e->bias;
			*end = *start + ph.p_memsz;
			return true;
		}
	return false;
}

bool reader_gap_at(struct reader_object *o, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct reader_elf *const e = o->own.elf ? &o->own : &o->debug;
	if (!e->elf || !code_around(e, address, start, end))
		return false;
	const size_t next = entry_after(o, address);
	if (next < o->frames.n && entry(&o->frames, next, 0) < *end)
		*end = entry(&o->frames, next, 0);
	const uint64_t before = next ? end_of_frame(o, next - 1) : 0;
	if (before > *start && before <= address)
		*start = before;
	return *start <= address && address < *end;
}
