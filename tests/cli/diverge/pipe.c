/* A read from a pipe gives what is there. */
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	int fds[2];
	char b[4096];
	volatile int n = 0;
	if (pipe(fds))
		return 1;
	if (!fork()) {
		close(fds[0]);
		for (int i = 0; i < 2000; i++)
			if (write(fds[1], "12345678", 8) != 8)
				_exit(1);
		_exit(0);
	}
	close(fds[1]);
	ssize_t got;
	while ((got = read(fds[0], b, sizeof(b))) > 0)
		for (ssize_t i = 0; i < got; i += 64)
			n = n + 1;
	return 0;
}
