<?php
// What a server's loop gives to a talk.
declare(strict_types=1);

/** The way to one client. */
interface Line
{
    /** Sends a frame, now or as soon as the client takes it. */
    public function write(string $head, string $payload = ''): void;

    /** How many bytes wait for the client to take them. */
    public function waiting(): int;

    /** Closes when everything is sent; nothing more is heard. */
    public function finish(): void;
}
