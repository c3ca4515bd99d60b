"""The blog: a page from SQLite, as a WSGI application.

BLOG_DATABASE is the database file, and BLOG_ROWS the number of entries of a new one."""

import html
import os
import sqlite3
import string
import threading

DATABASE = os.environ["BLOG_DATABASE"]
ROWS = int(os.environ.get("BLOG_ROWS", "0"))
HERE = os.path.dirname(os.path.abspath(__file__))


def template(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as text:
        return text.read()


ROW = string.Template(template("row.html"))
PAGE = string.Template(template("index.html").rstrip())

# Each thread has its own connection.
threads = threading.local()


def create():
    """Creates the database. The first process does so, and the others wait."""
    with sqlite3.connect(DATABASE, timeout=30, isolation_level=None) as database:
        database.execute("BEGIN IMMEDIATE")
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'blog'").fetchone():
            database.execute(
                "CREATE TABLE blog (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL)"
            )
            for row in range(1, ROWS + 1):
                entry = (row, f"Entry {row}", "A row of the table.")
                database.execute("INSERT INTO blog VALUES (?, ?, ?)", entry)
        database.execute("COMMIT")


def entries():
    if not hasattr(threads, "database"):
        threads.database = sqlite3.connect(DATABASE)
    return threads.database.execute("SELECT id, title, body FROM blog ORDER BY id").fetchall()


def index():
    rows = [
        ROW.substitute(id=id, title=html.escape(title), body=html.escape(body))
        for id, title, body in entries()
    ]
    return PAGE.substitute(rows="".join(rows)).encode()


ACTIONS = {"blog/index": index}


def application(environ, start_response):
    action = ACTIONS.get(environ["PATH_INFO"].strip("/").lower())
    if action is None:
        status, type, body = "404 Not Found", "text/plain", b"Not Found\n"
    else:
        status, type, body = "200 OK", "text/html; charset=utf-8", action()
    start_response(status, [("Content-Type", type), ("Content-Length", str(len(body)))])
    return [body]


create()
