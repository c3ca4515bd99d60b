<?php
/* The native client, an extension of this study. With PERSISTENT, the process keeps the connection
 * between requests. */
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
