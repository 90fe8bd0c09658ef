/* daemon.h: assembles the daemon: loop, store, engine, server. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "os/home.h"

/* Exit statuses of sluiced. */
enum {
    DAEMON_OK = 0,
    DAEMON_FAILED = 1,
    DAEMON_USAGE = 2,
    DAEMON_BUSY = 4, /* another daemon has this home */
    /* the result of the last commit is unknown: restart; nothing acknowledged is lost */
    DAEMON_BROKEN = 75,
};

struct daemon_options {
    const struct home *home;
    int ready_fd;        /* gets "ready\n", or an error message; -1: none */
    const char *web_dir; /* the dashboard's files; NULL: built in */
    int64_t open_files;  /* soft limit for a run; 0: the daemon's */
};

/* Writes the line that the starting process waits for, and closes the descriptor; -1: none. */
void daemon_report_start(int ready_fd, const char *line);

/* Runs until it is stopped. Returns an exit status. */
int daemon_run(const struct daemon_options *options);

/* --- without a daemon (offline.c); return exit statuses --------------------------------------- */

/* Checks the store without changing it, and prints the result. */
int daemon_check(const struct home *home);
/* Same, and what the kernel supports, as in GET /v1/doctor. */
int daemon_doctor(const struct home *home);
/* Replaces the store with a backup. */
int daemon_restore(const struct home *home, const char *backup);
/* Copies a complete store into an empty one; counts what is in a store. Both print JSON. A store is
 * a path, postgresql://…, or "current" for the configured one. */
int daemon_store_copy(const struct home *home, const char *from, const char *to);
int daemon_store_show(const struct home *home, const char *store);
/* Creates the tables of a store, or migrates an older version; for roles with that privilege. */
int daemon_store_migrate(const char *url);
/* The description of the HTTP interface: "markdown", "openapi", … */
int daemon_print_api(const char *format);

/* URL of the store: store.url, or the file in the home. The caller frees it. */
int daemon_store_url(const struct home *home, char **ret_url, struct error *err);
