#include "blog_view.h"

QByteArray indexPage(const QList<BlogEntry> &entries)
{
    QString page = R"(<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Blog: index</title>
  <style>table { border-collapse: collapse } td, th { border: 1px solid gray; padding: 5px }</style>
</head>
<body>
  <h1>All entries of the blog</h1>
  <p><a href="/blog/create">Write a new entry</a></p>
  <table>
    <tr><th>Number</th><th>Title</th><th>Text</th></tr>
)";
    for (const BlogEntry &entry : entries) {
        page += QString("    <tr><td>%1</td><td>%2</td><td>%3</td></tr>\n")
                    .arg(QString::number(entry.id), entry.title.toHtmlEscaped(), entry.body.toHtmlEscaped());
    }
    page += R"(  </table>
  <p><a href="/">Top</a></p>
</body>
</html>
)";
    return page.toUtf8();
}
