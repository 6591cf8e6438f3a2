"""The looks of pages in Chromium: nothing runs out of the window or out of a picture, no words
cover others, and all can be read, on screens in light and dark, on paper and at the width of a
phone. Each page in one of these looks, in turn; `--all` takes every page in every look."""

import base64
import os
import unittest

import browser
import html_test
import program

# Name, window and media of each look.
LOOKS = {
    "light": {},
    "dark": {"scheme": "dark"},
    "paper": {"media": "print", "width": 750},
    "phone": {"width": 400},
}
# Pages whose pictures are kept, an eighth of their size. A shade is the mean distance of two
# pictures over all pixels and colours, 1 between black and white. Measured: 0.0006 at most with
# other hinting and smoothing of letters, 0.0059 at least for a page that lacks its drawings.
KEPT = ("explain", "race", "ladder", "occupancy")
PICTURES = os.path.join(os.path.dirname(html_test.GOLDEN), "golden_pictures")
SMALL, MOST_SHADE = 0.125, 0.0025
DISTANCE = """(async urls => {
  const [one, other] = await Promise.all(urls.map(async url => {
    const image = new Image();
    image.src = url;
    await image.decode();
    return image;
  }));
  if (one.width !== other.width || Math.abs(one.height - other.height) > 3) return 1;
  const pixels = image => {
    const canvas = document.createElement('canvas');
    canvas.width = one.width;
    canvas.height = Math.min(one.height, other.height);
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    return context.getImageData(0, 0, canvas.width, canvas.height).data;
  };
  const first = pixels(one), second = pixels(other);
  return first.reduce((sum, c, i) => sum + Math.abs(c - second[i]), 0) / first.length / 255;
})(%s)"""


def looks_of(number):
    """The looks in which the page of this number is seen."""
    looks = list(LOOKS.items())
    return looks if program.ALL else [looks[number % len(looks)]]


LEAST_CONTRAST = 4.5  # of WCAG 2.1, level AA, for text of normal size

# What is wrong with a page, as a list of strings. Colours are blended in the order in which the
# browser paints.
AUDIT = """(leastContrast => {
  const found = new Set();
  const parsed = colour => {
    const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = ([r, g, b, a], below) =>
    [r * a + below[0] * (1 - a), g * a + below[1] * (1 - a), b * a + below[2] * (1 - a), 1];
  const luminance = colour => {
    const [r, g, b] = colour.map(
      c => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + .05) / (low + .05);
  };
  const judge = (text, colour, back) => {
    const ratio = contrast(over(colour, back), back);
    if (ratio >= leastContrast) return;
    found.add(`contrast ${ratio.toFixed(1)}: ${text.trim().slice(0, 40)}`);
  };
  const backOf = element => {
    const above = [];
    for (let e = element; e; e = e.parentElement) {
      const style = getComputedStyle(e);
      above.push(parsed(style.backgroundColor));
    }
    return above.reduceRight((back, colour) => over(colour, back), [255, 255, 255, 1]);
  };
  const isShown = element => element.getClientRects().length > 0 &&
    getComputedStyle(element).visibility === 'visible';

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !isShown(element)) continue;
    if (element.closest('svg, script, style, .skip, option')) continue;
    judge(walker.currentNode.data, parsed(getComputedStyle(element).color), backOf(element));
  }

  for (const svg of document.querySelectorAll('svg:not(.defs)')) {
    if (!isShown(svg)) continue;
    const paper = backOf(svg), room = svg.viewBox.baseVal;
    const painted = [...svg.querySelectorAll('*')];
    const texts = painted.filter(e => e.tagName === 'text');
    const boxes = texts.map(text => text.getBBox());
    texts.forEach((text, i) => {
      const box = boxes[i];
      if (box.x < -1 || box.y < -1 || box.x + box.width > room.width + 1 ||
          box.y + box.height > room.height + 1) {
        found.add(`leaves its picture: ${text.textContent}`);
      }
      for (let j = 0; j < i; ++j) {
        const wide = Math.min(box.x + box.width, boxes[j].x + boxes[j].width) -
          Math.max(box.x, boxes[j].x);
        const high = Math.min(box.y + box.height, boxes[j].y + boxes[j].height) -
          Math.max(box.y, boxes[j].y);
        // The box of a line is higher than its letters.
        if (wide <= 1 || high <= 4) continue;
        found.add(`"${text.textContent}" covers "${texts[j].textContent}"`);
      }
      const middle = svg.createSVGPoint();
      middle.x = box.x + box.width / 2;
      middle.y = box.y + box.height / 2;
      let colour = parsed(getComputedStyle(text).fill), back = paper, isBelow = true;
      for (const shape of painted) {
        if (shape === text) isBelow = false;
        if (!shape.isPointInFill || !shape.isPointInFill(middle)) continue;
        const style = getComputedStyle(shape);
        if (style.fill === 'none') continue;
        const fill = parsed(style.fill);
        fill[3] *= style.fillOpacity * style.opacity;
        if (!isBelow) colour = over(fill, over(colour, back));
        back = over(fill, back);
      }
      judge(text.textContent, colour, back);
    });
  }
  return [...found];
})(%s)"""


