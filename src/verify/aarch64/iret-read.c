/* Arm has no system call by interrupt: every one is an exception, and returns with eret. */
#include "iret.h"

#include <sys/mman.h>

const char *iret_lacks(void)
{
	return "arm64 has no int 0x80";
}

void *iret_memory(size_t size)
{
	(void)size;
	return MAP_FAILED;
}

bool iret_read(enum iret_call call, int fd, uint32_t index, void *low, struct iret_reading *r)
{
	(void)call;
	(void)fd;
	(void)index;
	(void)low;
	(void)r;
	return false;
}
