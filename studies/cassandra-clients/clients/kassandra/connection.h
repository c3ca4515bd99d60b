/* A connection to a node of Cassandra, over Thrift. It belongs to the process that has
 * opened it. */
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

/* Which columns are wanted. */
struct Slice {
    std::string keyspace;
    std::string key;
    cassandra::ColumnParent parent;
    cassandra::ConsistencyLevel::type consistency;
};

class Connection {
public:
    /* Opens it. Throws what Thrift throws. */
    Connection(const std::string &host, int port);
    ~Connection();

    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;

    /* Whether this process has opened it; a fork of that must not use it. */
    bool is_own() const;

    /* Whether it is its own and the node has not closed it. */
    bool is_alive() const;

    /* Reads; what it answers is good until it reads again. Throws what Thrift throws. */
    const Columns &read(const Slice &slice);

private:
    const pid_t owner_;
    std::shared_ptr<apache::thrift::transport::TSocket> socket_;
    std::unique_ptr<cassandra::CassandraClient> client_;
    /* Which one the node has in mind for this connection. */
    std::string keyspace_;
    /* Lives here and not in `read`, since PHP may leave its caller by a jump. */
    Columns found_;
};

} // namespace kassandra

#endif
