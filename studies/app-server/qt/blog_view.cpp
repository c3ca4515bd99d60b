#include "blog_view.h"

QByteArray indexPage(const QList<BlogEntry> &entries)
{
    QString page = R"(<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Blog: Index</title>
</head>
<body>

<h1>Listing Blog</h1>

<p>One row for each entry.</p>

<p><a href="/blog/entry">Create a new entry</a></p>

<table border="1" cellpadding="5" style="border: 1px solid #d0d0d0; border-collapse: collapse;">
  <tr>
    <th>ID</th>
    <th>Title</th>
    <th>Body</th>
    <th></th>
  </tr>
)";
    for (const BlogEntry &entry : entries) {
        page += QString(R"(  <tr>
    <td>%1</td>
    <td>%2</td>
    <td>%3</td>
    <td><a href="/blog/show/%1">Show</a></td>
  </tr>
)")
                    .arg(QString::number(entry.id), entry.title.toHtmlEscaped(), entry.body.toHtmlEscaped());
    }
    page += R"(</table>
</body>
</html>)";
    return page.toUtf8();
}
