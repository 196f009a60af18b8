#!/usr/bin/env python3
"""The flame graph in a browser: a click zooms, "reset zoom" undoes it, "search" marks and
says how much. What should be seen is worked out here from the drawn frames."""
import html, json, os, re, shutil, subprocess, sys, tempfile

from cli import check, finish, run

TARE, FIXTURES = sys.argv[1], sys.argv[2]
WORD = "LLVM"
PROBE = """<script><![CDATA[
window.prompt = function() { return '%s'; };
var frames = [].slice.call(document.querySelectorAll('g.f')), said = [];
function click(e) { e.dispatchEvent(new MouseEvent('click', { bubbles: true })); }
function look() {
  said.push({ shown: frames.filter(function(g) { return g.style.display != 'none'; }).length,
              marked: document.querySelectorAll('g.m').length,
              note: document.getElementById('note').textContent,
              wide: frames[%d].querySelector('rect').getAttribute('width') });
}
look(); click(document.getElementById('find')); look(); click(frames[%d].querySelector('rect'));
look(); click(document.getElementById('reset')); look();
document.documentElement.setAttribute('data-said', JSON.stringify(said));
]]></script></svg>"""


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def in_browser(chromium, svg):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as tmp:
        with open(f"{tmp}/graph.svg", "w") as f:
            f.write(svg)
        argv = [chromium, "--headless", "--no-sandbox", "--disable-gpu",
                f"--user-data-dir={tmp}/user", "--dump-dom", f"file://{tmp}/graph.svg"]
        try:
            r = subprocess.run(argv, capture_output=True, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            skip("chromium does not answer here")
    if "<svg" not in r.stdout:
        skip("chromium does not run here: " + r.stderr.strip()[-200:])
    said = re.search(r'data-said="([^"]*)"', r.stdout)
    check(said, "the script does not run")
    return json.loads(html.unescape(said[1])) if said else None


def frames_of(svg):
    pattern = r'<g class="f" data-n="([^"]*)">.*?<rect class="f" x="([\d.]+)" y="(\d+)" width="([\d.]+)"'
    return [(html.unescape(n), float(x), int(y), float(w))
            for n, x, y, w in re.findall(pattern, svg, re.S)]


def covered(frames):
    """Frames inside others of the same search count once."""
    ends, total = 0.0, 0.0
    for x, w in sorted((x, w) for _, x, _, w in frames):
        total += max(0.0, x + w - max(x, ends))
        ends = max(ends, x + w)
    return total


chromium = shutil.which("chromium") or shutil.which("google-chrome")
if not chromium:
    skip("no chromium here; the flame graph's script is not run")
svg = run(TARE, "export", "--to", "flamegraph", f"{FIXTURES}/rustc-all.mm_profdata").stdout
frames = frames_of(svg)
check(len(frames) > 50, "frames", len(frames))
at = next(i for i, f in enumerate(frames) if i and f[3] < 200 and len(frames) > i)
said = in_browser(chromium, svg.replace("</svg>", PROBE % (WORD, at, at)))
if said:
    name, x, y, w = frames[at]
    hit = [f for f in frames if WORD in f[0]]
    seen = [f for f in frames if (f[1] >= x - .01 and f[1] + f[3] <= x + w + .01 and f[2] <= y) or
            (f[1] <= x + .01 and f[1] + f[3] >= x + w - .01 and f[2] >= y)]
    check(hit and 1 < len(seen) < len(frames), "worth looking at", len(hit), len(seen))
    start, searched, zoomed, reset = said
    check(start["shown"] == len(frames) and start["marked"] == 0 and not start["note"], start)
    check(searched["marked"] == len(hit), "marked", searched, len(hit))
    share = float(re.search(r"([\d.]+)%", searched["note"])[1])
    check(abs(share - 100 * covered(hit) / 1180) < 0.1, "share", searched, covered(hit) / 11.8)
    check(zoomed["shown"] == len(seen) and abs(float(zoomed["wide"]) - 1180) < .1, zoomed, len(seen))
    check(reset["shown"] == len(frames) and abs(float(reset["wide"]) - w) < .1, reset, w)
finish()
