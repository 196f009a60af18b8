/* A program outside the tree: counts an event of true(1) with libtare. usage: outside EVENT */
#include <tare/tare.h>

#include <inttypes.h>
#include <stdio.h>

/* Names that the library uses inside, too: they must not clash. */
int buf_add(void);
int buf_add(void)
{
	return 1;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	char *const command[] = { (char *)"true", NULL };
	struct tare_events *events;
	struct tare_measurement *m;
	struct tare_why why = { 0 };
	struct tare_cpu cpu;
	tare_cpu_detect(&cpu);
	if (tare_events_parse(argv[1], &cpu, &events, &why) < 0) {
		fprintf(stderr, "%s: %s\n", why.what, tare_err_sentence(why.code));
		return 1;
	}
	struct tare_measure_options o = TARE_MEASURE_OPTIONS_INIT;
	o.argv = command;
	o.events = events;
	if (tare_measure(&o, &m, &why) < 0) {
		fprintf(stderr, "%s: %s\n", why.what, tare_err_sentence(why.code));
		return 1;
	}
	printf("%s %" PRIu64 " %s %d\n", m->counts[0].event, m->counts[0].value,
	       tare_provenance_name(m->counts[0].provenance), buf_add());
	tare_measurement_free(m);
	tare_events_free(events);
	return 0;
}
