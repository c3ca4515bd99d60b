"""A server that breaks on purpose, from the standard library alone.

    faulty_server.py PORT FAULT [--after REQUESTS] [--starts FILE]

It answers rightly what comes with `Connection: close`, which is what abx asks before a
load, and then REQUESTS (2,000) requests on kept connections; the fault comes behind them.
Faults whose names begin with `start-` are there from the first connection on. With FILE,
which counts its starts, the fault is there from the second start on: abx starts a subject
once for the pilot and once more for each block.

`--list` prints the faults, each with a sentence. `none` is a server without one.
"""

import argparse
import asyncio
import base64
import hashlib
import os
import signal
import socket
import struct
import sys

FAULTS = {
    "start-mute": "takes connections and answers nothing, from the start",
    "start-deaf": "does not listen at all",
    "start-503": "answers everything with 503, from the start",
    "mute": "goes mute on all connections",
    "mute-tenth": "leaves a tenth of its connections without an answer",
    "mute-thousandth": "leaves each thousandth request without an answer",
    "no-accept": "closes its connections and accepts no others, while it still listens",
    "no-read": "stops reading, and the kernel takes what it can",
    "stopped": "is stopped, as by SIGSTOP",
    "trickle": "answers one byte a second",
    "slow": "answers after 15 s, beyond the timeout",
    "half": "sends half an answer and nothing more",
    "half-close": "sends half an answer and closes",
    "close": "reads each request and closes the connection",
    "reset": "reads each request and resets the connection",
    "unlisten": "closes its connections and its listener, and lives on",
    "die": "exits with 1",
    "die-return": "dies and comes back after 300 ms, again and again",
    "garbage": "answers what is no HTTP",
    "tls": "answers an alert of TLS",
    "status": "answers 503",
    "redirect": "answers 302",
    "wrong-body": "answers another body of the same length",
    "wrong-length": "answers a shorter body",
    "endless-head": "sends fields of a head without an end",
    "endless-body": "sends a body without an end",
}

