/* raw × enabled / running in 128 bits. */
#include "scale.h"

struct scaled scale_count(uint64_t raw, uint64_t enabled, uint64_t running)
{
	if (running == 0)
		return (struct scaled){ .never_ran = true };
	/* A shade more running than enabled time is the kernel's rounding of two
	 * clocks read one after the other, not a reason to scale down. */
	if (running >= enabled)
		return (struct scaled){ .value = raw, .percent = 100.0 };

	const unsigned __int128 wide = (unsigned __int128)raw * enabled / running;
	const bool fits = wide <= UINT64_MAX;
	return (struct scaled){
		.value = fits ? (uint64_t)wide : UINT64_MAX,
		.scaled = true,
		.overflowed = !fits,
		.percent = 100.0 * (double)running / (double)enabled,
	};
}
