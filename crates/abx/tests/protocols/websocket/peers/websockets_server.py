"""A server by `websockets`: an echo that also does what some words ask for. With a
file's name, it adds the code of each close to that file, a line for each."""

import asyncio
import sys

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


async def talk(socket):
    try:
        async for message in socket:
            await answer(socket, message)
    except ConnectionClosed:
        pass
    await socket.wait_closed()
    for name in sys.argv[1:]:
        with open(name, "a") as closes:
            print(socket.close_code, file=closes)


async def answer(socket, message):
    if message == "close":
        await socket.close(4001, "as asked")
    elif message == "ping":
        answered = await socket.ping("there")
        await answered
        await socket.send("pong there")
    elif message == "pieces":
        await socket.send(["in ", "pieces"])
    else:
        await socket.send(message)


def choose(_, offered):
    return "second" if "second" in offered else None


async def main():
    async with serve(
        talk, "127.0.0.1", 0, max_size=2_000_000, select_subprotocol=choose
    ) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


asyncio.run(main())
