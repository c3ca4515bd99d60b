"""Fills a new node over CQL: a keyspace, a table of rows, a table of rows with super columns, and the
two rows in both. Then reads them for a while, because Java compiles code that runs often."""

import json
import os
import subprocess
import sys
from pathlib import Path

from cassandra.cluster import Cluster

STUDY = Path(__file__).parent.parent
sys.path.insert(0, str(STUDY / "python"))
from row import AsyncoreConnection, Client  # noqa: E402

READS = 500

SCHEMA = [
    "CREATE KEYSPACE clients WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE clients.standard (key text, column1 text, value text, PRIMARY KEY (key, column1))",
    "CREATE TABLE clients.super (key text, column1 text, column2 text, value text,"
    " PRIMARY KEY (key, column1, column2))",
]
INSERTS = {
    "standard": "INSERT INTO clients.standard (key, column1, value) VALUES (?, ?, ?)",
    "super": "INSERT INTO clients.super (key, column1, column2, value) VALUES (?, 'columns', ?, ?)",
}

php = f"echo json_encode(require '{STUDY}/pages/rows.php');"
rows = json.loads(subprocess.check_output(["php", "-n", "-r", php]))
port = int(os.environ["CASSANDRA_PORT"])
session = Cluster(["127.0.0.1"], port=port, protocol_version=4, connection_class=AsyncoreConnection).connect()
for statement in SCHEMA:
    session.execute(statement)
for family, text in INSERTS.items():
    insert = session.prepare(text)
    for key, row in rows.items():
        for name, value in row.items():
            session.execute(insert, (key, name, value))
client = Client()
for _ in range(READS):
    for family in INSERTS:
        for key, row in rows.items():
            if [tuple(one) for one in client.get_row(family, key)] != list(row.items()):
                sys.exit(f"{family}/{key} is not what was written")
