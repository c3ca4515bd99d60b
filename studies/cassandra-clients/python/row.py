"""The page as a WSGI application, with Cassandra's Python driver over CQL. Each process opens its own
session for its first page."""

import os
import time
from html import escape
from urllib.parse import parse_qs

from cassandra.cluster import Cluster
# The only event loop that the driver has both with and without compiled parts.
from cassandra.io.asyncorereactor import AsyncoreConnection

QUERIES = {
    "standard": "SELECT column1, value FROM clients.standard WHERE key = ?",
    "super": "SELECT column2, value FROM clients.super WHERE key = ? AND column1 = 'columns'",
}

PAGE = """<!DOCTYPE html>
<html>
<head><title>{title}</title></head>
<body>
<table>
{lines}</table>
</body>
</html>
"""


class Client:
    def __init__(self):
        port = int(os.environ["CASSANDRA_PORT"])
        self.cluster = Cluster(
            ["127.0.0.1"], port=port, protocol_version=4, connection_class=AsyncoreConnection
        )
        self.session = self.cluster.connect()
        self.queries = {name: self.session.prepare(text) for name, text in QUERIES.items()}

    def get_row(self, family, key):
        return self.session.execute(self.queries[family], (key,))


client = None


def application(environ, start_response):
    global client
    began = time.perf_counter()
    asked = parse_qs(environ["QUERY_STRING"])
    family, key = asked["family"][0], asked["row"][0]
    client = client or Client()
    connected = time.perf_counter()
    row = client.get_row(family, key)
    got = time.perf_counter()
    lines = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>\n" for name, value in row
    )
    page = PAGE.format(title=escape(key), lines=lines).encode()
    marks = {"connect": connected - began, "get_row": got - connected, "render": time.perf_counter() - got}
    timing = ", ".join(f"{name};dur={span * 1e3:.3f}" for name, span in marks.items())
    headers = [
        ("Content-Type", "text/html; charset=UTF-8"),
        ("Content-Length", str(len(page))),
        ("Server-Timing", timing),
    ]
    start_response("200 OK", headers)
    return [page]
