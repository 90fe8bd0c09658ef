/* recovery_internal.h: what a start finds: runs, hosts, the data folder. Private to engine/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "engine/away.h"
#include "engine/engine_internal.h"

/* --- recover -------------------------------------------------------------------------------------- */

/* The event of the start, with what it found. */
void recover_write_report(struct engine *e);
/* A row, before the core is told: the next attempt at a finished task is not the one that lives. */
void recover_skip_attempts(const struct engine *e, struct task_spec *spec);

/* A row, before the core is told: what it would say if it were as young as its run. */
void claim_task(struct engine *e, struct task_spec *spec);

/* --- away ----------------------------------------------------------------------------------------- */

/* A run of the store: is it ours to look after? */
void away_load_run(struct engine *e, struct live_run *run, const struct run_row *row);
/* People are told once of each host. */
void away_see_alerts(struct engine *e);
bool away_alert_is_over(const struct engine *e, const char *host);

/* --- data place ----------------------------------------------------------------------------------- */

/* Does this daemon look for runs where they are? */

void data_place_load_run(struct engine *engine, struct live_run *run, const struct run_row *row);

/* -EINVAL: one that has not ended is in the folder of another daemon, and not in ours. */
int data_place_check(const struct engine *engine, struct error *err);

/* --- store name ----------------------------------------------------------------------------------- */

/* What is this store called?
 *
 * Sixteen digits that no other store has, made when it is loaded for the first time and kept in its rows for ever; its
 * backups and copies have the same. The tokens of jobs in Slurm begin with it, and a `data.folder` is marked with it: what
 * outlives a daemon and its host says whose it is. */

#define STORE_NAME_SIZE 17 /* with the NUL */

struct engine;

const char *store_name(const struct engine *e);
