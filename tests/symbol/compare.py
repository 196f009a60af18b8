#!/usr/bin/env python3
"""Functions and lines of every instruction of many programs are what binutils say.

usage: compare.py SYMBOL-AT READER

Each program is compiled here, in many ways; all addresses of its code are asked about, and compared
with nm, objdump (stubs of the PLT) and addr2line.
"""
import lzma, pathlib, subprocess, sys
from named import Asker, check, code_addresses, end, folder, have, lines_of_binutils, run

ask = Asker(sys.argv[1], sys.argv[2])
C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
volatile int factor = 2;
static inline __attribute__((always_inline)) int twice(int x)
{
	return x * factor;
}
static inline __attribute__((always_inline)) int four(int x)
{
	return twice(x) +
	       twice(x + 1);
}
__attribute__((noinline)) int outer(int x)
{
	return four(x) ^ 5;
}
int also_outer(int x) __attribute__((alias("outer")));
static int __hidden(int x) __attribute__((alias("outer"), used));
__attribute__((noinline, noclone)) static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
__attribute__((cold, noinline)) static void complain(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}
__attribute__((noinline)) int unlikely(int x)
{
	if (__builtin_expect(x == 12345, 0)) {
		complain("never");
		abort();
	}
	return x + 1;
}
static int one(int x) { return x + 1; }
static int (*resolve(void))(int) { return one; }
int chosen(int x) __attribute__((ifunc("resolve")));
int main(int argc, char **argv)
{
	int values[] = { 3, 1, argc, (int)strlen(argv[0]) };
	qsort(values, 4, sizeof(*values), compare);
	printf("%d\n", outer(values[0]) + unlikely(values[1]) + chosen(values[2]) + also_outer(1));
	return 0;
}
"""
ASM = """
	.text
	.globl asm_sized
	.type asm_sized, @function
asm_sized:
	nop
inside:
	nop
	ret
	.size asm_sized, .-asm_sized
	.globl asm_bare
asm_bare:
	nop
	ret
asm_label:
	ret
