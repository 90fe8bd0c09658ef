/* service_manager.h: what systemd's manager of this user is asked about the unit of this home. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"

/* Can the manager be reached? *ret_version: of systemd. -ENOTSUP: there is none, with a message. */
int service_manager_find(int *ret_version, struct error *err);

/* `systemctl --user WORDS...`; NULL ends the words (at most 6). A failure has what systemctl says. */
int service_manager_call(const char *const *words, struct error *err);

struct service_state {
    bool enabled;
    char active[32]; /* "active" "activating" "inactive" "failed"; "" : unknown */
    char sub[32];    /* "running" "auto-restart" */
    pid_t pid;       /* 0: no process */
    int exit_code;   /* of the last process that has ended */
    long restarts;   /* after failures, since it was started */
};
int service_manager_look(const char *unit, struct service_state *ret_state, struct error *err);

/* Does the manager of this user start at boot, and stay after logout? */
bool service_linger_is_on(const char *user);
/* Turns it on; refused where this needs more rights. */
int service_linger_enable(const char *user, struct error *err);
