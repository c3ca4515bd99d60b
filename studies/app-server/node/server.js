// The blog on node's `cluster`: a supervisor, and processes with one event loop each.
// Usage: node server.js PORT PROCESSES DATABASE-FILE ENTRIES. A new database gets ENTRIES entries.
'use strict';
const cluster = require('node:cluster');
const fs = require('node:fs');
const http = require('node:http');
const openLibrary = require('sql.js');

const [port, processes, file, rows] = process.argv.slice(2);

async function create() {
  const database = new (await openLibrary()).Database();
  database.run('CREATE TABLE blog (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL)');
  for (let row = 1; row <= Number(rows); row++) {
    database.run('INSERT INTO blog VALUES (?, ?, ?)', [row, `Entry ${row}`, 'A row of the table.']);
  }
  fs.writeFileSync(file, database.export());
}

const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escape = (text) => text.replace(/[&<>"]/g, (one) => escapes[one]);
const row = ({ id, title, body }) => `  <tr>
    <td>${id}</td>
    <td>${escape(title)}</td>
    <td>${escape(body)}</td>
    <td><a href="/blog/show/${id}">Show</a></td>
  </tr>
`;
const page = (entries) => `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Blog: Index</title>
</head>
<body>

<h1>Listing Blog</h1>

<p>One row for each entry.</p>

<p><a href="/blog/entry">Create a new entry</a></p>

<table border="1" cellpadding="5" style="border: 1px solid #d0d0d0; border-collapse: collapse;">
  <tr>
    <th>ID</th>
    <th>Title</th>
    <th>Body</th>
    <th></th>
  </tr>
${entries.map(row).join('')}</table>
</body>
</html>`;

function entries(query) {
  const all = [];
  while (query.step()) all.push(query.getAsObject());
  query.reset();
  return all;
}

async function serve() {
  // SQLite in WebAssembly reads the file once and runs queries in memory.
  const database = new (await openLibrary()).Database(fs.readFileSync(file));
  const query = database.prepare('SELECT id, title, body FROM blog ORDER BY id');
  const actions = { 'blog/index': () => page(entries(query)) };
  const server = http.createServer((request, response) => {
    const path = request.url.split('?')[0].replace(/^\/+|\/+$/g, '').toLowerCase();
    const action = actions[path];
    const body = action ? action() : 'Not Found\n';
    response.writeHead(action ? 200 : 404, {
      'Content-Type': action ? 'text/html; charset=utf-8' : 'text/plain',
      'Content-Length': Buffer.byteLength(body),
    });
    response.end(body);
  });
  server.keepAliveTimeout = 65_000;
  server.listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 });
}

async function supervise() {
  await create();
  for (let started = 0; started < Number(processes); started++) cluster.fork();
  cluster.on('exit', () => cluster.fork());
}

if (cluster.isPrimary) supervise();
else serve();
