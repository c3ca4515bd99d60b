#include "application.h"

#include "blog_controller.h"

namespace {

using Action = Answer (*)(const QSqlDatabase &);

struct Route {
    QByteArray path;
    Action action;
};

const QList<Route> routes = {{"blog/index", blogIndex}};

QByteArray normal(const QByteArray &path)
{
    QByteArray normal = path.toLower();
    while (normal.startsWith('/')) {
        normal.remove(0, 1);
    }
    while (normal.endsWith('/')) {
        normal.chop(1);
    }
    return normal;
}

} // namespace

Answer Application::answer(const Request &request)
{
    if (request.method != "GET" && request.method != "HEAD") {
        return {405, "Method Not Allowed\n", "text/plain"};
    }
    const QByteArray path = normal(request.path);
    for (const Route &route : routes) {
        if (route.path == path) {
            const DatabasePool::Lease lease(databases);
            return route.action(lease.database());
        }
    }
    return {404, "Not Found\n", "text/plain"};
}
