/* A connection to a node of Cassandra over Thrift. It belongs to the process that opened it. */
#ifndef KASSANDRA_CONNECTION_H
#define KASSANDRA_CONNECTION_H

#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>

#include "gen-cpp/Cassandra.h"

namespace kassandra {

using Columns = std::vector<cassandra::ColumnOrSuperColumn>;

/* The requested columns. */
struct Slice {
    std::string keyspace;
    std::string key;
    cassandra::ColumnParent parent;
    cassandra::ConsistencyLevel::type consistency;
};

class Connection {
public:
    /* Opens the connection. Throws Thrift's exceptions. */
    Connection(const std::string &host, int port);
    ~Connection();

    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;

    /* Whether this process opened the connection. A fork of that process must not use it. */
    bool is_own() const;

    /* Whether this process opened the connection and the node has not closed it. */
    bool is_alive() const;

    /* Reads columns, which stay valid until the next read. Throws Thrift's exceptions. */
    const Columns &read(const Slice &slice);

private:
    const pid_t owner_;
    std::shared_ptr<apache::thrift::transport::TSocket> socket_;
    std::unique_ptr<cassandra::CassandraClient> client_;
    /* The keyspace that the node uses for this connection. */
    std::string keyspace_;
    /* Not local to `read`, because PHP may leave its caller by a jump. */
    Columns found_;
};

} // namespace kassandra

#endif
