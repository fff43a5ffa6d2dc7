"""A headless Chromium, driven over a pipe by its own protocol: nothing else to install."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
]


def find():
    """The path of a Chromium; where there is none it is installed, if that is possible."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        for command in (["update"], ["install", "-y", "chromium"]):
            subprocess.run(["apt-get", *command], capture_output=True, timeout=600, check=False)
        found = next(filter(None, map(shutil.which, NAMES)), None)
    return found


class Browser:
    """One browser with one page at a time."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()

        def pipes():
            # The browser reads from descriptor 3 and writes to 4. Both are moved out of the way first.
            reads, writes = os.dup(their_in), os.dup(their_out)
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        self.process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self.folder.name}"],
            preexec_fn=pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_in)
        os.close(their_out)
        self.reader, self.writer = os.fdopen(our_in, "rb"), os.fdopen(our_out, "wb")
        self.rest, self.n, self.session, self.events = b"", 0, None, []

    def close(self):
        self.call("Browser.close", at_browser=True)
        self.process.wait(timeout=30)
        self.folder.cleanup()

    def call(self, method, at_browser=False, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if self.session and not at_browser:
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        self.writer.flush()
        while True:
            answer = self.receive()
            if answer.get("id") == self.n:
                assert "error" not in answer, answer
                return answer["result"]

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.reader.fileno(), 1 << 16)
            assert more, "the browser went away"
            self.rest += more
        first, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(first)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, path, width=1200, height=900, dark=False, media=""):
        """Opens a file or an address, and waits until it is loaded."""
        self.session, self.events = None, []
        self.target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        # As on a phone and on paper: a bar would take room from the page.
        self.call("Emulation.setScrollbarsHidden", hidden=True)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call("Page.navigate", url=path if isinstance(path, str) else path.as_uri())
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self.receive()

    def evaluate(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression, seconds=30):
        """Waits until an expression is true, also over pages that replace each other; gives its value."""
        end = time.monotonic() + seconds
        while True:
            try:
                value = self.evaluate(expression)
            except AssertionError:
                value = None
            if value:
                return value
            assert time.monotonic() < end, f"{expression} did not come true in {seconds} s"
            time.sleep(0.1)

    def leave(self):
        """Closes the page."""
        self.call("Target.closeTarget", at_browser=True, targetId=self.target)
        self.session = None

    def screenshot(self, whole=True, clip=None):
        """The page as a PNG: all of it, what is on the screen, or `clip` as (x, y, width, height)."""
        how = {"format": "png", "captureBeyondViewport": whole}
        if clip is not None:
            how["clip"] = dict(zip(("x", "y", "width", "height"), clip), scale=1)
        elif whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            how["clip"] = {**size, "scale": 1}
        return base64.b64decode(self.call("Page.captureScreenshot", **how)["data"])

    def complaints(self):
        """Errors and warnings of the page so far."""
        thrown = [e["params"] for e in self.events if e["method"] == "Runtime.exceptionThrown"]
        logged = [e["params"] for e in self.events if e["method"] == "Log.entryAdded"]
        called = [e["params"] for e in self.events if e["method"] == "Runtime.consoleAPICalled"]
        return thrown + logged + called

    def requests(self):
        """What the page has asked for, besides itself."""
        asked = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("file:", "data:"))]
