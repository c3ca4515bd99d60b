// How the application was started.
#pragma once

#include "qt.h"

struct Options {
    quint16 port = 0;
    int processes = 1;
    int threads = 20;
    QString module;
    QString database;
    int rows = 0;
    // The listening socket that a worker process was handed; none in the supervisor.
    int listener = -1;
};
