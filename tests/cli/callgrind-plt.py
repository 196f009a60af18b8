#!/usr/bin/env python3
"""tare-callgrind and the stubs of PLTs, bound lazily and at the start: what they count is their callers', and functions
are called by who called the stub, as in callgrind's file. usage: callgrind-plt.py TARE PAGES"""
import os, re, shutil, subprocess, sys, tempfile
from cli import check, finish, need_engine, run, skipped

tare = sys.argv[1]
need_engine(tare)
cc = shutil.which("cc")
if not cc:
    print("cc is not installed")
    sys.exit(77)
folder = tempfile.TemporaryDirectory(prefix="tare-")
here = folder.name
callgrind = f"{here}/tare-callgrind"
os.symlink(os.path.abspath(tare), callgrind)

# The library calls back, so that the path has stubs of both files in it, again and again and from several places.
LIBRARY = """
int even(int), odd(int), back(int (*)(int), int);
__attribute__((noinline)) int leaf(int n) { return n * 3 + 1; }
int twice(int n) { return leaf(n) + leaf(n + 1); }
int even(int n) { return n ? odd(n - 1) : leaf(n); }
int odd(int n) { return n ? even(n - 1) + 1 : twice(n); }
int back(int (*f)(int), int n) { return n ? f(n - 1) + leaf(n) : 0; }
"""
PROGRAM = """
#include <pthread.h>
int leaf(int), twice(int), even(int), odd(int), back(int (*)(int), int);
__attribute__((noinline)) int tail(int n) { return leaf(n); }
__attribute__((noinline)) int again(int n) { return n > 2 ? back(again, n) + 1 : back(again, n) + 2; }
__attribute__((noinline)) int once(int n) { return odd(n) + 1; }
static void *thread(void *n) { for (int i = 0; i < 3; i++) *(int *)n += twice(i); return 0; }
int main(void)
{
	int sum = 0;
	pthread_t t;
	for (int i = 0; i < 10; i++)
		sum += twice(i) + tail(i);
	sum += again(5) + again(4) + even(6) + once(5);
	pthread_create(&t, 0, thread, &sum);
	pthread_join(t, 0);
	return sum & 63;
}
"""
for name, text, options in (("libplt.so", LIBRARY, ["-shared", "-fPIC"]), ("prog", PROGRAM, ["-L.", "-lplt", "-Wl,-rpath,$ORIGIN", "-pthread"])):
    with open(f"{here}/{name}.c", "w") as f:
        f.write(text)
    for binding in "lazy", "now":
        os.makedirs(f"{here}/{binding}", exist_ok=True)
        subprocess.run([cc, "-g", "-O1", "-foptimize-sibling-calls", "-fno-ipa-icf", "-o", name, f"../{name}.c", *options, f"-Wl,-z,{binding}"],
                       cwd=f"{here}/{binding}", check=True)


def read(path):
    """({function: own}, {(caller, callee): [calls, inclusive]}, total)"""
    names, own, edges, calls = {}, {}, {}, None
    text = open(path).read()
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key in ("fn", "cfn"):
            number, _, name = value.partition(" ")
            name = names.setdefault(number, name) if number[1:-1].isdigit() else value
            name = re.sub(r"'\d+$|@@.*$", "", name)
            # which one this is depends on the CPU that the program sees
            name = "_dl_runtime_resolve" if name.startswith("_dl_runtime_resolve") else name
            if key == "fn":
                function = name
            else:
                callee = name
        elif key == "calls":
            calls = int(value.split()[0])
        elif re.match(r"[0-9+*-]", line):
            cost = int(line.split()[-1]) if " " in line else 0
            if calls is None:
                own[function] = own.get(function, 0) + cost
            else:
                edge = edges.setdefault((function, callee), [0, 0])
                edge[0] += calls
                edge[1] += cost
                calls = None
    return own, edges, int(re.search(r"^totals: (\d+)", text, re.M)[1])


OURS = {"leaf", "twice", "even", "odd", "back", "tail", "again", "once", "thread", "main"}
for binding in "lazy", "now":
    program, env = f"{here}/{binding}/prog", {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    for threads in [], ["--separate-threads=yes"]:
        p = run(callgrind, "-q", *threads, f"--callgrind-out-file={here}/ours", program, env=env)
        whole = read(f"{here}/ours-01" if threads else f"{here}/ours")
        own, edges, total = whole
        check(sum(own.values()) == total, binding, threads, sum(own.values()), total)
        check(not [n for n in own if n.endswith("@plt")] and not [e for e in edges if any(n.endswith("@plt") for n in e)],
              binding, sorted(own), "a stub is a function")
        wanted = {("main", "twice"): 10, ("main", "tail"): 10, ("tail", "leaf"): 10, ("main", "again"): 2, ("back", "again"): 9,
                  ("again", "back"): 11, ("back", "leaf"): 9, ("main", "even"): 1, ("main", "once"): 1, ("once", "odd"): 1}
        found = {e: edges.get(e, [0])[0] for e in wanted}
        check(found == wanted, binding, threads, found)
        check((("main", "_dl_runtime_resolve") in edges) == (binding == "lazy"), binding, edges)
    run(callgrind, "-q", "--skip-plt=no", f"--callgrind-out-file={here}/ours", program, env=env)
    stubs, *_ = read(f"{here}/ours")
    check("twice@plt" in stubs, binding, "--skip-plt=no")
    if not shutil.which("valgrind"):
        skipped("callgrind's counts", "valgrind is not installed")
        continue
    run(callgrind, "-q", f"--callgrind-out-file={here}/ours", program, env=env)
    subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={here}/theirs", program], env=env,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    own, edges, _ = read(f"{here}/ours")
    their_own, their_edges, _ = read(f"{here}/theirs")
    differ = [(n, own.get(n), their_own.get(n)) for n in sorted(OURS) if own.get(n) != their_own.get(n)]
    check(not differ, binding, "own counts, theirs", differ)
    differ = [(e, edges.get(e, [0])[0], their_edges.get(e, [0])[0]) for e in sorted(set(edges) | set(their_edges))
              if e[0] in OURS and edges.get(e, [0])[0] != their_edges.get(e, [0])[0]]
    check(not differ, binding, "calls, theirs", differ)
    # (Below a recursion callgrind counts events several times; and looking a name up takes longer under valgrind.)
    differ = [(e, edges[e][1], their_edges[e][1]) for e in sorted(set(edges) & set(their_edges))
              if binding == "now" and set(e) <= OURS and not set(e) <= {"again", "back", "even", "odd"}
              and edges[e][1] != their_edges[e][1]]
    check(not differ, binding, "inclusive counts, theirs", differ)
finish()
