// One body for every path: `node server.js PORT WORKERS plain|json`. WORKERS is the number of processes
// that share the port; with 0, this process serves alone. `json` responds to a POST of
// {"name":"World"} with the parsed name.
'use strict';

const cluster = require('node:cluster');
const { createServer } = require('node:http');

const [port, workers, kind] = process.argv.slice(2);

const send = (response, text) => {
  response.writeHead(200, { 'Content-Type': 'text/plain', 'Content-Length': text.length });
  response.end(text);
};

const plain = (request, response) => {
  send(response, request.url.startsWith('/Original') ? 'Hello World\n' : 'Hello World');
};

const json = (request, response) => {
  if (request.method !== 'POST') return plain(request, response);
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => send(response, `Hello ${JSON.parse(Buffer.concat(parts)).name}`));
};

const serve = () => {
  const server = createServer(kind === 'json' ? json : plain);
  // Connections are idle while abx loads the other servers.
  server.keepAliveTimeout = 600_000;
  server.listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 });
};

if (Number(workers) > 0 && cluster.isPrimary) {
  for (let worker = 0; worker < Number(workers); worker += 1) cluster.fork();
} else {
  serve();
}
