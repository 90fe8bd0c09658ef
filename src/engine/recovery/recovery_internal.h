/* recovery_internal.h: what a start finds: runs, hosts, the data folder. Private to engine/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "engine/engine_internal.h"
#include "engine/hosts.h"

/* --- unreachable hosts ------------------------------------------------------------------------ */

bool hosts_alert_is_over(const struct engine *e, const char *host);

/* --- store name ------------------------------------------------------------------------------- */

/* The name of this store. Sixteen unique digits, created at the first load and stored permanently;
 * backups and copies have the same. Tokens of Slurm jobs begin with it, and a `data.folder` is
 * marked with it, so that what outlives a daemon and its host shows its owner. */

#define STORE_NAME_SIZE 17 /* with the NUL */

const char *store_name(const struct engine *e);
