"""WebSocket with `websockets`: `python3 server.py PORT`. Serves `/echo` and `/chat/ROOM` like
`abx serve --websocket`."""

import asyncio
import sys
from http import HTTPStatus
from urllib.parse import urlsplit

from websockets.asyncio.server import broadcast, serve
from websockets.exceptions import ConnectionClosed

MESSAGE_BYTES_MAX = 16 << 20
# The server closes a member's connection if more bytes wait for it.
LISTENER_BYTES_MAX = 4 << 20

rooms = {}
# Background tasks, which need a reference until they end.
closing = set()


def room_of(request):
    path = urlsplit(request.path).path
    room = path.removeprefix("/chat/")
    return room if room not in (path, "") else None


def answer(connection, request):
    """Responds to requests for no WebSocket, or for one at an unknown path."""
    room = room_of(request)
    asks = request.headers.get("Upgrade", "").lower() == "websocket"
    if room is None and urlsplit(request.path).path != "/echo":
        return connection.respond(HTTPStatus.NOT_FOUND, "Not Found\n")
    if room is not None and not asks:
        return connection.respond(HTTPStatus.OK, f"{len(rooms.get(room, ()))}\n")
    return None


async def talk(connection):
    room = room_of(connection.request)
    try:
        await (echo(connection) if room is None else chat(connection, room))
    except ConnectionClosed:
        pass


async def echo(connection):
    async for message in connection:
        await connection.send(message)


async def chat(connection, room):
    members = rooms.setdefault(room, set())
    members.add(connection)
    try:
        async for message in connection:
            for member in [one for one in members if is_slow(one)]:
                members.discard(member)
                dismiss(member)
            broadcast(members, message)
    finally:
        members.discard(connection)
        if not members and rooms.get(room) is members:
            del rooms[room]


def is_slow(member):
    return member.transport.get_write_buffer_size() > LISTENER_BYTES_MAX


def dismiss(member):
    task = asyncio.create_task(member.close(1008, "messages are read too slowly"))
    closing.add(task)
    task.add_done_callback(closing.discard)


async def main():
    # No extensions and no pings, like the other servers of this study.
    async with serve(
        talk,
        "127.0.0.1",
        int(sys.argv[1]),
        backlog=4096,
        compression=None,
        max_size=MESSAGE_BYTES_MAX,
        ping_interval=None,
        process_request=answer,
        select_subprotocol=lambda _, offered: offered[0] if offered else None,
    ) as server:
        await server.serve_forever()


asyncio.run(main())
