// Echoes WebSocket messages at every path, with `ws`: `node server.js PORT`.
'use strict';
const { createServer } = require('node:http');
const { WebSocketServer } = require('ws');

const server = createServer();
// No extensions, and messages of at most 16 MiB, like the other servers of this study.
const sockets = new WebSocketServer({ server, maxPayload: 16 << 20, perMessageDeflate: false });
sockets.on('connection', (socket) => {
  socket.on('error', () => {});
  socket.on('message', (payload, binary) => socket.send(payload, { binary }));
});
server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4096 });
