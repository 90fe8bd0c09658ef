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
    DAEMON_BUSY = 4, /* another one has this home */
    DAEMON_BROKEN =
        75, /* the store's answer is unknown: start again, nothing acknowledged is lost */
};

struct daemon_options {
    const struct home *home;
    int ready_fd;        /* gets "ready\n", or a sentence; -1: nobody waits */
    const char *web_dir; /* the dashboard's files; NULL: as built in */
    int64_t open_files;  /* how many files a run may have open; 0: as many as the daemon */
};

/* Writes the one line that whoever started us waits for, and closes it; -1: nobody waits. */
void daemon_tell_starter(int ready_fd, const char *line);

/* Runs until it is asked to stop. Returns an exit code. */
int daemon_run(const struct daemon_options *options);

/* Without a daemon. Looks at the store, changes nothing, and says what it found. */
int daemon_check(const struct home *home);
/* The same and what the kernel lets a daemon do, as GET /v1/doctor tells it. */
int daemon_doctor(const struct home *home);
/* Puts a backup in the place of the store. */
int daemon_restore(const struct home *home, const char *backup);
/* A whole store into an empty one; what is in a store. Both print JSON. A store is a path, postgresql://…, or
 * "current": the one of the configuration. */
int daemon_store_copy(const struct home *home, const char *from, const char *to);
int daemon_store_show(const struct home *home, const char *store);
/* Makes the tables of a store, or brings those of an older version up to date; for roles that may do so. */
int daemon_store_migrate(const char *url);
/* The description of the HTTP interface: "markdown" or "openapi". */
int daemon_print_api(const char *format);

/* Where the store is: the configuration's store.url, or the file in the home. The caller frees. */
int daemon_store_url(const struct home *home, char **ret_url, struct error *err);
