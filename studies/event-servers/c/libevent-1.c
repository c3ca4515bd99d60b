/* One page for every path, with the interface of libevent 1: one base for the whole program, and a new
 * buffer per response. */
#include "common.h"

#include <event.h>
#include <evhttp.h>

static struct page page;

static void answer(struct evhttp_request *request, void *unused)
{
    (void)unused;
    struct evbuffer *body = evbuffer_new();
    if (body == NULL)
        errx(1, "no memory");
    evbuffer_add(body, page.bytes, page.length);
    evhttp_send_reply(request, HTTP_OK, "OK", body);
    evbuffer_free(body);
}

int main(int count, char **words)
{
    begin(count, words, &page);
    struct evhttp *http = evhttp_new(event_init());
    if (http == NULL || evhttp_accept_socket(http, listen_on(words[1])) != 0)
        errx(1, "libevent does not serve");
    evhttp_set_gencb(http, answer, NULL);
    return event_dispatch();
}
