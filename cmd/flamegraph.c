/* The call tree as an SVG flame graph.
 *
 * Without scripts, every frame shows its name where the name fits, and name, value and share as
 * a tool tip. With scripts, a click zooms into a frame, and the search box (or Ctrl-F) marks the
 * frames whose names match and shows their share. The file needs no fonts and no other files. A
 * name always has the same colour, so that two graphs can be compared.
 */
#include "export-show.h"

#include "profiles.h"
#include "quantity.h"
#include "sink.h"
#include "utf8.h"
#include "why.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 1200.0
#define PAD 10.0
#define ROW 17
#define TOP 60
/* narrower frames are not drawn */
#define LEAST (FLAMEGRAPH_LEAST * (WIDTH - 2 * PAD))
#define CHAR_WIDTH 6.6		/* of the 11 px monospace below */

static const char style[] =
	"<style>\n"
	"svg text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#111}\n"
	"svg text.t{font-size:15px;font-weight:bold}\n"
	"rect.f{stroke:#fff;stroke-width:.5}\n"
	"g.f:hover rect.f{stroke:#000;stroke-width:1}\n"
	"g.m rect.f{fill:#b04ae0}\n"
	".s{display:none;cursor:pointer}\n"
	"</style>\n";

static const char script[] =
	"<script><![CDATA[\n"
	"(function(){\n"
	"var svg=document.currentScript.closest('svg'),W=1180,P=10,fs=[].slice.call(svg.querySelectorAll('g.f'));\n"
	"var note=document.getElementById('note'),reset=document.getElementById('reset'),find=document.getElementById('find');\n"
	"find.style.display='inline';\n"
	"fs.forEach(function(g){var r=g.querySelector('rect');g.x=+r.getAttribute('x');g.w=+r.getAttribute('width');"
	"g.y=+r.getAttribute('y');g.n=g.getAttribute('data-n');g.t=g.querySelector('text');});\n"
	"function fit(g,w){var n=Math.floor((w-4)/6.6),t=g.n;if(n<3)t='';else if(t.length>n)t=t.slice(0,n-2)+'..';g.t.textContent=t;}\n"
	"function show(z){var k=W/z.w;fs.forEach(function(g){var r=g.querySelector('rect');\n"
	"var over=g.x<=z.x+.001&&g.x+g.w>=z.x+z.w-.001&&g.y>=z.y,inside=g.x>=z.x-.001&&g.x+g.w<=z.x+z.w+.001&&g.y<=z.y;\n"
	"if(!over&&!inside){g.style.display='none';return;}g.style.display='';\n"
	"var x=over?P:P+(g.x-z.x)*k,w=over?W:g.w*k;r.setAttribute('x',x);r.setAttribute('width',w);g.t.setAttribute('x',x+2);fit(g,w);});\n"
	"reset.style.display=z.w<W-.01?'inline':'none';}\n"
	"function search(q){var sum=0,end={};note.textContent='';fs.forEach(function(g){var m=q&&g.n.indexOf(q)>=0;g.classList.toggle('m',!!m);});\n"
	"if(!q)return;fs.filter(function(g){return g.classList.contains('m');}).sort(function(a,b){return b.y-a.y||a.x-b.x;})"
	".forEach(function(g){for(var k in end){var o=end[k];if(g.x>=o.x-.001&&g.x+g.w<=o.x+o.w+.001)return;}end[g.x+':'+g.y]=g;sum+=g.w;});\n"
	"note.textContent='\"'+q+'\": '+(100*sum/W).toFixed(2)+'%';}\n"
	"svg.addEventListener('click',function(e){var g=e.target.closest('g.f');if(g)show(g);});\n"
	"reset.addEventListener('click',function(){show(fs[0]);});\n"
	"function ask(){search(prompt('Mark names that contain:','')||'');}\n"
	"find.addEventListener('click',ask);\n"
	"window.addEventListener('keydown',function(e){if((e.ctrlKey||e.metaKey)&&e.key==='f'){e.preventDefault();ask();}});\n"
	"})();\n"
	"]]></script>\n";

#define NO_FRAME UINT32_MAX

