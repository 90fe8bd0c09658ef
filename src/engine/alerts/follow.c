/* follow.c: the cursors of followers, and which event each gets next.
 *
 * A follower has a window of FOLLOW_AHEAD events after its cursor. Fresh events are handed out as
 * they are committed while the follower keeps up. One that lags, after a restart or because it is
 * slow, reads them from the store, as many at a time as its window has room for. So no follower
 * holds back the engine or another follower, and nothing is kept in memory for slow ones.
 *
 * The cursor is a note. An idle daemon is not woken for it: it is written with a commit that is
 * made anyway, once some events lie behind it; it requests its own commit when they are many, and
 * at the end. Events after the stored cursor are handled again after a crash. */
#include "engine/follow.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "engine/note.h"
#include "os/log.h"

#define NOTE_PREFIX "follow."
#define ALONG       64u   /* done since it was written: added to the next commit */
#define MANY        1024u /* requests a commit */

struct follower {
    struct engine *engine;
    struct follower *next_follower;
    char *name;
    follower_handle handle;
    void *ctx;
    uint64_t cursor;       /* all up to here are done */
    uint64_t next;         /* the first that was not handed out */
    uint64_t written;      /* the cursor as stored */
    uint64_t writing;      /* as in the batch, with is_writing */
    uint64_t last_queried; /* the last event when the store was queried */
    bool known;            /* it is in the store */
    bool is_writing;
    bool is_querying;
    bool gap; /* the next ones are pruned: what was handed out must be done first */
    bool warned;
    bool rests;
    follower_saved saved; /* called when `save` is written; or NULL */
    uint64_t save;
    bool done[FOLLOW_AHEAD]; /* by seq: those between cursor and next */
};

struct follow {
    struct follower *first;
};

PART_STATE(follow, struct follow, follow_of)

struct follower *follower_new(struct engine *engine, const char *name, follower_handle handle,
                              void *ctx) {
    assert(!engine->started);
    struct follower *f = xcalloc(1, sizeof(*f));
    f->engine = engine;
    f->name = xstrdup(name);
    f->handle = handle;
    f->ctx = ctx;
    struct follower **end = &follow_of(engine)->first;
    while (*end)
        end = &(*end)->next_follower;
    *end = f;
    return f;
}

static void follow_free(struct engine *e) {
    for (struct follower *f = follow_of(e)->first, *next; f; f = next) {
        next = f->next_follower;
        free(f->name);
        free(f);
    }
}

/* --- the start ------------------------------------------------------------------------------- */

static void follow_load(struct engine *e, const struct note_row *row) {
    int64_t seq = 0;
    const char *name = note_number(row, NOTE_PREFIX, &seq);
    if (e->started || !name || seq < 0)
        return;
    for (struct follower *f = follow_of(e)->first; f; f = f->next_follower)
        if (strcmp(f->name, name) == 0) {
            f->cursor = f->written = (uint64_t)seq;
            f->known = true;
        }
}

/* Everything is loaded: new followers begin after the last event. */
static void follow_loaded(struct engine *e) {
    for (struct follower *f = follow_of(e)->first; f && !e->started; f = f->next_follower) {
        /* Numbers only rise: a cursor ahead of them all is from another life of the store. */
        if (f->cursor > e->committed_event)
            f->known = false;
        if (!f->known) {
            f->cursor = e->committed_event;
            f->written = 0;
        }
        f->next = f->cursor + 1;
    }
}

/* --- handing out ----------------------------------------------------------------------------- */

static bool has_room(const struct follower *f) {
    return f->next <= f->cursor + FOLLOW_AHEAD;
}

static bool is_behind(const struct follower *f) {
    return f->next <= f->engine->committed_event;
}

static void hand_out(struct follower *f, const struct event_row *event) {
    f->done[event->seq % FOLLOW_AHEAD] = false;
    f->next = event->seq + 1;
    f->handle(f->ctx, event);
}

static void follow_publish(struct engine *e, const struct event_row *event) {
    for (struct follower *f = follow_of(e)->first; f && !e->ending; f = f->next_follower)
        if (event->seq == f->next && !f->is_querying && has_room(f))
            hand_out(f, event);
}

void follower_done(struct follower *f, uint64_t seq) {
    assert(seq < f->next);
    if (seq <= f->cursor)
        return;
    bool waited = f->gap || !has_room(f); /* else the next ones are on their way */
    f->done[seq % FOLLOW_AHEAD] = true;
    while (f->cursor + 1 < f->next && f->done[(f->cursor + 1) % FOLLOW_AHEAD])
        f->cursor++;
    if ((waited && is_behind(f)) || f->engine->ending || f->cursor - f->written >= MANY)
        turn_wake(f->engine);
}

