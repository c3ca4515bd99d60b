// A client by `ws`: checks an echo and a chat room, and says "ok" when all is right.
const assert = require("node:assert/strict");
const { once } = require("node:events");
const { WebSocket } = require("ws");

const base = process.argv[2];

async function open(path) {
  const socket = new WebSocket(base + path, ["first", "second"]);
  const heard = [];
  const waiting = [];
  socket.on("message", (data, isBinary) => {
    const message = isBinary ? data : data.toString();
    const next = waiting.shift();
    next ? next(message) : heard.push(message);
  });
  await once(socket, "open");
  assert.equal(socket.protocol, "first");
  const hear = () =>
    heard.length ? Promise.resolve(heard.shift()) : new Promise((done) => waiting.push(done));
  return { socket, hear };
}

async function main() {
  const echo = await open("/echo");
  for (const length of [0, 1, 125, 126, 65535, 65536, 70000, 3000000]) {
    const bytes = Buffer.alloc(length, "abcdefghijklm");
    echo.socket.send(bytes);
    assert.ok(bytes.equals(await echo.hear()), `binary of ${length}`);
    echo.socket.send(bytes.toString());
    assert.equal(await echo.hear(), bytes.toString());
  }
  echo.socket.send("grü", { fin: false });
  echo.socket.ping("are you there");
  echo.socket.send("ße", { fin: true });
  const [payload] = await once(echo.socket, "pong");
  assert.equal(payload.toString(), "are you there");
  assert.equal(await echo.hear(), "grüße");

  const speaker = await open("/chat/room");
  const listener = await open("/chat/room");
  speaker.socket.send("to all");
  assert.equal(await speaker.hear(), "to all");
  assert.equal(await listener.hear(), "to all");

  for (const { socket } of [echo, speaker, listener]) {
    socket.close(4000, "done");
    const [code] = await once(socket, "close");
    assert.equal(code, 4000);
  }
  console.log("ok");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
