"""A headless Chromium, told what to do over a pair of pipes (the DevTools protocol): enough to look at a page. With it a PNG reader."""

import base64
import collections
import json
import os
import shutil
import subprocess
import tempfile
import zlib


class Browser:
    """Use with `with`; it goes, and its profile with it, when that ends."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.requests = os.pipe()
        self.answers, from_browser = os.pipe()
        program = [shutil.which("chromium"), "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
                   "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"]
        if os.geteuid() == 0:
            program.append("--no-sandbox")
        # Chromium reads requests from 3 and writes answers to 4; the shell puts them there.
        self.process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", *program],
                                        pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.number, self.unread, self.session, self.addresses = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Network.enable")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.requests)
        os.close(self.answers)
        self.profile.cleanup()

    def message(self):
        while b"\0" not in self.unread:
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise RuntimeError("the browser is gone")
            self.unread += more
        first, _, self.unread = self.unread.partition(b"\0")
        found = json.loads(first)
        if found.get("method") == "Network.requestWillBeSent":
            self.addresses.append(found["params"]["request"]["url"])
        return found

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters} | ({"sessionId": self.session} if self.session else {})
        os.write(self.requests, json.dumps(request).encode() + b"\0")
        while (answer := self.message()).get("id") != self.number:
            pass
        if "error" in answer:
            raise RuntimeError(f'{method}: {answer["error"]["message"]}')
        return answer["result"]

    def show(self, path, width, scheme):
        """Loads a file in a window of that width. @param scheme  light or dark"""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.addresses.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def ask(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def screenshot(self, scale):
        """The whole page as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": scale}
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"])


def colors(png):
    """@return how many pixels there are of each color of a PNG of eight bits a channel, the most frequent first"""
    at, data = 8, b""
    while at < len(png):
        length, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        if kind == b"IHDR":
            width, height = (int.from_bytes(png[at + 8 + 4 * i:at + 12 + 4 * i], "big") for i in (0, 1))
            channels = {2: 3, 6: 4}[png[at + 17]]
        elif kind == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += 12 + length
    data, stride = zlib.decompress(data), width * channels
    above, counts = bytearray(stride), collections.Counter()
    for y in range(height):
        method, line = data[y * (stride + 1)], bytearray(data[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride if method else 0):
            left, up, corner = (line[i - channels], above[i], above[i - channels]) if i >= channels else (0, above[i], 0)
            if method == 4:
                guess = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
            else:
                guess = {1: left, 2: up, 3: (left + up) // 2}[method]
            line[i] = (line[i] + guess) & 255
        counts.update(bytes(line[i:i + 3]) for i in range(0, stride, channels))
        above = line
    return counts.most_common()
