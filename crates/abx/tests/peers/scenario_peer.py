"""A shop with a login, which writes down what it answers: the path without its number, and the
status. A session has a cookie, a form's field, a token and a path of its own, and whoever
mixes them up is refused. A login takes as many milliseconds as the first argument says."""

import http.server
import itertools
import json
import re
import sys
import threading
import time

lock = threading.Lock()
sessions = itertools.count(1)
asked = {"/flaky": itertools.count(), "/odd": itertools.count()}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, answer = self.decide(body)
        answer = answer.encode()
        with lock, open(LOG, "a") as log:
            kind = re.sub(r"[0-9]+$", "N", self.path)
            log.write(json.dumps([kind, status, self.headers.get("X-Session")]) + "\n")
        head = [("Content-Length", str(len(answer)))] + headers
        lines = [f"HTTP/1.1 {status} X"] + [f"{name}: {value}" for name, value in head]
        self.wfile.write("\r\n".join(lines + ["", ""]).encode() + answer)
        if ("Connection", "close") in headers:
            self.close_connection = True

    do_GET = do_POST = do_PUT = answer

    def decide(self, body):
        if self.path == "/form":
            number = next(sessions)
            cookies = [("Set-Cookie", "theme=dark"), ("Set-Cookie", f"sid={number}; Path=/")]
            field = f'<form><input name="csrf" value="c{number}"></form>'
            return 200, cookies, field
        if self.path == "/login":
            time.sleep(LOGIN_S)
            said = json.loads(body)
            sid = re.search(r"\bsid=([0-9]+)", self.headers.get("Cookie", ""))
            if not sid or said["csrf"] != "c" + sid[1] or said["password"] != "secret":
                return 403, [], "{}"
            where = f"http://{self.headers['Host']}/users/{sid[1]}"
            token = json.dumps({"data": {"token": f"t{sid[1]}", "name": said["name"]}})
            return 200, [("Location", where), ("Connection", "close")], token
        if self.path.startswith("/users/"):
            right = "Bearer t" + self.path.removeprefix("/users/")
            return (200 if self.headers.get("Authorization") == right else 401), [], "{}"
        if self.path in asked:
            with lock:
                is_bad = next(asked[self.path]) % 3 == 2
            if self.path == "/flaky":
                return (500 if is_bad else 200), [], "{}"
            return 200, [("X-Is-Bad", str(is_bad))], "{}" if is_bad else '{"id": 7}'
        return 404, [], "{}"

    def log_message(self, *_):
        pass


class Shop(http.server.ThreadingHTTPServer):
    request_queue_size = 128


LOGIN_S = int(sys.argv[1]) / 1e3 if len(sys.argv) > 1 else 0
LOG = sys.stdin.readline().strip()
server = Shop(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
