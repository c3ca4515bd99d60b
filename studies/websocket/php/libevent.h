/* The functions of libevent 2.1 and of the C library that the loop calls. The last argument of each
 * callback is the connection's descriptor. */
struct event_base;
struct bufferevent;
struct evbuffer;
struct evconnlistener;

struct sockaddr_in {
    uint16_t family;
    uint16_t port;
    uint32_t address;
    char unused[8];
};

struct calls {
    void (*accept)(struct evconnlistener *, int, void *, int, void *);
    void (*heard)(struct bufferevent *, intptr_t);
    void (*drained)(struct bufferevent *, intptr_t);
    void (*ended)(struct bufferevent *, short, intptr_t);
};

struct event_base *event_base_new(void);
int event_base_dispatch(struct event_base *);
struct evconnlistener *evconnlistener_new_bind(
    struct event_base *, void (*)(struct evconnlistener *, int, void *, int, void *),
    void *, unsigned, int, const struct sockaddr_in *, int);
struct bufferevent *bufferevent_socket_new(struct event_base *, int, int);
void bufferevent_setcb(
    struct bufferevent *, void (*)(struct bufferevent *, intptr_t),
    void (*)(struct bufferevent *, intptr_t),
    void (*)(struct bufferevent *, short, intptr_t), intptr_t);
int bufferevent_enable(struct bufferevent *, short);
int bufferevent_disable(struct bufferevent *, short);
size_t bufferevent_read(struct bufferevent *, void *, size_t);
int bufferevent_write(struct bufferevent *, const char *, size_t);
struct evbuffer *bufferevent_get_output(struct bufferevent *);
void bufferevent_free(struct bufferevent *);
size_t evbuffer_get_length(const struct evbuffer *);
int inet_pton(int, const char *, void *);
int setsockopt(int, int, int, const void *, uint32_t);
int shutdown(int, int);
