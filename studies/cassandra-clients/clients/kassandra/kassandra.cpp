/* PHP functions that read rows of Cassandra over one connection, which lasts as long as the process.
 * A function that fails warns and returns false. */
#include "connection.h"

#include <cstdio>

#include <thrift/TOutput.h>

extern "C" {
#include <php.h>
}

using cassandra::ConsistencyLevel;
using kassandra::Columns;
using kassandra::Connection;
using kassandra::Slice;

/* Opened by kassandra_connect in this process, or in a process of which this is a fork. */
static Connection *connection;

static void drop_connection()
{
    delete connection;
    connection = nullptr;
}

/* The reason for a failure. Not a std::string: PHP may leave by a jump while it warns, and nothing
 * would free the string. */
struct Reason {
    char text[512];

    void set(const char *what, const char *why)
    {
        snprintf(text, sizeof text, "%s%s", what, why);
    }
};

/* Does the work, and sets the reason if it fails. The connection stays open after a refusal. It is
 * closed after any other failure, because its next bytes are unknown. */
template <typename Work> static bool attempt(const char *what, Reason &reason, Work work)
{
    try {
        work();
        return true;
    } catch (const cassandra::InvalidRequestException &refused) {
        reason.set("the node refuses: ", refused.why.c_str());
        return false;
    } catch (const cassandra::UnavailableException &) {
        reason.set("the node refuses: ", "too few replicas for this consistency");
        return false;
    } catch (const cassandra::TimedOutException &) {
        reason.set("the node refuses: ", "its replicas took too long");
        return false;
    } catch (const std::exception &error) {
        reason.set(what, error.what());
    }
    drop_connection();
    return false;
}

static void warn(const Reason &reason)
{
    php_error_docref(nullptr, E_WARNING, "%s", reason.text);
}

PHP_FUNCTION(kassandra_is_connected)
{
    ZEND_PARSE_PARAMETERS_NONE();
    RETURN_BOOL(connection != nullptr && connection->is_alive());
}

PHP_FUNCTION(kassandra_connect)
{
    char *host;
    size_t host_length;
    zend_long port;
    ZEND_PARSE_PARAMETERS_START(2, 2)
        Z_PARAM_STRING(host, host_length)
        Z_PARAM_LONG(port)
    ZEND_PARSE_PARAMETERS_END();
    if (port < 1 || port > 65535) {
        zend_argument_value_error(2, "must be between 1 and 65535");
        RETURN_THROWS();
    }
    drop_connection();
    char where[320];
    snprintf(where, sizeof where, "no connection to %.255s:%d: ", host, (int)port);
    Reason reason;
    if (attempt(where, reason, [&] { connection = new Connection(host, (int)port); }))
        RETURN_TRUE;
    warn(reason);
    RETURN_FALSE;
}

PHP_FUNCTION(kassandra_disconnect)
{
    ZEND_PARSE_PARAMETERS_NONE();
    drop_connection();
}

static void add_column(zval *row, const cassandra::Column &column)
{
    const std::string &name = column.name, &value = column.value;
    add_assoc_stringl_ex(row, name.data(), name.size(), value.data(), value.size());
}

/* Adds columns as an array of values, and super columns as arrays of such arrays. */
static void add_columns(zval *row, const Columns &columns)
{
    for (const auto &one : columns) {
        if (!one.__isset.super_column) {
            add_column(row, one.column);
            continue;
        }
        zval inner;
        array_init(&inner);
        for (const auto &column : one.super_column.columns)
            add_column(&inner, column);
        const std::string &name = one.super_column.name;
        add_assoc_zval_ex(row, name.data(), name.size(), &inner);
    }
}

/* Sets the row to the requested columns. */
static bool answer(zval *row, const char *keyspace, zend_string *family, zend_string *super_column,
                   zend_string *key, zend_long consistency)
{
    Reason reason;
    if (connection == nullptr || !connection->is_own()) {
        reason.set("not connected: ", "call kassandra_connect first");
        warn(reason);
        return false;
    }
    const Columns *found = nullptr;
    bool has_worked = attempt("the connection is lost: ", reason, [&] {
        Slice slice;
        slice.keyspace = keyspace;
        slice.key.assign(ZSTR_VAL(key), ZSTR_LEN(key));
        slice.parent.column_family.assign(ZSTR_VAL(family), ZSTR_LEN(family));
        if (super_column != nullptr)
            slice.parent.__set_super_column(
                std::string(ZSTR_VAL(super_column), ZSTR_LEN(super_column)));
        slice.consistency = (ConsistencyLevel::type)consistency;
        found = &connection->read(slice);
    });
    if (!has_worked) {
        warn(reason);
        return false;
    }
    array_init_size(row, (uint32_t)found->size());
    add_columns(row, *found);
    return true;
}

