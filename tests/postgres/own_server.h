/* own_server.h: a PostgreSQL server that a test may kill. One in a program; it is gone when the program ends, also by a
 * signal that asks it to. POSTGRES_SERVER names scripts/postgres-server. */
#pragma once

#include <sys/types.h>

/* Its URL. Ends the program on failure. */
const char *own_server_start(void);
/* kill, stop, restart: in a process of its own, after this many milliseconds, one after the other when there are two;
 * `then` may be NULL. The caller waits for it. */
pid_t own_server_begin(const char *verb, const char *then, int milliseconds);
/* The same, and waits; 0: it went well. */
int own_server_do(const char *verb);
