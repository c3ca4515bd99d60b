<?php
// A loop of libevent by FFI. libevent reads, writes and waits, and calls PHP when bytes arrive.
declare(strict_types=1);

final class EventLoop
{
    public const READ = 0x02;
    public const SHUT_WRITE = 1;

    private const WRITE = 0x04;
    private const CLOSE_ON_FREE = 1;
    private const LISTENER_CLOSE_ON_FREE = 2;
    private const LISTENER_REUSABLE = 8;
    private const INET = 2;
    private const TCP = 6;
    private const TCP_NODELAY = 1;
    private const BACKLOG = 4096;
    private const READ_BYTES = 65536;

    private FFI $library;
    private FFI\CData $base;
    /** libevent's callbacks. Converted once, because each conversion creates another closure. */
    private FFI\CData $calls;
    private FFI\CData $bytes;
    private FFI\CData $on;
    private Rooms $rooms;
    /** Lines by descriptor. */
    private array $lines = [];

    public function __construct(string $address, int $port, private bool $isNoDelay)
    {
        $this->library = FFI::cdef(file_get_contents(__DIR__ . '/libevent.h'), 'libevent-2.1.so.7');
        $this->base = $this->library->event_base_new();
        $this->bytes = $this->library->new('char[' . self::READ_BYTES . ']');
        $this->on = $this->library->new('int');
        $this->on->cdata = 1;
        $this->rooms = new Rooms();
        $this->calls = $this->library->new('struct calls');
        $this->calls->accept = $this->accept(...);
        $this->calls->heard = $this->heard(...);
        $this->calls->drained = $this->drained(...);
        $this->calls->ended = $this->ended(...);
        $this->listen($address, $port);
    }

    public function run(): void
    {
        $this->library->event_base_dispatch($this->base);
    }

    private function listen(string $address, int $port): void
    {
        $library = $this->library;
        $to = $library->new('struct sockaddr_in');
        [$to->family, $to->port] = [self::INET, ($port & 0xFF) << 8 | $port >> 8];
        $library->inet_pton(self::INET, $address, FFI::addr($to->address));
        $listener = $library->evconnlistener_new_bind(
            $this->base,
            $this->calls->accept,
            null,
            self::LISTENER_CLOSE_ON_FREE | self::LISTENER_REUSABLE,
            self::BACKLOG,
            FFI::addr($to),
            FFI::sizeof($to),
        );
        if ($listener === null) {
            fwrite(STDERR, "$address:$port is taken\n");
            exit(1);
        }
    }

    private function accept(mixed $listener, int $descriptor, mixed ...$unused): void
    {
        $library = $this->library;
        if ($this->isNoDelay) {
            $on = FFI::addr($this->on);
            $size = FFI::sizeof($this->on);
            $library->setsockopt($descriptor, self::TCP, self::TCP_NODELAY, $on, $size);
        }
        $event = $library->bufferevent_socket_new($this->base, $descriptor, self::CLOSE_ON_FREE);
        $calls = $this->calls;
        $library->bufferevent_setcb($event, $calls->heard, $calls->drained, $calls->ended, $descriptor);
        $library->bufferevent_enable($event, self::READ | self::WRITE);
        $this->lines[$descriptor] = new EventLine($library, $event, $descriptor, $this->rooms);
    }

    private function heard(FFI\CData $event, int $descriptor): void
    {
        $talk = $this->lines[$descriptor]->talk;
        // libevent calls again only for new bytes, not for bytes that were left.
        while ($count = $this->library->bufferevent_read($event, $this->bytes, self::READ_BYTES)) {
            $talk->hear(FFI::string($this->bytes, $count));
        }
    }

    private function drained(FFI\CData $event, int $descriptor): void
    {
        $this->lines[$descriptor]->drained();
    }

    /** Called when the client has closed or the connection is broken. */
    private function ended(FFI\CData $event, int $what, int $descriptor): void
    {
        $this->lines[$descriptor]->talk->end();
        unset($this->lines[$descriptor]);
        $this->library->bufferevent_free($event);
    }
}
