"""Checks for the tests in Python: a check that tells, attempts that get more time, waits."""
import sys
import time

bad = 0
tried = None        # the failed checks of an attempt that may be repeated (given_time)


def check(ok, *what):
    global bad
    if ok:
        return
    if tried is not None:
        tried.append(what)
        return
    bad += 1
    print("failed:", *what)


def given_time(attempt, factors=(1, 4, 16, 64)):
    """attempt(factor) checks what a slow or busy machine can spoil, with times that are `factor` times
    what an idle machine needs. The first attempt whose checks all hold is enough; what is broken
    fails them all."""
    global tried
    for factor in factors[:-1]:
        tried = []
        try:
            attempt(factor)
        except Exception as e:                          # such as: no result to look into
            tried.append((repr(e),))
        wrong, tried = tried, None
        if not wrong:
            return
        print(f"tried again, {factor} times the usual time was not enough:", *wrong[0])
    attempt(factors[-1])


def when_still(attempt):
    """attempt() checks numbers of the kernel's that other processes can change: a page fault more,
    because memory was reclaimed or moved. One of a dozen attempts must hold."""
    given_time(lambda _: attempt(), (1,) * 12)


def until(condition, what, seconds=600):
    """Waits for what must come, however slow the machine is."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            check(False, "waited in vain:", what)
            return
        time.sleep(0.005)


def finish():
    print(f"{bad} checks failed" if bad else "all checks passed")
    sys.exit(bad != 0)
