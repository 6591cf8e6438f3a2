"""A page opened in a real browser, Debian's Chromium: its document as text, what it said on its
console, what it asked the network for, and pictures of it."""

import base64
import fcntl
import html.parser
import json
import os
import re
import select
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


class Browser:
    """A Chromium without a window, steered over a pipe by the DevTools protocol."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tilescope.")
        to_child, commands = os.pipe()
        answers, from_child = os.pipe()

        def take_pipes():  # Chromium reads from descriptor 3 and writes to 4
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_child, from_child)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
             f"--user-data-dir={self.folder.name}", "--remote-debugging-pipe", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=take_pipes)
        os.close(to_child)
        os.close(from_child)
        self.commands, self.answers = os.fdopen(commands, "wb", 0), os.fdopen(answers, "rb", 0)
        self.number, self.rest, self.events = 0, b"", []

    def close(self):
        self.call("Browser.close")
        self.process.wait(timeout=60)
        self.commands.close()
        self.answers.close()
        self.folder.cleanup()

    def message(self):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], 120)
            read = os.read(self.answers.fileno(), 1 << 20) if ready else b""
            if not read:
                raise RuntimeError("the browser says nothing any more")
            self.rest += read
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        """What a command returns; events that come meanwhile are kept."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        self.commands.write(json.dumps(command).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, method):
        while not any(event["method"] == method for event in self.events):
            self.events.append(self.message())


class Visit:
    """A page that was opened: `document` after its scripts ran, `console`, `requests`, and the
    widths of its contents and of the window. `width` and `height` are the window's, in pixels;
    `media` is "screen" or "print", `scheme` "light" or "dark"."""

    def __init__(self, browser, path, width=1200, height=800, media="screen", scheme="light"):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        browser.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        browser.wait_for("Page.loadEventFired")
        self.document = self.run("document.documentElement.outerHTML")
        self.width, self.room = self.run(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        said = [event["params"] for event in browser.events
                if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                                       "Log.entryAdded")]
        self.console = [json.dumps(words) for words in said]
        urls = {event["params"]["request"]["url"] for event in browser.events
                if event["method"] == "Network.requestWillBeSent"}
        self.requests = sorted(url for url in urls if not url.startswith(("file:", "about:")))
        self.target = target

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def run(self, expression):
        """The value of a JavaScript expression in the page, or of the promise that it is."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def picture(self, scale=1):
        """The whole page as the bytes of a PNG."""
        clip = {"x": 0, "y": 0, "width": self.room, "scale": scale,
                "height": self.run("document.documentElement.scrollHeight")}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", clip=clip,
                                          captureBeyondViewport=True)["data"])

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)


def outline(document):
    reader = Outline()
    reader.feed(document)
    return "\n".join(reader.lines) + "\n"
