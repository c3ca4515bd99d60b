<?php
/* Fills a new node over Thrift: a keyspace, a standard and a super column family, and the two rows in
 * both. Then reads them for a while, because Java compiles code that runs often. */
declare(strict_types=1);

use cassandra\CfDef;
use cassandra\Column;
use cassandra\ColumnParent;
use cassandra\ConsistencyLevel;
use cassandra\KsDef;

const READS = 500;

error_reporting(E_ALL & ~E_DEPRECATED);
$rows = require __DIR__ . '/../pages/rows.php';
$client = require __DIR__ . '/../pages/clients/thrift.php';
$cassandra = $client->open();
$define = fn (string $name, array $more): CfDef => new CfDef([
    'keyspace' => 'clients',
    'name' => $name,
    'comparator_type' => 'UTF8Type',
    'key_validation_class' => 'UTF8Type',
    'default_validation_class' => 'UTF8Type',
    ...$more,
]);
$cassandra->system_add_keyspace(new KsDef([
    'name' => 'clients',
    'strategy_class' => 'org.apache.cassandra.locator.SimpleStrategy',
    'strategy_options' => ['replication_factor' => '1'],
    'cf_defs' => [
        $define('standard', ['column_type' => 'Standard']),
        $define('super', ['column_type' => 'Super', 'subcomparator_type' => 'UTF8Type']),
    ],
]));
$cassandra->set_keyspace('clients');
$parents = [
    'standard' => new ColumnParent(['column_family' => 'standard']),
    'super' => new ColumnParent(['column_family' => 'super', 'super_column' => 'columns']),
];
foreach ($parents as $parent) {
    foreach ($rows as $key => $row) {
        foreach ($row as $name => $value) {
            $column = new Column(['name' => $name, 'value' => $value, 'timestamp' => 1]);
            $cassandra->insert($key, $parent, $column, ConsistencyLevel::ONE);
        }
    }
}
for ($read = 0; $read < READS; $read++) {
    foreach (array_keys($parents) as $family) {
        foreach ($rows as $key => $row) {
            if ($client->get_row($family, $key) !== $row) {
                fwrite(STDERR, "$family/$key is not what was written\n");
                exit(1);
            }
        }
    }
}
$client->disconnect();
