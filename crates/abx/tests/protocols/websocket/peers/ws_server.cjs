// A server by `ws`: an echo that also does what some words ask for.
const { WebSocketServer } = require("ws");

const server = new WebSocketServer({
  host: "127.0.0.1",
  port: 0,
  maxPayload: 2_000_000,
  handleProtocols: (offered) => (offered.has("second") ? "second" : false),
});
server.on("listening", () => console.log(server.address().port));
server.on("connection", (socket) => {
  socket.on("error", () => {});
  socket.on("pong", (payload) => socket.send(`pong ${payload}`));
  socket.on("message", (data, isBinary) => {
    switch (isBinary ? "" : data.toString()) {
      case "close":
        return socket.close(4001, "as asked");
      case "ping":
        return socket.ping("there");
      case "pieces":
        socket.send("in ", { fin: false });
        return socket.send("pieces", { fin: true });
      default:
        return socket.send(data, { binary: isBinary });
    }
  });
});
