/* opening_hours.c: applies FACT_HOURS when hours open and close; see opening_hours.h.
 *
 * A heap has the next change of each, so nothing wakes up in between. The wall clock counts: when
 * it is set, all hours are looked at again, because the core's times are those of the turn, which
 * ignores that. After a restart and after a failed commit everything follows from the configuration
 * and the clock. */
#include "engine/opening_hours.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/id_map.h"
#include "base/timer_heap.h"
#include "config/openings.h"
#include "engine/note.h"

#define CLOCK_WAS_SET SECONDS(1) /* smaller differences are those of a clock that is adjusted */

enum seen { SEEN_NEVER, SEEN_OPEN, SEEN_CLOSED };

struct entry {
    enum seen seen; /* as of the last committed event; SEEN_NEVER: no turn has looked at it */
    struct opening_state state; /* of the last look */
    bool is_closed_in_core;
    uint32_t position;
};

struct opening_hours {
    struct openings checked;    /* of the last configuration that was checked */
    struct openings all;        /* handle - 1 */
    LIST(struct entry) entries; /* the same */
    struct id_map by_name;
    struct timer_heap due;    /* by the wall clock */
    LIST(uint32_t) announced; /* in this turn; `seen` follows when that is stored */
    time_ms offset;           /* turn_clock_offset at the last look */
    bool is_new;              /* look at all of them */
};

PART_STATE(opening_hours, struct opening_hours, hours_of)

/* --- names ------------------------------------------------------------------------------------ */

struct hours_key {
    enum lease_kind scope;
    const char *name;
};

static uint64_t hash_key(const struct hours_key *key) {
    return hash_mix(key->scope, hash_bytes(key->name, strlen(key->name)));
}

static bool same_key(const void *ctx, uint32_t handle, const void *key) {
    const struct opening_hours *h = ctx;
    const struct opening *one = &h->all.items[handle - 1];
    const struct hours_key *wanted = key;
    return one->scope == wanted->scope && strcmp(one->name, wanted->name) == 0;
}

/* 0: it has no hours. */
static uint32_t find(const struct opening_hours *h, enum lease_kind scope, const char *name) {
    struct hours_key key = { scope, name };
    return id_map_find(&h->by_name, hash_key(&key), &key);
}

static void moved(void *ctx, uint32_t handle, uint32_t position) {
    struct opening_hours *h = ctx;
    h->entries.items[handle - 1].position = position;
}

/* --- facts ------------------------------------------------------------------------------------ */

/* 0: open. */
static void apply_hours(struct engine *e, const struct opening *one, time_ms until) {
    struct fact fact = { .kind = FACT_HOURS };
    fact.hours.scope = one->scope;
    fact.hours.id = symbol_known(e, one->name);
    fact.hours.until = until;
    (void)engine_apply(e, &fact, NULL);
}

static void write_event(struct engine *e, const struct opening *one,
                        const struct opening_state *state) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, lease_kind_name(one->scope), one->name);
    if (state->until != TIME_NEVER)
        json_put_int(w, "until", state->until);
    event_end(e, &data, state->open ? "hours.opened" : "hours.closed", 0, 0);
    turn_wrote(e);
}

static void look_at(struct engine *e, uint32_t handle, time_ms wall) {
    struct opening_hours *h = hours_of(e);
    const struct opening *one = &h->all.items[handle - 1];
    struct entry *entry = &h->entries.items[handle - 1];
    struct opening_state state = opening_at(one, wall);
    timer_heap_remove(&h->due, entry->position);
    if (state.until != TIME_NEVER)
        timer_heap_add(&h->due, state.until, 0, handle);
    if (!state.open)
        apply_hours(e, one, state.until == TIME_NEVER ? TIME_NEVER : state.until - h->offset);
    else if (entry->is_closed_in_core)
        apply_hours(e, one, 0);
    entry->is_closed_in_core = !state.open;
    entry->state = state;
    enum seen now = state.open ? SEEN_OPEN : SEEN_CLOSED;
    if (entry->seen == SEEN_NEVER) {
        entry->seen = now;
    } else if (entry->seen != now) {
        write_event(e, one, &state);
        *LIST_ADD(&h->announced) = handle;
    }
}

static bool clock_was_set(const struct engine *e) {
    const struct opening_hours *h = hours_of(e);
    time_ms by = turn_clock_offset(e) - h->offset;
    return h->all.count > 0 && (by >= CLOCK_WAS_SET || by <= -CLOCK_WAS_SET);
}

/* The clocks have drifted: by that of the core a change is due, by the wall clock it is not. */
static bool would_be_early(const struct engine *e, time_ms wall) {
    const struct opening_hours *h = hours_of(e);
    time_ms next = timer_heap_next(&h->due);
    return next != TIME_NEVER && next > wall && next - h->offset <= e->now;
}

static void hours_turn(struct engine *e) {
    struct opening_hours *h = hours_of(e);
    time_ms wall = turn_wall_clock(e);
    uint32_t handle;
    if (h->is_new || clock_was_set(e) || would_be_early(e, wall)) {
        h->is_new = false;
        h->offset = turn_clock_offset(e);
        for (handle = 1; handle <= h->all.count; handle++)
            look_at(e, handle, wall);
    }
    while ((handle = timer_heap_pop(&h->due, wall)) > 0)
        look_at(e, handle, wall);
}

