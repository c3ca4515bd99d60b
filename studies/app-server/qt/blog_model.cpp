#include "blog_model.h"

#include <QFile>
#include <QVariant>

QList<BlogEntry> allEntries(const QSqlDatabase &database)
{
    QSqlQuery query(database);
    query.setForwardOnly(true);
    if (!query.exec("SELECT id, title, body FROM blog ORDER BY id")) {
        qFatal("cannot read the entries: %s", qPrintable(query.lastError().text()));
    }
    QList<BlogEntry> entries;
    while (query.next()) {
        entries.append({query.value(0).toInt(), query.value(1).toString(), query.value(2).toString()});
    }
    return entries;
}

namespace {

void run(QSqlQuery &query, const QString &words)
{
    if (!query.exec(words)) {
        qFatal("cannot create the database: %s", qPrintable(query.lastError().text()));
    }
}

} // namespace

void createBlog(const QString &file, int rows)
{
    if (QFile::exists(file)) {
        return;
    }
    {
        auto database = QSqlDatabase::addDatabase("QSQLITE", "create");
        database.setDatabaseName(file);
        if (!database.open()) {
            qFatal("cannot create %s: %s", qPrintable(file), qPrintable(database.lastError().text()));
        }
        QSqlQuery query(database);
        run(query, "CREATE TABLE blog (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL)");
        run(query, "BEGIN");
        for (int row = 1; row <= rows; ++row) {
            run(query, QString("INSERT INTO blog VALUES (%1, 'Entry %1', 'A row of the table.')").arg(row));
        }
        run(query, "COMMIT");
    }
    QSqlDatabase::removeDatabase("create");
}
