<?php
/* Tests of the extension: `php -n -d extension=.../kassandra.so test.php PORT CALLS`, with a
 * filled node at 127.0.0.1:PORT. CALLS is how often it reads to see whether memory grows.
 * When it prints `restart`, a new node has to be there before it gets a line. */
declare(strict_types=1);

const HOST = '127.0.0.1';
const NOT_FOUND = ['clients', 'standard', 'nobody'];

[, $port, $calls] = $argv;
$port = (int) $port;
$rows = require __DIR__ . '/../../pages/rows.php';

/** What was warned of since this was read last. */
function warnings(?string $new = null): array
{
    static $all = [];
    $before = $all;
    $all = $new === null ? [] : [...$all, $new];
    return $before;
}

set_error_handler(function (int $level, string $text): bool {
    warnings($text);
    return true;
});

function check(string $what, bool $holds): void
{
    if (!$holds || warnings() !== []) {
        echo "failed: $what\n";
        exit(1);
    }
    echo "ok: $what\n";
}

/** It must answer false, and warn once, with all of these words. */
function check_warning(string $what, callable $call, string ...$words): void
{
    $answer = $call();
    $said = warnings();
    foreach ($words as $word) {
        if ($answer !== false || count($said) !== 1 || !str_contains($said[0], $word)) {
            echo "failed: $what: ", var_export($answer, true), ' ', implode(' | ', $said), "\n";
            exit(1);
        }
    }
    echo "ok: $what: $said[0]\n";
}

/** Has a process of its own serve one connection; answers its port. */
function serve(callable $serve): int
{
    $listener = stream_socket_server('tcp://' . HOST . ':0');
    if (pcntl_fork() === 0) {
        $serve(stream_socket_accept($listener));
        exit(0);
    }
    return (int) explode(':', stream_socket_get_name($listener, false))[1];
}

/** Runs it in a fork, and waits for its end: whether it answered true. */
function in_fork(callable $work): bool
{
    $child = pcntl_fork();
    if ($child === 0) {
        exit($work() ? 0 : 1);
    }
    pcntl_waitpid($child, $status);
    return pcntl_wexitstatus($status) === 0;
}

$connect = fn (): bool => kassandra_connect(HOST, $port);
$read = fn (): array|false => kassandra_get_row(...NOT_FOUND);
$is_right = fn (): bool => kassandra_get_row('clients', 'standard', 'small') === $rows['small'];

// Nobody to talk to.
check('not connected at first', !kassandra_is_connected());
check_warning('a row without a connection', $read, 'kassandra_get_row()', 'not connected');
check_warning('a host that is none', fn () => kassandra_connect('no..host', 1), 'kassandra_connect()', 'no..host:1');
$closed = stream_socket_server('tcp://' . HOST . ':0');
$nobody = (int) explode(':', stream_socket_get_name($closed, false))[1];
fclose($closed);
check_warning('a port where nobody is', fn () => kassandra_connect(HOST, $nobody), 'refused');
try {
    kassandra_connect(HOST, 65_536);
    check('a port that is none', false);
} catch (ValueError $error) {
    check('a port that is none', str_contains($error->getMessage(), 'between 1 and 65535'));
}

// Rows.
check('it connects', $connect() && kassandra_is_connected());
check('a small row', $is_right());
check('a wide row', kassandra_get_row('clients', 'standard', 'wide') === $rows['wide']);
check('a row of a super column family', kassandra_get_row('clients', 'super', 'small') === ['columns' => $rows['small']]);
check('a super column', kassandra_get_super_column('clients', 'super', 'wide', 'columns', KASSANDRA_ALL) === $rows['wide']);
check('a row that is not there', $read() === []);
check('a super column that is not there', kassandra_get_super_column('clients', 'super', 'small', 'none') === []);
try {
    kassandra_get_row('clients', 'standard', 'small', 77);
    check('a consistency that is none', false);
} catch (ValueError $error) {
    check('a consistency that is none', str_contains($error->getMessage(), 'KASSANDRA_QUORUM'));
}

// What the node refuses. The connection goes on.
check_warning('a keyspace that is not there', fn () => kassandra_get_row('nowhere', 'standard', 'small'), 'refuses', 'nowhere');
check_warning('a family that is not there', fn () => kassandra_get_row('clients', 'nowhere', 'small'), 'refuses', 'nowhere');
check_warning(
    'a super column where none is',
    fn () => kassandra_get_super_column('clients', 'standard', 'small', 'columns'),
    'refuses',
    'standard',
);
check('after refusals', kassandra_is_connected() && $is_right());

// A fork leaves its parent the connection, whether it uses its own or none.
check('a fork is not connected', in_fork(fn () => !kassandra_is_connected()));
check('after a fork', kassandra_is_connected() && $is_right());
check('a fork connects', in_fork(fn () => $connect() && $is_right()));
check('a fork is told', in_fork(fn () => $read() === false && str_contains(warnings()[0], 'not connected')));
check('a fork disconnects', in_fork(function (): bool {
    kassandra_disconnect();
    return true;
}));
check('after forks', kassandra_is_connected() && $is_right());

// The node is gone in mid-request: before its answer, and within it.
foreach (['before its answer' => '', 'in its answer' => "\0\0\0\x64half"] as $when => $sent) {
    $dying = serve(function ($client) use ($sent): void {
        fread($client, 1);
        fwrite($client, $sent);
        stream_socket_shutdown($client, STREAM_SHUT_RDWR);
    });
    check("a node that dies $when", kassandra_connect(HOST, $dying) && kassandra_is_connected());
    check_warning("gone $when", $read, 'the connection is lost');
    check("not connected after that", !kassandra_is_connected());
    pcntl_wait($status);
}

// As often as it takes to see a leak: of a byte for each call, or of a connection.
check('connected again', $connect() && $is_right());
$resident = fn (): int => (int) explode(' ', file_get_contents('/proc/self/statm'))[1] * 4096;
$one_round = function (int $calls) use ($read): void {
    for ($call = 0; $call < $calls; $call++) {
        kassandra_get_row('clients', 'standard', 'small');
        if ($call % 100 === 0) {
            kassandra_get_row('clients', 'super', 'wide');
            kassandra_get_super_column('clients', 'standard', 'small', 'columns');
        }
    }
};
$one_round(2000);
warnings();
[$own, $all] = [memory_get_usage(), $resident()];
$one_round((int) $calls);
$said = count(warnings());
[$own, $all] = [memory_get_usage() - $own, $resident() - $all];
check("no more memory after $calls calls: $own bytes, resident $all", $own < 4096 && $all < 1_000_000);
check("each refusal was told", $said === intdiv((int) $calls + 99, 100));
for ($time = 0; $time < 200; $time++) {
    $connect();
    $time % 2 === 0 && kassandra_disconnect();
}
kassandra_disconnect();
check('no descriptor is left', count(scandir('/proc/self/fd')) < 20);

// A node that was started again.
check('connected before the restart', $connect());
echo "restart\n";
fgets(STDIN);
check('a restart is seen', !kassandra_is_connected());
check_warning('a row over the old connection', $read, 'the connection is lost');
check_warning('a row after that', $read, 'not connected');
check('connected after the restart', $connect() && $is_right());
echo "done\n";
