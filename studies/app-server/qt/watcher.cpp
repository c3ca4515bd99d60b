#include "watcher.h"

#include <cerrno>
#include <cstdlib>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "connection.h"
#include "module.h"

namespace {

// One shot: only one thread has the connection until it is watched again.
constexpr uint32_t onceReadable = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT;

void acceptOne(int listener, int epoll)
{
    const int socket = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
        return; // Another process has accepted the connection, or the client is gone.
    }
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto *connection = new Connection(socket, epoll);
    epoll_event event{};
    event.events = onceReadable;
    event.data.ptr = connection;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event) != 0) {
        delete connection;
    }
}

} // namespace

void watch(int listener, Module &module)
{
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    // Exclusive: a new connection wakes only one process.
    event.events = EPOLLIN | EPOLLEXCLUSIVE;
    event.data.ptr = nullptr;
    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) != 0) {
        qFatal("cannot watch the listening socket");
    }
    epoll_event events[64];
    while (true) {
        const int count = epoll_wait(epoll, events, 64, -1);
        if (count < 0 && errno != EINTR) {
            qFatal("cannot wait");
        }
        for (int i = 0; i < count; ++i) {
            auto *connection = static_cast<Connection *>(events[i].data.ptr);
            if (connection == nullptr) {
                acceptOne(listener, epoll);
            } else {
                module.take(connection);
            }
        }
    }
}

void watchAgain(Connection *connection)
{
    epoll_event event{};
    event.events = onceReadable;
    event.data.ptr = connection;
    // SUBTLE: from here on, another thread may use the connection, and even delete it.
    if (epoll_ctl(connection->epoll, EPOLL_CTL_MOD, connection->socket, &event) != 0) {
        delete connection;
    }
}
