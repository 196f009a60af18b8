#!/usr/bin/env python3
"""Ring buffers, poll, signals and refusals of the virtual PMU are those of the kernel: the same program samples
an event of the kernel outside and a virtual one inside, and both say the same.

usage: vpmu-as-kernel.py TARE PAGES PROGRAM
"""
import os, sys

from cli import check, finish, need_engine, run, skipped

tare, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3])
need_engine(tare)

EXPECTED = """\
warm: works
wakeup_events: 0 0 1 0 0 1 0 0 1 0 0 1 0 again 0
watermark: 0 0 0 0 0 1 0 0 0 0 1 0 0 again 0
no ring: poll 10
by default: 0 1 0
select: no ring 1:100 none 0:000 two 1:100 again 0:000 four 1:100
with a pipe: 1:01
with a pipe: 0:00, 0 s 0 us left
with a closed one: EBADF
epoll, level: add works no ring 1:10 again 1:10 ring 0:0 two 1:1 again 0:0 four 1:1 mod works mod 0:0 six 1:1 taken 0:0 not asked for 0:0
epoll, edge: add works no ring 1:10 again 0:0 ring 0:0 two 1:1 again 0:0 four 1:1 mod works mod 0:0 six 1:1 taken 0:0 not asked for 0:0
epoll, once: add works no ring 1:10 again 0:0 ring 0:0 two 0:0 again 0:0 four 0:0 mod works mod 0:0 six 1:1 taken 0:0 not asked for 0:0
epoll: mod ENOENT, del ENOENT, add works, add EEXIST, no address EFAULT, bad command EINVAL, to an event EINVAL, to none EBADF, none at a time EINVAL, del works then 0:0 added 1:10 closed 0:0 another 0:0
epoll sleeps: 10, then 10, 3 samples or more
full: head 4080, 255 samples, lost 45
then: type 2, size 24, lost 45, type 9, type 9
backward: head -12000, 9 of event 500, 9 of event 499, 9 of event 498, 9 of event 497
pause: works, head moved by 0; on: works, by -48: type 2
forward to backward: EINVAL
pause without a ring: EINVAL
overwritten: head 8000
mmap: 1 page works, 2 works, 3 works, 4 EINVAL, 6 EINVAL, 8 EINVAL, 9 works; part works; private EINVAL; offset EINVAL
second mapping: same works, larger EINVAL, page only EINVAL
output: to itself EINVAL, to another works, to no event EBADF, to a number that is none EBADF, to -1 of 32 bits EBADF, mmap with another size EINVAL
one ring: 5 and 10 samples
dummy: to an event without a ring EINVAL, poll 10, to one works, poll 0, named 1:1 forked 1:1
dummy: pause works, go on works paused 0:0 off 0:0, poll of the dummy 1, then of the event 0, samples 1:0 add works nothing 0:0 one 1:1 samples 1:0
dummy: to a number that is none EBADF, still 1:1 to none works, poll 10, to none 0:0 epoll 1:10 mod works, del works, again ENOENT
dummy: own ring 1:1, to an event then EINVAL, opened with an output works opened 1:1, without the ring poll 10, open EINVAL
names: anon_inode:[perf_event], anon_inode:[perf_event], name by file, name a name of 15 ch, true
period 0: 0 samples, refresh EINVAL, period EINVAL
period 10: 3 of 34; 5: works, 5 of 26; 0: EINVAL; 2^63: EINVAL
open with 2^63: EINVAL, with a frequency beyond the limit: EINVAL, a later one: EINVAL, a lower one: works
thread: 3 signals, 3 in, 0 hup, 3 with the descriptor, 3 with the band
process: 3 signals, 3 in, 0 hup, 3 with the descriptor, 3 with the band
without F_SETSIG: 3 signals, 0 in
refresh: works: 2 signals, 1 in, 1 hup, 2 with the descriptor, 2 with the band
again: works: 3 signals, 1 in, 2 hup, 3 with the descriptor, 3 with the band
a copy: 1 signals, 1 in, 0 hup, 1 with the descriptor, 1 with the band
nested: 6 signals, 6 in, 0 hup, 6 with the descriptor, 6 with the band
blocked: 0 signals, 0 in, 0 hup, 0 with the descriptor, 0 with the band
unblocked: 4 signals, 4 in, 0 hup, 4 with the descriptor, 4 with the band
without O_ASYNC: 4 signals, 4 in, 0 hup, 4 with the descriptor, 4 with the band
inherited: refresh EINVAL; 1 forks, 1 exits, child has 20 samples or a few more; all ids, all CPUs
inherited, on any CPU: mmap EINVAL
a reader dies: the worker ends with 7
"""


def differences(text):
    return [f"{a!r} instead of {b!r}" for a, b in zip(text.splitlines(), EXPECTED.splitlines()) if a != b]


for model in "zen2", "skylake":
    p = run(tare, "run", "--cpu", model, "--", program, "virtual")
    check(p.returncode == 0 and p.stdout == EXPECTED, model, p.returncode, differences(p.stdout), p.stderr)
# a busy kernel may make page faults of its own, now and then
for attempt in range(5):
    p = run(program, "kernel")
    if p.returncode == 77:
        skipped("the kernel's own events", p.stdout.strip())
        break
    if p.stdout == EXPECTED:
        break
check(p.returncode == 77 or (p.returncode == 0 and p.stdout == EXPECTED), "kernel", p.returncode,
      differences(p.stdout), p.stderr)
finish()
