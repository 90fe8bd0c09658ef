/* home.h: paths of this user's Sluice files.
 *
 * $SLUICE_HOME, if set, contains everything. Otherwise:
 *   config_file   $XDG_CONFIG_HOME/sluice/sluice.yaml   (~/.config)
 *   data          $XDG_DATA_HOME/sluice/                (~/.local/share): everything else, except
 *   socket        $XDG_RUNTIME_DIR/sluice/sluice.sock, or in `data` without that variable;
 *   run_socket    run.sock beside it
 * A relative SLUICE_HOME is resolved from the current directory; a relative XDG variable is
 * ignored, as its specification requires.
 *
 * A socket address has room for 107 bytes. A home with a longer path gets the socket
 * /tmp/sluice-UID/HASH.sock. HASH is that of the path, so every program finds the same socket and
 * homes do not collide. home_find refuses that directory unless it is ours and closed to others,
 * because its owner could impersonate the daemon.
 *
 * Life: home_find → home_make (the daemon, which writes) → home_finish. All paths are absolute. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"

struct home {
    char *config_file; /* need not exist */
    char *data;
    char *socket;
    char *run_socket; /* of the runs: run.sock beside it */
    char *runs;       /* parent of all run directories */
    char *database;   /* file of the SQLite store */
    char *log;        /* the daemon's */
    char *pid_lock;   /* held by the daemon of this home */
};

/* Reads only the environment; creates nothing. -ENOENT: neither SLUICE_HOME nor a home
 * directory. */
int home_find(struct home *ret_home, struct error *err);

/* Creates missing directories, 0700. Refuses those that belong to another user, except root, and
 * those that are world-writable. */
int home_make(const struct home *home, struct error *err);

/* A second name of the runs' socket, in a directory of its own: "/x/run.sock" → "/x/run/sock". A
 * sandbox shows that directory. */
void home_shared_socket(const char *run_socket, struct strbuf *out);
/* Creates it, for the current socket. */
int home_share_socket(const char *run_socket, struct error *err);

/* The name of a user: "ann"; "uid 1000" without a name. The caller frees it; the lookup may be
 * slow. */
char *home_user_name(uid_t user);

/* "/tmp", parent of the short sockets; changed only by tests. */
extern const char *home_short_base;

void home_finish(struct home *home); /* safe on a zeroed home; usable with _cleanup_ */
