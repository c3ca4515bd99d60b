<?php
// A connection of the loop over `stream_select`, and how its frames are written.
declare(strict_types=1);

/** How frames reach the kernel. */
final class Writing
{
    public function __construct(
        /** Head and payload by a write each, instead of both by one. */
        public readonly bool $isApart,
        /** Small segments do not wait for what was sent before to be acknowledged. */
        public readonly bool $isNoDelay,
    ) {
    }
}

final class SelectLine implements Line
{
    private string $out = '';
    private bool $isFinishing = false;
    private bool $isShut = false;
    public Talk $talk;

    /** @param resource $stream */
    public function __construct(private $stream, private Writing $writing, Rooms $rooms)
    {
        $this->talk = new Talk($this, $rooms);
    }

    public function write(string $head, string $payload = ''): void
    {
        if ($this->writing->isApart) {
            $this->send($head);
            $this->send($payload);
        } else {
            $this->send($head . $payload);
        }
    }

    public function waiting(): int
    {
        return strlen($this->out);
    }

    public function finish(): void
    {
        $this->isFinishing = true;
        $this->shut();
    }

    /** Whether more is to be read; not while the client does not read what it is told. */
    public function isListening(): bool
    {
        return $this->out === '' || $this->isFinishing;
    }

    /** Reads what is there; false when the connection is gone. */
    public function read(): bool
    {
        $bytes = @fread($this->stream, SelectLoop::READ_BYTES);
        if ($bytes === '' || $bytes === false) {
            return !feof($this->stream);
        }
        $this->talk->hear($bytes);
        return true;
    }

    /** Writes what waits; false when the connection is gone. */
    public function flush(): bool
    {
        $sent = @fwrite($this->stream, $this->out);
        if ($sent === false) {
            return false;
        }
        $this->out = substr($this->out, $sent);
        $this->shut();
        return true;
    }

    private function send(string $bytes): void
    {
        // A connection that is gone is found by reading from it.
        $sent = $this->out === '' ? (int) @fwrite($this->stream, $bytes) : 0;
        if ($sent < strlen($bytes)) {
            $this->out .= substr($bytes, $sent);
        }
    }

    /** Ends this side when everything is sent. What still comes is read, or the
     * kernel would reset the connection and the client might miss the close. */
    private function shut(): void
    {
        if ($this->isFinishing && !$this->isShut && $this->out === '') {
            $this->isShut = true;
            stream_socket_shutdown($this->stream, STREAM_SHUT_WR);
        }
    }
}
