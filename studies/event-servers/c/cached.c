/* A server on epoll with a cache of complete responses: it looks up a request's path, and sends the
 * response with one write. The cache has one page. */
#define _GNU_SOURCE
#include "common.h"

#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>

enum { HEAD_MOST = 4096, SLOTS = 64, EVENTS = 256 };

/* A response with its head, in one form for kept connections and one for those that close. */
struct reply {
    char kept[66000];
    size_t kept_length;
    char last[66000];
    size_t last_length;
};

struct slot {
    const char *path;
    struct reply *reply;
};

/* The bytes of an incomplete head. */
struct connection {
    size_t length;
    char head[HEAD_MOST + 1];
};

static struct slot cache[SLOTS];
static struct connection **connections;

static size_t place_of(const char *path, size_t length)
{
    size_t hash = 5381;
    for (size_t i = 0; i < length; i++)
        hash = hash * 33 + (unsigned char)path[i];
    return hash % SLOTS;
}

static struct reply *found(const char *path, size_t length)
{
    for (size_t i = place_of(path, length); cache[i].path != NULL; i = (i + 1) % SLOTS)
        if (strlen(cache[i].path) == length && memcmp(cache[i].path, path, length) == 0)
            return cache[i].reply;
    return NULL;
}

static size_t whole(char *reply, const char *more, const struct page *page)
{
    int head = sprintf(reply,
                       "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n%sContent-Length: %zu\r\n\r\n",
                       more, page->length);
    memcpy(reply + head, page->bytes, page->length);
    return (size_t)head + page->length;
}

static void keep(const char *path, const struct page *page)
{
    struct reply *reply = malloc(sizeof *reply);
    if (reply == NULL)
        errx(1, "no memory");
    reply->kept_length = whole(reply->kept, "", page);
    reply->last_length = whole(reply->last, "Connection: close\r\n", page);
    size_t i = place_of(path, strlen(path));
    while (cache[i].path != NULL)
        i = (i + 1) % SLOTS;
    cache[i] = (struct slot){path, reply};
}

static void end(int descriptor)
{
    free(connections[descriptor]);
    connections[descriptor] = NULL;
    close(descriptor);
}

/* Fails if the socket does not take the response at once: this cache is for small responses. */
static bool send_whole(int descriptor, const char *bytes, size_t length)
{
    return write(descriptor, bytes, length) == (ssize_t)length;
}

/* Responds to one head, which ends with a zero byte. Returns false to close the connection. */
static bool answer(int descriptor, const char *head)
{
    static const char missing[] =
        "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    const char *path = strchr(head, ' ');
    size_t length = path == NULL ? 0 : strcspn(path + 1, " \r\n");
    struct reply *reply = length == 0 ? NULL : found(path + 1, length);
    if (reply == NULL) {
        send_whole(descriptor, missing, sizeof missing - 1);
        return false;
    }
    bool is_old = strncmp(path + 1 + length, " HTTP/1.0", 9) == 0;
    bool is_kept = is_old ? strcasestr(head, "\nconnection: keep-alive") != NULL
                          : strcasestr(head, "\nconnection: close") == NULL;
    if (!is_kept) {
        send_whole(descriptor, reply->last, reply->last_length);
        return false;
    }
    return send_whole(descriptor, reply->kept, reply->kept_length);
}

/* Responds to every complete head that has arrived. */
static void serve(int descriptor)
{
    struct connection *own = connections[descriptor];
    ssize_t got = read(descriptor, own->head + own->length, HEAD_MOST - own->length);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        end(descriptor);
        return;
    }
    own->length += (size_t)got;
    own->head[own->length] = 0;
    char *next = own->head;
    for (char *last; (last = strstr(next, "\r\n\r\n")) != NULL; next = last + 4) {
        last[2] = 0;
        if (!answer(descriptor, next)) {
            end(descriptor);
            return;
        }
    }
    own->length -= (size_t)(next - own->head);
    memmove(own->head, next, own->length);
    if (own->length == HEAD_MOST)
        end(descriptor);
}

static void greet(int poll, int listener)
{
    int descriptor, on = 1;
    while ((descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connections[descriptor] = malloc(sizeof **connections);
        if (connections[descriptor] == NULL)
            errx(1, "no memory");
        connections[descriptor]->length = 0;
        epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
    }
}

int main(int count, char **words)
{
    static struct page page;
    begin(count, words, &page);
    keep("/", &page);
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        err(1, "the limit of descriptors");
    size_t most = limit.rlim_cur > 1000000 ? 1000000 : (size_t)limit.rlim_cur;
    connections = calloc(most, sizeof *connections);
    int listener = listen_on(words[1]);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    if (connections == NULL || poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event) != 0)
        err(1, "epoll");
    for (;;) {
        struct epoll_event events[EVENTS];
        int ready = epoll_wait(poll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd == listener)
                greet(poll, listener);
            else
                serve(events[i].data.fd);
        }
    }
}
