<?php
/* The page shows a row as a table, with the client in CLIENT. Its markers time loading the client and
 * connecting, getting the row, and writing the page. */
declare(strict_types=1);

$began = hrtime(true);
$family = $_GET['family'] ?? 'standard';
$key = $_GET['row'] ?? 'small';
$client = require __DIR__ . '/clients/' . getenv('CLIENT') . '.php';
$client->connect();
$connected = hrtime(true);
$row = $client->get_row($family, $key);
$got = hrtime(true);
$client->disconnect();

$lines = '';
foreach ($row as $name => $value) {
    $name = htmlspecialchars((string) $name);
    $value = htmlspecialchars($value);
    $lines .= "<tr><th>$name</th><td>$value</td></tr>\n";
}
$title = htmlspecialchars($key);
$page = <<<HTML
    <!DOCTYPE html>
    <html>
    <head><title>$title</title></head>
    <body>
    <table>
    $lines</table>
    </body>
    </html>

    HTML;
$markers = ['connect' => $connected - $began, 'get_row' => $got - $connected, 'render' => hrtime(true) - $got];
$ms = fn (string $name, int $ns): string => sprintf('%s;dur=%.3f', $name, $ns / 1e6);
header('Server-Timing: ' . implode(', ', array_map($ms, array_keys($markers), $markers)));
header('Content-Length: ' . strlen($page));
echo $page;
