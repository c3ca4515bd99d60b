<?php
// Four classes of PECL's `event` on libevent by FFI, as far as a server of one page needs them. libevent
// handles HTTP and calls PHP once per request.
declare(strict_types=1);

final class Libevent
{
    public static FFI $library;
    /** Keeps libevent's callbacks from garbage collection. */
    public static array $called = [];

    public static function load(): void
    {
        self::$library = FFI::cdef(<<<'C'
            typedef struct event_base event_base;
            typedef struct evhttp evhttp;
            typedef struct evhttp_request evhttp_request;
            typedef struct evhttp_bound_socket evhttp_bound_socket;
            typedef struct evbuffer evbuffer;
            event_base *event_base_new(void);
            int event_base_dispatch(event_base *base);
            evhttp *evhttp_new(event_base *base);
            evhttp_bound_socket *evhttp_bind_socket_with_handle(
                evhttp *http, const char *address, uint16_t port);
            int evhttp_bound_socket_get_fd(evhttp_bound_socket *bound);
            void evhttp_set_gencb(
                evhttp *http, void (*call)(evhttp_request *, void *), void *unused);
            evbuffer *evhttp_request_get_output_buffer(evhttp_request *request);
            int evbuffer_add(evbuffer *buffer, const char *data, size_t length);
            void evhttp_send_reply(
                evhttp_request *request, int code, const char *reason, evbuffer *body);
            int listen(int descriptor, int backlog);
            C, 'libevent-2.1.so.7');
    }
}

Libevent::load();

final class EventBase
{
    public FFI\CData $base;

    public function __construct()
    {
        $this->base = Libevent::$library->event_base_new();
    }

    public function dispatch(): bool
    {
        return Libevent::$library->event_base_dispatch($this->base) === 0;
    }
}

final class EventBuffer
{
    public function __construct(private FFI\CData $buffer)
    {
    }

    public function add(string $bytes): bool
    {
        return Libevent::$library->evbuffer_add($this->buffer, $bytes, strlen($bytes)) === 0;
    }
}

final class EventHttpRequest
{
    public function __construct(private FFI\CData $request)
    {
    }

    public function getOutputBuffer(): EventBuffer
    {
        $buffer = Libevent::$library->evhttp_request_get_output_buffer($this->request);
        return new EventBuffer($buffer);
    }

    public function sendReply(int $code, string $reason): void
    {
        Libevent::$library->evhttp_send_reply($this->request, $code, $reason, null);
    }
}

final class EventHttp
{
    private FFI\CData $http;

    public function __construct(EventBase $base)
    {
        $this->http = Libevent::$library->evhttp_new($base->base);
    }

    /** Binds, with the same backlog as the other servers. */
    public function bind(string $address, int $port): bool
    {
        $library = Libevent::$library;
        $bound = $library->evhttp_bind_socket_with_handle($this->http, $address, $port);
        return $bound !== null
            && $library->listen($library->evhttp_bound_socket_get_fd($bound), 4096) === 0;
    }

    public function setDefaultCallback(callable $answer): void
    {
        $call = static function (FFI\CData $request, ?FFI\CData $unused) use ($answer): void {
            $answer(new EventHttpRequest($request));
        };
        Libevent::$called[] = $call;
        Libevent::$library->evhttp_set_gencb($this->http, $call, null);
    }
}
