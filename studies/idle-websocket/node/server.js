// An echo over WebSocket by `ws`, at every path: `node server.js PORT`.
'use strict';
const { createServer } = require('node:http');
const { WebSocketServer } = require('ws');

const server = createServer();
// Without extensions and with messages of at most 16 MiB, as the other servers here.
const sockets = new WebSocketServer({ server, maxPayload: 16 << 20, perMessageDeflate: false });
sockets.on('connection', (socket) => {
  socket.on('error', () => {});
  socket.on('message', (payload, binary) => socket.send(payload, { binary }));
});
server.listen({ port: Number(process.argv[2]), host: '127.0.0.1', backlog: 4096 });
