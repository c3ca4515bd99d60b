#include "supervisor.h"

#include <QCoreApplication>
#include <QHostAddress>
#include <QTcpServer>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Worker {
    pid_t pid = 0;
    Clock::time_point startedAt;
    Clock::time_point dueAt;
};

// A worker that ends sooner is started again only after this time.
constexpr auto shortLife = std::chrono::seconds(1);

[[noreturn]] void becomeWorker(const Options &options, int listener, pid_t supervisor)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // Workers end with the supervisor, because no process would start them again.
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != supervisor) {
        _exit(0);
    }
    fcntl(listener, F_SETFD, 0);
    const QList<QByteArray> words = {
        QCoreApplication::applicationFilePath().toLocal8Bit(),
        "--module", options.module.toLocal8Bit(),
        "--threads", QByteArray::number(options.threads),
        "--database", options.database.toLocal8Bit(),
        "--listener", QByteArray::number(listener),
    };
    std::vector<char *> pointers;
    for (const QByteArray &word : words) {
        pointers.push_back(const_cast<char *>(word.constData()));
    }
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(127);
}

void start(Worker &worker, const Options &options, int listener)
{
    const pid_t supervisor = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        becomeWorker(options, listener, supervisor);
    }
    worker.startedAt = Clock::now();
    worker.dueAt = worker.startedAt + shortLife;
    worker.pid = pid < 0 ? 0 : pid;
}

void collectEnded(std::vector<Worker> &workers)
{
    while (true) {
        const pid_t pid = waitpid(-1, nullptr, WNOHANG);
        if (pid <= 0) {
            return;
        }
        for (Worker &worker : workers) {
            if (worker.pid == pid) {
                worker.pid = 0;
            }
        }
        qInfo("worker process %d ended", int(pid));
    }
}

void stop(const std::vector<Worker> &workers)
{
    for (const Worker &worker : workers) {
        if (worker.pid > 0) {
            kill(worker.pid, SIGTERM);
        }
    }
    while (waitpid(-1, nullptr, 0) > 0) {
    }
}

} // namespace

int supervise(const Options &options)
{
    QTcpServer server;
    server.setListenBacklogSize(4096);
    if (!server.listen(QHostAddress::LocalHost, options.port)) {
        qCritical("cannot listen at port %d: %s", options.port, qPrintable(server.errorString()));
        return 1;
    }
    sigset_t signals;
    sigemptyset(&signals);
    for (int signal : {SIGCHLD, SIGTERM, SIGINT}) {
        sigaddset(&signals, signal);
    }
    sigprocmask(SIG_BLOCK, &signals, nullptr);

    std::vector<Worker> workers(options.processes);
    while (true) {
        bool someAreDue = false;
        for (Worker &worker : workers) {
            if (worker.pid == 0 && worker.dueAt <= Clock::now()) {
                start(worker, options, int(server.socketDescriptor()));
            }
            someAreDue |= worker.pid == 0;
        }
        const timespec soon{0, someAreDue ? 50'000'000 : 0};
        const int signal = someAreDue ? sigtimedwait(&signals, nullptr, &soon)
                                      : sigwaitinfo(&signals, nullptr);
        if (signal == SIGTERM || signal == SIGINT) {
            stop(workers);
            return 0;
        }
        collectEnded(workers);
    }
}
