/* scan_digest.c: do two stores say the same?
 *
 * Of each row a table says where its values are, and one loop goes over them. A column that is forgotten here
 * would not be compared: the sizes at the end stop whoever adds one, until it is in its list.
 */
#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "store/scan.h"

/* `size` 0: a text, or NULL. */
struct value {
    uint16_t at, size;
};

#define NUMBER(type, member)                                                                       \
    { (uint16_t) offsetof(struct type, member), sizeof(((struct type *)NULL)->member) }
#define TEXT(type, member)                                                                         \
    { (uint16_t) offsetof(struct type, member), 0 }

/* clang-format off */
static const struct value project[] = {
    TEXT(project_row, name), TEXT(project_row, prefix), NUMBER(project_row, paused),
    TEXT(project_row, paused_by), NUMBER(project_row, paused_at), NUMBER(project_row, created_at),
};
static const struct value limiter[] = {
    TEXT(limiter_row, name), NUMBER(limiter_row, told.backoff_until), NUMBER(limiter_row, told.hits),
    NUMBER(limiter_row, told.closed), NUMBER(limiter_row, told.backoff_since),
    NUMBER(limiter_row, told.last_hit), NUMBER(limiter_row, told.in_backoff),
    NUMBER(limiter_row, told.ramp_since), NUMBER(limiter_row, told.last_success),
};
static const struct value agent[] = {
    TEXT(agent_row, name), NUMBER(agent_row, told.idle), NUMBER(agent_row, told.launch_failures),
    NUMBER(agent_row, told.openings), NUMBER(agent_row, told.closed_until),
};
static const struct value group[] = {
    NUMBER(group_row, id), TEXT(group_row, name), NUMBER(group_row, owned),
    NUMBER(group_row, closed), NUMBER(group_row, created_at), NUMBER(group_row, closed_at),
};
static const struct value usage[] = {
    TEXT(usage_row, project), NUMBER(usage_row, bucket), NUMBER(usage_row, tokens),
    NUMBER(usage_row, unreported), NUMBER(usage_row, reports), NUMBER(usage_row, starts),
    NUMBER(usage_row, completions), NUMBER(usage_row, money), NUMBER(usage_row, priced),
    NUMBER(usage_row, unpriced),
};
static const struct value wait_values[] = {
    TEXT(wait_row, project), TEXT(wait_row, limiter), TEXT(wait_row, agent),
    NUMBER(wait_row, lost), NUMBER(wait_row, closed_since),
};
static const struct value note[] = {
    TEXT(note_row, name), TEXT(note_row, text),
};
static const struct value task[] = {
    NUMBER(task_row, id), TEXT(task_row, project), TEXT(task_row, kind), TEXT(task_row, agent),
    TEXT(task_row, limiter), TEXT(task_row, workspace), TEXT(task_row, serial),
    TEXT(task_row, run_agent), TEXT(task_row, run_limiter), TEXT(task_row, resources),
    NUMBER(task_row, depends_on_count), NUMBER(task_row, reason), NUMBER(task_row, changed_at),
    NUMBER(task_row, told.priority), NUMBER(task_row, told.parent),
    NUMBER(task_row, told.parent_iteration), NUMBER(task_row, told.created_at),
    NUMBER(task_row, told.ready_since), NUMBER(task_row, told.not_before),
    NUMBER(task_row, told.iteration), NUMBER(task_row, told.attempt), NUMBER(task_row, told.state),
    NUMBER(task_row, told.hold), NUMBER(task_row, told.phase), NUMBER(task_row, told.started_at),
    NUMBER(task_row, told.until), NUMBER(task_row, told.parent_gate),
    NUMBER(task_row, told.parallelizable), NUMBER(task_row, told.review),
    NUMBER(task_row, told.artifact_missing), NUMBER(task_row, told.bound),
    NUMBER(task_row, told.keeps), NUMBER(task_row, told.retry_max), NUMBER(task_row, told.group),
    NUMBER(task_row, told.failures), NUMBER(task_row, told.launch_failures),
    NUMBER(task_row, told.losses), NUMBER(task_row, told.restarts),
    NUMBER(task_row, told.breaker_openings), NUMBER(task_row, told.stop),
    NUMBER(task_row, told.run_unlimited), NUMBER(task_row, told.lender),
    NUMBER(task_row, told.borrowed), NUMBER(task_row, told.ready_clock),
};
static const struct value run[] = {
    NUMBER(run_row, task), NUMBER(run_row, attempt), NUMBER(run_row, iteration),
    TEXT(run_row, agent), TEXT(run_row, executor), TEXT(run_row, host), TEXT(run_row, boot_id),
    TEXT(run_row, folder), NUMBER(run_row, phase), NUMBER(run_row, ended),
    NUMBER(run_row, stop_now), NUMBER(run_row, ordered_at), NUMBER(run_row, started_at),
    NUMBER(run_row, ended_at), NUMBER(run_row, limited_until), NUMBER(run_row, outcome),
    TEXT(run_row, how), NUMBER(run_row, exit_code), NUMBER(run_row, exit_signal),
    NUMBER(run_row, tokens_in), NUMBER(run_row, tokens_out), NUMBER(run_row, tokens_cached),
    NUMBER(run_row, cost_micro_usd), TEXT(run_row, session), NUMBER(run_row, resumed),
    TEXT(run_row, model), TEXT(run_row, said), TEXT(run_row, applied), TEXT(run_row, message),
    TEXT(run_row, token_hash), TEXT(run_row, shim_key), NUMBER(run_row, shim_pid),
    NUMBER(run_row, shim_start), NUMBER(run_row, shim_space), TEXT(run_row, cgroup),
};
static const struct value totals[] = {
    NUMBER(store_totals, last_task), NUMBER(store_totals, first_event),
    NUMBER(store_totals, last_event), NUMBER(store_totals, tasks),
    NUMBER(store_totals, pause.paused), TEXT(store_totals, pause.by),
    NUMBER(store_totals, pause.at),
};
static const struct value spec[] = { /* and json */
    NUMBER(spec_row, id), TEXT(spec_row, title), TEXT(spec_row, external_id),
    TEXT(spec_row, context), NUMBER(spec_row, changed_at),
};
static const struct value event[] = {
    NUMBER(event_row, seq), NUMBER(event_row, at), TEXT(event_row, kind), NUMBER(event_row, task),
    NUMBER(event_row, attempt), TEXT(event_row, data),
};
static const struct value key[] = {
    TEXT(key_row, key), NUMBER(key_row, at), NUMBER(key_row, status), TEXT(key_row, answer),
};
static const struct value spent[] = {
    NUMBER(spent_row, span), TEXT(spent_row, project), TEXT(spent_row, agent),
    NUMBER(spent_row, at), NUMBER(spent_row, runs), NUMBER(spent_row, ok),
    NUMBER(spent_row, busy_ms), NUMBER(spent_row, tokens_in), NUMBER(spent_row, tokens_out),
    NUMBER(spent_row, tokens_cached), NUMBER(spent_row, cost_micro_usd),
    NUMBER(spent_row, unknown_tokens), NUMBER(spent_row, unknown_cost),
};
/* clang-format on */

