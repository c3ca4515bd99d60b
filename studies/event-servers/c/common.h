/* Shared by the C servers: the page, which is read once, and a listening socket. */
#ifndef COMMON_H
#define COMMON_H

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Like the other servers of this study. libevent's default is 128. */
#define BACKLOG 4096

struct page {
    char bytes[65536];
    size_t length;
};

static void read_page(struct page *page, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        err(1, "%s", path);
    page->length = fread(page->bytes, 1, sizeof page->bytes, file);
    if (ferror(file) || page->length == 0)
        errx(1, "%s cannot be read, or is empty", path);
    fclose(file);
}

static int listen_on(const char *port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(port)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0)
        err(1, "socket");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0)
        err(1, "port %s", port);
    if (listen(listener, BACKLOG) != 0)
        err(1, "listen");
    return listener;
}

static void begin(int count, char **words, struct page *page)
{
    if (count != 3)
        errx(2, "usage: %s PORT PAGE", words[0]);
    read_page(page, words[2]);
    signal(SIGPIPE, SIG_IGN);
}

#endif
