// Decides which thread responds. The two modules differ in nothing else.
#pragma once

#include <memory>

#include "application.h"
#include "connection.h"
#include "options.h"

class Module
{
public:
    virtual ~Module() = default;
    // Takes a connection that is readable.
    virtual void take(Connection *connection) = 0;
};

std::unique_ptr<Module> makeModule(const Options &options, Application &application);
