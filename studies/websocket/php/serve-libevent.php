<?php
// WebSocket on libevent: `php -d ffi.enable=1 serve-libevent.php PORT nodelay|nagle`.
declare(strict_types=1);

require __DIR__ . '/talk.php';
require __DIR__ . '/libevent-line.php';
require __DIR__ . '/libevent-loop.php';

[, $port, $segments] = $argv;
(new EventLoop('127.0.0.1', (int) $port, $segments === 'nodelay'))->run();
