/* history.c: random batches like those of a daemon, generated from a seed.
 *
 * They depend only on the seed, never on the outcome of earlier batches.
 */
#include "history.h"

#include <stdio.h>
#include <string.h>

#define TASKS_ALIVE                                                                                \
    24u /* only the newest rows are changed, so that all kinds of rows are combined */

struct history history_begin(uint64_t seed, bool with_mistakes) {
    return (struct history){
        .rng = { seed }, .next_task = 1, .next_event = 1, .with_mistakes = with_mistakes
    };
}

static task_id some_task(struct history *h) {
    task_id first = h->next_task > TASKS_ALIVE ? h->next_task - TASKS_ALIVE : 1;
    return first + rng_below(&h->rng, h->next_task - first + 1);
}

static void some_name(struct history *h, char name[16], const char *begin) {
    (void)snprintf(name, 16, "%s%u", begin, (unsigned)rng_below(&h->rng, 5));
}

static struct task_row some_row(struct history *h, task_id id, char kind[16]) {
    struct task_row row = kit_task(id + rng_below(&h->rng, 100));
    some_name(h, kind, "kind");
    if (rng_below(&h->rng, 3) == 0) { /* one that never started */
        row.spec = (struct task_spec){ .state = TASK_WAITING, .iteration = 1 };
        row.run_agent = row.run_limiter = NULL;
    }
    row.id = id;
    row.kind = kind;
    row.project = id % 2 ? "web" : "api";
    return row;
}

static void add_task(struct history *h, struct store_batch *batch) {
    char kind[16], external[16], title[2001];
    struct task_row row = some_row(h, h->next_task, kind);
    struct spec_row spec = kit_spec(row.id);
    size_t length = rng_below(&h->rng, 8) == 0 ? rng_below(&h->rng, sizeof(title)) : 8;
    memset(title, 'a' + (char)(row.id % 26), length);
    title[length] = '\0';
    spec.title = title;
    some_name(h, external, "key-");
    if (h->with_mistakes && rng_below(&h->rng, 6) == 0)
        spec.external_id = external; /* often in use */
    store_add_task(batch, &row);
    store_add_spec(batch, &spec);
    if (rng_below(&h->rng, 8) == 0)
        store_put_context(batch, row.id, "{\"merge\":\"local\"}");
    h->next_task++;
}

static void change_task(struct history *h, struct store_batch *batch) {
    char kind[16];
    if (h->next_task == 1)
        return;
    task_id id = h->with_mistakes && rng_below(&h->rng, 10) == 0 ? some_task(h) : h->next_task - 1;
    struct task_row row = some_row(h, id, kind);
    unsigned needs = rng_below(&h->rng, 3) == 0 ? STORE_CHANGE_NEEDS : 0;
    store_change_task(batch, &row, needs | STORE_CHANGE_SEEN);
    if (rng_below(&h->rng, 4) == 0) { /* and a change that users do not see */
        row.changed_at++;
        row.spec.ready_clock++;
        store_change_task(batch, &row, needs);
    }
}

static void add_event(struct history *h, struct store_batch *batch) {
    if (h->with_mistakes && rng_below(&h->rng, 40) == 0 && h->next_event > 1)
        h->next_event--; /* its number is in use */
    struct event_row row = kit_event(h->next_event++, rng_below(&h->rng, 2) ? some_task(h) : 0);
    store_add_event(batch, &row);
}

static void add_key(struct history *h, struct store_batch *batch) {
    char key[16];
    if (h->with_mistakes)
        some_name(h, key, "key-");
    else
        (void)snprintf(key, sizeof(key), "key-%u", (unsigned)h->next_event);
    struct key_row row = { .key = key,
                           .at = (time_ms)rng_below(&h->rng, 100),
                           .status = 200,
                           .answer = "{\"id\":\"web-1\"}" };
    store_add_key(batch, &row);
}

static void put_world(struct history *h, struct store_batch *batch) {
    char name[16];
    some_name(h, name, "name");
    uint32_t n = (uint32_t)rng_below(&h->rng, 1000);
    struct project_row project = { .name = name, .prefix = "p", .paused = n % 2, .created_at = n };
    if (n % 3 == 0) {
        project.paused_by = name;
        project.paused_at = n;
    }
    struct group_row group = { .id = 1 + n % 4, .name = name, .owned = n % 2, .closed_at = n };
    struct limiter_row limiter = { .name = name,
                                   .spec = { .hits = n,
                                             .backoff_until = n,
                                             .last_success = n,
                                             .quota = { { (int32_t)(n % 1200), n + 1 },
                                                        { (int32_t)(n % 900), n + 2 } } } };
    struct agent_row agent = { .name = name, .spec = { .openings = n, .closed_until = n } };
    struct usage_row usage = { .project = n % 5 ? name : NULL, .bucket = n % 3 * 300000 };
    usage.tokens = n;
    usage.money = n * 7;
    usage.priced = n % 4 ? 1 : 0;
    usage.unpriced = 1 - usage.priced;
    usage.starts = n % 7 ? 1 : -1;
    struct wait_row wait = { .project = name, .limiter = n % 2 ? name : NULL, .lost = n };
    wait.agent = n % 3 ? NULL : name;
    struct note_row note = { .name = name, .text = n % 3 ? "noted" : NULL };
    switch (n % 8) {
    case 0:
        store_put_project(batch, &project);
        break;
    case 1:
        if (n % 3 == 0)
            store_delete_group(batch, group.id);
        else
            store_put_group(batch, &group);
        break;
    case 2:
        store_put_limiter(batch, &limiter);
        break;
    case 3:
        store_put_agent(batch, &agent);
        break;
    case 4:
        store_put_wait(batch, &wait);
        break;
    case 5:
        store_put_pause(batch, &(struct pause_row){ n % 4 < 2, name, n });
        break;
    case 6:
        store_put_note(batch, &note);
        break;
    default:
        store_add_usage(batch, &usage);
    }
}

static void prune(struct history *h, struct store_batch *batch) {
    switch (rng_below(&h->rng, 3)) {
    case 0:
        store_prune_events(batch, h->next_event > 5 ? h->next_event - 5 : 1);
        break;
    case 1:
        store_prune_usage(batch, (time_ms)rng_below(&h->rng, 600001));
        break;
    default:
        store_prune_keys(batch, (time_ms)rng_below(&h->rng, 100));
    }
}

static void add_one(struct history *h, struct store_batch *batch) {
    unsigned dice = (unsigned)rng_below(&h->rng, 100);
    if (dice < 25) {
        add_task(h, batch);
    } else if (dice < 40) {
        change_task(h, batch);
    } else if (dice < 55) {
        struct run_row run = kit_run(some_task(h), 1 + (uint32_t)rng_below(&h->rng, 4));
        store_put_run(batch, &run);
    } else if (dice < 75) {
        add_event(h, batch);
    } else if (dice < 80) {
        add_key(h, batch);
    } else if (dice < 92) {
        put_world(h, batch);
    } else if (dice < 95) {
        prune(h, batch);
    } else if (h->with_mistakes || h->next_task > 3) {
        /* Without invalid batches the newest row is kept, because later batches change it. */
        task_id id = some_task(h);
        if (h->with_mistakes || id + 1 < h->next_task)
            store_delete_task(batch, id);
    }
}

void history_next(struct history *h, struct store_batch *batch) {
    size_t count = 1 + rng_below(&h->rng, 12);
    for (unsigned i = 0; store_batch_count(batch) < count; i++) {
        if (h->ahead && i % 3 == 2 && store_batch_count(batch) > 0)
            store_send_ahead(h->ahead, batch);
        add_one(h, batch);
    }
}
