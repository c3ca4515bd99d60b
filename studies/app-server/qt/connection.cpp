#include "connection.h"

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "application.h"
#include "http.h"
#include "watcher.h"

namespace {

constexpr qsizetype mostBytes = 1 << 20;

// Appends all available bytes. Returns false if the client has closed or sends too much.
bool readAll(Connection &connection)
{
    char piece[4096];
    while (connection.arrived.size() < mostBytes) {
        const ssize_t count = recv(connection.socket, piece, sizeof piece, 0);
        if (count > 0) {
            connection.arrived.append(piece, count);
            if (count < ssize_t(sizeof piece)) {
                return true;
            }
        } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
            return false;
        } else if (errno == EAGAIN) {
            return true;
        }
    }
    return false;
}

// Returns false if the client is gone, or reads nothing for ten seconds.
bool writeAll(int socket, const QByteArray &bytes)
{
    qsizetype written = 0;
    while (written < bytes.size()) {
        const ssize_t count =
            send(socket, bytes.constData() + written, bytes.size() - written, MSG_NOSIGNAL);
        if (count >= 0) {
            written += count;
        } else if (errno == EAGAIN) {
            pollfd writable{socket, POLLOUT, 0};
            if (poll(&writable, 1, 10'000) <= 0) {
                return false;
            }
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

// Returns whether the connection stays open.
bool answerAll(Connection &connection, Application &application)
{
    while (true) {
        Request request;
        switch (takeRequest(connection.arrived, request)) {
        case Arrival::Part:
            return true;
        case Arrival::Wrong:
            writeAll(connection.socket, toBytes({400, "Bad Request\n", "text/plain"}, request));
            return false;
        case Arrival::Whole:
            if (!writeAll(connection.socket, toBytes(application.answer(request), request))
                || !request.keepsConnection) {
                return false;
            }
        }
    }
}

} // namespace

Connection::~Connection()
{
    close(socket);
}

void serve(Connection *connection, Application &application)
{
    if (readAll(*connection) && answerAll(*connection, application)) {
        watchAgain(connection);
    } else {
        delete connection;
    }
}
