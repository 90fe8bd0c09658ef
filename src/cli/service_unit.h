/* service_unit.h: the systemd user unit of this home: its name, its file and its text.
 *
 * One home has one unit: sluice.service without SLUICE_HOME, else sluice-HASH.service. The unit names the `sluiced` beside
 * this program, so it works from an installation and from a build tree.
 *
 * The unit has those variables of the environment that say where things are (PATH, locale, folders), and no others: a
 * unit file is readable, and an API key must not be in it. More can be set in `environment_file`, which is the user's own. */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"
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

/* The text of the unit file. `version`: of systemd; newer ones wait longer after each failure. */
int service_unit_print(const struct service_unit *unit, const struct home *home, int version,
                       struct strbuf *out, struct error *err);
/* The variables that the unit takes from the environment; NULL at the end. */
extern const char *const service_unit_variables[];
