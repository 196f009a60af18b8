/* The library in a program that has set its locale: a decimal comma does not get into JSON and
 * text, is not read from them, and the Turkish i does not change event names.
 *
 * The locales are compiled here, from Debian's package `locales`. */
#include "func.h"

#include "buf.h"
#include "clocale.h"
#include "event-room.h"
#include "json.h"
#include "why.h"

#include <tare/tare.h>

#include <ctype.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/tare-locale-XXXXXX";

static void clean(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		perror(dir);
}

/* The locale of this name in UTF-8, compiled from the source of that name. */
static void use(const char *name)
{
	char command[256], full[64];
	snprintf(full, sizeof(full), "%s.UTF-8", name);
	snprintf(command, sizeof(command),
		 "localedef --no-archive -i %s -f UTF-8 '%s/%s' >/dev/null 2>&1", name, dir, full);
	const int status = system(command);
	/* localedef returns 1 for warnings, and writes the locale. */
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1 || !setlocale(LC_ALL, full))
		SKIP("the locale %s cannot be made: localedef and the package locales are needed", full);
}

static void json(void)
{
	struct buf b = { 0 };
	struct json j = { .out = &b };
	json_array(&j, NULL);
	json_f64(&j, NULL, 1234567.5);
	json_f64(&j, NULL, -0.25);
	json_f64(&j, NULL, 1e300);
	json_end(&j);
	CHECK(!strcmp(b.data, "[1234567.5,-0.25,1.0000000000000001e+300]"), "%s", b.data);
	struct json_node *root;
	double value = 0;
	CHECK(json_parse(b.data, b.len, &root, NULL) == 0, "%s", b.data);
	CHECK(json_to_f64(root->first, &value) && value == 1234567.5, "%g", value);
	json_free(root);
	buf_free(&b);
	CHECK(json_parse("[1,5]", 5, &root, NULL) == 0 && root->first->next, "1,5 is two numbers");
	json_free(root);
}

static void texts(void)
{
	struct buf b = { 0 };
	buf_printf(&b, "%.2f%%", 12.5);
	CHECK(!strcmp(b.data, "12.50%"), "%s", b.data);
	buf_free(&b);
	struct tare_why why;
	why_set(&why, TARE_E_RANGE, "%g", 0.5);
	why_remedy(&why, "%g", 0.5);
	CHECK(!strcmp(why.what, "0.5") && !strcmp(why.remedy, "0.5"), "%s %s", why.what, why.remedy);
	char text[16], *end;
	clocale_snprintf(text, sizeof(text), "%.1f", 1.5);
	CHECK(!strcmp(text, "1.5"), "%s", text);
	CHECK(clocale_strtod("1.5", &end) == 1.5 && !*end, "%s", end);
}

static void put(const char *path, const char *text)
{
	char full[256];
	snprintf(full, sizeof(full), "%s/sys/bus/event_source/devices/%s", dir, path);
	for (char *p = full + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0700);
		*p = '/';
	}
	const int fd = open(full, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s", full);
	close(fd);
}

/* The factor of an energy event, as the kernel writes it. */
static void scale(void)
{
	put("power/type", "9\n");
	put("power/events/energy-pkg", "event=0x02\n");
	put("power/events/energy-pkg.scale", "2.3283064365386962890625e-10\n");
	put("power/events/energy-pkg.unit", "Joules\n");
	put("power/format/event", "config:0-7\n");
	event_sysfs_root = dir;
	struct tare_events *list;
	struct tare_why why = { 0 };
	CHECK(tare_events_parse("power/energy-pkg/", NULL, &list, &why) == 0, "%s", why.what);
	const double read = tare_events_at(list, 0)->scale;
	CHECK(read == 2.3283064365386962890625e-10, "%.20g", read);
	tare_events_free(list);
	event_sysfs_root = "";
}

static void names(void)
{
	struct tare_events *list;
	struct tare_why why = { 0 };
	CHECK(tare_events_parse("PAGE-FAULTS,INSTRUCTIONS:u,WALL-TIME", NULL, &list, &why) == 0, "%s",
	      why.what);
	tare_events_free(list);
}

static void everything(void)
{
	json();
	texts();
	scale();
	names();
}

int main(void)
{
	char probe[16];
	CHECK(mkdtemp(dir), "%s", dir);
	atexit(clean);
	CHECK(setenv("LOCPATH", dir, 1) == 0, "setenv");
	everything();
	use("de_DE");
	snprintf(probe, sizeof(probe), "%.1f", 1.5);
	CHECK(!strcmp(probe, "1,5"), "the locale has no decimal comma: %s", probe);
	everything();
	CHECK(strtod("1,5", NULL) == 1.5, "the program's own locale is as it was");
	use("tr_TR");
	CHECK(toupper('i') != 'I', "the Turkish locale is not in use");
	everything();
	return 0;
}
