/* daemon.h: puts the parts together: loop, store, engine, server. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "os/home.h"

/* Exit codes of sluiced. */
enum {
    DAEMON_OK = 0,
    DAEMON_FAILED = 1,
    DAEMON_USAGE = 2,
    DAEMON_BUSY = 4,    /* another daemon has this home */
    DAEMON_BROKEN = 75, /* the last commit is unknown: start again, nothing acknowledged is lost */
};

struct daemon_options {
    const struct home *home;
    int ready_fd;        /* gets "ready\n", or an error message; -1: none */
    const char *web_dir; /* the dashboard's files; NULL: those built in */
    int64_t open_files;  /* that a run may have; 0: as many as the daemon */
};

/* Writes the line that the starting process waits for, and closes the descriptor; -1: there is
 * none. */
void daemon_report_start(int ready_fd, const char *line);

/* Runs until it is asked to stop. Returns an exit code. */
int daemon_run(const struct daemon_options *options);

/* --- without a daemon (offline.c); exit codes ------------------------------------------------- */

/* Checks the store, changes nothing, prints what it found. */
int daemon_check(const struct home *home);
/* The same and what the kernel supports, as GET /v1/doctor has it. */
int daemon_doctor(const struct home *home);
/* Replaces the store with a backup. */
int daemon_restore(const struct home *home, const char *backup);
/* Copies a complete store into an empty one; counts what is in a store. Both print JSON. A store is
 * a path, postgresql://…, or "current": the one of the configuration. */
int daemon_store_copy(const struct home *home, const char *from, const char *to);
int daemon_store_show(const struct home *home, const char *store);
/* Makes the tables of a store, or migrates those of an older version; for roles that may do so. */
int daemon_store_migrate(const char *url);
/* The description of the HTTP interface: "markdown", "openapi", … */
int daemon_print_api(const char *format);

/* Where the store is: the configuration's store.url, or the file in the home. The caller frees. */
int daemon_store_url(const struct home *home, char **ret_url, struct error *err);
