/* recovery_internal.h: what a start finds: runs, hosts, the data folder. Private to engine/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "engine/away.h"
#include "engine/engine_internal.h"

/* --- recover ---------------------------------------------------------------------------------- */

/* The event of the start, with what it found. */
void recover_write_report(struct engine *e);
/* Before a row is applied: the next attempt of a finished task must not be that of a live run. */
void recover_skip_attempts(const struct engine *e, struct task_spec *spec);

/* Adjusts a row before it is applied, as if it were as new as its claimed run. */
void claim_task(struct engine *e, struct task_spec *spec);

/* --- unreachable hosts ------------------------------------------------------------------------ */

/* Decides whether a stored run is ours to watch. */
void away_load_run(struct engine *e, struct live_run *run, const struct run_row *row);
/* One alert per host. */
void away_see_alerts(struct engine *e);
bool away_alert_is_over(const struct engine *e, const char *host);

/* --- data place ------------------------------------------------------------------------------- */

/* Notes where the run was stored. */

void data_place_load_run(struct engine *engine, struct live_run *run, const struct run_row *row);

/* -EINVAL: an unfinished run is in the folder of another daemon, and not in ours. */
int data_place_check(const struct engine *engine, struct error *err);

/* --- store name ------------------------------------------------------------------------------- */

/* The name of this store. Sixteen unique digits, created at the first load and stored permanently;
 * backups and copies have the same. Tokens of Slurm jobs begin with it, and a `data.folder` is
 * marked with it, so that what outlives a daemon and its host shows its owner. */

#define STORE_NAME_SIZE 17 /* with the NUL */

struct engine;

const char *store_name(const struct engine *e);
