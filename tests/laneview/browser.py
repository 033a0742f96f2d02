"""Drives a headless Chromium by the DevTools protocol, through a pair of pipes."""
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

from views import SKIPPED, check

PATIENCE = 60  # seconds until an answer is given up; nothing is ever waited for by time alone


def find_chromium():
    """The program; without one the test is skipped."""
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    print("skipped: Chromium is not installed (Debian: chromium-headless-shell)")
    sys.exit(SKIPPED)


class Browser:
    """One browser with one page. It collects what the page logs and requests."""

    def __init__(self, width=1200, height=760):
        program = find_chromium()
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        for_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()
        arguments = [program, "--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--disable-dev-shm-usage", "--no-default-browser-check", "--hide-scrollbars",
                     f"--user-data-dir={self.profile.name}", f"--window-size={width},{height}"]  # fmt: skip
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")  # Chromium has no sandbox for root

        def pipes_to_3_and_4():
            one, other = os.dup(for_browser), os.dup(from_browser)
            os.dup2(one, 3)
            os.dup2(other, 4)

        with open(os.path.join(self.profile.name, "said"), "wb") as said:
            self.process = subprocess.Popen([*arguments, "about:blank"], preexec_fn=pipes_to_3_and_4,
                                            close_fds=False, stdin=subprocess.DEVNULL, stdout=said,
                                            stderr=said)  # fmt: skip
        os.close(for_browser)
        os.close(from_browser)
        self.bytes, self.number, self.session = b"", 0, None
        self.complaints, self.requests, self.loaded = [], [], set()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self.reader)
            os.close(self.writer)
            self.profile.cleanup()

    # --- the protocol ---

    def receive(self):
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self.bytes:
            ready, _, _ = select.select([self.reader], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self.reader, 1 << 20) if ready else b""
            if not piece:
                self.skip_without_sandbox()
                check(False, "the browser answers")
            self.bytes += piece
        message, _, self.bytes = self.bytes.partition(b"\0")
        return json.loads(message)

    def skip_without_sandbox(self):
        """Skips the test on a machine that gives users no namespaces."""
        with open(os.path.join(self.profile.name, "said"), encoding="utf-8", errors="replace") as said:
            if "No usable sandbox" in said.read():
                print("skipped: Chromium has no usable sandbox here")
                sys.exit(SKIPPED)

    def note(self, event):
        """Keeps what must not happen, and what was requested."""
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(params)
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.lifecycleEvent" and params["name"] == "load":
            self.loaded.add(params["loaderId"])

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                check("error" not in answer, f"{method}: {answer.get('error')}")
                return answer["result"]
            self.note(answer)

    # --- the page ---

    def open(self, url):
        self.go("about:blank")
        self.requests.clear()
        self.go(url)
        self.settle()

    def go(self, url):
        loader = self.call("Page.navigate", url=url)["loaderId"]
        while loader not in self.loaded:
            self.note(self.receive())

    def resize(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=mobile)  # fmt: skip

    def use_scheme(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def evaluate(self, expression):
        """The value of an expression, whose promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        check("exceptionDetails" not in answer, f"{expression}: {answer.get('exceptionDetails')}")
        return answer["result"].get("value")

    def settle(self):
        """Waits for the frames that the last input has caused."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def until(self, expression):
        """Waits until an expression is true."""
        self.evaluate("new Promise((done) => { const look = () => "
                      f"({expression}) ? done(true) : setTimeout(look, 10); look(); }})")  # fmt: skip

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def point(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click(self, x, y, count=1):
        self.mouse("mouseMoved", x, y)
        for number in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, x, y, button="left", clickCount=number)
        self.settle()

    def drag(self, x, y, by_x):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for step in range(1, 6):
            self.mouse("mouseMoved", x + by_x * step / 5, y, button="left")
        self.mouse("mouseReleased", x + by_x, y, button="left", clickCount=1)
        self.settle()

    def pinch(self, x, y, before, after):
        """Two fingers move apart, or together, along the time axis."""
        for kind, distance in (("touchStart", before), ("touchMove", (before + after) / 2), ("touchMove", after)):
            points = [{"x": x - distance / 2, "y": y, "id": 1}, {"x": x + distance / 2, "y": y, "id": 2}]
            self.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        self.settle()

    def wheel(self, x, y, down):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=down)
        self.settle()

    def key(self, key, shift=False):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                "ArrowDown": 40}.get(key, 0)  # fmt: skip
        modifiers = 8 if shift else 0
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code,
                  modifiers=modifiers, **text)  # fmt: skip
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code,
                  modifiers=modifiers)  # fmt: skip
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def picture(self, path):
        import base64

        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