static bool is_idle(const struct follower *f) {
    return f->cursor + 1 == f->next;
}

bool follower_save(struct follower *f, follower_saved saved) {
    if (f->cursor == f->written)
        return true;
    f->saved = saved;
    f->save = f->cursor;
    turn_wake(f->engine);
    return false;
}

void follower_rest(struct follower *f, bool rests) {
    f->rests = rests;
}

/* Pruned events need no handling, but earlier ones must be done first: the window has no gaps.
 * False: not yet. */
static bool skip_to(struct follower *f, uint64_t seq) {
    if (seq == f->next)
        return true;
    f->gap = !is_idle(f);
    if (f->gap)
        return false;
    f->cursor = seq - 1;
    f->next = seq;
    return true;
}

static void events_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct follower *f = ctx;
    f->is_querying = false;
    if (err) {
        if (!f->warned)
            log_warning("what '%s' shall react to cannot be read; it is tried again: %s", f->name,
                        err->text);
        f->warned = true;
        return; /* the next event or turn repeats the query */
    }
    f->warned = false;
    uint64_t before = f->next;
    if (answer->count == 0)
        (void)skip_to(f, f->last_queried + 1);
    for (size_t i = 0; i < answer->count && !f->engine->ending; i++) {
        const struct event_row *event = &answer->events[i];
        if (event->seq < f->next)
            continue;
        if (!has_room(f) || !skip_to(f, event->seq))
            break;
        hand_out(f, event);
    }
    if (is_behind(f) && has_room(f) && f->next > before)
        turn_wake(f->engine);
}

static void query_events(struct follower *f) {
    struct store_query query = {
        .kind = QUERY_EVENTS,
        .after = f->next - 1,
        .limit = (size_t)(f->cursor + FOLLOW_AHEAD + 1 - f->next),
    };
    f->is_querying = true;
    f->last_queried = f->engine->committed_event;
    store_query(f->engine->store, &query, events_answered, f);
}

/* Hands the next events to followers that lag. */
static void follow_some(struct engine *e) {
    if (!e->started || e->broken.code || e->ending)
        return;
    for (struct follower *f = follow_of(e)->first; f; f = f->next_follower) {
        f->gap = f->gap && !is_idle(f);
        if (is_behind(f) && !f->is_querying && !f->gap && has_room(f))
            query_events(f);
    }
}

/* --- the cursor ------------------------------------------------------------------------------ */

/* Whether a cursor is worth a commit of its own. */
static bool follow_must_write(const struct engine *e) {
    for (const struct follower *f = follow_of(e)->first; f; f = f->next_follower)
        if (f->cursor - f->written >= MANY || ((e->ending || f->saved) && f->cursor != f->written))
            return true;
    return false;
}

static void follow_write(struct engine *e) {
    bool all = follow_must_write(e);
    if (!all && store_batch_count(e->turn.batch) == 0)
        return;
    for (struct follower *f = follow_of(e)->first; f; f = f->next_follower) {
        f->is_writing = false;
        if (f->cursor == f->written && f->known)
            continue;
        if (!all && f->known && f->cursor - f->written < ALONG)
            continue;
        note_put_number(e, NOTE_PREFIX, f->name, (int64_t)f->cursor);
        f->writing = f->cursor;
        f->is_writing = true;
    }
}

static void follow_stored(struct engine *e) {
    for (struct follower *f = follow_of(e)->first; f; f = f->next_follower) {
        if (!f->is_writing)
            continue;
        f->written = f->writing;
        f->is_writing = false;
        f->known = true;
        if (f->saved && f->written >= f->save && !e->ending)
            TAKE_PTR(f->saved)(f->ctx);
    }
}

/* The cursors in the batch were not stored. */
static void follow_undone(struct engine *e) {
    for (struct follower *f = follow_of(e)->first; f; f = f->next_follower)
        f->is_writing = false;
}

void follow_end(struct engine *e) {
    e->ending = true;
    turn_wake(e);
}

bool follow_is_ending(const struct engine *e) {
    return e->ending;
}

bool follow_is_busy(const struct engine *e) {
    for (const struct follower *f = follow_of(e)->first; f; f = f->next_follower)
        if ((!is_idle(f) && !f->rests) || f->cursor != f->written)
            return true;
    return false;
}

const struct engine_part follow_part = {
    .state_size = sizeof(struct follow),
    .at = { [STEP_LOADED] = follow_loaded,
            [STEP_AFTER_DECIDE] = follow_write,
            [STEP_STORED] = follow_stored,
            [STEP_UNDONE] = follow_undone,
            [STEP_ROUND_END] = follow_some,
            [STEP_FREE] = follow_free },
    .load_note = follow_load,
    .publish = follow_publish,
    .has_work = follow_must_write,
};
