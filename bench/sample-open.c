/* Opens an event of the virtual PMU and runs a command with it: sample-open PERIOD COMMAND. Period 0 counts. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct perf_event_attr a = { .type = PERF_TYPE_HARDWARE, .size = sizeof(a),
		.config = PERF_COUNT_HW_INSTRUCTIONS, .sample_period = argc > 1 ? strtoull(argv[1], NULL, 10) : 0,
		.disabled = 1, .inherit = 1, .enable_on_exec = 1, .exclude_kernel = 1, .exclude_hv = 1 };
	if (argc < 3 || syscall(SYS_perf_event_open, &a, 0, -1, -1, 0) < 0) {
		perror("sample-open PERIOD COMMAND");
		return 125;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
