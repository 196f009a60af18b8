#!/bin/sh
# What the profile commands take on files shaped like a compiler's.
# usage: bench/profile.sh BUILD [EVENTS]
set -eu
build=$1 events=${2:-24000000}
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cc -O2 -o "$dir/gen" "$here/profile-gen.c"
"$dir/gen" -n "$events" -j 1 "$dir/a.mm_profdata"
"$dir/gen" -n "$events" -j 2 "$dir/b.mm_profdata"
size=$(stat -c %s "$dir/a.mm_profdata")
echo "$events events, $size bytes a file; best of five, CPU seconds of user and system; load" \
	"$(cut -d' ' -f1 /proc/loadavg)"
python3 - "$build/tare" "$dir" "$events" "$size" <<'PY'
import os, resource, subprocess, sys
tare, d, events, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
a, b = d + "/a.mm_profdata", d + "/b.mm_profdata"

def anonymous(pid):
    """Peak of anonymous memory: sampled, as the kernel keeps no peak of it."""
    peak = 0
    while True:
        try:
            with open(f"/proc/{pid}/status") as f:
                for line in f:
                    if line.startswith("RssAnon:"):
                        peak = max(peak, int(line.split()[1]))
        except FileNotFoundError:
            return peak
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return peak, usage, status

print(f"{'command':24} {'CPU s':>8} {'M events/s':>11} {'wanted':>7} {'anonymous MiB':>14} {'allowed':>8}")
for name, n, wanted, argv in (
        ("summarize", 1, 40, ["summarize", a]),
        ("aggregate (two runs)", 2, 30, ["aggregate", a, b]),
        ("export --to chrome", 1, 10, ["export", "--to", "chrome", a]),
        ("export --to speedscope", 1, 0, ["export", "--to", "speedscope", a]),
        ("export --to flamegraph", 1, 0, ["export", "--to", "flamegraph", a]),
        ("export --to csv", 1, 0, ["export", "--to", "csv", a])):
    best, memory = None, 0
    for _ in range(5):
        with open("/dev/null", "w") as null:
            p = subprocess.Popen([tare] + argv, stdout=null, stderr=null)
            peak, usage, status = anonymous(p.pid)
        if status:
            sys.exit(f"{name} failed")
        cpu = usage.ru_utime + usage.ru_stime
        best = cpu if best is None else min(best, cpu)
        memory = max(memory, peak)
    allowed = n * size / 10 / 2**20 + 64
    print(f"{name:24} {best:8.2f} {n * events / best / 1e6:11.1f} {wanted or '':>7} "
          f"{memory / 1024:14.1f} {allowed:8.0f}")
PY
