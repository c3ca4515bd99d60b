"""A server of HTTP/2 that breaks on purpose, from the standard library alone.

    http2_faults.py PORT FAULT

It speaks HTTP/2 with prior knowledge, in frames that it writes byte by byte. The first four
connections are answered rightly, since a test looks whether it listens and abx asks three
times before a load; the fault is on those behind them. `odd` is no fault: right answers in forms that are seldom seen.
"""

import asyncio
import struct
import sys

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    0, 1, 3, 4, 5, 6, 7, 8, 9)
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
RIGHT_CONNECTIONS = 4
OK = b"\x88"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def right(stream):
    return frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, END_STREAM, stream, b"hello")


def odd(stream):
    """103, a head in three frames with a field that is kept, padding, an empty part, a trailer."""
    field = b"\x40\x01a\x01b"
    return b"".join([
        frame(HEADERS, END_HEADERS, stream, b"\x08\x03103"),
        frame(0xbe, 0xff, stream, b"unknown"),
        frame(HEADERS, 0, stream, OK),
        frame(CONTINUATION, 0, stream, field[:2]),
        frame(CONTINUATION, END_HEADERS, stream, field[2:]),
        frame(PING, 0, 0, b"12345678"),
        frame(DATA, PADDED, stream, b"\x03hel\0\0\0"),
        frame(DATA, 0, stream),
        frame(DATA, 0, stream, b"lo"),
        frame(HEADERS, END_HEADERS | END_STREAM, stream, b"\xbe"),
    ])


FAULTS = {
    "odd": odd,
    "reset": lambda stream: frame(RST_STREAM, 0, stream, struct.pack(">I", 2)),
    "go-away": lambda stream: frame(GOAWAY, 0, 0, struct.pack(">II", 0, 11)),
    "bad-block": lambda stream: frame(HEADERS, END_HEADERS, stream, b"\x80"),
    "no-status": lambda stream: frame(HEADERS, END_HEADERS | END_STREAM, stream, b"\x00\x01a\x01b"),
    "push": lambda stream: frame(PUSH_PROMISE, END_HEADERS, stream, b"\0\0\0\x02" + OK),
    "long-head": lambda stream: frame(HEADERS, 0, stream, OK)
    + frame(CONTINUATION, 0, stream, b"\0" * 16384) * 17,
    "flood": lambda stream: frame(SETTINGS, 0, 0) * 10_100,
    "half": lambda stream: frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, 0, stream, b"he"),
    "mute": lambda stream: b"",
    "stall": right,
}


async def serve(reader, writer, fault, number):
    is_right = number < RIGHT_CONNECTIONS
    # A room of ten bytes for the body of each request, which never grows.
    stalls = fault == "stall" and not is_right
    settings = struct.pack(">HI", 4, 10) if stalls else b""
    writer.write(frame(SETTINGS, 0, 0, settings))
    await reader.readexactly(24)
    while True:
        head = await reader.readexactly(9)
        length = int.from_bytes(head[:3], "big")
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        payload = await reader.readexactly(length)
        if kind == SETTINGS and not flags & 1:
            writer.write(frame(SETTINGS, 1, 0))
        if kind == DATA and length and not stalls:
            for one in (0, stream):
                writer.write(frame(WINDOW_UPDATE, 0, one, struct.pack(">I", len(payload))))
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            writer.write(right(stream) if is_right else FAULTS[fault](stream))
            await writer.drain()
            if fault in ("half", "go-away") and not is_right:
                writer.close()
                return


async def main(port, fault):
    connections = 0

    async def accept(reader, writer):
        nonlocal connections
        number, connections = connections, connections + 1
        try:
            await serve(reader, writer, fault, number)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
