/* usage_count.c: the usage of a run, from shares and totals. See reader_internal.h. */
#include <string.h>

#include "agent/reader_internal.h"
#include "base/hash.h"

enum { COUNTERS = 4 };
_Static_assert(sizeof(struct agent_usage) == COUNTERS * sizeof(int64_t), "a counter is missing");

static int64_t *counter(struct agent_usage *usage, int index) {
    int64_t *const all[COUNTERS] = { &usage->in, &usage->out, &usage->cached,
                                     &usage->cost_micro_usd };
    return all[index];
}

static int64_t value(const struct agent_usage *usage, int index) {
    return *counter((struct agent_usage *)(uintptr_t)usage, index);
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

void usage_add(struct agent_usage *sum, const struct agent_usage *more) {
    for (int i = 0; i < COUNTERS; i++)
        agent_add_count(counter(sum, i), value(more, i));
}

static void raise_to(struct agent_usage *most, const struct agent_usage *other) {
    for (int i = 0; i < COUNTERS; i++)
        *counter(most, i) = larger(value(most, i), value(other, i));
}

static uint64_t key_of(const char *session) {
    return hash_bytes(session, strlen(session));
}

static const struct usage_session *find(const struct usage_count *count, uint64_t key) {
    for (size_t i = 0; i < count->session_count; i++)
        if (count->sessions[i].key == key)
            return &count->sessions[i];
    return NULL;
}

static struct usage_session *find_or_make(struct usage_count *count, const char *session) {
    uint64_t key = key_of(session);
    struct usage_session *known = (struct usage_session *)(uintptr_t)find(count, key);
    if (known)
        return known;
    bool is_full = count->session_count == USAGE_SESSIONS;
    struct usage_session *s =
        is_full ? &count->uncounted : &count->sessions[count->session_count++];
    *s = (struct usage_session){ .key = key,
                                 .before = USAGE_NONE,
                                 .shares = USAGE_NONE,
                                 .total = USAGE_NONE,
                                 .begun = USAGE_NONE };
    return s;
}

bool usage_ring_add(uint64_t *ring, size_t size, size_t *count, uint64_t key) {
    for (size_t i = 0; i < size && i < *count; i++)
        if (ring[i] == key)
            return false;
    ring[(*count)++ % size] = key;
    return true;
}

bool usage_count_is_new(struct usage_count *count, const char *session, const char *id) {
    uint64_t key = hash_mix(key_of(session), key_of(id));
    return !*id || usage_ring_add(count->reports, USAGE_REPORTS, &count->report_count, key);
}

static bool is_reported(const struct agent_usage *usage) {
    return usage->in >= 0 || usage->out >= 0 || usage->cached >= 0 || usage->cost_micro_usd >= 0;
}

void usage_count_before(struct usage_count *count, const struct agent_prior_usage *before) {
    struct usage_session *s = find_or_make(count, before->session);
    s->before = before->used;
    s->is_short = before->is_short;
    if (before->resumes) {
        count->resumes = true;
        count->resumed = s->key;
    }
}

void usage_count_share(struct usage_count *count, const char *session,
                       const struct agent_usage *share, bool is_exact) {
    struct usage_session *s = find_or_make(count, session);
    s->is_exact = is_exact;
    s->begun = USAGE_NONE;
    usage_add(&s->shares, share);
}

/* A fork has a new id and continues the counters of its original session. */
static void note_fork(const struct usage_count *count, struct usage_session *s,
                      const struct agent_usage *total) {
    const struct usage_session *origin = count->resumes ? find(count, count->resumed) : NULL;
    if (!origin || origin == s || is_reported(&s->before) || is_reported(&s->total)
        || is_reported(&origin->total))
        return;
    for (int i = 0; i < COUNTERS; i++)
        if (value(total, i) < value(&origin->before, i))
            return;
    s->before = origin->before;
}

void usage_count_total(struct usage_count *count, const char *session,
                       const struct agent_usage *total) {
    struct usage_session *s = find_or_make(count, session);
    note_fork(count, s, total);
    s->begun = USAGE_NONE;
    raise_to(&s->total, total);
}

void usage_count_begun(struct usage_count *count, const char *session,
                       const struct agent_usage *begun) {
    usage_add(&find_or_make(count, session)->begun, begun);
}

static int64_t run_share(const struct usage_session *s, int i) {
    int64_t total = value(&s->total, i), before = value(&s->before, i);
    int64_t reported = value(&s->shares, i);
    bool is_exact = reported >= 0 && s->is_exact;
    bool is_complete = is_exact && (before < 0 || !(s->is_short || s->has_file));
    agent_add_count(&reported, value(&s->begun, i));
    if (total < 0 || is_complete)
        return reported;
    return larger(reported, larger(total - larger(before, 0), 0));
}

bool usage_count_file(struct usage_count *count, const char *session,
                      const struct agent_usage *total) {
    struct usage_session *s = find_or_make(count, session);
    int64_t reported = run_share(s, 0);
    s->has_file = true;
    raise_to(&s->total, total);
    return s != &count->uncounted && total->in - larger(s->before.in, 0) >= reported;
}

bool usage_count_knows_before(const struct usage_count *count, const char *session) {
    const struct usage_session *s = find(count, key_of(session));
    return s && is_reported(&s->before);
}

struct agent_usage usage_count_run(const struct usage_count *count) {
    struct agent_usage sum = USAGE_NONE;
    for (size_t n = 0; n < count->session_count; n++)
        for (int i = 0; i < COUNTERS; i++)
            agent_add_count(counter(&sum, i), run_share(&count->sessions[n], i));
    return sum;
}

struct agent_usage usage_count_session(const struct usage_count *count, const char *session) {
    const struct usage_session *s = find(count, key_of(session));
    struct agent_usage all = USAGE_NONE;
    if (!s)
        return all;
    for (int i = 0; i < COUNTERS; i++) {
        int64_t sum = value(&s->before, i);
        agent_add_count(&sum, run_share(s, i));
        *counter(&all, i) = larger(sum, value(&s->total, i));
    }
    return all;
}
