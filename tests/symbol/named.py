"""What the tests of this folder share: programs compiled here, and questions to symbol-at."""
import collections, os, pathlib, shutil, subprocess, sys, tempfile

here = pathlib.Path(__file__).resolve().parent
Where = collections.namedtuple("Where", "address name linkage start size kind declared place inlines")
bad = tried = 0


def check(ok, *what):
    """The first failures are shown."""
    global bad, tried
    tried += 1
    if not ok:
        bad += 1
        if bad <= 20:
            print("failed:", *what)


def end():
    print(f"{tried} checks, {bad} failed")
    sys.exit(bad != 0 or tried == 0)


def run(*args, **how):
    p = subprocess.run([str(a) for a in args], capture_output=True, text=True, **how)
    if p.returncode:
        print("failed:", args, p.returncode, p.stdout[-2000:], p.stderr[-2000:])
        sys.exit(1)
    return p.stdout


class Asker:
    def __init__(self, program, reader):
        self.program, self.reader = program, reader

    def __call__(self, path, addresses, *options, env=None):
        """{address: Where}, and [kind, build-id, note of the object, note of the set]."""
        text = "\n".join(f"{a:x}" for a in addresses)
        out = run(self.program, "-r", self.reader, *options, path, input=text, env=env)
        lines = [line.split("\t") for line in out.splitlines()]
        got = {}
        for f in lines[:-1]:
            got[int(f[0], 16)] = Where(int(f[0], 16), f[1], f[2], int(f[3], 16), int(f[4]), *f[5:9])
        assert len(got) == len(set(addresses)) and lines[-1][0] == "kind", out
        return got, lines[-1][1:]


def folder():
    """A folder of this test, removed at its end. (Not in /tmp: it may be mounted noexec, and one test hides it.)"""
    return tempfile.TemporaryDirectory(dir=os.environ.get("MESON_BUILD_ROOT", "."))


def code_addresses(path):
    """The addresses of all instructions, by objdump; and {address: name} of PLT stubs."""
    out = run("objdump", "-d", "--no-show-raw-insn", path, env=dict(os.environ, LC_ALL="C"))
    addresses, stubs = [], {}
    for line in out.splitlines():
        word = line.split(None, 1)
        if line.startswith(" ") and word and word[0].endswith(":"):
            addresses.append(int(word[0][:-1], 16))
        elif line.endswith("@plt>:"):
            stubs[int(word[0], 16)] = word[1][1:-2]
    return addresses, stubs


def lines_of_binutils(path, addresses):
    """{address: "file:line"} by addr2line; "?:0" where it knows none."""
    text = "\n".join(f"{a:x}" for a in addresses)
    out = run("addr2line", "-e", path, input=text).splitlines()
    places = {}
    for address, line in zip(addresses, out):
        name, _, number = line.split(" (discriminator")[0].rpartition(":")
        known = name not in ("??", "") and number not in ("?", "0")
        places[address] = f"{os.path.normpath(name)}:{number}" if known else "?:0"
    return places


def have(tool):
    return shutil.which(tool) is not None
