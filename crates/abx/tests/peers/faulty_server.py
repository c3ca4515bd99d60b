"""A server that breaks on purpose, from the standard library alone.

    faulty_server.py PORT FAULT [--after REQUESTS] [--starts FILE]

It gives correct responses to requests with `Connection: close`, which abx sends before a load, and
to REQUESTS (2,000) requests on kept connections; then comes the fault. Faults whose names begin with
`start-` are there from the first connection on. With FILE, which counts its starts, the fault is
there from the second start on: abx starts a subject once for the pilot and once for each block.
PORT may be the path of a Unix socket, which then belongs to somebody else, with no rights for others.

`--list` prints a line per fault: its name, the flags of abx that it needs, the exit code of a study
with it, and what it does. A study with 0 has a result: that server is strange and not wrong.
`none` is a server without a fault.
"""

import argparse
import asyncio
import base64
import hashlib
import os
import resource
import signal
import socket
import struct
import sys
import time

# A folder of compiled files next to the tests would be no source.
sys.dont_write_bytecode = True
import faulty_frames as frames

HTTP = "-"
ECHO = "--shape echo"
HTTP2 = "--http2"
# Nothing ends these studies before their budget.
SHORT = "--budget 30s"
FAULTS = {
    # name: (flags, exit code, what it does)
    "start-mute": (HTTP, 3, "takes connections and sends nothing, from the start"),
    "start-deaf": (HTTP, 3, "does not listen at all"),
    "start-503": (HTTP, 3, "answers everything with 503, from the start"),
    "start-exit": (HTTP, 3, "ends at once, with a message"),
    "start-other-port": (HTTP, 3, "listens on another port"),
    "start-twice": (HTTP, 3, "closes its listener after the first connection, for good"),
    "start-late": (SHORT, 0, "listens after 3 s"),
    "start-fork": (SHORT, 0, "forks a child that serves, and ends with 0"),
    "start-daemon": (SHORT, 0, "has a child in a session of its own serve, which ignores SIGTERM"),
    "mute": (HTTP, 3, "goes mute on all connections"),
    "mute-tenth": (HTTP, 3, "leaves a tenth of its connections without a response"),
    "mute-thousandth": (HTTP, 3, "leaves each thousandth request without a response"),
    "no-accept": (HTTP, 3, "closes its connections and accepts no others, while it still listens"),
    "no-read": (HTTP, 3, "stops reading, and the kernel takes what it can"),
    "stopped": (HTTP, 3, "is stopped, as by SIGSTOP"),
    "trickle": (HTTP, 3, "sends one byte a second"),
    "slow": (HTTP, 3, "responds after 15 s, beyond the timeout"),
    "half": (HTTP, 3, "sends half a response and nothing more"),
    "half-close": (HTTP, 3, "sends half a response and closes"),
    "close": (HTTP, 3, "reads each request and closes the connection"),
    "reset": (HTTP, 3, "reads each request and resets the connection"),
    "unlisten": (HTTP, 3, "closes its connections and its listener, and lives on"),
    "die": (HTTP, 3, "exits with 1"),
    "die-early": (HTTP, 3, "exits with 1 after 100 requests, in the warm-up of the pilot"),
    "die-resting": (HTTP, 3, "exits with 1 as soon as no request has come for 30 ms"),
    "die-sampled": ("--why --blocks 1", 3, "exits with 1 while --why samples it"),
    "die-return": (HTTP, 3, "dies and comes back after 300 ms, again and again"),
    "crash": (HTTP, 3, "ends by SIGSEGV"),
    "leave": (HTTP, 3, "exits with 0"),
    "memory": (HTTP, 3, "uses more memory per request, up to a limit of 1 GB, and dies of it"),
    "output": (HTTP, 3, "writes 2 GB of output per request"),
    "forks": (SHORT, 0, "forks a child per hundredth request, which ends at once"),
    "ignore-term": (SHORT, 0, "ignores SIGTERM"),
    "garbage": (HTTP, 3, "sends what is not HTTP"),
    "tls": (HTTP, 3, "sends an alert of TLS"),
    "status": (HTTP, 3, "responds with 503"),
    "redirect": (HTTP, 3, "answers 302"),
    "switch": (HTTP, 3, "answers 101 without having been asked"),
    "wrong-body": (HTTP, 3, "sends another body of the same length"),
    "wrong-length": (HTTP, 3, "sends a shorter body"),
    "two-lengths": (HTTP, 3, "sends two lengths"),
    "huge-length": (HTTP, 3, "sends a length of 2^64"),
    "huge-chunk": (HTTP, 3, "sends a chunk of 2^68 bytes"),
    "twice": (HTTP, 3, "responds twice to each request"),
    "misdirected": (HTTP, 3, "sends the response to another connection"),
    "endless-head": (HTTP, 3, "sends fields of a head without an end"),
    "endless-line": (HTTP, 3, "sends one field without an end"),
    "endless-body": (HTTP, 3, "sends a body without an end"),
    "endless-chunks": (HTTP, 3, "sends chunks of one byte without an end, as fast as it can"),
    "endless-trailers": (HTTP, 3, "sends trailers without an end"),
    "interim-flood": (HTTP, 3, "sends heads with 103 without an end"),
    "empty-lines": (HTTP, 3, "sends empty lines without an end"),
    "h2-settings": (HTTP2, 3, "sends SETTINGS without an end"),
    "h2-ping": (HTTP2, 3, "sends PING without an end"),
    "h2-reset": (HTTP2, 3, "resets each stream"),
    "h2-reset-flood": (HTTP2, 3, "resets one stream without an end"),
    "h2-go-away": (HTTP2, 3, "sends GOAWAY and names no stream that it served"),
    "h2-continuation": (HTTP2, 3, "sends CONTINUATION without an end"),
    "h2-continuation-empty": (HTTP2, 3, "sends empty CONTINUATION without an end"),
    "h2-table": (HTTP2, 3, "names an entry of 4 KB 12,000 times"),
    "h2-number": (HTTP2, 3, "sends a number of HPACK without an end"),
    "h2-empty-data": (HTTP2, 3, "sends empty DATA without an end"),
    "h2-window": (HTTP2, 3, "grants more room than there can be"),
    "h2-huge-frame": (HTTP2, 3, "begins a frame of 16 MB"),
    "h2-other-stream": (HTTP2, 3, "responds on a stream that was never opened"),
    "ws-length": (ECHO, 3, "begins a frame of 2^63 bytes"),
    "ws-endless": (ECHO, 3, "sends a frame of 2^63 - 1 bytes"),
    "ws-pings": (ECHO, 3, "sends pings without an end"),
    "ws-fragments": (ECHO, 3, "sends fragments without an end"),
    "ws-empty-fragments": (ECHO, 3, "sends empty fragments without an end"),
    "ws-masked": (ECHO, 3, "masks its messages"),
    "ws-no-text": (ECHO, 3, "sends text that is no UTF-8"),
    "ws-reserved": (ECHO, 3, "sets bits that are reserved"),
    "ws-close": (ECHO, 3, "closes with 1001"),
}

