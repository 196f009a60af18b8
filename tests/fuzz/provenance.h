/* Included once in a fuzz target. */
#include <tare/measure.h>

/* The library's own is among the code that measures, which is not needed here. */
const char *tare_provenance_name(enum tare_provenance p)
{
	static const char *const names[] = {
		[TARE_PROV_NONE] = "none", [TARE_PROV_EXACT] = "exact", [TARE_PROV_CORRECTED] = "corrected",
		[TARE_PROV_RAW] = "raw", [TARE_PROV_SCALED] = "scaled", [TARE_PROV_SIMULATED] = "simulated",
		[TARE_PROV_INCOMPLETE] = "incomplete",
	};
	return (unsigned)p < sizeof(names) / sizeof(names[0]) ? names[p] : "none";
}
