// The same server with express: `node express.js PORT WORKERS`.
'use strict';

const cluster = require('node:cluster');
const express = require('express');

const [port, workers] = process.argv.slice(2);

const serve = () => {
  const app = express();
  // The other servers do not send these headers.
  app.disable('etag');
  app.disable('x-powered-by');
  app.all('/Original.ashx', (request, response) => response.type('text/plain').send('Hello World\n'));
  app.all('/Handler.ashx', (request, response) => response.type('text/plain').send('Hello World'));
  const server = app.listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 });
  server.keepAliveTimeout = 600_000;
};

if (Number(workers) > 0 && cluster.isPrimary) {
  for (let worker = 0; worker < Number(workers); worker += 1) cluster.fork();
} else {
  serve();
}