BODY = b"hello, world\n"
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
RIGHT = OK + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
RESPONSES = {
    "half-close": RIGHT[: len(RIGHT) // 2],
    "half": RIGHT[: len(RIGHT) // 2],
    "garbage": b"\x00\x01\x02 this is no HTTP\r\n\r\n" * 4,
    "tls": b"\x15\x03\x01\x00\x02\x02\x46",
    "status": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
    "redirect": b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n",
    "switch": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
    "wrong-body": RIGHT.replace(b"hello", b"HELLO"),
    "wrong-length": OK + b"Content-Length: 5\r\n\r\nhello",
    "two-lengths": OK + b"Content-Length: 13\r\nContent-Length: 5\r\n\r\n" + BODY,
    "huge-length": OK + b"Content-Length: 18446744073709551616\r\n\r\n" + BODY,
    "huge-chunk": CHUNKED + b"fffffffffffffffff\r\n" + BODY,
    "twice": RIGHT * 2,
}
CLOSING = {"half-close", "garbage", "tls"}
# What comes first, what goes on, and the pause after each MB or piece, in seconds.
FLOODS = {
    "endless-head": (OK, b"X: y\r\n" * 10, 0.01),
    "endless-line": (OK + b"X: ", b"y" * 65536, 0),
    "endless-body": (CHUNKED, b"400\r\n" + b"x" * 1024 + b"\r\n", 0.01),
    "endless-chunks": (CHUNKED, b"1\r\nx\r\n" * 10_000, 0),
    "endless-trailers": (CHUNKED + b"1\r\nx\r\n0\r\n", b"X: y\r\n" * 10_000, 0),
    "interim-flood": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 1_000, 0),
    "empty-lines": (b"", b"\r\n" * 30_000, 0),
}
WEBSOCKET_KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
MEMORY_MAX = 1 << 30
NOBODY = 65534


class State:
    """What all connections know."""

    def __init__(self, fault, after):
        self.fault = fault
        self.after = min(after, 100) if fault == "die-early" else after
        self.requests = 0
        self.last = None
        self.mute = 0
        self.open = set()
        self.server = None
        self.memory = []

    def is_broken(self):
        return self.fault != "none" and self.requests > self.after


class Connection(asyncio.Protocol):
    """One connection: HTTP until a request asks for WebSocket, then an echo; or HTTP/2."""

    def __init__(self, state):
        self.state = state
        self.buffer = b""
        self.next = self.request
        self.is_counted = False
        self.is_mute = False
        self.task = None

    def connection_made(self, transport):
        self.transport = transport
        self.state.open.add(self)
        if self.state.fault == "start-twice":
            self.state.server.close()

    def connection_lost(self, _):
        self.state.open.discard(self)
        self.state.mute -= self.is_mute
        if self.task:
            self.task.cancel()

    def data_received(self, data):
        self.buffer += data
        if self.buffer.startswith(frames.PREFACE):
            self.buffer = self.buffer[len(frames.PREFACE) :]
            self.next = self.frame
            self.transport.write(frames.frame(frames.SETTINGS, 0, 0))
        while not self.transport.is_closing():
            parts = self.next()
            if parts is None:
                return
            self.take(*parts)

    def request(self):
        """The next whole request, as its correct response, whether it is part of a load, and 0."""
        head, end, rest = self.buffer.partition(b"\r\n\r\n")
        if not end or frames.PREFACE.startswith(self.buffer):
            return None
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        fields = {name.lower(): value for name, value in fields.items()}
        length = int(fields.get(b"content-length", 0))
        if len(rest) < length:
            return None
        self.buffer = rest[length:]
        key = fields.get(b"sec-websocket-key")
        if key:
            self.next = self.message
            accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET_KEY).digest())
            switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            switch += b"Connection: Upgrade\r\nSec-WebSocket-Accept: " + accept
            return switch + b"\r\n\r\n", False, 0
        is_probe = fields.get(b"connection", b"").lower() == b"close"
        return RIGHT, not is_probe, 0

    def message(self):
        """The next whole message, of a short frame, as its echo."""
        if len(self.buffer) < 6 or len(self.buffer) < 6 + (self.buffer[1] & 127):
            return None
        length = self.buffer[1] & 127
        mask, rest = self.buffer[2:6], self.buffer[6:]
        payload = bytes(byte ^ mask[place % 4] for place, byte in enumerate(rest[:length]))
        first, self.buffer = self.buffer[0], rest[length:]
        if first & 15 == 8:
            self.transport.close()
            return None
        return bytes([first, length]) + payload, True, 0

    def frame(self):
        """The next request on a stream of HTTP/2; other frames are taken on the way."""
        while len(self.buffer) >= 9:
            length = int.from_bytes(self.buffer[:3], "big")
            kind, flags, stream = struct.unpack(">BBI", self.buffer[3:9])
            if len(self.buffer) < 9 + length:
                return None
            self.buffer = self.buffer[9 + length :]
            if kind == frames.SETTINGS and not flags & frames.ACK:
                self.transport.write(frames.frame(frames.SETTINGS, frames.ACK, 0))
            if kind == frames.HEADERS:
                return frames.right(stream, BODY), True, stream
        return None

    def take(self, right, is_load, stream):
        state = self.state
        if state.fault == "start-503":
            return self.transport.write(RESPONSES["status"])
        if state.fault == "start-mute":
            return None
        if not is_load:
            self.transport.write(right)
            # Who asked for that closes it, too.
            return None if self.next == self.message else self.transport.close()
        state.requests += 1
        state.last = time.monotonic()
        if not self.is_counted:
            self.is_counted = True
            self.is_mute = 10 * state.mute < len(state.open)
            state.mute += self.is_mute
        if state.is_broken():
            return self.misbehave(right, stream)
        return self.transport.write(right)

    def misbehave(self, right, stream):
        state, fault = self.state, self.state.fault
        if fault == "mute-tenth":
            return None if self.is_mute else self.transport.write(right)
        if fault == "mute-thousandth":
            return self.transport.write(right) if state.requests % 1000 else None
        if fault == "close":
            return self.transport.close()
        if fault == "reset":
            return self.reset()
        if fault in ("trickle", "slow"):
            self.task = asyncio.ensure_future(getattr(self, fault)(right))
            return None
        if fault in FLOODS:
            return self.flood(*FLOODS[fault])
        if fault in frames.HTTP2:
            return self.flood(*frames.HTTP2[fault](stream), 0)
        if fault in frames.WEBSOCKET:
            return self.flood(*frames.WEBSOCKET[fault], 0)
        if fault == "misdirected":
            other = next((other for other in state.open if other is not self), self)
            return other.transport.write(right)
        if fault in RESPONSES:
            self.transport.write(RESPONSES[fault])
            return self.transport.close() if fault in CLOSING else None
        if self.misbehave_as_one(fault):
            return self.transport.write(right)
        return None

    def misbehave_as_one(self, fault):
        """What all connections suffer together. Returns whether a correct response follows."""
        if fault in ("die", "die-early", "die-return"):
            os._exit(1)
        if fault == "leave":
            os._exit(0)
        if fault == "crash":
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)
        if fault == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if fault == "memory":
            eat(self.state.memory)
        if fault == "output":
            # A hole, so that the disk stays as it is.
            os.ftruncate(1, 2 << 30)
            os.write(1, b"much output\n" * 10_000)
        if fault == "forks" and self.state.requests % 100 == 0 and os.fork() == 0:
            os._exit(0)
        if fault == "no-read":
            for connection in self.state.open:
                connection.transport.pause_reading()
        if fault == "unlisten":
            self.state.server.close()
        if fault == "no-accept":
            loop = asyncio.get_running_loop()
            for listener in self.state.server.sockets:
                loop.remove_reader(listener.fileno())
        if fault in ("unlisten", "no-accept"):
            for connection in list(self.state.open):
                connection.transport.abort()
        return fault in ("memory", "output", "forks", "ignore-term", "die-resting", "die-sampled",
                         "start-late", "start-daemon", "start-twice", "start-fork")

    def reset(self):
        socket_of_this = self.transport.get_extra_info("socket")
        socket_of_this.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def flood(self, once, again, pause):
        self.transport.write(once)
        if again and self.task is None:
            again = again if pause else again * (1 + (1 << 16) // len(again))
            self.task = asyncio.ensure_future(self.go_on(again, pause))

    async def go_on(self, again, pause):
        while not self.transport.is_closing():
            if self.transport.get_write_buffer_size() < 1 << 20:
                self.transport.write(again)
            await asyncio.sleep(pause)

    async def trickle(self, right):
        for byte in right:
            self.transport.write(bytes([byte]))
            await asyncio.sleep(1)

    async def slow(self, right):
        await asyncio.sleep(15)
        self.transport.write(right)


def eat(memory):
    try:
        memory.append(b"x" * (4 << 20))
    except MemoryError:
        os.write(2, b"out of memory\n")
        os._exit(1)


async def leave_when(condition, state):
    """Exits with 1 when a load has been broken off so, looked at 500 times a second."""
    while state.last is None or not condition(time.monotonic() - state.last):
        await asyncio.sleep(0.002)
    os._exit(1)


async def serve(port, state):
    loop = asyncio.get_running_loop()
    if state.fault == "start-deaf":
        await asyncio.sleep(3600)
    if state.fault == "start-exit":
        sys.exit("no such file: settings")
    if state.fault == "start-late":
        await asyncio.sleep(3)
    if state.fault == "start-other-port":
        port = 0
    make = lambda: Connection(state)
    if "/" in str(port):
        state.server = await loop.create_unix_server(make, port)
        os.chmod(port, 0)
        os.chown(port, NOBODY, NOBODY)
    else:
        state.server = await loop.create_server(make, "127.0.0.1", port, backlog=1024)
    if state.fault == "die-resting":
        rests = lambda silent: state.is_broken() and silent > 0.03
        task = asyncio.ensure_future(leave_when(rests, state))
    if state.fault == "die-sampled":
        task = asyncio.ensure_future(leave_when(is_long_after_slices(), state))
    await asyncio.sleep(3600)


def is_long_after_slices():
    """Whether a load goes on for longer than any slice, after slices: it is sampled."""
    rests, begun = 0, None

    def is_long(silent):
        nonlocal rests, begun
        now = time.monotonic()
        if silent > 0.08:
            rests, begun = rests + (begun is not None), None
        elif begun is None:
            begun = now
        return rests > 1 and begun is not None and now - begun > 0.5

    return is_long


def is_first_start(name):
    with open(name, "a+") as starts:
        starts.write("start\n")
        starts.flush()
        starts.seek(0)
        return len(starts.readlines()) == 1


def in_a_child(ignores_end):
    """Goes on in a child process; the parent waits for it, or ends with 0."""
    child = os.fork()
    if child and ignores_end:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.waitpid(child, 0)
    if child:
        os._exit(0)
    if ignores_end:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


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
    if state.fault in ("start-fork", "start-daemon"):
        in_a_child(ignores_end=state.fault == "start-daemon")
    if state.fault == "ignore-term":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if state.fault == "forks":
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if state.fault == "memory":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    asyncio.run(serve(words.port, state))


if sys.argv[1:] == ["--list"]:
    print("\n".join(f"{name}\t{flags}\t{code}\t{does}" for name, (flags, code, does) in FAULTS.items()))
    sys.exit()
parser = argparse.ArgumentParser()
parser.add_argument("port")
parser.add_argument("fault", choices=["none", *FAULTS])
parser.add_argument("--after", type=int, default=2000)
parser.add_argument("--starts")
run(parser.parse_args())
