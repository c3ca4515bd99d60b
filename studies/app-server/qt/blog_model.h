// The entries of the blog.
#pragma once

#include "qt.h"

struct BlogEntry {
    int id = 0;
    QString title;
    QString body;
};

// Returns all entries in order of their ids.
QList<BlogEntry> allEntries(const QSqlDatabase &database);

// Creates a database with this many entries, unless the file exists.
void createBlog(const QString &file, int rows);
