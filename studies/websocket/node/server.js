// WebSocket with `ws`: `node server.js PORT`. Serves `/echo` and `/chat/ROOM` like
// `abx serve --websocket`.
'use strict';

const { createServer } = require('node:http');
const { WebSocketServer } = require('ws');

const MESSAGE_BYTES_MAX = 16 << 20;
// The server closes a member's connection if more bytes wait for it.
const LISTENER_BYTES_MAX = 4 << 20;

const rooms = new Map();
// No extensions, like the other servers of this study.
const sockets = new WebSocketServer({
  noServer: true,
  maxPayload: MESSAGE_BYTES_MAX,
  perMessageDeflate: false,
});

function roomOf(url) {
  const [, room] = /^\/chat\/([^?]+)/.exec(url) ?? [];
  return room;
}

function echo(socket) {
  socket.on('message', (payload, binary) => {
    // Reads no more from a client until it has taken its response.
    socket.pause();
    socket.send(payload, { binary }, () => socket.resume());
  });
}

function chat(socket, room) {
  const members = rooms.get(room) ?? new Set();
  rooms.set(room, members.add(socket));
  const leave = (member) => {
    members.delete(member);
    if (members.size === 0 && rooms.get(room) === members) rooms.delete(room);
  };
  socket.on('close', () => leave(socket));
  socket.on('message', (payload, binary) => {
    for (const member of members) {
      if (member.bufferedAmount > LISTENER_BYTES_MAX) {
        leave(member);
        member.close(1008, 'messages are read too slowly');
      } else {
        member.send(payload, { binary });
      }
    }
  });
}

const server = createServer((request, response) => {
  const room = roomOf(request.url);
  response.statusCode = room === undefined ? 404 : 200;
  response.end(room === undefined ? 'Not Found\n' : `${rooms.get(room)?.size ?? 0}\n`);
});
server.on('upgrade', (request, stream, head) => {
  const room = roomOf(request.url);
  if (room === undefined && !/^\/echo(\?|$)/.test(request.url)) {
    stream.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    return;
  }
  sockets.handleUpgrade(request, stream, head, (socket) => {
    // `ws` itself closes connections that break the protocol, with the code of the violation.
    socket.on('error', () => {});
    if (room === undefined) echo(socket);
    else chat(socket, room);
  });
});
server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4096 });
