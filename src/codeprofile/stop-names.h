/* What the files about a stopped process share (tare/stop.h). */
#ifndef CODEPROFILE_STOP_NAMES_H
#define CODEPROFILE_STOP_NAMES_H

#include "symbol.h"

#include <tare/stop.h>

struct tare_stop_names {
	struct symbols *symbols;
};

#endif
