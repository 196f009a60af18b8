#!/usr/bin/env python3
"""Makes the inputs of the bench and of the program tests: the same bytes always.

usage: generate.py DIRECTORY [SCALE]      SCALE 1 is the bench; 0.1 for quick tests
"""
import os
import sys

WORDS = """count exact retired branch load store thread signal engine cache block
translate counter kernel program number value event machine native measure regress
compiler interval profile noise paper report chapter tare gross net weight""".split()


class Random:
    """xorshift64*: no library's generator, which may change."""

    def __init__(self, seed):
        self.s = seed

    def next(self):
        s = self.s
        s ^= s >> 12
        s ^= (s << 25) & 0xffffffffffffffff
        s ^= s >> 27
        self.s = s
        return (s * 2685821657736338717 & 0xffffffffffffffff) >> 11

    def below(self, n):
        return self.next() % n


def text(r, size):
    """Prose of a few hundred word forms, with numbers: compresses like logs."""
    out, n = [], 0
    while n < size:
        line = " ".join(WORDS[r.below(len(WORDS))] + ("" if r.below(3) else str(r.below(1000)))
                        for _ in range(4 + r.below(9))) + "\n"
        out.append(line)
        n += len(line)
    return "".join(out)[:size]


def c_source(r, functions):
    """A C file of many functions with loops, switches, structs and calls."""
    out = ["#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n"
           "struct item { uint32_t a, b; uint8_t c[16]; struct item *next; };\n"
           "static uint32_t table[256];\n"]
    for i in range(functions):
        k = [r.below(1000) + 1 for _ in range(8)]
        callee = f"f{r.below(i)}" if i else "(uint32_t)"
        call = f"{callee}(x + {k[0]}, p)" if i else f"(x + {k[0]})"
        cases = "\n".join(f"\tcase {j}: y ^= x * {r.below(9999) + 3}u; "
                          f"{'break' if r.below(2) else 'y += table[x & 255]; break'};"
                          for j in range(3 + r.below(8)))
        out.append(f"""
uint32_t f{i}(uint32_t x, struct item *p)
{{
	uint32_t y = x ^ {k[1]}u, i;
	for (i = 0; i < (x & {k[2] % 63 + 1}); i++) {{
		y += table[(y >> {k[3] % 24}) & 255] * {k[4]}u;
		if (y & {1 << k[5] % 16})
			y = (y << 3) | (y >> 29);
		if (p && p->a > y)
			p->b += y, p->c[y & 15] ^= (uint8_t)x;
	}}
	switch (y % {k[6] % 11 + 2}) {{
{cases}
	default: y += {k[7]};
	}}
	if (p && p->next && (y & 1))
		y += {call};
	return y;
}}
""")
    out.append(f"int main(void)\n{{\n\tstruct item a = {{0}};\n\tprintf(\"%u\\n\", f{functions - 1}(7, &a));\n"
               "\treturn 0;\n}\n")
    return "".join(out)


PYTHON = """import sys
n = int(sys.argv[1])
class Node:
    def __init__(self, key, left, right):
        self.key, self.left, self.right = key, left, right
def build(d, k=1):
    return None if d == 0 else Node(k, build(d - 1, 2 * k), build(d - 1, 2 * k + 1))
def total(t):
    return 0 if t is None else t.key + total(t.left) + total(t.right)
words = {}
x = 12345
for i in range(n * 200):
    x = (x * 1103515245 + 12345) & 0x7fffffff
    w = "w%d" % (x % 5000)
    words[w] = words.get(w, 0) + 1
s = sum(v * len(k) for k, v in sorted(words.items()))
for _ in range(max(1, n // 100)):
    s += total(build(11))
print(s, "".join(sorted(words)[:20]))
"""

PERL = r"""my $n = shift; my %h; my $x = 12345; my $s = 0;
for my $i (1 .. $n * 150) {
    $x = ($x * 1103515245 + 12345) & 0x7fffffff;
    my $w = "word" . ($x % 3000);
    $h{$w}++;
    $s += length($w) if $w =~ /(\d)\1/;
    my @f = split /r/, $w; $s += @f;
}
$s += $h{$_} for sort keys %h;
print "$s\n";
"""

LUA = """local n = tonumber(arg[1])
local function fib(k) if k < 2 then return k end return fib(k - 1) + fib(k - 2) end
local t, x, s = {}, 12345, 0
for i = 1, n * 300 do
  x = (x * 1103515245 + 12345) % 2147483648
  t[x % 1000 + 1] = (t[x % 1000 + 1] or 0) + 1
end
for i = 1, 1000 do s = s + (t[i] or 0) * i end
local parts = {}
for i = 1, n * 10 do parts[#parts + 1] = string.format("%d:%s", i, string.rep("x", i % 7)) end
print(s, #table.concat(parts), fib(20 + math.floor(math.log(n, 2) / 2)))
"""

ERLANG = """-module(work).
-export([main/1]).
fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).
app([], L) -> L;
app([H | T], L) -> [H | app(T, L)].
nrev([]) -> [];
nrev([H | T]) -> app(nrev(T), [H]).
loop(0) -> ok;
loop(N) -> nrev(lists:seq(1, 300)), loop(N - 1).
main([Arg]) ->
    N = list_to_integer(atom_to_list(Arg)),
    loop(N),
    io:format("~p ~p~n", [fib(20 + trunc(math:log2(N))),
                          hd(lists:sort([(X * 7919) rem 100003 || X <- lists:seq(1, N * 50)]))]).
"""