"""
CPP = r"""
#include <vector>
#include <string>
#include <algorithm>
namespace shapes {
struct Shape { virtual ~Shape() {} virtual double area() const = 0; };
template <typename T> struct Square : Shape {
	T side;
	explicit Square(T s) : side(s) {}
	double area() const override { return side * side; }
};
}
static double sum(const std::vector<shapes::Shape *> &all)
{
	double s = 0;
	std::for_each(all.begin(), all.end(), [&](const shapes::Shape *x) { s += x->area(); });
	return s;
}
int main(int argc, char **argv)
{
	std::vector<shapes::Shape *> all;
	all.push_back(new shapes::Square<int>(argc));
	all.push_back(new shapes::Square<double>(2.5));
	std::string text = argv[0];
	try { text.at(10000); } catch (const std::exception &e) { text += e.what(); }
	return sum(all) > 1e9 || text.empty();
}
"""


def functions_by_nm(path, elf_of_symbols=None):
    """[(start, end, {names})] of the sized functions: aliases are one entry."""
    out = run("nm", "-S", "--defined-only", elf_of_symbols or path)
    found = {}
    for line in out.splitlines():
        f = line.split()
        if len(f) == 4 and f[2] in "tTwWiu" and int(f[1], 16):
            found.setdefault((int(f[0], 16), int(f[0], 16) + int(f[1], 16)), set()).add(f[3].split("@")[0])
    return sorted((a, b, n) for (a, b), n in found.items())


def compare(path, *, symbols=None, debug=None, lines=True, more_lines=False, options=()):
    """All instructions of `path`; `symbols` and `debug` are the files that have the names and lines."""
    addresses, stubs = code_addresses(path)
    got, (kind, _, note, set_note) = ask(path, addresses, *options)
    check(kind == "0" and note == "?" and set_note == "?", path, kind, note, set_note)
    # Without inlined functions, and without lines, functions and lines are the same.
    simple, bare = ask(path, addresses, "-i", *options)[0], ask(path, addresses, "-n", *options)[0]
    for a, w in got.items():
        check(simple[a] == w._replace(inlines=simple[a].inlines, declared=simple[a].declared), path.name, simple[a], w)
        check(bare[a][:len(w) - 3] == w[:len(w) - 3], path.name, bare[a], w)
    owner = {}
    for start, stop, names in functions_by_nm(path, symbols):
        for a in range(start, stop):
            owner[a] = (start, stop, names)
    named = 0
    for a in addresses:
        if a in owner and a not in stubs:
            start, stop, names = owner[a]
            named += 1
            check(got[a].linkage in names and (got[a].start, got[a].size) == (start, stop - start), path.name,
                  got[a], owner[a])
        for stub, name in stubs.items():
            if stub <= a < stub + 8 and not name.startswith("*ABS*"):
                check(got[a].linkage == name and got[a].kind == "plt", path.name, got[a], name)
    check(named > 50, path, "few functions", named)
    if lines:
        wanted = lines_of_binutils(debug or path, addresses)
        known = 0
        for a in addresses:
            known += wanted[a] != "?:0"
            if wanted[a].startswith(f"{path.parent}/<artificial>:"):     # of LTO: addr2line takes the unit's name
                wanted[a] = wanted[a].replace("<artificial>", "a.c")
            # addr2line does not look into line tables of units that name no addresses (DWARF 2 without ranges).
            check(got[a].place.rsplit(":", 1)[0] == wanted[a] or more_lines and wanted[a] == "?:0", path.name,
                  got[a], wanted[a])
        check(known > (20 if more_lines else 50), path, "few lines", known)
    return got


def by_name(got, linkage):
    return next((w for w in got.values() if w.linkage == linkage), None)


def c_programs(tmp):
    (tmp / "a.c").write_text(C)
    (tmp / "s.s").write_text(ASM)
    ways = {"plain": ["-O2", "-g"], "o0": ["-O0", "-g"], "static": ["-O2", "-g", "-static"],
            "nopie": ["-O2", "-g", "-no-pie"], "now": ["-O2", "-g", "-Wl,-z,now"],
            "lazy": ["-O2", "-g", "-Wl,-z,lazy"], "ibt": ["-O2", "-g", "-fcf-protection", "-Wl,-z,ibtplt"],
            "dwarf4": ["-O2", "-gdwarf-4"], "dwarf3": ["-O2", "-gdwarf-3", "-gstrict-dwarf"],
            "dwarf2": ["-O2", "-gdwarf-2", "-gstrict-dwarf"],
            "split": ["-O2", "-g", "-gsplit-dwarf"], "split4": ["-O2", "-gdwarf-4", "-gsplit-dwarf"],
            "packed": ["-O2", "-g", "-gz=zlib"], "sections": ["-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections"],
            "lto": ["-O2", "-g", "-flto"]}
    for way, flags in ways.items():
        path = tmp / f"c-{way}"
        run("gcc", *flags, "-o", path, tmp / "a.c", tmp / "s.s", cwd=tmp)
        # addr2line does not read split DWARF 5. The code is the same as without.
        same = tmp / "c-plain" if way == "split" else path
        check(code_addresses(path)[0] == code_addresses(same)[0], way, "other code")
        got = compare(path, debug=same, more_lines=way == "dwarf2")
        main = by_name(ask(path, [a for a, w in got.items() if w.linkage == "main"], "-i")[0], "main")
        check(main and main.declared in (f"{tmp}/a.c:41", f"{tmp}/a.c:42"), way, main)
        main = by_name(got, "main")
        check(main and main.declared == f"{tmp}/a.c:41", way, main)
        # The choice among aliases; labels of assembly; a label inside a function is none.
        check(by_name(got, "outer") and not by_name(got, "also_outer") and not by_name(got, "__hidden"), way)
        if way not in ("lto", "sections"):
            sized, bare, label = (by_name(got, f"asm_{n}") for n in ("sized", "bare", "label"))
            check(sized and sized.size == 3 and not by_name(got, "inside"), way, sized)
            check(bare and bare.size == 2 and label and label.size >= 1, way, bare, label)
        if way != "o0" and way != "lto":
            inlined = [w for w in got.values() if w.linkage == "outer" and w.inlines]
            wanted = f"twice@{tmp}/a.c:12|four@{tmp}/a.c:17" if way != "dwarf2" else "twice@?:0|four@?:0"
            check(any(w.inlines == wanted for w in inlined), way, inlined)
        if way == "static":
            check(any(w.kind == "plt" for w in got.values()), "no stub of an ifunc in a static program")
    return tmp / "c-plain"


def separate(tmp, program):
    """Debug information apart from the program, in all the places where it may be."""
    debug = tmp / "debug"
    name, other, linked = tmp / "stripped", tmp / "stripped.debug", tmp / "linked"
    run("objcopy", "--only-keep-debug", program, other)
    run("objcopy", "--strip-all", f"--add-gnu-debuglink={other}", program, linked)
    run("objcopy", "--strip-all", program, name)
    options = ("-d", debug)
    debug.mkdir()
    # Nowhere: .dynsym, the PLT, and bounds from .eh_frame.
    hidden = tmp / "hidden"
    other.rename(hidden)
    got, _ = ask(name, code_addresses(name)[0], *options)
    whole, _ = ask(program, code_addresses(name)[0], *options)
    same = [a for a in got if got[a].kind == "bare" and (got[a].start, got[a].size) == (whole[a].start, whole[a].size)]
    check(len(same) > 20 and all(got[a].name == f"stripped+{got[a].start:#x}" for a in same), "bare", len(same))
    check(all(w.place == "?:0:0" for w in got.values()), "lines of a stripped program")
    identity = ask(program, [])[1][1]
    places = [debug / ".build-id" / identity[:2] / f"{identity[2:]}.debug", tmp / other.name, tmp / ".debug" / other.name,
              pathlib.Path(f"{debug}{tmp}") / other.name]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        hidden.rename(place)
        compare(linked, symbols=program, debug=program, options=options)
        place.rename(hidden)
    # A debug file of another program is not taken.
    run("gcc", "-O1", "-g", "-o", tmp / "another", tmp / "a.c")
    run("objcopy", "--only-keep-debug", tmp / "another", other)
    got, _ = ask(linked, code_addresses(linked)[0], *options)
    check(not by_name(got, "outer") and all(w.place == "?:0:0" for w in got.values()), "another's debug file")
    other.unlink()
    # Without a build-id the checksum decides.
    plain, plain_debug = tmp / "no-id", tmp / "no-id.debug"
    run("gcc", "-O2", "-g", "-Wl,--build-id=none", "-o", tmp / "no-id-whole", tmp / "a.c", tmp / "s.s")
    run("objcopy", "--only-keep-debug", tmp / "no-id-whole", plain_debug)
    run("objcopy", "--strip-all", f"--add-gnu-debuglink={plain_debug}", tmp / "no-id-whole", plain)
    compare(plain, symbols=tmp / "no-id-whole", debug=tmp / "no-id-whole", options=options)
    with plain_debug.open("ab") as f:
        f.write(b"x")
    got, _ = ask(plain, code_addresses(plain)[0], *options)
    check(not by_name(got, "outer"), "a debug file with another checksum")


def dwarf_without_symbols(tmp, program):
    """Functions are named by DWARF, also where lines are not wanted."""
    path = tmp / "no-symtab"
    run("objcopy", "--strip-all", "--keep-section=.debug_*", program, path)
    addresses = code_addresses(program)[0]
    with_lines, without = ask(path, addresses)[0], ask(path, addresses, "-n")[0]
    check(by_name(without, "outer") and by_name(without, "main"), "DWARF without symbols")
    for a, w in with_lines.items():
        check(without[a][:6] == w[:6], "DWARF without symbols", without[a], w)


def minidebuginfo(tmp, program):
    mini, path, packed = tmp / "mini", tmp / "with-mini", tmp / "mini.xz"
    run("objcopy", "--only-keep-debug", "--strip-debug", program, mini)
    packed.write_bytes(lzma.compress(mini.read_bytes()))
    run("objcopy", "--strip-all", f"--add-section=.gnu_debugdata={packed}", program, path)
    compare(path, symbols=program, lines=False)


def cpp(tmp):
    (tmp / "a.cc").write_text(CPP)
    path = tmp / "cpp"
    run("g++", "-O1", "-g", "-o", path, tmp / "a.cc")
    got = compare(path)
    names = {w.name for w in got.values()}
    for name in ("shapes::Square<int>::area() const", "shapes::Square<double>::area() const"):
        check(name in names, name)
    check("operator new(unsigned long)@plt" in names, "a demangled stub")
    for w in got.values():
        demangled = w.name if w.kind == "named" and w.linkage.startswith("_Z") else None
        if demangled:
            check(demangled == demangle(w.linkage), w, demangle(w.linkage))
    raw, _ = ask(path, [by_name(got, "main").start, *list(got)[:500]], "-m")
    check(all(w.name == w.linkage for w in raw.values() if w.kind != "bare"), "-m demangles")


demangled_names = {}


def demangle(linkage):
    if linkage not in demangled_names:
        demangled_names[linkage] = run("c++filt", linkage).rstrip("\n")
    return demangled_names[linkage]


# By their specifications: what rustc emitted for functions of the standard library.
RUST = {"_ZN4core3fmt5write17h0123456789abcdefE": "core::fmt::write",
        "_ZN50_$LT$T$u20$as$u20$core..convert..Into$LT$U$GT$$GT$4into17h0123456789abcdefE":
            "<T as core::convert::Into<U>>::into",
        "_RNvC6_123foo3bar": "123foo::bar",
        "_RNvNtCs1234_7mycrate3foo3bar": "mycrate::foo::bar",
        "_RNvMs_NtCs1234_4core3stdNtB4_4Rect4area": "<core::std::Rect>::area"}


def rust(tmp):
    source = tmp / "rust.s"
    source.write_text("\t.text\n" + "".join(f'\t.globl "{n}"\n\t.type "{n}", @function\n"{n}":\tnop\n\tret\n'
                                         f'\t.size "{n}", .-"{n}"\n' for n in RUST))
    run("gcc", "-shared", "-nostdlib", "-o", tmp / "rust.so", source)
    got, _ = ask(tmp / "rust.so", code_addresses(tmp / "rust.so")[0])
    for linkage, name in RUST.items():
        w = by_name(got, linkage)
        check(w and w.name == name, w, name)


def rust_program(tmp):
    """Where there is a rustc: a program of its default mangling, with lines."""
    source, path = tmp / "a.rs", tmp / "rust"
    source.write_text("""
