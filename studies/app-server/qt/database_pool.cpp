#include "database_pool.h"

QSqlDatabase DatabasePool::take()
{
    QMutexLocker locker(&mutex);
    if (!idle.isEmpty()) {
        QSqlDatabase database = idle.takeLast();
        // A thread may only use a driver that it owns, and may only take one that no thread owns.
        database.driver()->moveToThread(QThread::currentThread());
        return database;
    }
    auto database = QSqlDatabase::addDatabase("QSQLITE", "pool-" + QString::number(opened++));
    database.setDatabaseName(file);
    if (!database.open()) {
        qFatal("cannot open the database: %s", qPrintable(database.lastError().text()));
    }
    return database;
}

void DatabasePool::giveBack(const QSqlDatabase &database)
{
    database.driver()->moveToThread(nullptr);
    QMutexLocker locker(&mutex);
    idle.append(database);
}
