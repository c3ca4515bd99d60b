<?php
/* phpcassa from the folder in PHPCASSA. */
declare(strict_types=1);

use phpcassa\ColumnFamily;
use phpcassa\ColumnSlice;
use phpcassa\Connection\ConnectionPool;
use phpcassa\SuperColumnFamily;

require getenv('PHPCASSA') . '/lib/autoload.php';

final class PhpcassaClient
{
    private ConnectionPool $pool;

    public function connect(): void
    {
        $this->pool = new ConnectionPool('clients', ['127.0.0.1:' . getenv('CASSANDRA_PORT')]);
    }

    public function get_row(string $family, string $key): array
    {
        $all = new ColumnSlice('', '', 10_000);
        return $family === 'super'
            ? (new SuperColumnFamily($this->pool, $family))->get_super_column($key, 'columns', $all)
            : (new ColumnFamily($this->pool, $family))->get($key, $all);
    }

    public function disconnect(): void
    {
        $this->pool->close();
    }
}

return new PhpcassaClient();
