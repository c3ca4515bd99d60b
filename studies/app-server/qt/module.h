// Who answers: the only thing in which the two modules differ.
#pragma once

#include <memory>

#include "application.h"
#include "connection.h"
#include "options.h"

class Module
{
public:
    virtual ~Module() = default;
    // Takes a connection over which something has arrived.
    virtual void take(Connection *connection) = 0;
};

std::unique_ptr<Module> makeModule(const Options &options, Application &application);