#define SHAPE(values)                                                                              \
    { values, ARRAY_SIZE(values) }
static const struct {
    const struct value *values;
    size_t count;
} shapes[] = {
    [STORE_PROJECTS] = SHAPE(project), [STORE_LIMITERS] = SHAPE(limiter),
    [STORE_AGENTS] = SHAPE(agent),     [STORE_GROUPS] = SHAPE(group),
    [STORE_USAGE] = SHAPE(usage),      [STORE_WAITS] = SHAPE(wait_values),
    [STORE_NOTES] = SHAPE(note),       [STORE_TASKS] = SHAPE(task),
    [STORE_TOTALS] = SHAPE(totals),    [STORE_SPECS] = SHAPE(spec),
    [STORE_RUNS] = SHAPE(run),         [STORE_EVENTS] = SHAPE(event),
    [STORE_KEYS] = SHAPE(key),         [STORE_HOURS] = SHAPE(spent),
    [STORE_DAYS] = SHAPE(spent),
};
_Static_assert(ARRAY_SIZE(shapes) == STORE_TABLE_MAX, "a table has no values");

#define SIZE_IS(type, size)                                                                        \
    _Static_assert(sizeof(void *) != 8 || sizeof(struct type) == (size),                           \
                   "struct " #type " has changed: are all its values in the list above?")
SIZE_IS(project_row, 48);
SIZE_IS(group_row, 40);
SIZE_IS(usage_row, 64);
SIZE_IS(wait_row, 40);
SIZE_IS(note_row, 16);
SIZE_IS(task_row, 344); /* told.enqueued_at is not stored: rows have it as ready_since */
SIZE_IS(run_row, 248);
SIZE_IS(store_totals, 56);
SIZE_IS(spec_row, 56);
SIZE_IS(event_row, 48);
SIZE_IS(key_row, 32);
SIZE_IS(spent_row, 104);

/* What PostgreSQL makes of bytes that are no text (postgres_bulk.c) counts as the same: a file keeps them as they are. */
static uint64_t hash_any_text(const char *text, size_t size) {
    _cleanup_(strbuf_finish) struct strbuf clean = STRBUF_INIT;
    utf8_clean(text, size, &clean);
    return hash_bytes(clean.text, clean.length);
}

static uint64_t hash_text(uint64_t hash, const char *text, size_t size) {
    size_t plain = 0;
    while (plain < size && (signed char)text[plain] > 0)
        plain++;
    return hash_mix(hash, !text           ? 0
                          : plain == size ? hash_bytes(text, size)
                                          : hash_any_text(text, size));
}

static uint64_t hash_value(uint64_t hash, const struct value *value, const void *row) {
    const char *at = (const char *)row + value->at;
    if (value->size == 0) {
        const char *text;
        memcpy(&text, at, sizeof(text));
        return hash_text(hash, text, text ? strlen(text) : 0);
    }
    return hash_mix(hash, hash_bytes(at, value->size));
}

void store_digest_add(struct store_digest *digest, enum store_table table, const void *row) {
    assert(table < STORE_TABLE_MAX && row);
    /* Projects have an order: that in which they were made. */
    uint64_t hash = table == STORE_PROJECTS ? digest->rows[table] : 0;
    for (size_t i = 0; i < shapes[table].count; i++)
        hash = hash_value(hash, &shapes[table].values[i], row);
    if (table == STORE_TASKS) {
        const struct task_row *t = row;
        if (t->depends_on_count > 0)
            hash = hash_mix(
                hash, hash_bytes(t->depends_on, t->depends_on_count * sizeof(*t->depends_on)));
    }
    if (table == STORE_SPECS) {
        const struct spec_row *s = row;
        hash = hash_text(hash, s->json, s->json ? s->json_size : 0);
    }
    digest->rows[table]++;
    digest->sums[table] += hash;
}
