// A connection, and the bytes of a request that have arrived.
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

// Responds to the requests that have arrived, then watches the connection again or closes it.
void serve(Connection *connection, Application &application);
