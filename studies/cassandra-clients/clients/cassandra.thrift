/* The part of Cassandra's Thrift interface that the clients use. The protocol sets the numbers. */
namespace php cassandra
namespace cpp cassandra

struct Column {
    1: required binary name
    2: optional binary value
    3: optional i64 timestamp
    4: optional i32 ttl
}

struct SuperColumn {
    1: required binary name
    2: required list<Column> columns
}

struct CounterColumn {
    1: required binary name
    2: required i64 value
}

struct CounterSuperColumn {
    1: required binary name
    2: required list<CounterColumn> columns
}

struct ColumnOrSuperColumn {
    1: optional Column column
    2: optional SuperColumn super_column
    3: optional CounterColumn counter_column
    4: optional CounterSuperColumn counter_super_column
}

exception InvalidRequestException {
    1: required string why
}

exception UnavailableException {}

exception TimedOutException {
    1: optional i32 acknowledged_by
}

exception SchemaDisagreementException {}

enum ConsistencyLevel {
    ONE = 1
    QUORUM = 2
    ALL = 5
}

struct ColumnParent {
    3: required string column_family
    4: optional binary super_column
}

struct SliceRange {
    1: required binary start
    2: required binary finish
    3: required bool reversed = 0
    4: required i32 count = 100
}

struct SlicePredicate {
    1: optional list<binary> column_names
    2: optional SliceRange slice_range
}

struct CfDef {
    1: required string keyspace
    2: required string name
    3: optional string column_type = "Standard"
    5: optional string comparator_type = "BytesType"
    6: optional string subcomparator_type
    15: optional string default_validation_class
    26: optional string key_validation_class
}

struct KsDef {
    1: required string name
    2: required string strategy_class
    3: optional map<string, string> strategy_options
    5: required list<CfDef> cf_defs
    6: optional bool durable_writes = 1
}

service Cassandra {
    void set_keyspace(1: required string keyspace)
        throws (1: InvalidRequestException ire)

    list<ColumnOrSuperColumn> get_slice(
        1: required binary key
        2: required ColumnParent column_parent
        3: required SlicePredicate predicate
        4: required ConsistencyLevel consistency_level = ConsistencyLevel.ONE
    ) throws (1: InvalidRequestException ire, 2: UnavailableException ue, 3: TimedOutException te)

    void insert(
        1: required binary key
        2: required ColumnParent column_parent
        3: required Column column
        4: required ConsistencyLevel consistency_level = ConsistencyLevel.ONE
    ) throws (1: InvalidRequestException ire, 2: UnavailableException ue, 3: TimedOutException te)

    string system_add_keyspace(1: required KsDef ks_def)
        throws (1: InvalidRequestException ire, 2: SchemaDisagreementException sde)
}
