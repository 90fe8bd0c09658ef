/* own_server.h: a PostgreSQL server that a test may kill. One per program; it is stopped when the program ends, also by a
 * signal that can be caught. POSTGRES_SERVER is the path of scripts/postgres-server. */
#pragma once

#include <sys/types.h>

/* Returns its URL. Exits on failure. */
const char *own_server_start(void);
/* Runs the verb (kill, stop, restart), then the verb `then` (may be NULL), in a child process, after this many
 * milliseconds. The caller reaps the process. */
pid_t own_server_begin(const char *verb, const char *then, int milliseconds);
/* The same, and waits; 0: success. */
int own_server_do(const char *verb);
