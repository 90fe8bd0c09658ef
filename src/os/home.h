/* home.h: where the files of this user's Sluice are.
 *
 * $SLUICE_HOME, when it is set, holds everything. Otherwise:
 *   config_file   $XDG_CONFIG_HOME/sluice/sluice.yaml   (~/.config)
 *   data          $XDG_DATA_HOME/sluice/                (~/.local/share): all the rest, but
 *   socket        $XDG_RUNTIME_DIR/sluice/sluice.sock, in `data` when there is no such variable;
 *   run_socket    run.sock beside it
 * A relative SLUICE_HOME counts from the current folder; a relative XDG variable is ignored, as its
 * specification says.
 *
 * The address of a socket has room for 107 bytes. A home with a longer path gets the socket
 * /tmp/sluice-UID/HASH.sock: HASH is that of the path, so every program finds the same one and no
 * other home has it. That folder must be ours and closed to others: home_find refuses it otherwise,
 * because its owner could answer in the daemon's place.
 *
 * Life: home_find → home_make (who writes: the daemon) → home_finish. All paths are absolute. */
#pragma once

#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"

struct home {
    char *config_file; /* need not exist */
    char *data;
    char *socket;
    char *run_socket; /* of the runs: run.sock beside it */
    char *runs;       /* folder of all run folders */
    char *database;   /* file of the SQLite store */
    char *log;        /* the daemon's */
    char *pid_lock;   /* held by the one daemon of this home */
};

/* Looks at the environment only; makes nothing. -ENOENT: neither SLUICE_HOME nor a home folder. */
int home_find(struct home *ret_home, struct error *err);

/* Makes the folders that are missing, 0700. Refuses those that belong to another user, except root,
 * and those that are world-writable. */
int home_make(const struct home *home, struct error *err);

/* A second name of the socket of the runs, in a folder that has nothing else: "/x/run.sock" →
 * "/x/run/sock". A sandbox shows that folder. */
void home_shared_socket(const char *run_socket, struct strbuf *out);
/* Makes it, for the socket that is there now. */
int home_share_socket(const char *run_socket, struct error *err);

/* What the system calls a user: "ann"; "uid 1000" when it has no name. The caller's; asks the
 * system's list of users, which may be slow. */
char *home_user_name(uid_t user);

/* "/tmp", where the short sockets are; only a test says another folder, to leave those of its user
 * alone. */
extern const char *home_short_base;

void home_finish(struct home *home); /* safe on a zeroed home; usable with _cleanup_ */
