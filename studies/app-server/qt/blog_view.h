// The pages of the blog.
#pragma once

#include "blog_model.h"

QByteArray indexPage(const QList<BlogEntry> &entries);
