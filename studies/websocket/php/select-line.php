<?php
// A connection of the loop over `stream_select`, and how its frames are written.
declare(strict_types=1);

/** How frames reach the kernel. */
final class Writing
{
    public function __construct(
        /** Head and payload get a write each, instead of one for both. */
        public readonly bool $isApart,
        /** Small segments do not wait for the acknowledgement of earlier ones. */
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

    /** Whether the loop reads from the client. It does not while the client itself reads nothing. */
    public function isListening(): bool
    {
        return $this->out === '' || $this->isFinishing;
    }

    /** Reads the available bytes. Returns false if the connection is gone. */
    public function read(): bool
    {
        $bytes = @fread($this->stream, SelectLoop::READ_BYTES);
        if ($bytes === '' || $bytes === false) {
            return !feof($this->stream);
        }
        $this->talk->hear($bytes);
        return true;
    }

    /** Writes the waiting bytes. Returns false if the connection is gone. */
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
        // The next read notices a connection that is gone.
        $sent = $this->out === '' ? (int) @fwrite($this->stream, $bytes) : 0;
        if ($sent < strlen($bytes)) {
            $this->out .= substr($bytes, $sent);
        }
    }

    /** Closes the sending side after the last byte. Still reads: with unread bytes, the kernel would
     * reset the connection, and the client might miss the close. */
    private function shut(): void
    {
        if ($this->isFinishing && !$this->isShut && $this->out === '') {
            $this->isShut = true;
            stream_socket_shutdown($this->stream, STREAM_SHUT_WR);
        }
    }
}
