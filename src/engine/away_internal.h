/* away_internal.h: what is kept of hosts that are away. Private to engine/. */
#pragma once

#include "engine/away.h"
#include "engine/engine_internal.h"

/* A run of the store: is it ours to look after? */
void away_load_run(struct engine *e, struct live_run *run, const struct run_row *row);
/* People are told once of each host. */
void away_see_alerts(struct engine *e);
bool away_alert_is_over(const struct engine *e, const char *host);
