// An application server like TreeFrog: a supervisor that listens, and worker processes that respond,
// each with one of two modules. Start here, then read supervisor.cpp, watcher.cpp and application.cpp.
#include <QCommandLineParser>
#include <QCoreApplication>
#include <sys/resource.h>

#include "blog_model.h"
#include "module.h"
#include "supervisor.h"
#include "watcher.h"

namespace {

Options readOptions(const QCoreApplication &program)
{
    QCommandLineParser parser;
    parser.setApplicationDescription("A page from a database, by worker processes under a supervisor.");
    parser.addHelpOption();
    parser.addOptions({
        {"port", "The port of 127.0.0.1.", "number"},
        {"module", "Who answers: `thread` or `epoll`.", "name", "thread"},
        {"processes", "Worker processes.", "number", "2"},
        {"threads", "Threads of a worker process that answer at a time.", "number", "20"},
        {"database", "The file of the database.", "file"},
        {"rows", "Entries in a new database.", "number", "0"},
        {"listener", "The listening socket; the supervisor gives it to its workers.", "number", "-1"},
    });
    parser.process(program);
    Options options;
    options.port = parser.value("port").toUShort();
    options.module = parser.value("module");
    options.processes = parser.value("processes").toInt();
    options.threads = parser.value("threads").toInt();
    options.database = parser.value("database");
    options.rows = parser.value("rows").toInt();
    options.listener = parser.value("listener").toInt();
    const bool knowsModule = options.module == "thread" || options.module == "epoll";
    if (!knowsModule || options.database.isEmpty() || options.processes < 1 || options.threads < 1) {
        parser.showHelp(2);
    }
    return options;
}

// Each connection needs a descriptor, and the usual limit is 1,024.
void allowManyDescriptors()
{
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

} // namespace

int main(int count, char **words)
{
    QCoreApplication program(count, words);
    const Options options = readOptions(program);
    if (options.listener < 0) {
        createBlog(options.database, options.rows);
        return supervise(options);
    }
    allowManyDescriptors();
    Application application(options.database);
    const auto module = makeModule(options, application);
    watch(options.listener, *module);
}
