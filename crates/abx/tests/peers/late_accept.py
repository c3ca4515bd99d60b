"""An HTTP server that accepts one connection in a turn, beside all requests that are there.

late_accept.py PORT. While nobody asks anything, all connections are accepted in no time; under
load, those that are not accepted yet wait for one turn each, as with node 20.
"""

import select
import socket
import sys
import time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
REQUESTS_MAX = 1024

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=4096)
listener.setblocking(False)
poll = select.epoll()
poll.register(listener, select.EPOLLIN)
open_ones = {}
while True:
    for number, _ in poll.poll(maxevents=REQUESTS_MAX):
        if number == listener.fileno():
            try:
                one, _ = listener.accept()
            except BlockingIOError:
                continue
            # Slower than connections are made.
            time.sleep(0.0005)
            open_ones[one.fileno()] = one
            poll.register(one, select.EPOLLIN)
            continue
        one = open_ones[number]
        try:
            whole = one.recv(65536)
            if whole:
                one.sendall(ANSWER * whole.count(b"\r\n\r\n"))
                continue
        except ConnectionError:
            pass
        del open_ones[number]
        one.close()
