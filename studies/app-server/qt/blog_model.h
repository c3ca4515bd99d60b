// The entries of the blog.
#pragma once

#include "qt.h"

struct BlogEntry {
    int id = 0;
    QString title;
    QString body;
};

// All entries, in their order.
QList<BlogEntry> allEntries(const QSqlDatabase &database);

// A database with this many entries, unless the file is there already.
void createBlog(const QString &file, int rows);
