"""A page opened in a real browser, Debian's Chromium: its document as text, what it said on its
console, what it asked the network for, and pictures of it."""

import html.parser
import os
import re
import shutil
import subprocess
import tempfile

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")
NO_BROWSER = "no chromium-headless-shell and no chromium here; tools/setup.sh test installs one"


class Outline(html.parser.HTMLParser):
    """The content of a document as lines: headings, controls, cells, pictures in words."""

    SHOWN = {"title", "h1", "h2", "h3", "h4", "p", "li", "th", "td", "dt", "dd", "figcaption",
             "summary", "label", "button", "output", "option"}
    SKIPPED = {"script", "style", "pre"}

    def __init__(self):
        super().__init__()
        self.lines, self.open, self.skipped, self.text = [], [], 0, ""

    def put(self, line):
        line = re.sub(r"\s+", " ", line).strip()
        if line:
            depth = sum(tag in ("section", "article") for tag in self.open)
            self.lines.append("  " * depth + line)

    def flush(self):
        inside = [tag for tag in self.open if tag in self.SHOWN]
        if inside and self.text.strip():
            self.put(f"{inside[-1]}: {self.text}")
        self.text = ""

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag in self.SHOWN or tag in ("section", "article", "svg"):
            self.flush()
        if tag in ("svg", "input") or (tag == "div" and "role" in attributes):
            self.put(f"{tag} {attributes.get('role', attributes.get('type', ''))}: "
                     f"{attributes.get('aria-label', '')}")
        self.skipped += tag in self.SKIPPED or tag == "svg"
        if tag not in ("meta", "input", "br", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.SHOWN or tag in ("section", "article"):
            self.flush()
        self.skipped -= tag in self.SKIPPED or tag == "svg"
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if not self.skipped:
            self.text += data


class Visit:
    """A page that was opened: `document` after its scripts ran, `console`, `requests`."""

    def __init__(self, path, *options):
        with tempfile.TemporaryDirectory(prefix="tilescope.") as folder:
            log = os.path.join(folder, "net.json")
            done = subprocess.run(
                [BROWSER, "--headless", "--no-sandbox", "--disable-gpu",
                 f"--user-data-dir={folder}/profile", "--enable-logging=stderr",
                 f"--log-net-log={log}", "--hide-scrollbars", *options,
                 "file://" + os.path.abspath(path)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=True)
            self.document = done.stdout
            self.console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
            with open(log, encoding="utf-8", errors="replace") as file:
                urls = set(re.findall(r'"url":"([^"]*)"', file.read()))
            self.requests = sorted(url for url in urls if not url.startswith("file:"))


def visit(path):
    return Visit(path, "--dump-dom")


def picture(path, target, width, height, *options):
    """Writes a picture of the page to `target`, a .png."""
    Visit(path, f"--screenshot={target}", f"--window-size={width},{height}", *options)


def outline(document):
    reader = Outline()
    reader.feed(document)
    return "\n".join(reader.lines) + "\n"
