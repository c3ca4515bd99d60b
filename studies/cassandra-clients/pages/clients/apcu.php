<?php
/* The row from APCu, which all processes share. If it is not there, the interpreted client reads it. */
declare(strict_types=1);

final class ApcuClient
{
    public function connect(): void
    {
    }

    public function get_row(string $family, string $key): array
    {
        $row = apcu_fetch("$family/$key");
        if ($row === false) {
            $client = require __DIR__ . '/thrift.php';
            $client->connect();
            $row = $client->get_row($family, $key);
            $client->disconnect();
            apcu_store("$family/$key", $row);
        }
        return $row;
    }

    public function disconnect(): void
    {
    }
}

return new ApcuClient();
