"""A client by `websockets`: checks an echo and a chat room, and says "ok" when all is right."""

import sys

from websockets.sync.client import connect

base = sys.argv[1]


def open_at(path):
    socket = connect(base + path, subprotocols=["first", "second"], max_size=None)
    assert socket.subprotocol == "first", socket.subprotocol
    return socket


echo = open_at("/echo")
for length in [0, 1, 125, 126, 65535, 65536, 70000, 3000000]:
    payload = (b"abcdefghijklm" * (length // 13 + 1))[:length]
    echo.send(payload)
    assert echo.recv() == payload, f"binary of {length}"
    echo.send(payload.decode())
    assert echo.recv() == payload.decode(), f"text of {length}"
echo.send(["grü", "", "ße"])
assert echo.recv() == "grüße"
assert echo.ping("are you there").wait(60)

speaker = open_at("/chat/room")
listener = open_at("/chat/room")
speaker.send("to all")
assert speaker.recv() == "to all"
assert listener.recv() == "to all"

for socket in [echo, speaker, listener]:
    socket.close(4000, "done")
    assert socket.close_code == 4000, socket.close_code
print("ok")