static void hours_stored(struct engine *e) {
    struct opening_hours *h = hours_of(e);
    for (size_t i = 0; i < h->announced.count; i++) {
        struct entry *entry = &h->entries.items[h->announced.items[i] - 1];
        entry->seen = entry->state.open ? SEEN_OPEN : SEEN_CLOSED;
    }
    h->announced.count = 0;
}

static bool hours_have_work(const struct engine *e) {
    return e->retry_at <= e->now && (hours_of(e)->is_new || clock_was_set(e));
}

static time_ms hours_next_wakeup(const struct engine *e) {
    time_ms next = timer_heap_next(&hours_of(e)->due);
    if (next == TIME_NEVER)
        return next;
    return time_max(e->retry_at, time_max(e->now, next - turn_clock_offset(e)));
}

/* --- taking a configuration ------------------------------------------------------------------- */

static int hours_check(struct engine *e, struct error *err) {
    struct opening_hours *h = hours_of(e);
    openings_finish(&h->checked);
    return openings_read(e->config, &h->checked, err);
}

/* Opens what the old configuration closed; the turn looks at all hours before it decides. What was
 * announced stays with its name. */
static int hours_take(struct engine *e, struct error *err) {
    struct opening_hours *h = hours_of(e);
    LIST(struct entry) entries = { 0 };
    (void)err;
    for (size_t i = 0; i < h->checked.count; i++) {
        uint32_t old = find(h, h->checked.items[i].scope, h->checked.items[i].name);
        *LIST_ADD(&entries) =
            (struct entry){ .seen = old ? h->entries.items[old - 1].seen : SEEN_NEVER };
    }
    for (size_t i = 0; i < h->all.count; i++)
        if (h->entries.items[i].is_closed_in_core)
            apply_hours(e, &h->all.items[i], 0);
    h->is_new = h->checked.count > 0;
    free(h->entries.items);
    memcpy(&h->entries, &entries, sizeof(entries));
    openings_finish(&h->all);
    h->all = h->checked;
    h->checked = (struct openings){ 0 };
    h->announced.count = 0;
    id_map_finish(&h->by_name);
    timer_heap_finish(&h->due);
    id_map_init(&h->by_name, same_key, h);
    timer_heap_init(&h->due, moved, h);
    for (uint32_t i = 0; i < h->all.count; i++) {
        struct hours_key key = { h->all.items[i].scope, h->all.items[i].name };
        id_map_add(&h->by_name, hash_key(&key), i + 1);
    }
    if (h->all.count > 0)
        loop_wake_on_clock_set(e->loop);
    return 0;
}

/* The next core knows no hours; load_finish checks and takes them again. */
static void hours_unload(struct engine *e) {
    struct opening_hours *h = hours_of(e);
    h->announced.count = 0;
    for (size_t i = 0; i < h->entries.count; i++)
        h->entries.items[i].is_closed_in_core = false;
}

static void hours_init(struct engine *e) {
    struct opening_hours *h = hours_of(e);
    id_map_init(&h->by_name, same_key, h);
    timer_heap_init(&h->due, moved, h);
}

static void hours_free(struct engine *e) {
    struct opening_hours *h = hours_of(e);
    openings_finish(&h->checked);
    openings_finish(&h->all);
    id_map_finish(&h->by_name);
    timer_heap_finish(&h->due);
    free(h->entries.items);
    free(h->announced.items);
}

/* Opens everything; coming_begin closes what the other configuration closes. */
static int hours_apply_to_copy(const struct engine *e, const struct config *config,
                               struct core *copy, struct error *err) {
    const struct opening_hours *h = hours_of(e);
    int r = 0;
    (void)config;
    for (size_t i = 0; r >= 0 && i < h->all.count; i++) {
        struct fact fact = { .kind = FACT_HOURS };
        fact.hours.scope = h->all.items[i].scope;
        fact.hours.id = symbol_known(e, h->all.items[i].name);
        if (h->entries.items[i].is_closed_in_core)
            r = core_apply(copy, &fact, err);
    }
    return r < 0 ? r : 0;
}

/* --- for others ------------------------------------------------------------------------------- */

size_t engine_hours_count(const struct engine *e) {
    return hours_of(e)->all.count;
}

void engine_hours_at(const struct engine *e, size_t index, struct engine_hours *ret) {
    const struct opening_hours *h = hours_of(e);
    const struct opening *one = &h->all.items[index];
    struct opening_state state =
        h->is_new ? opening_at(one, turn_wall_clock(e)) : h->entries.items[index].state;
    *ret = (struct engine_hours){
        .scope = one->scope,
        .name = one->name,
        .text = one->text,
        .timezone = one->zone_name,
        .open = state.open,
        .until = state.until,
    };
}

bool engine_hours(const struct engine *e, enum lease_kind scope, const char *name,
                  struct engine_hours *ret) {
    uint32_t handle = find(hours_of(e), scope, name);
    if (handle)
        engine_hours_at(e, handle - 1, ret);
    return handle > 0;
}

const struct engine_part opening_hours_part = {
    .state_size = sizeof(struct opening_hours),
    .at = { [STEP_INIT] = hours_init,
            [STEP_UNLOAD] = hours_unload,
            [STEP_BEFORE_DECIDE] = hours_turn,
            [STEP_STORED] = hours_stored,
            [STEP_FREE] = hours_free },
    .try = { [TRY_CHECK_CONFIG] = hours_check, [TRY_TAKE_CONFIG] = hours_take },
    .apply_to_copy = hours_apply_to_copy,
    .has_work = hours_have_work,
    .next_wakeup = hours_next_wakeup,
};
