"""A server over HTTP/1.1 with 5,000 threads that wait, and one that serves: `many_threads.py PORT`."""

import selectors
import socket
import sys
import threading

THREADS = 5_000
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

threading.stack_size(64 << 10)
never = threading.Event()
for _ in range(THREADS):
    threading.Thread(target=never.wait, daemon=True).start()

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128)
selector = selectors.DefaultSelector()
selector.register(listener, selectors.EVENT_READ)
while True:
    for key, _ in selector.select():
        if key.fileobj is listener:
            connection, _ = listener.accept()
            selector.register(connection, selectors.EVENT_READ)
            continue
        try:
            received = key.fileobj.recv(65_536)
            key.fileobj.sendall(RESPONSE * received.count(b"\r\n\r\n"))
        except OSError:
            received = b""
        if not received:
            selector.unregister(key.fileobj)
            key.fileobj.close()
