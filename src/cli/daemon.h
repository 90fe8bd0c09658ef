/* daemon.h: connects commands to the daemon of this user's home.
 *
 * The command line starts the daemon if none runs, like tmux, with one message on stderr. Two
 * commands that start it concurrently get the same daemon: the home's lock decides which one stays,
 * and the other command waits for it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "cli/client.h"
#include "cli/program.h"

/* Connects to this home's daemon or, if that is a standby or absent, to the active one of
 * daemon.addresses. `may_start` starts one if none runs; otherwise client_is_absent is true for the
 * result, and the message says how to start it. Inside a run (SLUICE_SOCKET without SLUICE_HOME) it
 * is the run's daemon, and none is started. */
int daemon_connect(bool may_start, struct client **ret_client, struct error *err);
/* Only this home's daemon, active or not, or inside a run the run's; none is started. */
int daemon_connect_home(struct client **ret_client, struct error *err);
/* True if the configuration has daemon.addresses. Then only `sluice up` starts a daemon. */
bool daemon_has_peers(void);

/* For a command that survives a daemon restart: called between attempts to reach it. After a
 * second, prints once that it waits, and what continues (or NULL). Returns the steady time. */
struct daemon_lost {
    time_ms since; /* 0: not lost */
    bool reported;
};
#define DAEMON_RETRY_MS 200 /* ms between attempts */
time_ms daemon_lost_retry(struct daemon_lost *lost, const char *continues);

struct daemon_found {
    pid_t pid;
    bool already; /* not started by this call */
    bool standby; /* another daemon is active */
};

/* Starts a daemon in the background, silently, and waits until it answers. Returns a running one,
 * even if it has just started. */
int daemon_start(struct daemon_found *ret_found, struct error *err);

/* Executes `sluiced --foreground`. Returns only on failure. */
int daemon_exec(struct error *err);

/* Searches PATH for a program; a name with a slash must be absolute. -ENOENT without a message. */
int daemon_find_in_path(const char *name, struct strbuf *out);
/* Finds a Sluice program next to the executable, else in PATH. -ENOENT with a message. */
int daemon_find_program(const char *name, struct strbuf *out, struct error *err);
/* Finds argv[0] so, and runs it as program_run. */
int daemon_run_program(const char *const *argv, enum program_take take, struct strbuf *out,
                       int *ret_status, struct error *err);