mod shapes { pub struct Square(pub u64);
    impl Square { #[inline(never)] pub fn area(&self) -> u64 { self.0 * self.0 } } }
fn main() { let s = shapes::Square(std::env::args().count() as u64); println!("{}", s.area()); }
""")
    if subprocess.run(["rustc", "-g", "-o", path, source], capture_output=True).returncode:
        return
    got, _ = ask(path, code_addresses(path)[0])
    area = [w for w in got.values() if w.name.endswith(("shapes::Square>::area", "shapes::Square::area"))]
    check(area and area[0].declared == f"{source}:3", area[:1])


def without_reader(tmp, program):
    nothing = Asker(sys.argv[1], tmp / "no-such-program")
    got, (kind, identity, note, set_note) = nothing(program, [0x1000])
    check(kind == "0" and got[0x1000].kind == "none" and "no names" in set_note, "without tare-symbols", set_note)
    check(identity, "the build-id is known without tare-symbols")
    broken = Asker(sys.argv[1], "/bin/false")
    got, (_, _, _, set_note) = broken(program, [0x1000])
    check(got[0x1000].kind == "none" and "no names" in set_note, "a program that does not answer", set_note)


with folder() as name:
    tmp = pathlib.Path(name).resolve()
    program = c_programs(tmp)
    separate(tmp, program)
    dwarf_without_symbols(tmp, program)
    minidebuginfo(tmp, program)
    cpp(tmp)
    rust(tmp)
    if have("rustc"):
        rust_program(tmp)
    without_reader(tmp, program)
end()
