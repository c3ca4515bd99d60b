<?php
/* The native client: the extension of this study, whose connection the process keeps, with
 * PERSISTENT from request to request. */
declare(strict_types=1);

final class KassandraClient
{
    public function connect(): void
    {
        if (!kassandra_is_connected() && !kassandra_connect('127.0.0.1', (int) getenv('CASSANDRA_PORT'))) {
            throw new RuntimeException('no connection');
        }
    }

    public function get_row(string $family, string $key): array
    {
        $row = $family === 'super'
            ? kassandra_get_super_column('clients', $family, $key, 'columns', KASSANDRA_ONE)
            : kassandra_get_row('clients', $family, $key, KASSANDRA_ONE);
        return $row !== false ? $row : throw new RuntimeException('no row');
    }

    public function disconnect(): void
    {
        if (getenv('PERSISTENT') !== '1') {
            kassandra_disconnect();
        }
    }
}

return new KassandraClient();
