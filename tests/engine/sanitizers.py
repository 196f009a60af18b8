#!/usr/bin/env python3
"""Programs built with sanitizers: under the engine they say what they say natively.

Each compiler that is here, each sanitizer it has; programs that are right and programs
that are not. Numbers of processes and addresses are left out of the comparison.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tool"))
import counting  # noqa: E402

RIGHT = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *p)
{
	long sum = 0;
	for (int i = 1; i < 1000; i++) {
		char *q = malloc(i);
		q[i - 1] = (char)i;
		sum += q[i - 1];
		free(q);
	}
	return (void *)sum;
}
int main(void)
{
	pthread_t t[4];
	long sum = 0;
	void *r;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		sum += (long)r;
	}
	printf("%ld\n", sum);
	return 0;
}
"""
AFTER_FREE = r"""
#include <stdlib.h>
int main(int argc, char **argv) { char *p = malloc(10); free(p); return p[argc]; }
"""
OVERFLOW = r"""
#include <limits.h>
int main(int argc, char **argv) { return INT_MAX - 1 + argc + argc < 0; }
"""
UNSET = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) { int *p = malloc(8); if (p[1]) puts("set"); free(p); return 0; }
"""
NULL = r"""
int main(int argc, char **argv) { return *(volatile int *)(long)(argc - 1); }
"""
LEAK = r"""
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void lose(void) { char *volatile p = malloc(77); p[0] = 1; p = 0; }
__attribute__((noinline)) static void wipe(void) { char volatile b[8192]; memset((void *)b, 0, 8192); }
int main(void) { lose(); wipe(); return 0; }
"""
# sanitizer -> programs
PROGRAMS = {
    "address": {"right": RIGHT, "after-free": AFTER_FREE, "null": NULL,
                "leak": LEAK},
    "thread": {"right": RIGHT},
    "undefined": {"right": RIGHT, "overflow": OVERFLOW},
    "memory": {"right": RIGHT, "unset": UNSET},
}


def same_for_all(text):
    text = re.sub(r"==\d+==", "==", text)
    return re.sub(r"0x[0-9a-f]+|pid[= ]\d+|T\d+", "", text)


def outcome(command):
    p = subprocess.run(command, capture_output=True, text=True)
    # death by a signal: tare's own status is the shell's
    status = p.returncode if p.returncode >= 0 else 128 - p.returncode
    return status, same_for_all(p.stdout), same_for_all(p.stderr)


def build(compiler, sanitizer, name, source, folder):
    c = os.path.join(folder, name + ".c")
    program = os.path.join(folder, f"{compiler}-{sanitizer}-{name}")
    with open(c, "w") as f:
        f.write(source)
    p = subprocess.run([compiler, "-g", "-O1", "-w", f"-fsanitize={sanitizer}", c, "-o", program,
                        "-pthread"], capture_output=True, text=True)
    return program if p.returncode == 0 else None


def main():
    counting.need_engine()
    tare = os.path.join(os.environ["TARE_BUILD"], "tare")
    tried, bad = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for compiler in ("gcc", "clang"):
            if not shutil.which(compiler):
                counting.skipped(compiler, "not installed")
                continue
            for sanitizer, programs in PROGRAMS.items():
                for name, source in programs.items():
                    program = build(compiler, sanitizer, name, source, folder)
                    if not program:
                        if (compiler, sanitizer) != ("gcc", "memory"):	# which gcc has nowhere
                            counting.skipped(f"{compiler} -fsanitize={sanitizer}", "does not link here")
                        break
                    native = outcome(["setarch", "-R", program])
                    for how in (["stat", "-e", "instructions:u", "-o", os.devnull], ["run"]):
                        tried += 1
                        got = outcome([tare] + how + ["--", program])
                        if got != native:
                            bad += 1
                            print(f"{os.path.basename(program)}, tare {how[0]}: {got}\n"
                                  f"natively: {native}")
    print(f"{tried} runs, {bad} other than natively")
    if not tried:
        counting.skip("no compiler here has sanitizers")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
