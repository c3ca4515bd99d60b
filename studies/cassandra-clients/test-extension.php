<?php
/* Tests either extension: `php -n -d extension=.../NAME.so test-extension.php NAME PORT CALLS`, with a
 * filled node at 127.0.0.1:PORT. It reads CALLS times to see whether memory grows. When it prints
 * `restart`, start a new node, then write a line to standard input. */
declare(strict_types=1);

const HOST = '127.0.0.1';

/** A key without a row. */
const NOBODY = 'nobody';

/** Differences of the extensions: the node's word for the part that a table without super columns
 * lacks, and a table whose rows the extension cannot read. */
const OF_EACH = [
    'kassandra' => ['not_there' => 'standard', 'foreign' => null],
    'cql' => ['not_there' => 'column2', 'foreign' => ['system', 'local', 'local']],
];

[, $name, $port, $calls] = $argv;
$port = (int) $port;
$calls = (int) $calls;
$rows = require __DIR__ . '/pages/rows.php';
['not_there' => $not_there, 'foreign' => $foreign] = OF_EACH[$name];

/** Returns the warnings since the last call. */
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
    $said = warnings();
    if (!$holds || $said !== []) {
        echo "failed: $what ", implode(' | ', $said), "\n";
        exit(1);
    }
    echo "ok: $what\n";
}

/** The call must return false and warn once, with all of these words. */
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

/** The call must throw a value error with these words. */
function check_value(string $what, callable $call, string $words): void
{
    try {
        $call();
        check($what, false);
    } catch (ValueError $error) {
        check($what, str_contains($error->getMessage(), $words));
    }
}

function port_of($listener): int
{
    return (int) explode(':', stream_socket_get_name($listener, false))[1];
}

/** Starts a proxy of the node and returns its port. When a client requests NOBODY, the proxy passes on
 * $answered bytes of the response and dies. If that is 0, it does not even pass on the request. */
function dying_node(int $port, int $answered): int
{
    $listener = stream_socket_server('tcp://' . HOST . ':0');
    if (pcntl_fork() > 0) {
        return port_of($listener);
    }
    [$streams, $clients, $other, $is_asked] = [[$listener], [], [], false];
    while (true) {
        [$ready, $write, $except] = [$streams, null, null];
        stream_select($ready, $write, $except, 60) > 0 || exit(1);
        foreach ($ready as $from) {
            if ($from === $listener) {
                $client = stream_socket_accept($listener);
                $node = stream_socket_client('tcp://' . HOST . ":$port");
                array_push($streams, $client, $node);
                $clients[(int) $client] = true;
                [$other[(int) $client], $other[(int) $node]] = [$node, $client];
                continue;
            }
            $bytes = (string) fread($from, 65_536);
            if (!isset($clients[(int) $from]) && $is_asked) {
                fwrite($other[(int) $from], substr($bytes, 0, $answered));
                exit(0);
            }
            $is_asked = $is_asked || str_contains($bytes, NOBODY);
            if ($bytes === '' || ($is_asked && $answered === 0)) {
                exit(0);
            }
            fwrite($other[(int) $from], $bytes);
        }
    }
}

/** Runs the work in a fork, waits for its end, and returns whether the work returned true. */
function in_fork(callable $work): bool
{
    $child = pcntl_fork();
    if ($child === 0) {
        exit($work() ? 0 : 1);
    }
    pcntl_waitpid($child, $status);
    return pcntl_wexitstatus($status) === 0;
}

// The functions of this extension, without its name.
$of = fn (string $function): Closure => Closure::fromCallable("{$name}_$function");
[$is_connected, $connect_to, $disconnect] = [$of('is_connected'), $of('connect'), $of('disconnect')];
[$get_row, $get_super_column] = [$of('get_row'), $of('get_super_column')];
$level = fn (string $level): int => constant(strtoupper($name) . "_$level");
$connect = fn (): bool => $connect_to(HOST, $port);
$read = fn (): array|false => $get_row('clients', 'standard', NOBODY);
$is_right = fn (): bool => $get_row('clients', 'standard', 'small') === $rows['small'];

