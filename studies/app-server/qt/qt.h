// The headers of Qt, precompiled.
#ifndef QT_H
#define QT_H

#include <QByteArray>
#include <QList>
#include <QMutex>
#include <QMutexLocker>
#include <QSqlDatabase>
#include <QSqlDriver>
#include <QSqlError>
#include <QSqlQuery>
#include <QString>
#include <QThread>
#include <QThreadPool>
#endif