/* Throws in PHP if the level is invalid. */
static bool is_consistency(zend_long level, uint32_t argument)
{
    if (level == ConsistencyLevel::ONE || level == ConsistencyLevel::QUORUM
        || level == ConsistencyLevel::ALL)
        return true;
    zend_argument_value_error(
        argument, "must be one of KASSANDRA_ONE, KASSANDRA_QUORUM and KASSANDRA_ALL");
    return false;
}

PHP_FUNCTION(kassandra_get_row)
{
    char *keyspace;
    size_t keyspace_length;
    zend_string *family, *key;
    zend_long consistency = ConsistencyLevel::ONE;
    ZEND_PARSE_PARAMETERS_START(3, 4)
        Z_PARAM_STRING(keyspace, keyspace_length)
        Z_PARAM_STR(family)
        Z_PARAM_STR(key)
        Z_PARAM_OPTIONAL
        Z_PARAM_LONG(consistency)
    ZEND_PARSE_PARAMETERS_END();
    if (!is_consistency(consistency, 4))
        RETURN_THROWS();
    if (!answer(return_value, keyspace, family, nullptr, key, consistency))
        RETURN_FALSE;
}

PHP_FUNCTION(kassandra_get_super_column)
{
    char *keyspace;
    size_t keyspace_length;
    zend_string *family, *key, *super_column;
    zend_long consistency = ConsistencyLevel::ONE;
    ZEND_PARSE_PARAMETERS_START(4, 5)
        Z_PARAM_STRING(keyspace, keyspace_length)
        Z_PARAM_STR(family)
        Z_PARAM_STR(key)
        Z_PARAM_STR(super_column)
        Z_PARAM_OPTIONAL
        Z_PARAM_LONG(consistency)
    ZEND_PARSE_PARAMETERS_END();
    if (!is_consistency(consistency, 5))
        RETURN_THROWS();
    if (!answer(return_value, keyspace, family, super_column, key, consistency))
        RETURN_FALSE;
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(of_is_connected, 0, 0, _IS_BOOL, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(of_connect, 0, 2, _IS_BOOL, 0)
    ZEND_ARG_TYPE_INFO(0, host, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO(0, port, IS_LONG, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(of_disconnect, 0, 0, IS_VOID, 0)
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(of_get_row, 0, 3, MAY_BE_ARRAY | MAY_BE_FALSE)
    ZEND_ARG_TYPE_INFO(0, keyspace, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO(0, column_family, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, consistency, IS_LONG, 0, "KASSANDRA_ONE")
ZEND_END_ARG_INFO()

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(of_get_super_column, 0, 4, MAY_BE_ARRAY | MAY_BE_FALSE)
    ZEND_ARG_TYPE_INFO(0, keyspace, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO(0, column_family, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO(0, key, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO(0, super_column, IS_STRING, 0)
    ZEND_ARG_TYPE_INFO_WITH_DEFAULT_VALUE(0, consistency, IS_LONG, 0, "KASSANDRA_ONE")
ZEND_END_ARG_INFO()

static const zend_function_entry functions[] = {
    PHP_FE(kassandra_is_connected, of_is_connected)
    PHP_FE(kassandra_connect, of_connect)
    PHP_FE(kassandra_disconnect, of_disconnect)
    PHP_FE(kassandra_get_row, of_get_row)
    PHP_FE(kassandra_get_super_column, of_get_super_column)
    PHP_FE_END
};

PHP_MINIT_FUNCTION(kassandra)
{
    REGISTER_LONG_CONSTANT("KASSANDRA_ONE", ConsistencyLevel::ONE, CONST_PERSISTENT);
    REGISTER_LONG_CONSTANT("KASSANDRA_QUORUM", ConsistencyLevel::QUORUM, CONST_PERSISTENT);
    REGISTER_LONG_CONSTANT("KASSANDRA_ALL", ConsistencyLevel::ALL, CONST_PERSISTENT);
    /* The warnings contain the text that Thrift would print. */
    apache::thrift::GlobalOutput.setOutputFunction([](const char *) {});
    return SUCCESS;
}

PHP_MSHUTDOWN_FUNCTION(kassandra)
{
    drop_connection();
    return SUCCESS;
}

zend_module_entry kassandra_module_entry = {
    STANDARD_MODULE_HEADER,
    "kassandra",
    functions,
    PHP_MINIT(kassandra),
    PHP_MSHUTDOWN(kassandra),
    nullptr,
    nullptr,
    nullptr,
    "1",
    STANDARD_MODULE_PROPERTIES
};

ZEND_GET_MODULE(kassandra)
