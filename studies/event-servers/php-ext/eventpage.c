/* The classes of ../php/event.php in C: four classes of PECL's `event`, as far as a server of one page
 * needs them. libevent handles HTTP and calls PHP once per request. A server and its base last as long
 * as the process, because libevent keeps pointers to them. */
#include <php.h>
#include <Zend/zend_exceptions.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include <sys/socket.h>

/* Like the other servers of this study. libevent's default is 128. */
#define BACKLOG 4096

struct base {
    struct event_base *base;
    zend_object object;
};

struct http {
    struct base *base;
    struct evhttp *http;
    /* The callback in PHP. */
    zval answer;
    zend_object object;
};

struct request {
    /* NULL after the response. */
    struct evhttp_request *request;
    zend_object object;
};

struct buffer {
    /* The request that owns the bytes. */
    struct request *request;
    zend_object object;
};

/* The struct around the object of a method call or a value. */
#define AROUND(type, inner) \
    ((struct type *)((char *)(inner) - XtOffsetOf(struct type, object)))
#define THIS(type) AROUND(type, Z_OBJ_P(ZEND_THIS))

static zend_class_entry *base_class, *http_class, *request_class, *buffer_class;
static zend_object_handlers base_calls, http_calls, request_calls, buffer_calls;

/* `create_object` of a class: a zeroed struct around a new object. */
#define CREATE(type) \
    static zend_object *create_##type(zend_class_entry *class) \
    { \
        struct type *made = zend_object_alloc(sizeof *made, class); \
        zend_object_std_init(&made->object, class); \
        object_properties_init(&made->object, class); \
        made->object.handlers = &type##_calls; \
        return &made->object; \
    }
CREATE(base)
CREATE(http)
CREATE(request)
CREATE(buffer)

PHP_METHOD(EventBase, __construct)
{
    ZEND_PARSE_PARAMETERS_NONE();
    THIS(base)->base = event_base_new();
    if (THIS(base)->base == NULL)
        zend_throw_error(NULL, "libevent gives no base");
}

PHP_METHOD(EventBase, dispatch)
{
    ZEND_PARSE_PARAMETERS_NONE();
    RETURN_BOOL(event_base_dispatch(THIS(base)->base) == 0);
}

PHP_METHOD(EventHttp, __construct)
{
    zval *base;
    ZEND_PARSE_PARAMETERS_START(1, 1)
        Z_PARAM_OBJECT_OF_CLASS(base, base_class)
    ZEND_PARSE_PARAMETERS_END();
    struct http *http = THIS(http);
    http->base = AROUND(base, Z_OBJ_P(base));
    http->http = evhttp_new(http->base->base);
    if (http->http == NULL) {
        zend_throw_error(NULL, "libevent gives no server");
        return;
    }
    GC_ADDREF(&http->base->object);
    GC_ADDREF(&http->object);
}

PHP_METHOD(EventHttp, bind)
{
    char *address;
    size_t length;
    zend_long port;
    ZEND_PARSE_PARAMETERS_START(2, 2)
        Z_PARAM_STRING(address, length)
        Z_PARAM_LONG(port)
    ZEND_PARSE_PARAMETERS_END();
    struct evhttp_bound_socket *bound =
        evhttp_bind_socket_with_handle(THIS(http)->http, address, (uint16_t)port);
    RETURN_BOOL(bound != NULL && listen(evhttp_bound_socket_get_fd(bound), BACKLOG) == 0);
}

/* libevent calls this per request. It passes the request to the callback in PHP. */
static void answer(struct evhttp_request *asked, void *server)
{
    struct http *http = server;
    zval request, unused;
    object_init_ex(&request, request_class);
    AROUND(request, Z_OBJ(request))->request = asked;
    ZVAL_UNDEF(&unused);
    call_user_function(NULL, NULL, &http->answer, &unused, 1, &request);
    zval_ptr_dtor(&unused);
    zval_ptr_dtor(&request);
    /* The exception continues where PHP called `dispatch`. */
    if (EG(exception) != NULL)
        event_base_loopbreak(http->base->base);
}

PHP_METHOD(EventHttp, setDefaultCallback)
{
    zend_fcall_info call;
    zend_fcall_info_cache found;
    ZEND_PARSE_PARAMETERS_START(1, 1)
        Z_PARAM_FUNC(call, found)
    ZEND_PARSE_PARAMETERS_END();
    struct http *http = THIS(http);
    zval_ptr_dtor(&http->answer);
    ZVAL_COPY(&http->answer, &call.function_name);
    evhttp_set_gencb(http->http, answer, http);
}

PHP_METHOD(EventHttpRequest, getOutputBuffer)
{
    ZEND_PARSE_PARAMETERS_NONE();
    object_init_ex(return_value, buffer_class);
    struct buffer *buffer = AROUND(buffer, Z_OBJ_P(return_value));
    buffer->request = THIS(request);
    GC_ADDREF(&buffer->request->object);
}

