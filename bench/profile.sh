#!/bin/sh
# What the profile commands take on files shaped like a compiler's, in CPU time of user and system.
# usage: bench/profile.sh BUILD [EVENTS [ROUNDS [OTHER-TARE]...]]
# Other programs, such as that of an older commit, are measured in turns with BUILD/tare: on a machine
# that does other work only such a comparison says something. The best of all rounds counts.
set -eu
build=$1 events=${2:-24000000} rounds=${3:-5}
if [ $# -gt 3 ]; then shift 3; else set --; fi
here=$(dirname "$0")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cc -O2 -o "$dir/gen" "$here/profile-gen.c"
for run in 1 2; do
	"$dir/gen" -n "$events" -j $run "$dir/one-$run.mm_profdata"
	"$dir/gen" -n "$events" -t 16 -j $run "$dir/sixteen-$run.mm_profdata"
done
"$dir/gen" -n $((events / 3)) -j 1 "$dir/third.mm_profdata"
"$dir/gen" -n $((events / 3)) -a -j 1 "$dir/args.mm_profdata"
python3 - "$dir" "$events" "$rounds" "$build/tare" "$@" <<'PY'
import os, subprocess, sys, time
d, events, rounds, tools = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
one, two, third, args = (f"{d}/{n}.mm_profdata" for n in ("one-1", "one-2", "third", "args"))
sixteen = [f"{d}/sixteen-{i}.mm_profdata" for i in (1, 2)]

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
            pass
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return peak, usage, status
        time.sleep(0.005)

def cpu_name():
    with open("/proc/cpuinfo") as f:
        return next((l.split(":")[1].strip() for l in f if l.startswith("model name")), "?")

print(f"{cpu_name()}, load {os.getloadavg()[0]:.1f}; {events} events, {os.path.getsize(one)} bytes a file; "
      f"best of {rounds}; million events per CPU second, and MiB of anonymous memory")
print(f"{'command':28}" + "".join(f" {t[-30:]:>31}" for t in tools))
for name, n, argv in (
        ("summarize", events, ["summarize", one]),
        ("aggregate (two runs)", 2 * events, ["aggregate", one, two]),
        ("aggregate (16 threads)", 2 * events, ["aggregate"] + sixteen),
        ("summarize --tree", events // 3, ["summarize", "-t", third]),
        ("summarize --by args", events // 3, ["summarize", "-b", "args", args]),
        ("view", events // 3, ["view", third]),
        ("export --to chrome", events, ["export", "--to", "chrome", one]),
        ("export --to speedscope", events, ["export", "--to", "speedscope", one]),
        ("export --to flamegraph", events, ["export", "--to", "flamegraph", one]),
        ("export --to collapsed", events // 3, ["export", "--to", "collapsed", third]),
        ("export --to csv", events, ["export", "--to", "csv", one])):
    best, memory = {}, {}
    for _ in range(rounds):
        for tool in tools:
            with open("/dev/null", "w") as null:
                p = subprocess.Popen([tool] + argv, stdout=null, stderr=null)
                peak, usage, status = anonymous(p.pid)
            if status:
                sys.exit(f"{tool} {name} failed")
            cpu = usage.ru_utime + usage.ru_stime
            best[tool] = min(cpu, best.get(tool, cpu))
            memory[tool] = max(peak, memory.get(tool, 0))
    print(f"{name:28}" + "".join(f" {n / best[t] / 1e6:19.1f} {memory[t] / 1024:11.0f}" for t in tools), flush=True)
PY
