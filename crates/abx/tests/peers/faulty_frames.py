"""Bytes that break a client of HTTP/2 or of a WebSocket, and what of them has no end.

A fault is `(once, again)`: what is sent first, and what is sent until the client closes, or nothing.
"""

import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    0, 1, 3, 4, 6, 7, 8, 9)
END_STREAM, END_HEADERS, ACK, PADDED = 1, 4, 1, 8
OK = b"\x88"


def frame(kind, flags, stream, payload=b""):
    """A frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def right(stream, body):
    """A whole response on a stream."""
    return frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, END_STREAM, stream, body)


def kept(name, length):
    """A field that a table of HPACK is to keep, with a value of 128 bytes or more."""
    rest, size = length - 127, b"\x7f"
    while rest > 127:
        size, rest = size + bytes([rest & 127 | 128]), rest >> 7
    return b"\x40" + bytes([len(name)]) + name + size + bytes([rest]) + b"v" * length


HTTP2 = {
    "h2-settings": lambda stream: (b"", frame(SETTINGS, 0, 0)),
    "h2-ping": lambda stream: (b"", frame(PING, 0, 0, b"12345678")),
    "h2-reset": lambda stream: (frame(RST_STREAM, 0, stream, struct.pack(">I", 8)), b""),
    "h2-reset-flood": lambda stream: (b"", frame(RST_STREAM, 0, stream, struct.pack(">I", 8))),
    "h2-go-away": lambda stream: (frame(GOAWAY, 0, 0, struct.pack(">II", 0, 11)), b""),
    "h2-continuation": lambda stream: (
        frame(HEADERS, 0, stream, OK), frame(CONTINUATION, 0, stream, b"\x00\x01x\x01y" * 1000)),
    "h2-continuation-empty": lambda stream: (
        frame(HEADERS, 0, stream, OK), frame(CONTINUATION, 0, stream)),
    "h2-table": lambda stream: (
        frame(HEADERS, END_HEADERS, stream, OK + kept(b"x", 3900) + b"\xbe" * 12000), b""),
    "h2-number": lambda stream: (frame(HEADERS, END_HEADERS, stream, b"\xff" * 100 + b"\x01"), b""),
    "h2-empty-data": lambda stream: (
        frame(HEADERS, END_HEADERS, stream, OK), frame(DATA, 0, stream)),
    "h2-window": lambda stream: (
        frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x7FFFFFFF)) * 3, b""),
    "h2-huge-frame": lambda stream: (b"\xff\xff\xff\x00\x00" + struct.pack(">I", stream), b"x"),
    "h2-other-stream": lambda stream: (right(stream + 1000, b"hello"), b""),
}

WEBSOCKET = {
    "ws-length": (b"\x82\x7f" + struct.pack(">Q", 1 << 63), b"x" * 65536),
    "ws-endless": (b"\x82\x7f" + struct.pack(">Q", (1 << 63) - 1), b"x" * 65536),
    "ws-pings": (b"", b"\x89\x7d" + b"p" * 125),
    "ws-fragments": (b"\x01\x01a", b"\x00\x01b"),
    "ws-empty-fragments": (b"\x01\x00", b"\x00\x00"),
    "ws-masked": (b"\x81\x81\1\2\3\4x", b""),
    "ws-no-text": (b"\x81\x01\xff", b""),
    "ws-reserved": (b"\xf1\x01a", b""),
    "ws-close": (b"\x88\x02\x03\xe9", b""),
}
