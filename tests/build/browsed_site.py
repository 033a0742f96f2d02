#!/usr/bin/env python3
"""The site in a real browser, from files: each page on a wide and a narrow screen, light and dark.

    browsed_site.py <folder of the site>

No page is wider than the screen, complains, or requests anything but files of the site. Text has a
contrast of at least 4.5. The test also shows itself a page with an error of each sort. Next and previous lead through all pages of the navigation, the menu of a
narrow screen opens, and a search finds a call.
"""
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "laneview"))
from browser import Browser  # noqa: E402
from views import SKIPPED, check  # noqa: E402

NARROW, WIDE, HEIGHT = 390, 1280, 800

# The texts of the page whose contrast is too low, with it. Colours are as computed: rgb() or rgba().
LOW_CONTRAST = """(() => {
  const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const over = (top, below) => below.map((c, i) => i < 3 ? top[i] * top[3] + c * (1 - top[3]) : 1);
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    return layers.reverse().reduce((below, top) => over(top, below), dark ? [0, 0, 0, 1] : [255, 255, 255, 1]);
  };
  const low = new Set(), seen = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement, style = getComputedStyle(element);
    if (!node.data.trim() || !element.checkVisibility() || element.closest('svg, script, style, .visually-hidden')) continue;
    const below = ground(element), front = over(parse(style.color), below);
    const a = light(front), b = light(below), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.add(`${ratio.toFixed(2)} ${element.tagName}.${element.className}: ${node.data.trim().slice(0, 30)}`);
  }
  return [...low].slice(0, 5);
})()"""
BEYOND = """[...document.querySelectorAll('.content *')]
    .filter((e) => e.getBoundingClientRect().right > %d && !e.closest('a.picture, .table-wrapper, pre'))
    .slice(0, 3).map((e) => `${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 40)}`)"""


def faults_of(browser, page, site):
    browser.complaints.clear()
    browser.open(page.as_uri())
    for screen in (WIDE, NARROW):
        browser.resize(screen, HEIGHT, mobile=screen == NARROW)
        width, shown = browser.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        if width > screen or shown != screen:
            yield f"is {width} pixels wide on a screen of {screen}: {browser.evaluate(BEYOND % screen)}"
    for scheme in ("light", "dark"):
        browser.use_scheme(scheme)
        low = browser.evaluate(LOW_CONTRAST)
        if low:
            yield f"low contrast in the {scheme} scheme: {low}"
    if browser.complaints:
        yield f"complains: {browser.complaints}"
    outside = [url for url in browser.requests if not url.startswith((site.as_uri(), "data:"))]
    if outside:
        yield f"requests {outside}"


def check_schemes(browser, site):
    """The ground of a page follows the system's setting."""
    browser.open((site / "index.html").as_uri())
    grounds = []
    for scheme in ("light", "dark"):
        browser.use_scheme(scheme)
        grounds.append(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    check(grounds[0] == "rgb(255, 255, 255)" and grounds[1] != grounds[0], f"{grounds}")


def follow(browser, selector):
    """Clicks on a link. Returns whether there is one, and it leads to another page."""
    before = browser.evaluate("location.href")
    spot = browser.evaluate(f"""(() => {{
      const link = document.querySelector('{selector}');
      if (!link) return null;
      link.scrollIntoView({{ block: 'center', behavior: 'instant' }});
      const box = link.getBoundingClientRect();
      return [box.left + box.width / 2, box.top + box.height / 2];
    }})()""")
    if not spot:
        return False
    number = len(browser.loaded)
    browser.mouse("mouseMoved", *spot)
    for kind in ("mousePressed", "mouseReleased"):
        browser.mouse(kind, *spot, button="left", clickCount=1)
    while len(browser.loaded) == number:
        browser.note(browser.receive())
    browser.settle()
    return browser.evaluate("location.href") != before


def check_navigation(browser, site):
    browser.resize(WIDE, HEIGHT)
    browser.open((site / "index.html").as_uri())
    listed = set(browser.evaluate("[...document.querySelectorAll('.sidebar-tree a.internal')].map((a) => a.href)"))
    check(len(listed) > 80, f"the navigation lists {len(listed)} pages")
    seen = set()
    while follow(browser, "a.next-page"):
        seen.add(browser.evaluate("location.href"))
    check(listed <= seen, f"Next does not lead to {sorted(listed - seen)[:3]}")
    check(follow(browser, "a.prev-page"), "Previous leads back")
    check(follow(browser, ".sidebar-brand"), "the name leads to the start page")
    check(browser.evaluate("document.querySelector('h1').textContent").startswith("lanepool"), "the start page")
    check(follow(browser, ".ways a"), "a way in can be followed")
    browser.resize(NARROW, HEIGHT, mobile=True)
    browser.open((site / "guide.html").as_uri())
    left = "document.querySelector('.sidebar-drawer').getBoundingClientRect().left"
    check(browser.evaluate(left) < 0, "on a narrow screen the navigation is hidden")
    browser.click(*browser.evaluate("""(() => {
      const box = document.querySelector('.nav-overlay-icon').getBoundingClientRect();
      return [box.left + box.width / 2, box.top + box.height / 2];
    })()"""))
    browser.until(left + " === 0")


def check_search(browser, site):
    browser.open((site / "search.html").as_uri() + "?q=lanepool_pool_create")
    browser.until("document.querySelector('ul.search a')")
    found = browser.evaluate("document.querySelector('ul.search').textContent")
    check("lanepool_pool_create" in found, f"the search finds {found}")


def check_self(browser):
    """A page with an error of each sort has that many faults."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder).resolve() / "bad.html"
        page.write_text("""<!doctype html><meta name="viewport" content="width=device-width">
          <div class="content"><p style="color: #999; width: 2000px">wide</p></div>
          <img src="../missing.svg"><script>console.error("no")</script>""", encoding="utf-8")
        faults = list(faults_of(browser, page, page.parent))
    for sort in ("screen of 390", "screen of 1280", "in the light", "complains", "requests"):
        check(any(sort in fault for fault in faults), f"the test finds '{sort}': {faults}")


def main():
    site = Path(sys.argv[1]).resolve()
    if not (site / "index.html").exists():
        print("skipped: the site is left out")
        sys.exit(SKIPPED)
    pages = [page for page in sorted(site.rglob("*.html")) if page.name != "recording.html"]
    with Browser(NARROW, HEIGHT) as browser:
        check_self(browser)
        faults = [f"{page.relative_to(site)}: {fault}" for page in pages
                  for fault in faults_of(browser, page, site)]
        check(not faults, "\n".join(faults))
        check_schemes(browser, site)
        browser.complaints.clear()
        check_search(browser, site)
        check_navigation(browser, site)
        check(not browser.complaints, f"{browser.complaints}")
    print(f"{len(pages)} pages")


if __name__ == "__main__":
    main()
