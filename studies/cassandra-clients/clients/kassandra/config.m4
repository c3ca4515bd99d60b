dnl What phpize turns into `configure`: our files, the generated ones, and the library
dnl that both call.
PHP_ARG_ENABLE([kassandra], [kassandra], [--enable-kassandra], [yes])
PHP_REQUIRE_CXX()
PHP_ADD_LIBRARY([stdc++], [1], [KASSANDRA_SHARED_LIBADD])
PHP_ADD_LIBRARY([thrift], [1], [KASSANDRA_SHARED_LIBADD])
PHP_SUBST([KASSANDRA_SHARED_LIBADD])
PHP_NEW_EXTENSION([kassandra],
    [kassandra.cpp connection.cpp gen-cpp/Cassandra.cpp gen-cpp/cassandra_types.cpp],
    [$ext_shared], [], [-std=c++17])