@unittest.skipUnless(browser.BROWSER, browser.NO_BROWSER)
class Looks(html_test.BrowserPages):
    def audit(self, **look):
        """What is wrong with page.html."""
        with self.visit(**look) as seen:
            wrong = seen.run(AUDIT % LEAST_CONTRAST)
            if seen.width > seen.room:
                wrong.append(f"the page is {seen.width} pixels wide in a window of {seen.room}")
        return wrong

    def test_every_page_is_legible(self):
        for number, (name, words) in enumerate(html_test.PAGES.items()):
            self.page(*words)
            for look, how in looks_of(number):
                with self.subTest(page=name, look=look):
                    self.assertEqual(self.audit(**how), [])

    def test_a_comparison_is_legible(self):
        words = html_test.PAGES["explain"]
        self.run_program(*words, "--json", "before.json")
        with open(self.path("hostile.cu"), "w", encoding="utf-8") as file:
            file.write(html_test.HOSTILE.replace("t * 32 % 1024", "t * 33 % 1024"))
        self.run_program(*words, "--json", "after.json")
        self.page("compare", "before.json", "after.json")
        for look, how in LOOKS.items():
            with self.subTest(look=look):
                self.assertEqual(self.audit(**how), [])

    def distance(self, *pictures):
        urls = ["data:image/png;base64," + base64.b64encode(png).decode() for png in pictures]
        with open(self.path("empty.html"), "w", encoding="utf-8") as file:
            file.write("<!DOCTYPE html>")
        with self.visit("empty.html") as seen:
            return seen.run(DISTANCE % urls)

    def test_pages_look_as_recorded(self):
        """`UPDATE_GOLDEN=1` writes the pictures anew."""
        for number, name in enumerate(KEPT):
            self.page(*html_test.PAGES[name])
            for look, how in looks_of(number):
                path = os.path.join(PICTURES, f"{name}_{look}.png")
                with self.subTest(page=name, look=look), self.visit(**how) as seen:
                    now = seen.picture(SMALL)
                    if os.environ.get("UPDATE_GOLDEN"):
                        os.makedirs(PICTURES, exist_ok=True)
                        with open(path, "wb") as file:
                            file.write(now)
                    with open(path, "rb") as file:
                        kept = file.read()
                    self.assertLess(self.distance(kept, now), MOST_SHADE)
                    seen.run("document.querySelectorAll('svg *').forEach(e => e.remove())")
                    self.assertGreater(self.distance(kept, seen.picture(SMALL)), 2 * MOST_SHADE)

    def test_the_audit_sees_what_is_wrong(self):
        with open(self.path("page.html"), "w", encoding="utf-8") as file:
            file.write("""<!DOCTYPE html><body style="background: #fff; color: #000">
<p style="color: #888">pale</p><p style="width: 900px">wide</p>
<svg viewBox="0 0 300 100" style="width: 300px">
<rect x="0" y="0" width="100" height="50" fill="#333"/><text x="5" y="20" fill="#000">dark</text>
<text x="200" y="20">one</text><text x="205" y="22">two</text>
<text x="280" y="60">runs out of it</text><text x="5" y="90">fine</text></svg></body>""")
        wrong = self.audit(width=400)
        for part in ("contrast 3.5: pale", ": dark", '"two" covers "one"',
                     "leaves its picture: runs out of it", "in a window of 400"):
            self.assertTrue(any(part in line for line in wrong), (part, wrong))
        self.assertEqual(len(wrong), 5, wrong)


if __name__ == "__main__":
    program.main()
