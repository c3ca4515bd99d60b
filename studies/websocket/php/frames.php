<?php
// Frames of RFC 6455, section 5: parses a client's bytes and serializes frames. Uses no socket, so both
// PHP servers share it.
declare(strict_types=1);

/** A client's text or binary message, ping, pong or close. */
final class Said
{
    public function __construct(public readonly int $opcode, public readonly string $payload)
    {
    }
}

/** A violation of the protocol. The exception's code is the code of the close frame. */
final class Breach extends Exception
{
}

/** Parses a client's frames and joins fragments to messages. */
final class Frames
{
    public const CONTINUATION = 0;
    public const TEXT = 1;
    public const BINARY = 2;
    public const CLOSE = 8;
    public const PING = 9;
    public const PONG = 10;

    /** The longest message in bytes. A longer one closes the connection with code 1009. */
    private const MESSAGE_BYTES_MAX = 16 << 20;

    private string $unread = '';
    /** The offset of the next frame in the buffer. */
    private int $at = 0;
    /** The fragments of a message so far, and its opcode, which is 0 between messages. */
    private string $message = '';
    private int $kind = 0;

    /** Adds bytes from the client. */
    public function take(string $bytes): void
    {
        if ($this->at > 0) {
            $this->unread = substr($this->unread, $this->at);
            $this->at = 0;
        }
        $this->unread .= $bytes;
    }

    /**
     * Returns the next message or control frame, or null until more bytes arrive.
     *
     * @throws Breach
     */
    public function next(): ?Said
    {
        while (($frame = $this->frame()) !== null) {
            [$isLast, $opcode, $payload] = $frame;
            if ($opcode >= self::CLOSE) {
                return new Said($opcode, $payload);
            }
            if (($opcode === self::CONTINUATION) !== ($this->kind !== 0)) {
                throw new Breach('a fragment out of order', 1002);
            }
            $this->kind = $this->kind ?: $opcode;
            $this->message .= $payload;
            if ($isLast) {
                return $this->message();
            }
        }
        return null;
    }

    /** Returns the head of a server's frame, which has no mask. */
    public static function head(int $opcode, int $length): string
    {
        return chr(0x80 | $opcode) . match (true) {
            $length < 126 => chr($length),
            $length < 65536 => chr(126) . pack('n', $length),
            default => chr(127) . pack('J', $length),
        };
    }

    /**
     * Returns the code that responds to a close: the client's own.
     *
     * @throws Breach
     */
    public static function closeCode(string $payload): string
    {
        if ($payload === '') {
            return '';
        }
        $code = strlen($payload) < 2 ? 0 : unpack('n', $payload)[1];
        $isKnown = in_array($code, [1000, 1001, 1002, 1003], true)
            || ($code >= 1007 && $code <= 1014)
            || ($code >= 3000 && $code <= 4999);
        if (!$isKnown) {
            throw new Breach('a close without a right code', 1002);
        }
        if (!self::isText(substr($payload, 2))) {
            throw new Breach('a reason that is no text', 1007);
        }
        return substr($payload, 0, 2);
    }

    private function message(): Said
    {
        $said = new Said($this->kind, $this->message);
        [$this->kind, $this->message] = [0, ''];
        if ($said->opcode === self::TEXT && !self::isText($said->payload)) {
            throw new Breach('a text that is none', 1007);
        }
        return $said;
    }

    /** Returns the next complete frame: whether it ends its message, opcode, and payload. */
    private function frame(): ?array
    {
        $there = strlen($this->unread) - $this->at;
        if ($there < 2) {
            return null;
        }
        [$first, $second] = [ord($this->unread[$this->at]), ord($this->unread[$this->at + 1])];
        $opcode = $first & 0x0F;
        $short = $second & 0x7F;
        $this->checkHead($first, $second);
        $lengthBytes = [126 => 2, 127 => 8][$short] ?? 0;
        $headBytes = 2 + $lengthBytes + 4;
        if ($there < $headBytes) {
            return null;
        }
        $length = match ($lengthBytes) {
            0 => $short,
            2 => unpack('n', $this->unread, $this->at + 2)[1],
            8 => unpack('J', $this->unread, $this->at + 2)[1],
        };
        // Lengths above 2^63 are negative here.
        if ($length < 0 || $length + strlen($this->message) > self::MESSAGE_BYTES_MAX) {
            throw new Breach('a message that is too long', 1009);
        }
        if ($there < $headBytes + $length) {
            return null;
        }
        $mask = substr($this->unread, $this->at + $headBytes - 4, 4);
        $masked = substr($this->unread, $this->at + $headBytes, $length);
        $this->at += $headBytes + $length;
        // `^` on strings gives a string as long as the shorter one.
        return [$first >= 0x80, $opcode, $masked ^ str_repeat($mask, ($length >> 2) + 1)];
    }

    private function checkHead(int $first, int $second): void
    {
        $opcode = $first & 0x0F;
        $isKnown = $opcode <= self::BINARY || ($opcode >= self::CLOSE && $opcode <= self::PONG);
        $isControl = $opcode >= self::CLOSE;
        if (($first & 0x70) !== 0 || !$isKnown || $second < 0x80) {
            throw new Breach('a reserved bit, an unknown kind, or no mask', 1002);
        }
        if ($isControl && ($first < 0x80 || ($second & 0x7F) > 125)) {
            throw new Breach('a long or cut frame of control', 1002);
        }
    }

    private static function isText(string $bytes): bool
    {
        return preg_match('//u', $bytes) === 1;
    }
}
