/* journal.c: the scheduler's log lines.
 *
 * The lines of loopr (a tick, a selection, a rate limit) and of agency (the depth of the queue)
 * with the same members. A busy daemon makes hundreds of turns per second, so ticks and selections
 * are logged at level debug, which the preset loopr sets, and a tick equal to the last one is
 * skipped. The depth is logged on change, at most every log.depth_s; no timer repeats it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/alerts/alerts_internal.h"
#include "os/log.h"

struct tick {
    uint32_t pending, runnable, selected, running;
    amount slots;
};

/* What was logged of a limiter. */
struct logged {
    uint32_t hits;
    time_ms until; /* the pause */
};

struct journal {
    struct tick last;
    LIST(struct logged) limiters; /* by symbol */
    time_ms depth_at;             /* when the depth was last logged, or the queue was last empty */
    amount logged_depth;          /* all kinds together */
    time_ms depth_every;          /* log.depth_s, cached because every turn needs it */
};

PART_STATE(journal, struct journal, journal_of)

/* After a new configuration. */
static void journal_configure(struct engine *e) {
    log_set_level((enum log_level)config_number(e->config, "log.level", NULL));
    journal_of(e)->depth_every = config_number(e->config, "log.depth_s", NULL);
}

static void journal_init(struct engine *e) {
    journal_of(e)->depth_at = e->now;
    journal_of(e)->logged_depth = -1;
    journal_configure(e);
}

static void journal_free(struct engine *e) {
    free(journal_of(e)->limiters.items);
}

/* --- rate limits ----------------------------------------------------------------------------- */

static struct logged *logged_of(struct journal *j, sym limiter) {
    while (j->limiters.count <= limiter)
        *LIST_ADD(&j->limiters) = (struct logged){ 0 };
    return &j->limiters.items[limiter];
}

/* Symbols are valid as long as the core; after a failed commit the new core may number them
 * differently, and then a hit is logged twice or not at all. */
static void journal_limiter_changed(struct engine *e, const struct limiter_row *row) {
    sym symbol = symbol_known(e, row->name);
    if (!symbol)
        return;
    struct logged *logged = logged_of(journal_of(e), symbol);
    if (row->spec.hits > logged->hits)
        log_warning("Rate limited, backing off globally limiter=%s retry_after_secs=%" PRId64
                    " consecutive_hits=%" PRIu32,
                    row->name, (time_max(row->spec.backoff_until - e->now, 0) + 999) / 1000,
                    row->spec.hits);
    logged->hits = row->spec.hits;
}

/* Once for each pause, while something waits behind it. */
static void log_not_selecting(struct engine *e) {
    for (size_t i = 0; i < config_limiter_count(e->config); i++) {
        const char *name = config_limiter_name(e->config, i);
        sym symbol = symbol_known(e, name);
        struct limiter_view view;
        if (!symbol || !core_limiter(e->core, symbol, &view) || view.backoff_until <= e->now)
            continue;
        struct logged *logged = logged_of(journal_of(e), symbol);
        if (logged->until == view.backoff_until)
            continue;
        logged->until = view.backoff_until;
        log_debug("%s limiter=%s until=%" PRId64,
                  config_preset_text(e->config, PRESET_TEXT_NOT_SELECTING), name,
                  view.backoff_until);
    }
}

/* --- ticks ----------------------------------------------------------------------------------- */

static void journal_ordered(struct engine *e, const struct order *o, size_t count) {
    struct task_view view;
    char id[ENGINE_ID_MAX];
    (void)count;
    if (o->kind != ORDER_START || !log_is_on(LOG_DEBUG_LEVEL)
        || !core_task(e->core, o->task, &view))
        return;
    log_debug("%s %s=%s %s=%s priority=%" PRId32 " age_ms=%" PRId64,
              config_preset_text(e->config, PRESET_TEXT_SELECTED),
              config_preset_text(e->config, PRESET_TEXT_TASK), engine_task_id(e, o->task, id),
              config_preset_text(e->config, PRESET_TEXT_KIND),
              view.kind ? name_of(e, view.kind) : "-", o->score, e->now - view.created_at);
}

