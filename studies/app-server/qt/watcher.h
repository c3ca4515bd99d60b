// Waits for connections and requests with epoll, and hands them to a module.
#pragma once

class Module;

// Accepts connections at the listening socket; never returns.
[[noreturn]] void watch(int listener, Module &module);

// Waits for the next bytes of a connection.
struct Connection;
void watchAgain(Connection *connection);
