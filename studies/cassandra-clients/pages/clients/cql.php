<?php
/* The native client over CQL, the other extension of this study. With PERSISTENT, the process keeps
 * the connection between requests. */
declare(strict_types=1);

final class CqlClient
{
    public function connect(): void
    {
        if (!cql_is_connected() && !cql_connect('127.0.0.1', (int) getenv('CASSANDRA_PORT'))) {
            throw new RuntimeException('no connection');
        }
    }

    public function get_row(string $family, string $key): array
    {
        $row = $family === 'super'
            ? cql_get_super_column('clients', $family, $key, 'columns', CQL_ONE)
            : cql_get_row('clients', $family, $key, CQL_ONE);
        return $row !== false ? $row : throw new RuntimeException('no row');
    }

    public function disconnect(): void
    {
        if (getenv('PERSISTENT') !== '1') {
            cql_disconnect();
        }
    }
}

return new CqlClient();
