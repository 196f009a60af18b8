#include <tare/version.h>

const char *tare_version(void)
{
	return TARE_VERSION;
}

int tare_version_number(void)
{
	return TARE_VERSION_NUMBER;
}
