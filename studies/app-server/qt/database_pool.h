// Open connections to the database, each used by one thread at a time.
#pragma once

#include "qt.h"

class DatabasePool
{
public:
    explicit DatabasePool(const QString &file) : file(file) {}

    // Holds a connection during its lifetime.
    class Lease
    {
    public:
        explicit Lease(DatabasePool &pool) : pool(pool), connection(pool.take()) {}
        ~Lease() { pool.giveBack(connection); }
        Lease(const Lease &) = delete;
        Lease &operator=(const Lease &) = delete;
        const QSqlDatabase &database() const { return connection; }

    private:
        DatabasePool &pool;
        const QSqlDatabase connection;
    };

private:
    QSqlDatabase take();
    void giveBack(const QSqlDatabase &database);

    const QString file;
    QMutex mutex;
    QList<QSqlDatabase> idle;
    int opened = 0;
};
