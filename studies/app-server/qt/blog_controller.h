// The actions of the controller `blog`.
#pragma once

#include "http.h"

Answer blogIndex(const QSqlDatabase &database);
