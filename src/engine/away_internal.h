/* away_internal.h: what is kept of hosts that are away. Private to engine/. */
#pragma once

#include "engine/away.h"
#include "engine/engine_internal.h"

struct away_host {
    char *name;
    time_ms since, forgotten_at;
    char *forgotten_by;
    LIST(struct run_key) forgotten; /* they may still live there */
};

void away_free(struct engine *e);
/* A note of the store; others are left alone. */
void away_load(struct engine *e, const struct note_row *row);
/* A run of the store: is it ours to look after? */
void away_load_run(struct engine *e, struct live_run *run, const struct run_row *row);
/* All rows are there: hosts that are away for the first time are noted, ours is back. */
void away_loaded(struct engine *e);
/* What was forgotten while this host was away must not go on beside what took its place. */
void away_start(struct engine *e);
/* People are told once of each host. */
void away_see_alerts(struct engine *e);
bool away_alert_is_over(const struct engine *e, const char *host);
