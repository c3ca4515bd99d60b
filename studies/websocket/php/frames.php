<?php
// Frames of RFC 6455, section 5: bytes of a client to what it says, and back. No
// socket here: both of PHP's servers use it.
declare(strict_types=1);

/** What a client has said: a message of its kind, or a ping, pong or close. */
final class Said
{
    public function __construct(public readonly int $opcode, public readonly string $payload)
    {
    }
}

/** A client that breaks the protocol; the exception's code is what it is told. */
final class Breach extends Exception
{
}

/** Takes a client's frames apart and joins fragments to messages. */
final class Frames
{
    public const CONTINUATION = 0;
    public const TEXT = 1;
    public const BINARY = 2;
    public const CLOSE = 8;
    public const PING = 9;
    public const PONG = 10;

    /** The longest message, in bytes; who sends a longer one is told 1009. */
    private const MESSAGE_BYTES_MAX = 16 << 20;

    private string $unread = '';
    /** Where in it the next frame begins. */
    private int $at = 0;
    /** What has come of a message in fragments, and its kind; 0 between messages. */
    private string $message = '';
    private int $kind = 0;

    /** More bytes from the client. */
    public function take(string $bytes): void
    {
        if ($this->at > 0) {
            $this->unread = substr($this->unread, $this->at);
            $this->at = 0;
        }
        $this->unread .= $bytes;
    }

    /**
     * What it said next, or null until more bytes have come.
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

    /** The head of a server's frame, which has no mask. */
    public static function head(int $opcode, int $length): string
    {
        return chr(0x80 | $opcode) . match (true) {
            $length < 126 => chr($length),
            $length < 65536 => chr(126) . pack('n', $length),
            default => chr(127) . pack('J', $length),
        };
    }

    /**
     * What a close is answered with: its own code.
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

    /** The next whole frame: whether it is the last of its message, opcode, payload. */
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
        // A text is as long as the shorter side of its `^`.
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
