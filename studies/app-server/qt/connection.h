// A connection, and what has arrived of a request.
#pragma once

#include "qt.h"

class Application;

struct Connection {
    Connection(int socket, int epoll) : socket(socket), epoll(epoll) {}
    ~Connection();
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;

    const int socket;
    const int epoll;
    QByteArray arrived;
};

// Answers the requests that have arrived; afterwards the connection is watched again,
// or it is closed.
void serve(Connection *connection, Application &application);
