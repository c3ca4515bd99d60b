<?php
// The interface of a server's loop to a conversation.
declare(strict_types=1);

/** The connection to one client. */
interface Line
{
    /** Sends a frame, now or as soon as the client takes it. */
    public function write(string $head, string $payload = ''): void;

    /** How many bytes wait for the client to take them. */
    public function waiting(): int;

    /** Closes after the last byte. Ignores all further bytes of the client. */
    public function finish(): void;
}
