// Waits for connections and requests by epoll, and hands them to a module.
#pragma once

class Module;

// Accepts connections at the listening socket; never returns.
[[noreturn]] void watch(int listener, Module &module);

// Waits again for what else comes over a connection.
struct Connection;
void watchAgain(Connection *connection);