PHP_METHOD(EventHttpRequest, sendReply)
{
    zend_long code;
    char *reason;
    size_t length;
    ZEND_PARSE_PARAMETERS_START(2, 2)
        Z_PARAM_LONG(code)
        Z_PARAM_STRING(reason, length)
    ZEND_PARSE_PARAMETERS_END();
    struct request *request = THIS(request);
    if (request->request == NULL) {
        zend_throw_error(NULL, "the request has been answered");
        return;
    }
    evhttp_send_reply(request->request, (int)code, reason, NULL);
    request->request = NULL;
}

PHP_METHOD(EventBuffer, add)
{
    char *bytes;
    size_t length;
    ZEND_PARSE_PARAMETERS_START(1, 1)
        Z_PARAM_STRING(bytes, length)
    ZEND_PARSE_PARAMETERS_END();
    struct request *request = THIS(buffer)->request;
    if (request == NULL || request->request == NULL) {
        zend_throw_error(NULL, "the buffer is of no request that waits for an answer");
        return;
    }
    struct evbuffer *output = evhttp_request_get_output_buffer(request->request);
    RETURN_BOOL(evbuffer_add(output, bytes, length) == 0);
}

/* If PHP frees a request without a response, the client gets an error. */
static void free_request(zend_object *object)
{
    struct request *request = AROUND(request, object);
    if (request->request != NULL)
        evhttp_send_error(request->request, HTTP_INTERNAL, NULL);
    zend_object_std_dtor(object);
}

static void free_buffer(zend_object *object)
{
    struct request *request = AROUND(buffer, object)->request;
    if (request != NULL)
        OBJ_RELEASE(&request->object);
    zend_object_std_dtor(object);
}

ZEND_BEGIN_ARG_INFO_EX(no_arguments, 0, 0, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(of_http, 0, 0, 1)
    ZEND_ARG_OBJ_INFO(0, base, EventBase, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(of_bind, 0, 0, 2)
    ZEND_ARG_TYPE_INFO(0, address, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO(0, port, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(of_callback, 0, 0, 1)
    ZEND_ARG_TYPE_INFO(0, answer, IS_CALLABLE, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(of_reply, 0, 0, 2)
    ZEND_ARG_TYPE_INFO(0, code, IS_LONG, 0)
    ZEND_ARG_TYPE_INFO(0, reason, IS_STRING, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_INFO_EX(of_add, 0, 0, 1)
    ZEND_ARG_TYPE_INFO(0, bytes, IS_STRING, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry base_methods[] = {
    PHP_ME(EventBase, __construct, no_arguments, ZEND_ACC_PUBLIC)
    PHP_ME(EventBase, dispatch, no_arguments, ZEND_ACC_PUBLIC)
    PHP_FE_END
};
static const zend_function_entry http_methods[] = {
    PHP_ME(EventHttp, __construct, of_http, ZEND_ACC_PUBLIC)
    PHP_ME(EventHttp, bind, of_bind, ZEND_ACC_PUBLIC)
    PHP_ME(EventHttp, setDefaultCallback, of_callback, ZEND_ACC_PUBLIC)
    PHP_FE_END
};
static const zend_function_entry request_methods[] = {
    PHP_ME(EventHttpRequest, getOutputBuffer, no_arguments, ZEND_ACC_PUBLIC)
    PHP_ME(EventHttpRequest, sendReply, of_reply, ZEND_ACC_PUBLIC)
    PHP_FE_END
};
static const zend_function_entry buffer_methods[] = {
    PHP_ME(EventBuffer, add, of_add, ZEND_ACC_PUBLIC)
    PHP_FE_END
};

/* Registers a class with objects of `struct type`. */
#define REGISTER(type, name) \
    do { \
        zend_class_entry entry; \
        INIT_CLASS_ENTRY(entry, name, type##_methods); \
        type##_class = zend_register_internal_class(&entry); \
        type##_class->create_object = create_##type; \
        type##_class->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES; \
        memcpy(&type##_calls, zend_get_std_object_handlers(), sizeof type##_calls); \
        type##_calls.offset = XtOffsetOf(struct type, object); \
        type##_calls.clone_obj = NULL; \
    } while (0)

PHP_MINIT_FUNCTION(eventpage)
{
    REGISTER(base, "EventBase");
    REGISTER(http, "EventHttp");
    REGISTER(request, "EventHttpRequest");
    REGISTER(buffer, "EventBuffer");
    request_calls.free_obj = free_request;
    buffer_calls.free_obj = free_buffer;
    return SUCCESS;
}

zend_module_entry eventpage_module_entry = {
    STANDARD_MODULE_HEADER,
    "eventpage", NULL, PHP_MINIT(eventpage), NULL, NULL, NULL, NULL, "1",
    STANDARD_MODULE_PROPERTIES,
};
ZEND_GET_MODULE(eventpage)
