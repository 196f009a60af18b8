#!/usr/bin/env python3
"""tools/test-all reports what its campaigns did, with stand-ins for them; and the campaign of
`tare compare` fails when the verdicts are wrong. usage: campaigns.py SOURCE"""
import os, pathlib, shutil, subprocess, sys, tempfile

source = pathlib.Path(sys.argv[1])
bad = 0


def check(ok, *what):
    global bad
    if not ok:
        bad += 1
        print("failed:", *what)


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_all(tmp, *words, **env):
    p = subprocess.run([tmp / "tools/test-all", tmp / "b", *words], text=True, capture_output=True,
                       env={"PATH": f"{tmp}/bin:{os.environ['PATH']}", "LC_ALL": "C", **env})
    return p.returncode, p.stdout, p.stderr


def campaigns(tmp):
    (tmp / "b").mkdir()
    (tmp / "tools").mkdir()
    shutil.copy(source / "tools/test-all", tmp / "tools")
    script(tmp / "tests/programs/run.py", "echo 'skipped: java: not installed'")
    script(tmp / "tests/programs/repeat.py", "echo $2")
    script(tmp / "tests/campaign/noise.py", "exit 1")
    script(tmp / "tests/campaign/verify-blind.py", "echo $2 $3")
    script(tmp / "tests/campaign/hermetic.py", "echo $3")
    script(tmp / "tests/campaign/emulated-machines.py", "echo $1")
    script(tmp / "tests/campaign/verify-opcodes.py", "echo $3 $4")
    script(tmp / "tests/cli/verify-paper.py", "echo $2")
    script(tmp / "tests/fuzz/run-fuzz.sh", 'echo "$2 $3 $4"')
    script(tmp / "tests/symbol/broken.py", "echo $3 $4")
    script(tmp / "tests/package/chroot", "echo more; echo 'skipped: only root can make a chroot'; exit 77")
    script(tmp / "bin/meson", 'echo "$*"')
    status, out, err = test_all(tmp, TARE_SCALE="100", TARE_SEED="7")
    row = out.splitlines()[-1]
    check(status == 1 and row.endswith("| 14 passed, 1 failed noise, 2 skipped packages-bookworm packages-trixie |"), out, err)
    check(row.count(" | ") == 4 and "noise (2 pairs)" in row and "seed 7" in row, row)
    check("  skipped: java: not installed" in out, "a part that was left out", out)
    check("packages-trixie: clean chroots: skipped: only root can make a chroot" in out, out)
    check((tmp / "b/campaign-repeat.log").read_text() == "3\n", "a hundredth of 300 runs")
    # Only some, with other sizes.
    status, out, err = test_all(tmp, "fuzz-json=12", "races", TARE_SCALE="100", TARE_SEED="7")
    check(status == 0 and "| races (each 1 times), fuzz-json (12 inputs, seed 7) | 2 passed, 0 failed, 0 skipped |" in out, out, err)
    check((tmp / "b/campaign-fuzz-json.log").read_text() == "json 12 7\n", "another size")
    check("--repeat 1 " in (tmp / "b/campaign-races.log").read_text(), "races")
    for word in ("nosuch", "noise=", "noise=0", "noise=1x", "fuzz"):
        status, out, err = test_all(tmp, "programs", word)
        check(status == 2 and not out and f"'{word.split('=')[0]}" in err, word, out, err)
    check(test_all(tmp, TARE_SCALE="0")[0] == 2, "a scale of 0")


def verdicts(tmp, same, changed):
    """noise.py with a `tare` that gives these verdicts about equal and about unequal groups of runs."""
    (tmp / "tare").write_text(f"""#!{sys.executable} -ISE
import json, sys
words = sys.argv
if words[1] == "stat":
    run = {{"counts": [{{"value": 1000000 + int(words[-1])}}]}}
    with open(words[words.index("-o") + 1], "w") as f:
        json.dump({{"runs": [run] * int(words[words.index("-r") + 1])}}, f)
else:
    a, b = (open(name).read() for name in words[-2:])
    print(json.dumps({{"verdict": "{same}" if a == b else "{changed}"}}))
""")
    (tmp / "tare").chmod(0o755)
    return subprocess.run([sys.executable, source / "tests/campaign/noise.py", tmp / "tare", "12", "python3"],
                          text=True, capture_output=True)


with tempfile.TemporaryDirectory(prefix="tare-") as tmp:
    campaigns(pathlib.Path(tmp))
if os.path.exists("/usr/bin/python3"):
    with tempfile.TemporaryDirectory(prefix="tare-") as tmp:
        for same, changed, status, says in (("same", "regression", 0, "| 0 | 0 | 0 | 3 | 0 | 0 |"),
                                            ("improved", "regression", 1, "12 of 12 unchanged pairs judged as changed"),
                                            ("same", "same", 1, "3 changed pairs not judged as a regression")):
            p = verdicts(pathlib.Path(tmp), same, changed)
            check(p.returncode == status and says in p.stdout, same, changed, p)
else:
    print("skipped: wrong verdicts: /usr/bin/python3 is not installed")
print(f"{bad} checks failed" if bad else "all checks passed")
sys.exit(bad != 0)
