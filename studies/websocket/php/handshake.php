<?php
// The request that opens a WebSocket, and its response: RFC 6455, section 4.2.
declare(strict_types=1);

final class Handshake
{
    /** The longest head of a request. */
    public const BYTES_MAX = 16384;

    private function __construct(
        /** The path without its query. Empty if the head is invalid. */
        public readonly string $path,
        /** The response. Empty for a plain GET, which requests no WebSocket. */
        public readonly string $answer,
        public readonly bool $isOpen,
    ) {
    }

    /** Parses a complete head without the empty line after it. */
    public static function of(string $head): self
    {
        $lines = explode("\r\n", $head);
        $first = '~^GET (/[^ ?]*)(\?[^ ]*)? HTTP/1\.1$~D';
        if (!preg_match($first, array_shift($lines), $parts)) {
            return new self('', self::refusal('400 Bad Request'), false);
        }
        $headers = self::headers($lines);
        $said = fn (string $name): string => $headers[$name] ?? '';
        if (strcasecmp($said('upgrade'), 'websocket') !== 0) {
            return new self($parts[1], '', false);
        }
        $isAsked = preg_match('~(^|,)\s*upgrade\s*(,|$)~i', $said('connection'))
            && strlen((string) base64_decode($said('sec-websocket-key'), true)) === 16;
        if (!$isAsked) {
            return new self($parts[1], self::refusal('400 Bad Request'), false);
        }
        if ($said('sec-websocket-version') !== '13') {
            $which = "Sec-WebSocket-Version: 13\r\n";
            return new self($parts[1], self::refusal('426 Upgrade Required', $which), false);
        }
        return new self($parts[1], self::acceptance($headers), true);
    }

    /** Returns a plain HTTP response that closes the connection. */
    public static function plain(string $status, string $body, string $headers = ''): string
    {
        return "HTTP/1.1 $status\r\n{$headers}Content-Type: text/plain\r\nContent-Length: "
            . strlen($body) . "\r\nConnection: close\r\n\r\n$body";
    }

    private static function refusal(string $status, string $headers = ''): string
    {
        return self::plain($status, "$status\n", $headers);
    }

    /** Accepts the first subprotocol that the client offers. */
    private static function acceptance(array $headers): string
    {
        $seal = base64_encode(sha1($headers['sec-websocket-key'] . self::GUID, true));
        $offered = explode(',', $headers['sec-websocket-protocol'] ?? '');
        $protocol = trim($offered[0]);
        return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            . "Connection: Upgrade\r\nSec-WebSocket-Accept: $seal\r\n"
            . ($protocol === '' ? '' : "Sec-WebSocket-Protocol: $protocol\r\n")
            . "\r\n";
    }

    /** Returns values by name in lowercase. Joins values of the same name to a list. */
    private static function headers(array $lines): array
    {
        $headers = [];
        foreach ($lines as $line) {
            [$name, $value] = explode(':', $line, 2) + [1 => ''];
            $name = strtolower($name);
            $value = trim($value);
            $headers[$name] = isset($headers[$name]) ? "$headers[$name],$value" : $value;
        }
        return $headers;
    }

    private const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
}
