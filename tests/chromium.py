# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Debian's Chromium without a window, driven over a pipe: one page at a time.

``chromium.py install`` installs it, and says why where it cannot: status 1. With ``BROWSER=skip``
in the environment it is taken for one that cannot be had.

Source: the Chrome DevTools Protocol, 1.3; ``--remote-debugging-pipe`` takes and gives messages that
end with NUL, on the descriptors 3 and 4.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Iterator

Data = dict[str, t.Any]

PACKAGES = ("chromium", "fonts-dejavu-core")
SECONDS = 60
"""The longest that any answer is waited for."""
OPTIONS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-device-scale-factor=1",
)


class Refused(Exception):
    """What the browser does not do."""


def why_not() -> str:
    """Install the browser where it is missing; say why it cannot be had, "" where it can."""
    if os.environ.get("BROWSER") == "skip":
        return "BROWSER=skip"
    if shutil.which("chromium"):
        return ""
    if not shutil.which("apt-get"):
        return "no Chromium, and no Debian packages here"
    if os.geteuid():
        return "no Chromium, and only root installs packages"
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES]
    for command in (["apt-get", "update", "-qq"], install):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{' '.join(command)} fails: {done.stderr.strip().splitlines()[-1:]}"
    return ""


class Page:
    """One page of a running browser."""

    def __init__(self, browser: _Pipe) -> None:
        self._browser = browser
        target = browser.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attach = {"targetId": target, "flatten": True}
        self._session = browser.call("Target.attachToTarget", attach)["sessionId"]
        self.events: list[Data] = []
        """What happened since the page was opened, as the protocol has it."""
        browser.listeners.append(self.events)
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, arguments: Data | None = None) -> Data:
        """Give a command. Raises ``Refused`` for what the browser answers with an error."""
        return self._browser.call(method, arguments or {}, self._session)

    def open(self, path: pathlib.Path) -> float:
        """Open a file; give the seconds until it was loaded and drawn."""
        self.events.clear()
        start = time.perf_counter()
        self.call("Page.navigate", {"url": path.as_uri()})
        self._browser.wait(
            lambda: any(each["method"] == "Page.loadEventFired" for each in self.events)
        )
        self.settle()
        return time.perf_counter() - start

    def settle(self) -> None:
        """Let the page draw what it is about to."""
        frame = "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(0))))"
        for _frame in range(2):
            self.run(frame)

    def run(self, script: str) -> t.Any:
        """Evaluate an expression, awaited. Raises ``Refused`` with what it throws."""
        answer = self.call(
            "Runtime.evaluate",
            {"expression": script, "awaitPromise": True, "returnByValue": True},
        )
        if "exceptionDetails" in answer:
            raise Refused(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def press(self, key: str, code: int, *, shift: bool = False) -> None:
        """Press a key and let it go; ``code`` is its virtual key code."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        down = {"type": "keyDown" if text else "rawKeyDown", "text": text}
        self.call("Input.dispatchKeyEvent", {**common, **down})
        self.call("Input.dispatchKeyEvent", {**common, "type": "keyUp"})

    def type(self, text: str) -> None:
        """Put a text where the focus is, as a keyboard would."""
        self.call("Input.insertText", {"text": text})

    def click(self, selector: str) -> None:
        """Click with the mouse on the middle of what a selector finds first.

        Raises ``Refused`` where there is nothing, or something else is in the way.
        """
        place = self.run(
            f"""(() => {{
                const found = document.querySelector({json.dumps(selector)});
                if (!found) return null;
                found.scrollIntoView({{block: "center"}});
                const box = found.getBoundingClientRect();
                const x = box.x + box.width / 2, y = box.y + box.height / 2;
                const top = document.elementFromPoint(x, y);
                return top && (found.contains(top) || top.contains(found)) ? [x, y] : null;
            }})()"""
        )
        if not place:
            raise Refused(f"nothing to click at {selector}")
        common = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", {**common, "type": kind})

    def media(self, scheme: str) -> None:
        """Make the system's colours ``light`` or ``dark``."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", {"features": [feature]})

    def resize(self, width: int, height: int) -> None:
        """Give the page a size in pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def shoot(self, path: pathlib.Path, *, whole: bool = False) -> None:
        """Take a picture, of the ``whole`` page or of what is in view."""
        self.settle()
        arguments: Data = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            arguments["clip"] = {**size, "height": min(size["height"], 12000), "scale": 1}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", arguments)["data"]))


class _Pipe:
    """Messages to and from the browser."""

    def __init__(self, reading: int, writing: int) -> None:
        self._reading, self._writing = reading, writing
        self._rest = b""
        self._number = 0
        self._answers: dict[int, Data] = {}
        self.listeners: list[list[Data]] = []

    def call(self, method: str, arguments: Data, session: str = "") -> Data:
        self._number += 1
        number = self._number
        message: Data = {"id": number, "method": method, "params": arguments}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._writing, data) :]
        self.wait(lambda: number in self._answers)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise Refused(f"{method}: {answer['error']['message']}")
        return t.cast("Data", answer["result"])

    def wait(self, done: t.Callable[[], bool]) -> None:
        """Take in messages until ``done`` says so."""
        end = time.monotonic() + SECONDS
        while not done():
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._reading], [], [], left)[0]:
                raise Refused(f"no answer within {SECONDS} seconds")
            data = os.read(self._reading, 1 << 20)
            if not data:
                raise Refused("the browser has gone")
            *messages, self._rest = (self._rest + data).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self._answers[message["id"]] = message
                else:
                    for listener in self.listeners:
                        listener.append(message)


@contextlib.contextmanager
def running() -> Iterator[Page]:
    """Run the browser with a profile of its own, and end it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        to_read, writing = os.pipe()
        reading, to_write = os.pipe()
        command = ["chromium", *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": profile},
        )
        os.close(to_read)
        os.close(to_write)
        try:
            yield Page(_Pipe(reading, writing))
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(reading)
            os.close(writing)


if __name__ == "__main__":
    reason = why_not()
    if reason:
        sys.exit(f"chromium: {reason}")
