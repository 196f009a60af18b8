/* Children that work, and the output of one of them, which is another one in each run. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char text[64] = "";
	FILE *const f = popen("sleep 0 & cat /proc/sys/kernel/random/uuid", "r");
	if (!f || !fgets(text, sizeof(text), f))
		return 2;
	pclose(f);
	for (const char *p = text; *p > ' '; p++)
		for (volatile int i = 0; i < *p; i++)
			;
	return 0;
}
