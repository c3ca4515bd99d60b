// Routes requests to controllers: `/Blog/index/` is the action `index` of the controller `blog`.
#pragma once

#include "database_pool.h"
#include "http.h"

class Application
{
public:
    explicit Application(const QString &databaseFile) : databases(databaseFile) {}

    // Thread-safe.
    Answer answer(const Request &request);

private:
    DatabasePool databases;
};
