<?php
// A connection of libevent's loop: a `bufferevent`, which reads and writes on its own.
declare(strict_types=1);

final class EventLine implements Line
{
    /** The server stops reading from a client if more bytes wait for it. */
    private const WAITING_BYTES_MAX = 1 << 20;

    private bool $isFinishing = false;
    private bool $isDeaf = false;
    public Talk $talk;

    public function __construct(
        private FFI $library,
        private FFI\CData $event,
        private int $descriptor,
        Rooms $rooms,
    ) {
        $this->talk = new Talk($this, $rooms);
    }

    public function write(string $head, string $payload = ''): void
    {
        // libevent later writes head and payload from one buffer.
        $this->library->bufferevent_write($this->event, $head, strlen($head));
        $this->library->bufferevent_write($this->event, $payload, strlen($payload));
        if ($this->waiting() > self::WAITING_BYTES_MAX && !$this->isFinishing) {
            $this->isDeaf = true;
            $this->library->bufferevent_disable($this->event, EventLoop::READ);
        }
    }

    public function waiting(): int
    {
        $output = $this->library->bufferevent_get_output($this->event);
        return $this->library->evbuffer_get_length($output);
    }

    /** Closes the sending side after the last byte. Still reads: with unread bytes, the kernel would
     * reset the connection, and the client might miss the close. */
    public function finish(): void
    {
        $this->isFinishing = true;
        $this->listen();
    }

    /** Called when everything has been sent. */
    public function drained(): void
    {
        if ($this->isFinishing) {
            $this->library->shutdown($this->descriptor, EventLoop::SHUT_WRITE);
        }
        $this->listen();
    }

    private function listen(): void
    {
        if ($this->isDeaf) {
            $this->isDeaf = false;
            $this->library->bufferevent_enable($this->event, EventLoop::READ);
        }
    }
}
