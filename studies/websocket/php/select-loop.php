<?php
// A loop on PHP's own `stream_select`, without a library: one process with one thread.
declare(strict_types=1);

final class SelectLoop
{
    public const READ_BYTES = 65536;

    /** `select` supports 1,024 descriptors, and the process itself needs some. */
    private const LINES_MAX = 1010;

    /** @var resource */
    private $listener;
    /** Streams and their lines by stream id. */
    private array $streams = [];
    private array $lines = [];
    private Rooms $rooms;

    public function __construct(string $address, private Writing $writing)
    {
        $options = ['backlog' => 4096, 'tcp_nodelay' => $writing->isNoDelay];
        $context = stream_context_create(['socket' => $options]);
        $flags = STREAM_SERVER_BIND | STREAM_SERVER_LISTEN;
        $listener = stream_socket_server("tcp://$address", $code, $why, $flags, $context);
        if ($listener === false) {
            fwrite(STDERR, "$address: $why\n");
            exit(1);
        }
        stream_set_blocking($listener, false);
        $this->listener = $listener;
        $this->rooms = new Rooms();
    }

    public function run(): never
    {
        while (true) {
            [$reading, $writing, $none] = [$this->reading(), $this->writing(), null];
            if (!stream_select($reading, $writing, $none, null)) {
                continue;
            }
            foreach ($writing as $number => $stream) {
                $this->keep($number, $this->lines[$number]->flush());
            }
            foreach ($reading as $number => $stream) {
                if ($stream === $this->listener) {
                    $this->accept();
                } elseif (isset($this->lines[$number])) {
                    $this->keep($number, $this->lines[$number]->read());
                }
            }
        }
    }

    private function reading(): array
    {
        $streams = [];
        foreach ($this->lines as $number => $line) {
            if ($line->isListening()) {
                $streams[$number] = $this->streams[$number];
            }
        }
        // The rest wait in the kernel's queue.
        if (count($this->lines) < self::LINES_MAX) {
            $streams[(int) $this->listener] = $this->listener;
        }
        return $streams;
    }

    private function writing(): array
    {
        $streams = [];
        foreach ($this->lines as $number => $line) {
            if ($line->waiting() > 0) {
                $streams[$number] = $this->streams[$number];
            }
        }
        return $streams;
    }

    private function accept(): void
    {
        $stream = @stream_socket_accept($this->listener, 0);
        if ($stream === false) {
            return;
        }
        stream_set_blocking($stream, false);
        // Each read is one system call.
        stream_set_read_buffer($stream, 0);
        stream_set_chunk_size($stream, self::READ_BYTES);
        $this->streams[(int) $stream] = $stream;
        $this->lines[(int) $stream] = new SelectLine($stream, $this->writing, $this->rooms);
    }

    private function keep(int $number, bool $isThere): void
    {
        if (!$isThere) {
            $this->lines[$number]->talk->end();
            fclose($this->streams[$number]);
            unset($this->lines[$number], $this->streams[$number]);
        }
    }
}
