dnl What phpize turns into `configure`: one file, and the library that it calls.
PHP_ARG_ENABLE([eventpage], [eventpage], [--enable-eventpage], [yes])
PHP_ADD_LIBRARY([event], [1], [EVENTPAGE_SHARED_LIBADD])
PHP_SUBST([EVENTPAGE_SHARED_LIBADD])
PHP_NEW_EXTENSION([eventpage], [eventpage.c], [$ext_shared])
