/* service.h: the systemd user unit of this home: its name, file and state.
 *
 * One unit per home: sluice.service without SLUICE_HOME, else sluice-HASH.service. The unit copies
 * only variables that name folders and the locale: a unit file is readable and must not contain an
 * API key. The user sets more in `environment_file`. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "os/home.h"

struct service_unit {
    char *name;             /* "sluice.service" */
    char *file;             /* ~/.config/systemd/user/NAME */
    char *link;             /* created by `systemctl enable` */
    char *environment_file; /* next to sluice.yaml; may not exist */
};

/* Uses only the environment. */
int service_unit_find(const struct home *home, struct service_unit *ret_unit, struct error *err);
void service_unit_finish(
    struct service_unit *unit); /* safe on a zeroed struct; usable with _cleanup_ */

/* Can the manager be reached? *ret_version: of systemd. -ENOTSUP with a message if not. */
int service_manager_find(int *ret_version, struct error *err);

/* `systemctl --user WORDS...`; NULL-terminated, at most 6. */
int service_manager_call(const char *const *words, struct error *err);

struct service_state {
    bool enabled;
    char active[32]; /* "active" "activating" "inactive" "failed"; "": unknown */
    char sub[32];    /* "running" "auto-restart" */
    pid_t pid;       /* 0: no process */
    int exit_code;   /* of the last process that exited */
    long restarts;   /* after failures, since its start */
};
int service_manager_read_state(const char *unit, struct service_state *ret_state,
                               struct error *err);
