<?php
// One page for every path: `php server.php PORT PAGE`.
declare(strict_types=1);

// An extension may already define the classes.
if (!class_exists('EventBase')) {
    require __DIR__ . '/event.php';
}

[, $port, $path] = $argv;
$page = file_get_contents($path);
$base = new EventBase();
$http = new EventHttp($base);
$http->setDefaultCallback(static function (EventHttpRequest $request) use ($page): void {
    $request->getOutputBuffer()->add($page);
    $request->sendReply(200, 'OK');
});
if (!$http->bind('127.0.0.1', (int) $port)) {
    fwrite(STDERR, "port $port is taken\n");
    exit(1);
}
$base->dispatch();
