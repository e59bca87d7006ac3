"""A headless Chromium, driven over its debugging protocol: pages from disk, their network, their pictures."""

from __future__ import annotations

import base64
import json
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.limits import limit

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
HOW = "Chromium is missing: install it (Debian: apt-get install chromium), or set ACCORD_CHROMIUM to its program"


def program() -> str | None:
    """The browser of this machine."""
    named = os.environ.get("ACCORD_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


class Tab:
    """One page of a browser. `requests` are the addresses that it asked for since it was opened."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._last_id = 0
        self.requests: list[str] = []
        self.errors: list[str] = []
        self._seen: list[str] = []

    def call(self, method: str, **params: Any) -> Any:
        """Ask the browser for something, and wait for its answer."""
        self._last_id += 1
        self._socket.send(json.dumps({"id": self._last_id, "method": method, "params": params}))
        while True:
            message = self._receive()
            if message.get("id") == self._last_id:
                assert "error" not in message, message
                return message["result"]

    def _receive(self) -> dict[str, Any]:
        message = json.loads(self._socket.recv(timeout=limit(30)))
        method, params = message.get("method"), message.get("params", {})
        self._seen.append(str(method))
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(params["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        return dict(message)

    def open(self, page: Path, *, width: int = 1280, dark: bool = False) -> None:
        """Load a file, at a width and in a mode."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        mode = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[mode])
        self._seen.clear()
        self.call("Page.navigate", url=page.as_uri())
        self._loaded()

    def follow(self, script: str) -> Any:
        """The value of an expression that leaves the page for another one, once that one is loaded."""
        self._seen.clear()
        value = self.run(script)
        self._loaded()
        return value

    def _loaded(self) -> None:
        while "Page.loadEventFired" not in self._seen:
            self._receive()

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def until(self, script: str) -> Any:
        """Wait until an expression holds; its value."""
        return self.run(
            "new Promise((resolve, reject) => { const began = Date.now(); const look = () => {"
            f" const it = ({script}); if (it) resolve(it);"
            f" else if (Date.now() - began > {limit(20) * 1000}) reject(new Error('never'));"
            " else setTimeout(look, 20) }; look() })"
        )

    def write(self, text: str) -> None:
        """Write into what has the focus."""
        self.call("Input.insertText", text=text)

    def picture(self, path: Path, *, whole: bool) -> None:
        """Keep what is seen, or the whole page, as PNG."""
        clip = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=whole, **clip)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def browser(folder: Path) -> Iterator[Tab]:
    """A browser with an empty profile and one tab; every host but this machine's files is unreachable for it."""
    found = program()
    assert found is not None, HOW
    arguments = [
        found, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--remote-debugging-port=0",
        f"--user-data-dir={folder}", "about:blank",
    ]  # fmt: skip
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
    try:
        address = _address_of(process)
        port = re.search(r":(\d+)/", address)
        assert port is not None
        with connect(address, max_size=None, proxy=None) as socket:
            control = Tab(socket)
            target = control.call("Target.createTarget", url="about:blank")["targetId"]
            page = f"ws://127.0.0.1:{port.group(1)}/devtools/page/{target}"
            with connect(page, max_size=None, proxy=None) as page_socket:
                tab = Tab(page_socket)
                for domain in ("Page", "Network", "Runtime"):
                    tab.call(f"{domain}.enable")
                yield tab
            control.call("Browser.close")
    finally:
        try:
            process.wait(timeout=limit(10))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
        assert process.stderr is not None
        process.stderr.close()


def _address_of(process: subprocess.Popen[bytes]) -> str:
    """Where the browser listens: it says so on stderr."""
    assert process.stderr is not None
    said = b""
    ends = time.monotonic() + limit(60)
    while time.monotonic() < ends:
        ready, _, _ = select.select([process.stderr], [], [], 1)
        if ready:
            part = os.read(process.stderr.fileno(), 65536)
            said += part
            found = re.search(rb"DevTools listening on (ws://\S+)", said)
            if found is not None:
                return found.group(1).decode()
            assert part, said
    raise AssertionError(said)
