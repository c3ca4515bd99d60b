<?php
// WebSocket on `stream_select`: `php serve-select.php PORT whole|apart nodelay|nagle`.
declare(strict_types=1);

require __DIR__ . '/talk.php';
require __DIR__ . '/select-line.php';
require __DIR__ . '/select-loop.php';

[, $port, $frames, $segments] = $argv;
$writing = new Writing($frames === 'apart', $segments === 'nodelay');
(new SelectLoop("127.0.0.1:$port", $writing))->run();