/* All numbers but `selected` are those before the selection, as in loopr. */
static void log_tick(struct engine *e, const struct core_counts *counts) {
    uint32_t selected = (uint32_t)e->turn.starts.count;
    uint32_t live = counts->by_state[TASK_STARTING] + counts->by_state[TASK_RUNNING];
    amount used = counts->runs_used > selected ? counts->runs_used - selected : 0;
    struct tick tick = {
        .selected = selected,
        .running = live > selected ? live - selected : 0,
        .slots = counts->runs_cap,
    };
    tick.runnable = counts->by_state[TASK_READY] + tick.selected;
    tick.pending = counts->by_state[TASK_WAITING] + tick.runnable;
    if (tick.slots != UNLIMITED)
        tick.slots = tick.slots > used ? tick.slots - used : 0;
    if (memcmp(&tick, &journal_of(e)->last, sizeof(tick)) == 0)
        return;
    journal_of(e)->last = tick;
    char slots[24] = "unlimited";
    if (tick.slots != UNLIMITED)
        (void)snprintf(slots, sizeof(slots), "%" PRId64, tick.slots);
    log_debug("Scheduler tick pending=%" PRIu32 " runnable=%" PRIu32 " selected=%" PRIu32
              " running=%" PRIu32 " slots_available=%s",
              tick.pending, tick.runnable, tick.selected, tick.running, slots);
}

/* --- the depth of the queue ------------------------------------------------------------------ */

static bool depth_has_changed(const struct engine *e) {
    amount depth = core_queue_depth(e->core, 0);
    return depth > 0 && depth != journal_of(e)->logged_depth && journal_of(e)->depth_every > 0;
}

static void log_depth(struct engine *e) {
    struct journal *j = journal_of(e);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    amount all = core_queue_depth(e->core, 0), rest = all;
    for (size_t i = 0; i < config_kind_count(e->config); i++) {
        const char *name = config_kind_name(e->config, i);
        sym symbol = symbol_known(e, name);
        amount depth = symbol ? core_queue_depth(e->core, symbol) : 0;
        if (depth > 0)
            strbuf_printf(&text, " %s=%" PRId64, name, depth);
        rest -= depth;
    }
    if (rest > 0)
        strbuf_printf(&text, " -=%" PRId64, rest);
    log_info("Queue depth total=%" PRId64 "%s", all, strbuf_text(&text));
    j->logged_depth = all;
    j->depth_at = e->now;
}

static void check_depth(struct engine *e) {
    struct journal *j = journal_of(e);
    if (core_queue_depth(e->core, 0) == 0) {
        j->depth_at = e->now;
        j->logged_depth = -1;
    } else if (depth_has_changed(e) && e->now - j->depth_at >= j->depth_every) {
        log_depth(e);
    }
}

static void journal_turn(struct engine *e) {
    check_depth(e);
    if (!log_is_on(LOG_DEBUG_LEVEL))
        return;
    struct core_counts counts;
    core_count(e->core, &counts);
    log_tick(e, &counts);
    if (counts.by_state[TASK_READY] > 0)
        log_not_selecting(e);
}

/* After the decisions of a turn. */
static time_ms journal_next(const struct engine *e) {
    const struct journal *j = journal_of(e);
    return depth_has_changed(e) ? time_add(j->depth_at, j->depth_every) : TIME_NEVER;
}

const struct engine_part journal_part = {
    .state_size = sizeof(struct journal),
    .at = { [STEP_INIT] = journal_init,
            [STEP_AFTER_DECIDE] = journal_turn,
            [STEP_CONFIGURED] = journal_configure,
            [STEP_FREE] = journal_free },
    .ordered = journal_ordered,
    .limiter_changed = journal_limiter_changed,
    .next_wakeup = journal_next,
};
