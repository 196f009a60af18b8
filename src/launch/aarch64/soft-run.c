/* Stands in for the engine's launcher on machines the engine is not made for. */
#include "soft-run.h"
#include "why.h"

int soft_available(struct tare_why *why)
{
	return why_set(why, TARE_E_NO_ENGINE, "this machine is arm64");
}

int soft_run(const struct tare_measure_options *o, const struct soft_hooks *hooks,
	     struct tare_measurement *m, struct tare_why *why)
{
	(void)o;
	(void)hooks;
	(void)m;
	return soft_available(why);
}
