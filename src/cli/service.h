/* service.h: the systemd user unit of this home: its name and file, and its state.
 *
 * One home has one unit: sluice.service without SLUICE_HOME, else sluice-HASH.service. The unit
 * takes only those variables from the environment that name folders and the locale: a unit file is
 * readable, and must not have an API key. The user sets more in `environment_file`. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "os/home.h"

struct service_unit {
    char *name;             /* "sluice.service" */
    char *file;             /* ~/.config/systemd/user/NAME */
    char *link;             /* what `systemctl enable` makes of it */
    char *environment_file; /* beside sluice.yaml; need not exist */
};

/* Looks at the environment only. */
int service_unit_find(const struct home *home, struct service_unit *ret_unit, struct error *err);
void service_unit_finish(
    struct service_unit *unit); /* safe on a zeroed one; usable with _cleanup_ */

/* Can the manager be reached? *ret_version: of systemd. -ENOTSUP: there is none, with a message. */
int service_manager_find(int *ret_version, struct error *err);

/* `systemctl --user WORDS...`; NULL ends the words (at most 6). */
int service_manager_call(const char *const *words, struct error *err);

struct service_state {
    bool enabled;
    char active[32]; /* "active" "activating" "inactive" "failed"; "" : unknown */
    char sub[32];    /* "running" "auto-restart" */
    pid_t pid;       /* 0: no process */
    int exit_code;   /* of the last process that has ended */
    long restarts;   /* after failures, since it was started */
};
int service_manager_read_state(const char *unit, struct service_state *ret_state,
                               struct error *err);
