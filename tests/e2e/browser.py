# SPDX-License-Identifier: Apache-2.0
"""One headless Chromium for all pages of a test: browser.py CHROMIUM DIR

Reads lines of URL, WIDTH, HEIGHT, SCHEME (light or dark) and perhaps PNG and KEYS (with blanks
between), with tabs between. Loads each page afresh in one tab, waits until it says that it is ready
or has failed, presses the keys, leaves its elements in DIR/dom (the one that has the focus marked
data-focused), what the console said (and that the page is too wide) in DIR/console and a picture in
PNG, and prints a line.
Speaks the DevTools protocol over a pipe: JSON texts, each with a NUL behind it.
"""
import base64
import fcntl
import json
import os
import select
import subprocess
import sys
import time

PATIENCE = 60
KEY_CODES = {"Tab": 9, "Enter": 13, "ArrowRight": 39, "ArrowDown": 40}
# Settled: ready or failed, and what was put on the page has been painted.
SETTLED = """new Promise((done) => {
  const look = () => {
    if (/^(ready|failed)$/.test(document.querySelector('[data-state]')?.dataset.state ?? '')) {
      requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)));
    } else setTimeout(look, 20);
  };
  look();
})"""


class Browser:
    def __init__(self, program, directory):
        commands, self.out = os.pipe()
        self.inp, answers = os.pipe()
        # The protocol wants descriptors 3 and 4: the shell makes them of two that are neither.
        theirs = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (commands, answers)]
        pipes = f'exec "$0" "$@" 3<&{theirs[0]} 4>&{theirs[1]}'
        self.log = open(os.path.join(directory, "stderr"), "wb")
        self.process = subprocess.Popen(
            ["bash", "-c", pipes, program, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={directory}/browser"],
            pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log)
        for fd in (commands, answers, *theirs):
            os.close(fd)
        self.n, self.rest, self.console = 0, b"", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.tab = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable", self.tab)

    def receive(self, deadline):
        while b"\0" not in self.rest:
            if not select.select([self.inp], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.inp, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self.rest += data
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **params):
        """The result of a command; what the console says meanwhile is kept."""
        self.n += 1
        command = {"id": self.n, "method": method, "params": params}
        if session:
            command["sessionId"] = session
        os.write(self.out, json.dumps(command).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            said = self.receive(deadline)
            if said.get("id") == self.n:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']}")
                return said["result"]
            if said.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                                      "Log.entryAdded"):
                self.console.append(json.dumps(said["params"]))

    def evaluate(self, expression):
        got = self.call("Runtime.evaluate", self.tab, expression=expression, awaitPromise=True,
                        returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"])
        return got["result"].get("value")

    def press(self, key):
        code = KEY_CODES[key]
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", self.tab, type=kind, key=key, code=key,
                      windowsVirtualKeyCode=code, **text)

    def page(self, url, width, height, scheme, picture=None, keys=""):
        # A page that differs behind the # alone would not be loaded again.
        self.call("Page.navigate", self.tab, url="about:blank")
        self.console = []
        self.call("Emulation.setDeviceMetricsOverride", self.tab, width=int(width),
                  height=int(height), deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", self.tab,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", self.tab, url=url)
        self.evaluate(SETTLED)
        for key in keys.split():
            self.press(key)
        if keys:
            time.sleep(0.2)  # the page has heard of it
            self.evaluate(SETTLED)
        self.evaluate("document.activeElement.setAttribute('data-focused', '')")
        if self.evaluate("document.documentElement.scrollWidth > innerWidth"):
            self.console.append("the page is wider than the window")
        dom = self.evaluate("document.documentElement.outerHTML")
        if picture:
            shot = self.call("Page.captureScreenshot", self.tab)["data"]
            with open(picture, "wb") as file:
                file.write(base64.b64decode(shot))
        return dom, self.console


def main():
    program, directory = sys.argv[1:]
    browser = Browser(program, directory)
    for line in sys.stdin:
        try:
            dom, console = browser.page(*line.rstrip("\n").split("\t"))
        except (OSError, EOFError, RuntimeError) as error:
            dom, console = "", [f"{type(error).__name__}: {error}"]
        with open(os.path.join(directory, "dom"), "w", encoding="utf-8") as file:
            file.write(dom)
        with open(os.path.join(directory, "console"), "w", encoding="utf-8") as file:
            file.writelines(f"{said}\n" for said in console)
        print("there", flush=True)
    browser.call("Browser.close")
    browser.process.wait(PATIENCE)


main()
