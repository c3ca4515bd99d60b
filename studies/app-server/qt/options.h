// The options of the command line.
#pragma once

#include "qt.h"

struct Options {
    quint16 port = 0;
    int processes = 1;
    int threads = 20;
    QString module;
    QString database;
    int rows = 0;
    // The listening socket of a worker process; -1 in the supervisor.
    int listener = -1;
};
