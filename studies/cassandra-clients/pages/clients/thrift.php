<?php
/* The interpreted client: code that Thrift generates from the interface, with its library for PHP.
 * PERSISTENT keeps the socket between requests. ACCELERATED writes and reads its bytes in C. */
declare(strict_types=1);

use cassandra\CassandraClient;
use cassandra\ColumnParent;
use cassandra\ConsistencyLevel;
use cassandra\SlicePredicate;
use cassandra\SliceRange;
use Thrift\Protocol\TBinaryProtocol;
use Thrift\Protocol\TBinaryProtocolAccelerated;
use Thrift\Transport\TFramedTransport;
use Thrift\Transport\TSocket;

spl_autoload_register(static function (string $class): void {
    [$root, $rest] = explode('\\', $class, 2);
    $folder = $root === 'Thrift' ? '/usr/lib/php' : getenv('BUILD') . "/gen-php/$root";
    require $folder . '/' . strtr($rest, '\\', '/') . '.php';
});

final class ThriftClient
{
    /** A node that takes longer counts as gone. */
    private const TIMEOUT_MS = 10_000;

    /** More columns than any row of this study has. */
    private const COLUMNS_MAX = 10_000;

    private TFramedTransport $transport;
    private CassandraClient $cassandra;

    /** Opens a connection and returns the generated client. */
    public function open(): CassandraClient
    {
        $port = (int) getenv('CASSANDRA_PORT');
        $socket = new TSocket('127.0.0.1', $port, getenv('PERSISTENT') === '1');
        $socket->setSendTimeout(self::TIMEOUT_MS);
        $socket->setRecvTimeout(self::TIMEOUT_MS);
        $this->transport = new TFramedTransport($socket);
        $protocol = getenv('ACCELERATED') === '1'
            ? new TBinaryProtocolAccelerated($this->transport)
            : new TBinaryProtocol($this->transport);
        $this->cassandra = new CassandraClient($protocol);
        $this->transport->open();
        return $this->cassandra;
    }

    public function connect(): void
    {
        // The node keeps a keyspace per connection, and a page cannot know whether its socket is new.
        $this->open()->set_keyspace('clients');
    }

    public function get_row(string $family, string $key): array
    {
        $parent = ['column_family' => $family];
        if ($family === 'super') {
            $parent['super_column'] = 'columns';
        }
        $range = ['start' => '', 'finish' => '', 'reversed' => false, 'count' => self::COLUMNS_MAX];
        $found = $this->cassandra->get_slice(
            $key,
            new ColumnParent($parent),
            new SlicePredicate(['slice_range' => new SliceRange($range)]),
            ConsistencyLevel::ONE,
        );
        $row = [];
        foreach ($found as $one) {
            $row[$one->column->name] = $one->column->value;
        }
        return $row;
    }

    public function disconnect(): void
    {
        if (getenv('PERSISTENT') !== '1') {
            $this->transport->close();
        }
    }
}

return new ThriftClient();
