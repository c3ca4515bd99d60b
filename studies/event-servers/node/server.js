// One page for every path: `node server.js PORT PAGE chunked|length`.
'use strict';

const { readFileSync } = require('node:fs');
const { createServer } = require('node:http');

const [port, path, framing] = process.argv.slice(2);
const page = readFileSync(path);
const head = { 'Content-Type': 'text/html' };
// Without a length node sends the body in chunks.
if (framing === 'length') head['Content-Length'] = page.length;

const server = createServer((request, response) => {
  response.writeHead(200, head);
  response.end(page);
});
// Connections rest while the other servers have their turns.
server.keepAliveTimeout = 600_000;
server.listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 });
