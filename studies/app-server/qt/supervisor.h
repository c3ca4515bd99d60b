// Listens, starts the worker processes and starts those again that end.
#pragma once

#include "options.h"

// Returns when it was told to stop and its workers have ended.
int supervise(const Options &options);
