/* openings.c: see openings.h. */
#include "config/openings.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/utf8.h"

static const struct scope {
    enum lease_kind lease;
    const char *section, *hours, *timezone;
    size_t (*count)(const struct config *config);
    const char *(*name)(const struct config *config, size_t index);
} scopes[] = {
    { LEASE_PROJECT, "projects", "projects.P.hours", "projects.P.timezone", config_project_count,
      config_project_name },
    { LEASE_AGENT, "agents", "agents.A.hours", "agents.A.timezone", config_agent_count,
      config_agent_name },
    { LEASE_LIMITER, "limiters", "limiters.L.hours", "limiters.L.timezone", config_limiter_count,
      config_limiter_name },
};

static int read_one(const struct config *config, const struct scope *scope, const char *name,
                    struct openings *ret, struct error *err) {
    const char *text = config_text(config, scope->hours, name);
    struct opening one = { .scope = scope->lease };
    if (!*text)
        return 0;
    int r = hours_parse(text, &one.hours, err);
    if (r < 0)
        return error_prefix(err, "key '%s.%s.hours'", scope->section, utf8_quote(name).text);
    r = zones_find(&ret->zones, config_text(config, scope->timezone, name), &one.zone, err);
    if (r < 0)
        return error_prefix(err, "key '%s.%s.timezone'", scope->section, utf8_quote(name).text);
    one.name = xstrdup(name);
    one.text = xstrdup(text);
    one.zone_name = xstrdup(config_text(config, scope->timezone, name));
    ret->items = xgrow(ret->items, &ret->capacity, ret->count + 1, sizeof(*ret->items));
    ret->items[ret->count++] = one;
    return 0;
}

int openings_read(const struct config *config, struct openings *ret, struct error *err) {
    struct openings all = { 0 };
    int r = 0;
    for (size_t s = 0; s < ARRAY_SIZE(scopes); s++)
        for (size_t i = 0; r == 0 && i < scopes[s].count(config); i++)
            r = read_one(config, &scopes[s], scopes[s].name(config, i), &all, err);
    if (r < 0)
        openings_finish(&all);
    else
        *ret = all;
    return r;
}

void openings_finish(struct openings *openings) {
    for (size_t i = 0; i < openings->count; i++) {
        free(openings->items[i].name);
        free(openings->items[i].text);
        free(openings->items[i].zone_name);
    }
    free(openings->items);
    zones_finish(&openings->zones);
    *openings = (struct openings){ 0 };
}

struct opening_state opening_at(const struct opening *opening, time_ms wall) {
    int64_t now = wall / 1000;
    int64_t change = hours_next_change(&opening->hours, opening->zone, now);
    return (struct opening_state){
        .open = hours_are_open(&opening->hours, opening->zone, now),
        .until = change > TIME_NEVER / 1000 ? TIME_NEVER : change * 1000,
    };
}
