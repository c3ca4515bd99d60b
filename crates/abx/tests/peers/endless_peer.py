"""A server whose responses do not end, from the standard library alone.

    endless_peer.py PORT KIND [--after RESPONSES] [--tls CERTIFICATE KEY] [--mark FILE]

It gives RESPONSES (20) correct responses over all connections, and one to each request with
`Connection: close`, which abx sends before a load. All others go on in small pieces until the
client closes. FILE is made when the first of them begins.
"""

import argparse
import base64
import hashlib
import socket
import ssl
import struct
import threading

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
CORRECT = OK + b"Content-Length: 5\r\n\r\nhello"
WEBSOCKET_KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frame(kind, flags, stream, payload=b""):
    """A frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


# How an endless response begins, and what it goes on with.
HTTP1 = {
    "chunks": (CHUNKED, b"1\r\nx\r\n"),
    "events": (CHUNKED, b"11\r\ndata: 123456789\n\n\r\n"),
    "interim": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"),
}
HTTP2 = {
    "frames": lambda stream: (frame(1, 4, stream, b"\x88"), frame(0, 0, stream, b"x")),
}
WEBSOCKET = {
    "pongs": (b"", b"\x8a\0"),
    "fragments": (b"\x02\0", b"\0\0"),
}


class Server:
    def __init__(self, words):
        self.words = words
        self.left = words.after
        self.lock = threading.Lock()

    def is_correct(self):
        """Whether the next response is a correct one."""
        with self.lock:
            self.left -= 1
            if self.left == -1 and self.words.mark:
                open(self.words.mark, "w").close()
            return self.left >= 0

    def serve(self, connection):
        try:
            if self.words.tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*self.words.tls)
                context.set_alpn_protocols(["h2" if self.words.kind in HTTP2 else "http/1.1"])
                connection = context.wrap_socket(connection, server_side=True)
            speak = self.http2 if self.words.kind in HTTP2 else self.http1
            speak(connection)
        except OSError:
            pass
        finally:
            connection.close()

    def http1(self, connection):
        while head := until(connection, b"\r\n\r\n"):
            lower = head.lower()
            if b"upgrade: websocket" in lower:
                return self.websocket(connection, head)
            is_last = b"connection: close" in lower
            if not is_last and not self.is_correct():
                return flood(connection, *HTTP1[self.words.kind])
            connection.sendall(CORRECT)
            if is_last:
                return None
        return None

    def websocket(self, connection, head):
        key = head.split(b"Sec-WebSocket-Key: ")[1].split(b"\r\n")[0]
        accept = base64.b64encode(hashlib.sha1(key + WEBSOCKET_KEY).digest())
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        )
        while start := exactly(connection, 6):
            length = start[1] & 127
            payload = exactly(connection, length)
            if start[0] & 15 == 8:
                return
            if not self.is_correct():
                flood(connection, *WEBSOCKET[self.words.kind])
            plain = bytes(byte ^ start[2 + place % 4] for place, byte in enumerate(payload))
            connection.sendall(bytes([start[0], length]) + plain)

    def http2(self, connection):
        exactly(connection, 24)
        connection.sendall(frame(4, 0, 0))
        while head := exactly(connection, 9):
            exactly(connection, int.from_bytes(head[:3], "big"))
            kind, flags, stream = struct.unpack(">BBI", head[3:])
            if kind == 4 and not flags & 1:
                connection.sendall(frame(4, 1, 0))
            if kind == 1 and not self.is_correct():
                flood(connection, *HTTP2[self.words.kind](stream))
            if kind == 1:
                connection.sendall(frame(1, 4, stream, b"\x88") + frame(0, 1, stream, b"hello"))


def flood(connection, begin, piece):
    connection.sendall(begin)
    pieces = piece * (1 + (1 << 20) // len(piece))
    while True:
        connection.sendall(pieces)


def until(connection, end):
    """All bytes up to an end, which is the last that came; nothing when the client closed."""
    got = b""
    while not got.endswith(end):
        more = connection.recv(65536)
        if not more:
            return b""
        got += more
    return got


def exactly(connection, count):
    got = b""
    while len(got) < count:
        more = connection.recv(count - len(got))
        if not more:
            raise OSError("the client closed")
        got += more
    return got


parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("kind", choices=[*HTTP1, *HTTP2, *WEBSOCKET])
parser.add_argument("--after", type=int, default=20)
parser.add_argument("--tls", nargs=2)
parser.add_argument("--mark")
server = Server(parser.parse_args())
listener = socket.create_server(("127.0.0.1", server.words.port), backlog=128)
while True:
    accepted, _ = listener.accept()
    threading.Thread(target=server.serve, args=(accepted,), daemon=True).start()
