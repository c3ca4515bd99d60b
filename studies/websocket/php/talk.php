<?php
// One connection from its handshake to its close: `/echo` and `/chat/ROOM`, as
// `abx serve --websocket` speaks them. The server's loop is behind `Line`.
declare(strict_types=1);

require __DIR__ . '/handshake.php';
require __DIR__ . '/frames.php';
require __DIR__ . '/line.php';
require __DIR__ . '/rooms.php';

final class Talk
{
    /** What has come of the request's head, as long as there is no WebSocket. */
    private string $head = '';
    private ?Frames $frames = null;
    /** The room that the client is in; null for an echo. */
    private ?string $room = null;
    private bool $isOver = false;

    public function __construct(private Line $line, private Rooms $rooms)
    {
    }

    /** Takes what the client has sent, and answers it. */
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

    /** The connection is gone, or is to be. */
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

    /** Answers the handshake, and gives what came behind it. */
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

    /** Sends a message to whom it may concern, its speaker included. */
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

    /** A member for whom more bytes than these wait is told to go. */
    private const LISTENER_BYTES_MAX = 4 << 20;
}
