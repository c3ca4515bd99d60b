"""An HTTP server of one worker under a supervisor that starts it again some time after its end.

supervisor.py PORT DELAY_S LOGS. The worker takes the port itself, so that connections are refused
while there is none. It writes when it has answered each request, in ns of the monotonic clock, to
a file in LOGS that is named after its supervisor and itself.
"""
import os, signal, socket, sys, threading, time

port, delay, logs = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

def serve(connection, log):
    data = b""
    while True:
        got = connection.recv(65536)
        if not got:
            return
        data += got
        while b"\r\n\r\n" in data:
            _, data = data.split(b"\r\n\r\n", 1)
            connection.sendall(ANSWER)
            os.write(log, b"%d\n" % time.monotonic_ns())

def work():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(1024)
    path = os.path.join(logs, "%d-%d" % (os.getppid(), os.getpid()))
    log = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection, log), daemon=True).start()

def start():
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        work()
    return child

child = start()
def stop(*_):
    os.kill(child, signal.SIGTERM)
    os._exit(0)
signal.signal(signal.SIGTERM, stop)
while True:
    os.wait()
    time.sleep(delay)
    child = start()
