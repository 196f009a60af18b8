#include "measuring.h"

#include "command.h"

#include <tare/err.h>

#include <pthread.h>
#include <stddef.h>

volatile int measuring_stop;
volatile sig_atomic_t measuring_caught;
bool measuring_attached;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (measuring_caught || measuring_attached || info->si_code <= 0)
		measuring_stop = 1;
	measuring_caught = number;
}

static bool is_ignored(int number)
{
	struct sigaction old;
	return sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

/* What was ignored when we were started: a shell's `&` ignores SIGINT. The command
 * finds it as it would without us. */
static bool int_was_ignored, chld_was_ignored, term_was_ignored;

static void as_they_were(void)
{
	signal(SIGINT, int_was_ignored ? SIG_IGN : SIG_DFL);
	signal(SIGTERM, term_was_ignored ? SIG_IGN : SIG_DFL);
	if (!is_ignored(SIGHUP))
		signal(SIGHUP, SIG_DFL);
	if (chld_was_ignored)
		signal(SIGCHLD, SIG_IGN);
}

static void on_file_limit(int number)
{
	(void)number;
}

void measuring_catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	int_was_ignored = is_ignored(SIGINT);
	chld_was_ignored = is_ignored(SIGCHLD);
	term_was_ignored = is_ignored(SIGTERM);
	pthread_atfork(NULL, NULL, as_they_were);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		const struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
		if (numbers[i] == SIGHUP && is_ignored(SIGHUP))
			continue;	/* nohup must stay nohup */
		sigaction(numbers[i], &act, NULL);
	}
	/* A file that grows too big is an error of write(2), not our end. Caught and not
	 * ignored, so that the command finds it as it was. */
	if (!is_ignored(SIGXFSZ)) {
		const struct sigaction act = { .sa_handler = on_file_limit };
		sigaction(SIGXFSZ, &act, NULL);
	}
	/* Ignored, it would make the command's status unknowable. */
	signal(SIGCHLD, SIG_DFL);
}

int measuring_status(int err)
{
	switch (err) {
	case TARE_E_NO_COMMAND:
		return EXIT_NOT_FOUND;
	case TARE_E_NOT_EXECUTABLE:
		return EXIT_NOT_EXECUTABLE;
	default:
		return EXIT_FAILED;
	}
}
