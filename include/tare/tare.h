/* Everything of libtare in one include. See libtare(3). */
#ifndef TARE_TARE_H
#define TARE_TARE_H

#include <tare/counter.h>
#include <tare/cpu.h>
#include <tare/doctor.h>
#include <tare/err.h>
#include <tare/event.h>
#include <tare/measure.h>
#include <tare/analysis.h>
#include <tare/profile.h>
#include <tare/record.h>
#include <tare/run.h>
#include <tare/version.h>

#endif
