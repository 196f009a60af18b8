/* libpfm4 names an event of the virtual CPU, and the program samples itself with it, as libpfm4's examples
 * notify_self and self_smpl do. */
#include "sampling.h"

#include <fcntl.h>
#include <perfmon/pfmlib_perf_event.h>

static volatile sig_atomic_t signals;
static int the_fd;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
	ioctl(the_fd, PERF_EVENT_IOC_REFRESH, 1);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2, "usage: vpmu-pfm EVENT");
	struct perf_event_attr a = { .size = sizeof(a) };
	char *name = NULL;
	pfm_perf_encode_arg_t arg = { .attr = &a, .fstr = &name, .size = sizeof(arg) };
	CHECK(pfm_initialize() == PFM_SUCCESS, "pfm_initialize");
	const int err = pfm_get_os_event_encoding(argv[1], PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
	CHECK(err == PFM_SUCCESS, "%s: %s", argv[1], pfm_strerror(err));
	a.disabled = 1;
	a.exclude_kernel = a.exclude_hv = 1;
	a.sample_period = 1000;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ;
	the_fd = open_or_die(&a, 0, -1);
	struct ring r = ring_map(the_fd, 8, PROT_READ | PROT_WRITE);
	struct sigaction act = { .sa_handler = on_signal };
	sigaction(SIGIO, &act, NULL);
	fcntl(the_fd, F_SETFL, fcntl(the_fd, F_GETFL) | O_ASYNC);
	fcntl(the_fd, F_SETSIG, SIGIO);
	fcntl(the_fd, F_SETOWN, getpid());
	CHECK(ioctl(the_fd, PERF_EVENT_IOC_REFRESH, 1) == 0, "refresh");
	loop(100000);
	ioctl(the_fd, PERF_EVENT_IOC_DISABLE, 0);
	unsigned n = 0;
	for (struct perf_event_header *h; (h = ring_next(&r));) {
		const uint64_t *const w = (const uint64_t *)(h + 1);
		CHECK(h->type == PERF_RECORD_SAMPLE && w[1] == ++n * 1000ull, "type %u, %ju", h->type,
		      (uintmax_t)w[1]);
		CHECK(w[0] >= (uint64_t)loop_dec && w[0] < (uint64_t)loop_end, "%s at %jx", name, (uintmax_t)w[0]);
	}
	CHECK((int)n == signals && n >= 100, "%s: %u samples, %d signals", name, n, (int)signals);
	return 0;
}
