#include "connection.h"

#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

#include <thrift/protocol/TBinaryProtocol.h>

namespace kassandra {

using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TSocket;

/* A node that takes longer counts as gone. */
static const int TIMEOUT_MS = 10 * 1000;

/* More columns than any row of this study has. */
static const int COLUMNS_MAX = 10 * 1000;

Connection::Connection(const std::string &host, int port)
    : owner_(getpid()), socket_(std::make_shared<TSocket>(host, port))
{
    socket_->setConnTimeout(TIMEOUT_MS);
    socket_->setSendTimeout(TIMEOUT_MS);
    socket_->setRecvTimeout(TIMEOUT_MS);
    /* Thrift would reset the connection. PHP closes its own sockets in this way. */
    socket_->setLinger(false, 0);
    auto framed = std::make_shared<TFramedTransport>(socket_);
    client_ = std::make_unique<cassandra::CassandraClient>(
        std::make_shared<TBinaryProtocol>(framed));
    framed->open();
}

Connection::~Connection()
{
    if (is_own())
        return;
    /* SUBTLE: TSocket shuts its connection down before it closes it, which would break it for the
     * process that opened it and still uses it. So this copy is only closed, and its TSocket is
     * never destroyed. */
    ::close(socket_->getSocketFD());
    new std::shared_ptr<TSocket>(socket_);
}

bool Connection::is_own() const
{
    return owner_ == getpid();
}

bool Connection::is_alive() const
{
    if (!is_own())
        return false;
    /* A node sends nothing between two requests, so an end or a byte means a broken connection. */
    char byte;
    ssize_t got = recv(socket_->getSocketFD(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == -1 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

const Columns &Connection::read(const Slice &slice)
{
    if (keyspace_ != slice.keyspace) {
        client_->set_keyspace(slice.keyspace);
        keyspace_ = slice.keyspace;
    }
    cassandra::SliceRange all;
    all.__set_count(COLUMNS_MAX);
    cassandra::SlicePredicate predicate;
    predicate.__set_slice_range(all);
    client_->get_slice(found_, slice.key, slice.parent, predicate, slice.consistency);
    return found_;
}

} // namespace kassandra