# A recursion through 6 MB of stack, again and again.
DEEP = """#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static long deep(long n, long *sum)
{
	volatile long frame[8];
	frame[n & 7] = n;
	if (n == 0)
		return 0;
	const long below = deep(n - 1, sum);
	*sum += frame[n & 7];
	return below + 1;
}
int main(int argc, char **argv)
{
	long sum = 0, total = 0;
	for (long i = 0; i < atol(argv[1]); i++)
		total += deep(50000, &sum);
	printf("%ld %ld\\n", total, sum);
}
"""

JS = """const n = Number(process.argv[2]);
class P { constructor(x, y) { this.x = x; this.y = y; } add(o) { return new P(this.x + o.x, this.y + o.y); } }
let x = 12345, s = 0; const m = new Map();
for (let i = 0; i < n * 2000; i++) {
  x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
  m.set(x % 4000, (m.get(x % 4000) || 0) + 1);
  s = (s + new P(x, i).add(new P(1, 2)).x) % 1000003;
}
const a = Array.from(m.entries()).sort((p, q) => p[0] - q[0]);
for (const [k, v] of a) s = (s * 31 + k * v) % 1000003;
console.log(s, JSON.stringify(a.slice(0, 5)));
"""

JAVA = """import java.util.*;
public class Work {
    static long mix(long x) { x ^= x << 13; x ^= x >>> 7; return x ^ x << 17; }
    public static void main(String[] a) {
        int n = Integer.parseInt(a[0]); long x = 88172645463325252L, s = 0;
        HashMap<Integer, Integer> m = new HashMap<>();
        for (int i = 0; i < n * 500; i++) {
            x = mix(x); m.merge((int) (x & 1023), 1, Integer::sum);
            s += Long.numberOfTrailingZeros(x);
        }
        StringBuilder b = new StringBuilder();
        for (int k : new TreeSet<>(m.keySet())) b.append(k).append(m.get(k));
        try { Object o = null; o.hashCode(); } catch (NullPointerException e) { s++; }
        System.out.println(s + " " + b.toString().hashCode());
    }
}
"""


def sql(r, rows):
    out = ["PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY;",
           "CREATE TABLE t(a INTEGER PRIMARY KEY, b INTEGER, c TEXT);", "BEGIN;"]
    for i in range(rows):
        out.append(f"INSERT INTO t VALUES({i},{r.below(100000)},'{WORDS[r.below(len(WORDS))]}{r.below(100)}');")
    out += ["COMMIT;", "CREATE INDEX tb ON t(b);",
            "SELECT count(*), sum(b) FROM t WHERE b BETWEEN 1000 AND 20000;",
            "SELECT c, count(*), max(b) FROM t GROUP BY c ORDER BY 2 DESC, 1 LIMIT 10;",
            "SELECT count(*) FROM t x JOIN t y ON x.b = y.b AND x.a < y.a;",
            "UPDATE t SET b = b + 1 WHERE a % 3 = 0;",
            "SELECT sum(length(c) * b) FROM t;"]
    return "\n".join(out) + "\n"


def shell(commands):
    """A script of short commands, as build systems run them."""
    some = ["/bin/true", "expr {i} + 1", "basename /usr/lib/file{i}.o .o", "echo word {i} | cat",
            "printf '%s\\n' b a {i} | sort", "ls -d . >/dev/null", "echo x{i} | sed s/x/y/",
            "test {i} -gt 3 && /bin/true", "v=$(dirname /a/b/{i}); echo $v", "head -c 100 text.txt | wc -c"]
    return "\n".join(some[i % len(some)].format(i=i) for i in range(commands)) + "\n"


def video(r, frames):
    """Raw 4:2:0, 160x120: a gradient that moves, with noise."""
    out = bytearray()
    noise = bytes(r.below(256) for _ in range(4096))
    for f in range(frames):
        y = bytes(((x + 2 * f) ^ (row + f)) & 0xf0 | noise[(x * 7 + row * 13 + f) & 4095] & 15
                  for row in range(120) for x in range(160))
        out += y + bytes(128 + f % 16 for _ in range(160 * 120 // 2))
    return bytes(out)


def generate(folder, scale=1.0):
    os.makedirs(folder, exist_ok=True)

    def put(name, data):
        mode = "wb" if isinstance(data, (bytes, bytearray)) else "w"
        with open(os.path.join(folder, name), mode) as f:
            f.write(data)

    def n(full):
        return max(1, int(full * scale))

    r = Random(0x7461726574617265)
    put("text.txt", text(r, n(5_000_000)))
    lines = [f"{r.below(10**9)} {WORDS[r.below(len(WORDS))]}{r.below(10**6)}" for _ in range(n(400_000))]
    put("lines.txt", "\n".join(lines) + "\n")
    put("big.c", c_source(r, n(140)))
    put("hello.c", '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n')
    put("work.py", PYTHON)
    put("work.pl", PERL)
    put("work.lua", LUA)
    put("work.js", JS)
    put("work.erl", ERLANG)
    put("deep.c", DEEP)
    put("Work.java", JAVA)
    put("work.sql", sql(r, n(60_000)))
    put("commands.sh", shell(200))
    put("video.yuv", video(r, n(60)))
    for i in range(n(60)):
        put(f"file{i:03d}.txt", text(r, 20_000))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    generate(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
