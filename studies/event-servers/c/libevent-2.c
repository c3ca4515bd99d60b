/* One page for every path, with the interface of libevent 2: an explicit base, and the buffer of each
 * request. */
#include "common.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

static struct page page;

static void answer(struct evhttp_request *request, void *unused)
{
    (void)unused;
    evbuffer_add(evhttp_request_get_output_buffer(request), page.bytes, page.length);
    evhttp_send_reply(request, HTTP_OK, "OK", NULL);
}

int main(int count, char **words)
{
    begin(count, words, &page);
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    if (http == NULL || evhttp_accept_socket(http, listen_on(words[1])) != 0)
        errx(1, "libevent does not serve");
    evhttp_set_gencb(http, answer, NULL);
    return event_base_dispatch(base);
}
