<?php
// One connection from its handshake to its close. Serves `/echo` and `/chat/ROOM` like
// `abx serve --websocket`. `Line` hides the server's loop.
declare(strict_types=1);

require __DIR__ . '/handshake.php';
require __DIR__ . '/frames.php';
require __DIR__ . '/line.php';
require __DIR__ . '/rooms.php';

final class Talk
{
    /** The bytes of the request's head until the WebSocket is open. */
    private string $head = '';
    private ?Frames $frames = null;
    /** The client's room; null for an echo. */
    private ?string $room = null;
    private bool $isOver = false;

    public function __construct(private Line $line, private Rooms $rooms)
    {
    }

    /** Takes bytes from the client, and responds. */
    public function hear(string $bytes): void
    {
        if ($this->isOver) {
            return;
        }
        if ($this->frames === null) {
            $bytes = $this->open($bytes);
        }
        if ($this->frames === null) {
            return;
        }
        $this->frames->take($bytes);
        try {
            while (!$this->isOver && ($said = $this->frames->next()) !== null) {
                $this->answer($said);
            }
        } catch (Breach $breach) {
            $this->close(pack('n', $breach->getCode()));
        }
    }

    /** Called when the connection is gone or about to close. */
    public function end(): void
    {
        $this->isOver = true;
        if ($this->room !== null) {
            $this->rooms->leave($this->room, $this);
        }
    }

    /** Sends a message of another member. */
    public function tell(string $head, string $payload): void
    {
        if ($this->line->waiting() > self::LISTENER_BYTES_MAX) {
            $this->close(pack('n', 1008) . 'messages are read too slowly');
            return;
        }
        $this->line->write($head, $payload);
    }

    /** Responds to the handshake, and returns the bytes after it. */
    private function open(string $bytes): string
    {
        $this->head .= $bytes;
        $end = strpos($this->head, "\r\n\r\n");
        if ($end === false) {
            if (strlen($this->head) > Handshake::BYTES_MAX) {
                $this->refuse(Handshake::plain('431 Request Header Fields Too Large', ''));
            }
            return '';
        }
        $behind = substr($this->head, $end + 4);
        $this->enter(Handshake::of(substr($this->head, 0, $end)));
        $this->head = '';
        return $behind;
    }

    private function enter(Handshake $asked): void
    {
        $room = preg_match('~^/chat/(.+)$~D', $asked->path, $parts) ? $parts[1] : null;
        if (!$asked->isOpen && $asked->answer !== '') {
            $this->refuse($asked->answer);
        } elseif (!$asked->isOpen && $room !== null) {
            $this->refuse(Handshake::plain('200 OK', "{$this->rooms->count($room)}\n"));
        } elseif (!$asked->isOpen || ($room === null && $asked->path !== '/echo')) {
            $this->refuse(Handshake::plain('404 Not Found', "Not Found\n"));
        } else {
            $this->line->write($asked->answer);
            [$this->frames, $this->room] = [new Frames(), $room];
            if ($room !== null) {
                $this->rooms->enter($room, $this);
            }
        }
    }

    private function answer(Said $said): void
    {
        switch ($said->opcode) {
            case Frames::PING:
                $head = Frames::head(Frames::PONG, strlen($said->payload));
                $this->line->write($head, $said->payload);
                break;
            case Frames::PONG:
                break;
            case Frames::CLOSE:
                $this->close(Frames::closeCode($said->payload));
                break;
            default:
                $this->pass($said);
        }
    }

    /** Echoes a message, or sends it to all members of the room, including its sender. */
    private function pass(Said $message): void
    {
        $head = Frames::head($message->opcode, strlen($message->payload));
        if ($this->room === null) {
            $this->line->write($head, $message->payload);
        } else {
            $this->rooms->say($this->room, $head, $message->payload);
        }
    }

    private function refuse(string $answer): void
    {
        $this->line->write($answer);
        $this->end();
        $this->line->finish();
    }

    private function close(string $payload): void
    {
        $this->line->write(Frames::head(Frames::CLOSE, strlen($payload)), $payload);
        $this->end();
        $this->line->finish();
    }

    /** The server closes a member's connection if more bytes wait for it. */
    private const LISTENER_BYTES_MAX = 4 << 20;
}
