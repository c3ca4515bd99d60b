"""Answers every request with what arrived, as a line of JSON: 404 below /missing. What is Base64
or a form is read by Python's own libraries."""

import base64
import email
import email.policy
import http.server
import json
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        said = {
            "method": self.command,
            "path": self.path,
            "who": self.who(),
            "cookies": self.headers.get_all("Cookie"),
            "type": self.headers.get_content_type() if body else None,
            "more": self.headers.get_all("X-More"),
            "body": body.hex(),
        }
        if said["type"] == "multipart/form-data":
            said["parts"] = self.parts(body)
        answer = (json.dumps(said, sort_keys=True) + "\n").encode()
        with open(LOG, "ab") as log:
            log.write(answer)
        self.send_response(404 if self.path.startswith("/missing") else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = answer

    def who(self):
        scheme, _, text = self.headers.get("Authorization", "").partition(" ")
        if scheme == "Basic":
            text = base64.b64decode(text, validate=True).decode()
        return f"{scheme} {text}".strip()

    def parts(self, body):
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        form = email.message_from_bytes(head + body, policy=email.policy.HTTP)
        assert not form.defects, form.defects
        return [
            [
                part.get_param("name", header="content-disposition"),
                part.get_filename(),
                part.get_content_type(),
                part.get_payload(decode=True).hex(),
            ]
            for part in form.iter_parts()
        ]

    def log_message(self, *_):
        pass


LOG = sys.stdin.readline().strip()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
