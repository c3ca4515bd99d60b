#include "blog_controller.h"

#include "blog_view.h"

Answer blogIndex(const QSqlDatabase &database)
{
    return {200, indexPage(allEntries(database))};
}
