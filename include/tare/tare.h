/* Everything of libtare in one include. See libtare(3).
 *
 * What holds for every function of the library:
 *
 *  - It never prints, never exits and keeps no "last error". A function that can fail returns 0
 *    (or a useful number that is not negative), or a negative enum tare_err (tare/err.h).
 *  - A `struct tare_why *` may be NULL. A NULL object or a NULL place for a result is
 *    TARE_E_INVALID, and functions that free or close take NULL; the inline reads and the inline
 *    functions of the recorder, which have no instruction to spare, need their objects.
 *  - It leaves the process as it was: signal dispositions and masks, resource limits, umask,
 *    locale, environment, working directory. Its descriptors are closed by exec and, when the
 *    objects are closed, gone. tare_read_guard_install() is the one exception, and says so.
 *  - Numbers in texts and files have a decimal point, whatever the locale.
 *
 * Threads: each header says for its functions which of these holds.
 *
 *  - "Any thread": any thread may call the function at any time, also at the same time as others.
 *  - "One thread at a time": any thread, but two threads must not use the same object at the same
 *    time. Different objects are independent.
 *  - "The owner": the thread that opened the object.
 *
 * No function may be called in a signal handler, except where "signal handlers" says so.
 */
#ifndef TARE_TARE_H
#define TARE_TARE_H

#include <tare/bench.h>
#include <tare/counter.h>
#include <tare/cpu.h>
#include <tare/diverge.h>
#include <tare/doctor.h>
#include <tare/err.h>
#include <tare/event.h>
#include <tare/invariants.h>
#include <tare/measure.h>
#include <tare/analysis.h>
#include <tare/code.h>
#include <tare/codeprofile.h>
#include <tare/profile.h>
#include <tare/record.h>
#include <tare/region.h>
#include <tare/run.h>
#include <tare/trace.h>
#include <tare/verify.h>
#include <tare/scan.h>
#include <tare/stop.h>
#include <tare/version.h>
#include <tare/world.h>

#endif