struct frame {
	const char *name;
	size_t len;
	uint32_t depth;
	uint32_t child, next;		/* the first inside, the next beside; or NO_FRAME */
	uint64_t total, count;
	int64_t self;
	double x;
};

struct drawing {
	const struct tare_stacks_info *info;
	struct frame *frames;		/* the root first, each before those inside it */
	uint32_t n, cap;
	uint32_t *path;			/* the last frame of each depth */
	uint32_t cap_path;
	struct sink out;
	struct buf scratch;
	double scale;			/* pixels per count */
	int height;
	uint64_t left_out;
	const struct flame_change *changes;	/* of each frame, or NULL */
	uint64_t most_change;		/* the largest */
};

/* More room for an array of n items; false: out of memory. */
static bool grow(void **array, uint32_t *cap, uint32_t n, size_t size)
{
	if (n < *cap)
		return true;
	const uint32_t more = *cap ? 2 * *cap : 256;
	void *const grown = realloc(*array, more * size);
	if (!grown)
		return false;
	*array = grown;
	*cap = more;
	return true;
}

/* Frames come with siblings by total, largest first. */
static int add_frame(void *arg, const struct tare_stack *s)
{
	struct drawing *const d = arg;
	const uint32_t k = d->n;
	if (!grow((void **)&d->frames, &d->cap, k, sizeof(*d->frames)) ||
	    !grow((void **)&d->path, &d->cap_path, s->depth, sizeof(*d->path)))
		return TARE_E_NOMEM;
	d->frames[k] = (struct frame){ s->name, s->name_len, s->depth, NO_FRAME, NO_FRAME, s->total,
				       s->count, s->self, 0 };
	if (s->depth) {
		struct frame *const parent = &d->frames[d->path[s->depth - 1]];
		if (parent->child == NO_FRAME)
			parent->child = k;
		else
			d->frames[d->path[s->depth]].next = k;	/* its last child so far */
	}
	d->path[s->depth] = k;
	d->n++;
	return 0;
}

static void escape(struct sink *out, const char *text, size_t len)
{
	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		const unsigned char c = (unsigned char)text[i];
		n = utf8_length((const unsigned char *)text + i, len - i);
		if (!n)
			sink_str(out, UTF8_REPLACEMENT);
		else if (c == '<')
			sink_str(out, "&lt;");
		else if (c == '>')
			sink_str(out, "&gt;");
		else if (c == '&')
			sink_str(out, "&amp;");
		else if (c == '"')
			sink_str(out, "&quot;");
		else if (c < 0x20 || c == 0x7F)		/* not allowed in XML */
			sink_str(out, " ");
		else
			sink_add(out, &text[i], n);
	}
}

