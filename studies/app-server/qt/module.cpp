#include "module.h"

#include <QSemaphore>

namespace {

// Starts a thread per request, which ends after the response.
class ThreadModule : public Module
{
public:
    ThreadModule(int threads, Application &application) : free(threads), application(application) {}

    void take(Connection *connection) override
    {
        // If no thread is free, the process and all other requests wait.
        free.acquire();
        deleteEnded();
        QThread *thread = QThread::create([this, connection] { serve(connection, application); });
        QObject::connect(thread, &QThread::finished, thread, [this, thread] {
            {
                QMutexLocker locker(&mutex);
                ended.append(thread);
            }
            free.release();
        }, Qt::DirectConnection);
        thread->start();
    }

private:
    // A thread cannot delete itself.
    void deleteEnded()
    {
        QList<QThread *> threads;
        {
            QMutexLocker locker(&mutex);
            threads.swap(ended);
        }
        for (QThread *thread : threads) {
            thread->wait();
            delete thread;
        }
    }

    QSemaphore free;
    QMutex mutex;
    QList<QThread *> ended;
    Application &application;
};

// Lasting threads take one request after another.
class EpollModule : public Module
{
public:
    EpollModule(int threads, Application &application) : application(application)
    {
        pool.setMaxThreadCount(threads);
        pool.setExpiryTimeout(-1);
    }

    void take(Connection *connection) override
    {
        pool.start([this, connection] { serve(connection, application); });
    }

private:
    QThreadPool pool;
    Application &application;
};

} // namespace

std::unique_ptr<Module> makeModule(const Options &options, Application &application)
{
    if (options.module == "thread") {
        return std::make_unique<ThreadModule>(options.threads, application);
    }
    return std::make_unique<EpollModule>(options.threads, application);
}
