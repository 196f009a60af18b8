#!/usr/bin/env python3
"""tare verify --html: one page that a browser shows, whose numbers are those of --json, and whose tables
sort. usage: verify-html.py TARE PAGES"""
import html, json, os, re, shutil, subprocess, sys, tempfile
from cli import check, finish, need_engine, run, skipped

tare = sys.argv[1]
need_engine(tare)
where = (tare, "run", "--cpu", "nehalem", "--flaws", "overcount", "--", tare, "verify", "--quick", "--kernel", "mmx",
         "--kernel", "cpuid_misc", "--experiment", "instructions")
# What is wrong with counters stands before the tables.
bad = run(tare, "run", "--cpu", "zen2", "--flaws", "register=1", "--", tare, "verify", "--quick", "--kernel", "nops", "-e",
          "instructions:u", "--experiment", "registers", "--html", timeout=300)
check(bad.returncode == 3 and '<p class="bad">bad: registers: instructions:u: register 1' in bad.stdout.split("<table")[0],
      bad.returncode, bad.stdout[-500:])

p = run(*where, "--html", timeout=300)
page = p.stdout
check(p.returncode in (0, 2) and page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n"), p.stderr)
check(not re.search(r'(src|href)=|https?://(?!www\.w3\.org/2000/svg)|@import|url\(', page), "the page needs other files")

# Every event, its mean and its verdict.
r = json.loads(run(*where, "-j", timeout=300).stdout)
rows = re.findall(r'<tr class=""><td class="m">(.*?)</td><td class="[^"]*">(.*?)</td>(.*?)</tr>', page)
shown = {html.unescape(e): (html.unescape(v), re.findall(r'data-v="([^"]*)"', cells)) for e, v, cells in rows
         if 'data-v' in cells and 'class="n"' in cells}
for e in r["events"]:
    if not e.get("runs"):
        continue
    word, numbers = shown[e["event"]]
    check(word.split(":")[0] == e["word"], e["event"], word, e["word"])
    check([float(n) for n in numbers[:4]] == [e["expected"], e["mean"], e["distance"], e["difference"]],
          e["event"], numbers)
    check(len(e["excess"]) == e["runs"], e)
check(page.count("<circle") == sum(e.get("runs") or 0 for e in r["events"]), "a dot for each run")
check(any(e["word"].strip("hpEF") in ("D", "M") for e in r["events"]), "nothing deviates: the test is blind")

# Why an event has no verdict stands below the table, once, and not in a cell that makes the table too wide.
p = run(tare, "run", "--cpu", "k10", "--", tare, "verify", "--quick", "--kernel", "nops", "-e", "instructions:u,r0fff00:u",
        "--experiment", "registers", "--no-certificate", "--html", timeout=300)
reason = re.search(r'</table></div>\n<p class="dim"><span class="m">r0fff00:u</span>: (.*?)</p>', p.stdout)
check(reason and len(reason[1]) > 20 and p.stdout.count(reason[1][5:]) == 1, p.returncode, p.stdout[:3000])

p = run(tare, "verify", "--html", "--json")
check(p.returncode == 125 and "--json and --html" in p.stderr, p.stderr)

# A click on a heading sorts.
chromium = shutil.which("chromium") or shutil.which("chromium-browser")
PROBE = """<script>var th = document.querySelectorAll('th')[5]; th.click();
var column = [].map.call(document.querySelector('tbody').rows, function (row) { return row.cells.length > 5 ?
  row.cells[5].dataset.v || '' : ''; });
document.documentElement.setAttribute('data-said', JSON.stringify(column));
var svg = document.querySelector('svg'), text = [].slice.call(document.querySelectorAll('svg text'));
document.documentElement.setAttribute('data-fits', JSON.stringify([
  document.documentElement.scrollWidth <= window.innerWidth,
  text.every(function (t) { return t.getBoundingClientRect().height >= 9; }),
  text.every(function (t) { var b = t.getBBox(); return b.x >= 0 && b.x + b.width <= svg.viewBox.baseVal.width; }),
  [].map.call(document.querySelectorAll('svg text.mid'), function (t) { return t.getBBox(); }).every(
    function (b, i, all) { return !i || all[i - 1].x + all[i - 1].width < b.x; })]));
</script></body>"""


def in_browser(page):
    """What the probe said, or None."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as tmp:
        open(f"{tmp}/page.html", "w").write(page.replace("</body>", PROBE))
        try:
            out = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp}/user",
                                  "--dump-dom", "--window-size=390,800", f"file://{tmp}/page.html"], capture_output=True, text=True,
                                 timeout=600).stdout
        except subprocess.TimeoutExpired:
            return None
    if "<svg" not in out:
        return None
    said = {name: re.search(rf'data-{name}="([^"]*)"', out) for name in ("said", "fits")}
    check(all(said.values()), "the script does not run")
    return {name: json.loads(html.unescape(m[1])) if m else [] for name, m in said.items()}


# Plots with small and with large numbers.
large = run(tare, "run", "--cpu", "nehalem", "--flaws", "overcount", "--", tare, "verify", "-r", "1", "-e", "cond-branches:u",
            "--experiment", "instructions", "--no-certificate", "--html", timeout=300).stdout
check("D +1" in large and re.search(r"D \+\d{3},\d{3},\d{3} ", large), "no large number: the test is blind")
for page in (page, large) if chromium else ():
    said = in_browser(page)
    if not said:
        skipped("the page in a browser", "chromium does not run here")
        break
    check(said["fits"] == [True] * 4, "on a phone: the page is as wide as the screen, plots can be read, no text is cut off, "
          "numbers of the scale are apart", said["fits"])
    column = [float(v) for v in said["said"] if v]
    check(len(column) > 2 and column == sorted(column, reverse=True) or page == large, "not sorted", column)
if not chromium:
    skipped("the page in a browser", "chromium is not installed")
finish()