// No node.
check('not connected at first', !$is_connected());
check_warning('a row without a connection', $read, "{$name}_get_row()", 'not connected');
check_warning('a host that is none', fn () => $connect_to('no..host', 1), "{$name}_connect()", 'no..host:1');
$closed = stream_socket_server('tcp://' . HOST . ':0');
$nobody = port_of($closed);
fclose($closed);
check_warning('a port where nobody is', fn () => $connect_to(HOST, $nobody), 'refused');
check_value('a port that is none', fn () => $connect_to(HOST, 65_536), 'between 1 and 65535');

// Rows.
check('it connects', $connect() && $is_connected());
check('a small row', $is_right());
check('a wide row', $get_row('clients', 'standard', 'wide', $level('ONE')) === $rows['wide']);
check('a row with super columns', $get_row('clients', 'super', 'small') === ['columns' => $rows['small']]);
check('a super column', $get_super_column('clients', 'super', 'wide', 'columns', $level('ALL')) === $rows['wide']);
check('a row that is not there', $read() === []);
check('a super column that is not there', $get_super_column('clients', 'super', 'small', 'none') === []);
check_value('a consistency that is none', fn () => $get_row('clients', 'standard', 'small', 77), strtoupper($name) . '_QUORUM');

// Refusals, after which the connection stays open.
check_warning('a keyspace that is not there', fn () => $get_row('nowhere', 'standard', 'small'), 'refuses', 'nowhere');
check_warning('a family that is not there', fn () => $get_row('clients', 'nowhere', 'small'), 'refuses', 'nowhere');
check_warning(
    'a super column where none is',
    fn () => $get_super_column('clients', 'standard', 'small', 'columns'),
    'refuses',
    $not_there,
);
if ($foreign !== null) {
    check_warning('a table that is none of rows', fn () => $get_row(...$foreign), 'no table of rows');
}
check('after refusals', $is_connected() && $is_right());

// A fork does not disturb its parent's connection, whether it opens its own or none.
check('a fork is not connected', in_fork(fn () => !$is_connected()));
check('after a fork', $is_connected() && $is_right());
check('a fork connects', in_fork(fn () => $connect() && $is_right()));
check('a fork is told', in_fork(fn () => $read() === false && str_contains(warnings()[0], 'not connected')));
check('a fork disconnects', in_fork(function () use ($disconnect): bool {
    $disconnect();
    return true;
}));
check('after forks', $is_connected() && $is_right());

// The node dies before its response, during it, and after it.
foreach (['before its answer' => 0, 'in its answer' => 7, 'after its answer' => 65_536] as $when => $answered) {
    $dying = dying_node($port, $answered);
    check("a node that dies $when", $connect_to(HOST, $dying) && $is_connected());
    $answered < 65_536
        ? check_warning("gone $when", $read, 'the connection is lost')
        : check('an answer', $read() === []);
    pcntl_wait($status);
    check('not connected after that', !$is_connected());
}

// Enough calls to see a leak of a byte per call, or of a connection.
check('connected again', $connect() && $is_right());
$resident = fn (): int => (int) explode(' ', file_get_contents('/proc/self/statm'))[1] * 4096;
$one_round = function (int $calls) use ($get_row, $get_super_column): void {
    for ($call = 0; $call < $calls; $call++) {
        $get_row('clients', 'standard', 'small');
        if ($call % 100 === 0) {
            $get_row('clients', 'super', 'wide');
            $get_super_column('clients', 'standard', 'small', 'columns');
        }
    }
};
$one_round(2000);
warnings();
[$own, $all] = [memory_get_usage(), $resident()];
$one_round($calls);
$said = count(warnings());
[$own, $all] = [memory_get_usage() - $own, $resident() - $all];
check("no more memory after $calls calls: $own bytes, resident $all", $own < 4096 && $all < 1_000_000);
check('each refusal was told', $said === intdiv($calls + 99, 100));
for ($time = 0; $time < 200; $time++) {
    $connect();
    $time % 2 === 0 && $disconnect();
}
$disconnect();
check('no descriptor is left', count(scandir('/proc/self/fd')) < 20);
check('no thread is left', count(scandir('/proc/self/task')) === 3);

// A restarted node.
check('connected before the restart', $connect());
echo "restart\n";
fgets(STDIN);
check_warning('a row over the old connection', $read, 'the connection is lost');
check('not connected after the restart', !$is_connected());
check_warning('a row after that', $read, 'not connected');
check('connected after the restart', $connect() && $is_right());
echo "done\n";