static void print(struct sink *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void print(struct sink *out, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	const int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sink_add(out, text, n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* Warm colours, by the name alone. */
static void colour(struct sink *out, const char *name)
{
	uint32_t h = 2166136261u;
	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	print(out, "hsl(%u,%u%%,%u%%)", 10 + h % 45, 65 + h / 64 % 25, 58 + h / 4096 % 14);
}

static uint64_t self_change(const struct flame_change *c)
{
	const int64_t v = c->new_self - c->base_self;
	return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* White: the same as in the base; the redder the more, the bluer the fewer. */
static void change_colour(const struct drawing *d, const struct flame_change *c, struct sink *out)
{
	const double part = d->most_change ? (double)self_change(c) / (double)d->most_change : 0;
	if (self_change(c))
		print(out, "hsl(%d,90%%,%.0f%%)", c->new_self > c->base_self ? 0 : 220, 88 - 30 * part);
	else
		sink_str(out, "hsl(0,0%,92%)");
}

/* "base 1,000, new 1,020 (+20)" */
static void add_change(struct buf *b, const struct tare_profile_info *profile, int64_t base, int64_t new)
{
	buf_str(b, "base ");
	quantity_add(b, profile, base);
	buf_str(b, ", new ");
	quantity_add(b, profile, new);
	buf_str(b, new > base ? " (+" : " (");
	quantity_add(b, profile, new - base);
	buf_str(b, ")");
}

/* As much of the name as fits, cut between characters. */
static void fitted(struct drawing *d, const char *name, size_t len, double width)
{
	const size_t room = width > 4 ? (size_t)((width - 4) / CHAR_WIDTH) : 0;
	if (room < 3)
		return;
	if (display_width(name, len) <= room) {
		escape(&d->out, name, len);
		return;
	}
	size_t n = 0, used = 0;
	while (n < len && used < room - 2) {
		size_t step = 1;
		while (n + step < len && ((unsigned char)name[n + step] & 0xC0) == 0x80)
			step++;
		used += display_width(name + n, step);
		n += step;
	}
	escape(&d->out, name, n);
	sink_str(&d->out, "..");
}

/* What the tool tip says below the name. */
static void add_tip(struct drawing *d, const struct frame *n)
{
	const struct tare_profile_info *const profile = d->info->profile;
	const struct flame_change *const c = d->changes ? &d->changes[n - d->frames] : NULL;
	const uint64_t all = d->info->total;
	struct buf *const b = &d->scratch;
	b->len = 0;
	if (c) {
		add_change(b, profile, c->base, c->new);
		buf_str(b, "; self: ");
		add_change(b, profile, c->base_self, c->new_self);
		return;
	}
	quantity_add(b, profile, (int64_t)n->total);
	if (!profile->is_time)
		buf_printf(b, " %s", profile->unit);
	buf_printf(b, ", %.2f%%, self ", all ? 100.0 * (double)n->total / (double)all : 0);
	quantity_add(b, profile, n->self);
	buf_printf(b, ", %llu times", (unsigned long long)n->count);
}

static void draw_frame(struct drawing *d, const struct frame *n)
{
	const char *const name = n->name;
	const size_t len = n->len;
	const double x = n->x, width = (double)n->total * d->scale;
	const int y = d->height - ROW * ((int)n->depth + 1) - 10;
	struct sink *const out = &d->out;
	sink_str(out, "<g class=\"f\" data-n=\"");
	escape(out, name, len);
	sink_str(out, "\"><title>");
	escape(out, name, len);
	add_tip(d, n);
	sink_str(out, "\n");
	escape(out, d->scratch.data, d->scratch.len);
	print(out, "</title><rect class=\"f\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"", x, y, width,
	      ROW - 1);
	if (d->changes)
		change_colour(d, &d->changes[n - d->frames], out);
	else
		colour(out, name);
	print(out, "\"/><text x=\"%.2f\" y=\"%d\">", x + 2, y + 12);
	fitted(d, name, len, width);
	sink_str(out, "</text></g>\n");
}

static void head(struct drawing *d, const char *title, bool in_page)
{
	struct sink *const out = &d->out;
	const struct tare_profile_info *const i = d->info->profile;
	if (!in_page)
		sink_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	print(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%d\" "
	      "viewBox=\"0 0 %g %d\">\n", WIDTH, d->height, WIDTH, d->height);
	sink_str(out, style);
	print(out, "<rect width=\"%g\" height=\"%d\" fill=\"#f8f8f4\"/>\n", WIDTH, d->height);
	print(out, "<text class=\"t\" x=\"%g\" y=\"24\">", PAD);
	escape(out, title, strlen(title));
	print(out, "</text>\n<text x=\"%g\" y=\"42\">", PAD);
	d->scratch.len = 0;
	buf_printf(&d->scratch, "%s, ", *i->counter ? i->counter : "no counter named");
	if (d->changes) {
		add_change(&d->scratch, i, d->changes[0].base, d->changes[0].new);
		buf_str(&d->scratch, "; red: more, blue: fewer; a frame is as wide as the larger count");
	} else {
		quantity_add(&d->scratch, i, (int64_t)d->info->total);
		if (!i->is_time)
			buf_printf(&d->scratch, " %s", i->unit);
	}
	escape(out, d->scratch.data, d->scratch.len);
	print(out, "</text>\n<text id=\"note\" x=\"%g\" y=\"42\" text-anchor=\"end\"></text>\n"
	      "<text id=\"reset\" class=\"s\" x=\"%g\" y=\"24\" text-anchor=\"end\">reset zoom</text>\n"
	      "<text id=\"find\" class=\"s\" x=\"%g\" y=\"24\" text-anchor=\"end\">search</text>\n",
	      WIDTH - PAD, WIDTH - 80, WIDTH - PAD);
}

/* Draws level by level; children side by side from where their parent starts. */
static bool draw_all(struct drawing *d)
{
	uint32_t *const queue = malloc(d->n * sizeof(*queue));
	if (!queue)
		return false;
	uint32_t n = 1;
	d->frames[0].x = PAD;
	queue[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct frame *const f = &d->frames[queue[i]];
		double at = f->x;
		draw_frame(d, f);
		for (uint32_t k = f->child; k != NO_FRAME; k = d->frames[k].next) {
			const double width = (double)d->frames[k].total * d->scale;
			d->frames[k].x = at;
			at += width;
			if (width >= LEAST)
				queue[n++] = k;
			else
				d->left_out++;
		}
	}
	free(queue);
	return true;
}

static uint32_t deepest(const struct drawing *d)
{
	uint32_t depth = 0;
	for (uint32_t i = 0; i < d->n; i++)
		if (d->frames[i].depth > depth && (double)d->frames[i].total * d->scale >= LEAST)
			depth = d->frames[i].depth;
	return depth;
}

static void put_comments(struct drawing *d)
{
	const struct tare_stacks_info *const i = d->info;
	if (d->left_out)
		print(&d->out, "<!-- %llu frames narrower than %g px, and what is above them, are "
		      "not drawn -->\n", (unsigned long long)d->left_out, LEAST);
	if (i->left_out)
		print(&d->out, "<!-- in %llu intervals, %s -->\n", (unsigned long long)i->left_out,
		      "too small a part of the whole to be drawn, stacks were not told apart");
	if ((double)i->may_miss * d->scale >= LEAST)
		print(&d->out, "<!-- too many stacks: frames up to %.2f px may be missing -->\n",
		      (double)i->may_miss * d->scale);
}

static void put_empty(struct drawing *d)
{
	print(&d->out, "<text x=\"%g\" y=\"%d\">There is no interval to draw.</text>\n", PAD,
	      d->height - 22);
}

static int draw(struct drawing *d, const char *title, bool in_page, const struct tare_output *to,
		struct tare_why *why)
{
	int err = sink_open(&d->out, to->write, to->arg, why);
	if (err < 0)
		return err;
	bool ok = true;
	head(d, title, in_page);
	if (d->info->total) {
		ok = draw_all(d);
		put_comments(d);
		sink_str(&d->out, script);
	} else {
		put_empty(d);
	}
	sink_str(&d->out, "</svg>\n");
	err = sink_close(&d->out, why);
	if (!ok || buf_failed(&d->scratch))
		err = why_set(why, TARE_E_NOMEM, "flame graph");
	return err;
}

int flamegraph_draw(const struct flame_source *s, const char *title, bool in_page, const struct tare_output *out,
		    struct tare_why *why)
{
	struct drawing d = { .info = s->info };
	int err = s->visit(s->arg, add_frame, &d, why);
	if (err == TARE_E_NOMEM)
		why_set(why, err, "flame graph");
	if (d.info->total)
		d.scale = (WIDTH - 2 * PAD) / (double)d.info->total;
	d.changes = s->changes;
	for (uint32_t i = 0; d.changes && i < d.n; i++)
		if (self_change(&d.changes[i]) > d.most_change)
			d.most_change = self_change(&d.changes[i]);
	d.height = TOP + ROW * ((int)deepest(&d) + 1) + 20;
	if (err == 0)
		err = draw(&d, title, in_page, out, why);
	free(d.frames);
	free(d.path);
	buf_free(&d.scratch);
	return err;
}

static int visit_stacks(const void *t, int (*each)(void *arg, const struct tare_stack *s), void *arg,
			struct tare_why *why)
{
	return tare_stacks_visit(t, NULL, each, arg, why);
}

int flamegraph(const struct tare_stacks *t, const char *title, int fd, struct tare_why *why)
{
	const struct flame_source s = { tare_stacks_info(t), visit_stacks, t, NULL };
	const struct tare_output out = { fd_write, &fd };
	if (!s.info->in_memory)
		return why_set(why, TARE_E_INVALID, "%.120s: too many stacks to draw all",
			       s.info->profile->path);
	return flamegraph_draw(&s, title, false, &out, why);
}
