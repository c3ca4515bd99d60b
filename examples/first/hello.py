"""A small server: GET / responds with a greeting. It logs every request unless --quiet.

Usage: hello.py PORT [--quiet]
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hello(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # Keeps connections open.
    wbufsize = -1  # Sends head and body together.

    def do_GET(self):
        body = b"Hello\n"
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        if "--quiet" not in sys.argv:
            super().log_message(*arguments)


ThreadingHTTPServer.request_queue_size = 128  # The default, 5, is too small for 50 connections.
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Hello).serve_forever()
