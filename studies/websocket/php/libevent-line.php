<?php
// A connection of libevent's loop: a `bufferevent`, which reads and writes by itself.
declare(strict_types=1);

final class EventLine implements Line
{
    /** Above this nothing more is read from a client that does not read itself. */
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
        // Both go into one buffer, which libevent writes later.
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

    /** Ends this side when everything is sent. What still comes is read, or the
     * kernel would reset the connection and the client might miss the close. */
    public function finish(): void
    {
        $this->isFinishing = true;
        $this->listen();
    }

    /** Everything has been sent. */
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
