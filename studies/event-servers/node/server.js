// One page for every path: `node server.js PORT PAGE`.
'use strict';

const { readFileSync } = require('node:fs');
const { createServer } = require('node:http');

const [port, path] = process.argv.slice(2);
const page = readFileSync(path);

// Without a length, node sends the body in chunks.
const server = createServer((request, response) => {
  response.writeHead(200, { 'Content-Type': 'text/html' });
  response.end(page);
});
// Connections are idle while abx loads the other servers.
server.keepAliveTimeout = 600_000;
server.listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 });
