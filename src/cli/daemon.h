/* daemon.h: the way from a command to the daemon of this user's home.
 *
 * The command line starts the daemon when none runs, as tmux does, with one message on stderr. Two
 * commands that do it at the same moment get the same daemon: the home's lock decides which of the
 * two stays, and the other command waits for it. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "cli/client.h"

/* Opens a connection to the daemon: that of this home, or, if that is a standby or absent, the active one of
 * daemon.addresses. With `may_start` one is started when none runs; else the result is
 * one of those that client_is_absent knows, and the message says how to start it. Inside a run
 * (SLUICE_SOCKET without SLUICE_HOME) it is the daemon of the run, and none is started. */
int daemon_connect(bool may_start, struct client **ret_client, struct error *err);
/* The daemon of this home and no other, active or not; none is started. Inside a run that of the run. */
int daemon_connect_home(struct client **ret_client, struct error *err);
/* Does the configuration name daemons (daemon.addresses)? Then none is started but by `sluice up`. */
bool daemon_has_peers(void);

/* For a command that goes on when the daemon goes away: called between two tries to reach it. Says once, after a
 * second, that it waits, and what goes on meanwhile (or NULL). Returns the time, steady. */
struct daemon_lost {
    time_ms since; /* 0: it is not lost */
    bool said;
};
#define DAEMON_LOOK_AGAIN 200 /* ms from one try to the next */
time_ms daemon_lost_look(struct daemon_lost *lost, const char *goes_on);

/* A daemon that answered. */
struct daemon_found {
    pid_t pid;
    bool already; /* it was not started by this call */
    bool standby; /* another daemon is active */
};

/* Starts one in the background, saying nothing, and waits until it answers. When one runs already it is
 * that one, even if it came up only just now. */
int daemon_start(struct daemon_found *ret_found, struct error *err);

/* Becomes `sluiced --foreground`. Returns only if it cannot. */
int daemon_exec(struct error *err);

/* A program in the folders of PATH; one with a slash must be absolute. -ENOENT, without a message. */
int daemon_find_in_path(const char *name, struct strbuf *out);
/* A program of ours: beside the own executable, else in the folders of PATH. -ENOENT with a message. */
int daemon_find_program(const char *name, struct strbuf *out, struct error *err);
