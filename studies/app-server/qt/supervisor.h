// Listens, starts the worker processes, and restarts those that end.
#pragma once

#include "options.h"

// Returns after a signal to stop, when its workers have ended.
int supervise(const Options &options);