BODY = b"hello, world\n"
RIGHT = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
RESPONSES = {
    "half-close": RIGHT[: len(RIGHT) // 2],
    "half": RIGHT[: len(RIGHT) // 2],
    "garbage": b"\x00\x01\x02 this is no HTTP\r\n\r\n" * 4,
    "tls": b"\x15\x03\x01\x00\x02\x02\x46",
    "status": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
    "redirect": b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n",
    "wrong-body": RIGHT.replace(b"hello", b"HELLO"),
    "wrong-length": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
}
CLOSING = {"half-close", "garbage", "tls"}
WEBSOCKET_KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class State:
    """What all connections know."""

    def __init__(self, fault, after):
        self.fault = fault
        self.after = after
        self.requests = 0
        self.mute = 0
        self.open = set()
        self.server = None

    def is_broken(self):
        return self.fault != "none" and self.requests > self.after


class Connection(asyncio.Protocol):
    """One connection: HTTP until a request asks for WebSocket, then an echo."""

    def __init__(self, state):
        self.state = state
        self.buffer = b""
        self.is_websocket = False
        self.is_counted = False
        self.is_mute = False
        self.task = None

    def connection_made(self, transport):
        self.transport = transport
        self.state.open.add(self)

    def connection_lost(self, _):
        self.state.open.discard(self)
        self.state.mute -= self.is_mute
        if self.task:
            self.task.cancel()

    def data_received(self, data):
        self.buffer += data
        while not self.transport.is_closing():
            parts = self.frame() if self.is_websocket else self.request()
            if parts is None:
                return
            self.take(*parts)

    def request(self):
        """The next whole request and its right answer."""
        head, end, rest = self.buffer.partition(b"\r\n\r\n")
        if not end:
            return None
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        fields = {name.lower(): value for name, value in fields.items()}
        length = int(fields.get(b"content-length", 0))
        if len(rest) < length:
            return None
        self.buffer = rest[length:]
        key = fields.get(b"sec-websocket-key")
        if key:
            self.is_websocket = True
            accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET_KEY).digest())
            switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            switch += b"Connection: Upgrade\r\nSec-WebSocket-Accept: " + accept
            return switch + b"\r\n\r\n", False
        is_probe = fields.get(b"connection", b"").lower() == b"close"
        return RIGHT, not is_probe

    def frame(self):
        """The next whole message, of a short frame, and its echo."""
        if len(self.buffer) < 6 or len(self.buffer) < 6 + (self.buffer[1] & 127):
            return None
        length = self.buffer[1] & 127
        mask, rest = self.buffer[2:6], self.buffer[6:]
        payload = bytes(byte ^ mask[place % 4] for place, byte in enumerate(rest[:length]))
        first, self.buffer = self.buffer[0], rest[length:]
        if first & 15 == 8:
            self.transport.close()
            return None
        return bytes([first, length]) + payload, True

    def take(self, right, is_load):
        state = self.state
        if state.fault == "start-503":
            return self.transport.write(RESPONSES["status"])
        if state.fault == "start-mute":
            return None
        if not is_load:
            self.transport.write(right)
            # Who asked for that closes it, too.
            return None if self.is_websocket else self.transport.close()
        state.requests += 1
        if not self.is_counted:
            self.is_counted = True
            self.is_mute = 10 * state.mute < len(state.open)
            state.mute += self.is_mute
        return self.misbehave(right) if state.is_broken() else self.transport.write(right)

    def misbehave(self, right):
        state, fault = self.state, self.state.fault
        if fault == "mute-tenth":
            return None if self.is_mute else self.transport.write(right)
        if fault == "mute-thousandth":
            return self.transport.write(right) if state.requests % 1000 else None
        if fault == "close":
            return self.transport.close()
        if fault == "reset":
            return self.reset()
        if fault in ("trickle", "slow", "endless-head", "endless-body"):
            self.task = asyncio.ensure_future(getattr(self, fault.replace("-", "_"))(right))
            return None
        if fault in RESPONSES:
            self.transport.write(RESPONSES[fault])
            return self.transport.close() if fault in CLOSING else None
        return self.misbehave_as_one(fault)

    def misbehave_as_one(self, fault):
        """What is done to all connections together."""
        if fault in ("die", "die-return"):
            os._exit(1)
        if fault == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if fault == "no-read":
            for one in self.state.open:
                one.transport.pause_reading()
        if fault == "unlisten":
            self.state.server.close()
        if fault == "no-accept":
            loop = asyncio.get_running_loop()
            for listener in self.state.server.sockets:
                loop.remove_reader(listener.fileno())
        if fault in ("unlisten", "no-accept"):
            for one in list(self.state.open):
                one.transport.abort()

    def reset(self):
        own = self.transport.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    async def trickle(self, right):
        for byte in right:
            self.transport.write(bytes([byte]))
            await asyncio.sleep(1)

    async def slow(self, right):
        await asyncio.sleep(15)
        self.transport.write(right)

    async def endless_head(self, _):
        self.transport.write(b"HTTP/1.1 200 OK\r\n")
        while not self.transport.is_closing():
            self.transport.write(b"X: y\r\n" * 10)
            await asyncio.sleep(0.01)

    async def endless_body(self, _):
        self.transport.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not self.transport.is_closing():
            self.transport.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
            await asyncio.sleep(0.01)


async def serve(port, state):
    loop = asyncio.get_running_loop()
    if state.fault == "start-deaf":
        await asyncio.sleep(3600)
    state.server = await loop.create_server(
        lambda: Connection(state), "127.0.0.1", port, backlog=1024
    )
    await asyncio.sleep(3600)


def is_first_start(name):
    with open(name, "a+") as starts:
        starts.write("start\n")
        starts.flush()
        starts.seek(0)
        return len(starts.readlines()) == 1


def run(words):
    state = State(words.fault, words.after)
    if words.starts and is_first_start(words.starts):
        state.fault = "none"
    while state.fault == "die-return":
        child = os.fork()
        if child == 0:
            break
        os.waitpid(child, 0)
        signal.sigtimedwait([], 0.3)
    asyncio.run(serve(words.port, state))


if sys.argv[1:] == ["--list"]:
    print("\n".join(f"{name}\t{does}" for name, does in FAULTS.items()))
    sys.exit()
parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("fault", choices=["none", *FAULTS])
parser.add_argument("--after", type=int, default=2000)
parser.add_argument("--starts")
run(parser.parse_args())
