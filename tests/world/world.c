/* world.c: the turns of a world. See world.h. */
#include "world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "../harness/order_print.h"
#include "check.h"

#define NO_OPINION      2
#define CHECK_ALL_EACH  16   /* turns */
#define STANDSTILL      2000 /* turns without time passing */
#define BURST           8    /* facts in one turn */
#define CALM_STEPS_EACH 400  /* steps a task may cost in the second phase */

bool world_chance(struct world *w, unsigned percent) {
    return rng_below(&w->rng, 100) < percent;
}

time_ms world_span(struct world *w, time_ms shortest, time_ms longest) {
    unsigned doublings = 0;
    while (doublings < 40 && (shortest + 1) << doublings < longest)
        doublings++;
    time_ms limit = (shortest + 1) << rng_below(&w->rng, doublings + 1);
    return rng_between(&w->rng, shortest, limit < longest ? limit : longest);
}

void world_plan(struct world *w, enum happening what, time_ms after) {
    agenda_add(&w->agenda, (struct event){ .at = w->now + after, .what = what });
}

void world_trace(const struct world *w, const char *format, ...) {
    if (!w->options.trace)
        return;
    va_list args;
    va_start(args, format);
    (void)vfprintf(w->options.trace, format, args);
    va_end(args);
    (void)fputc('\n', w->options.trace);
}

/* --- telling --------------------------------------------------------------------------------- */

static void print_tasks(struct strbuf *out, const char *label, const task_id *items, size_t count) {
    for (size_t i = 0; i < count; i++)
        strbuf_printf(out, "%s%" PRIu64, i == 0 ? label : ",", items[i]);
}

static void trace_fact(struct world *w, const struct fact *fact, int result) {
    if (!w->options.trace || fact->kind == FACT_CLOCK)
        return;
    struct strbuf *text = &w->text;
    strbuf_clear(text);
    strbuf_printf(text, "%" PRId64 " tell %s", w->now, fact_kind_name(fact->kind));
    if (fact->kind == FACT_TASK_ADDED) {
        const struct task_spec *spec = fact->spec;
        strbuf_printf(text, " task=%" PRIu64 " %s", spec->id, task_state_name(spec->state));
        if (spec->parent)
            strbuf_printf(text, " parent=%" PRIu64 "(%s)", spec->parent,
                          parent_gate_name(spec->parent_gate));
        print_tasks(text, " needs=", spec->depends_on, spec->depends_on_count);
    } else if (fact->task) {
        strbuf_printf(text, " task=%" PRIu64 " attempt=%" PRIu32, fact->task, fact->attempt);
    }
    if (fact->kind == FACT_RUN_ENDED)
        strbuf_printf(text, " %s", outcome_name(fact->ended.outcome));
    if (fact->kind == FACT_DEPENDENCIES)
        print_tasks(text, " needs=", fact->dependencies.items, fact->dependencies.count);
    world_trace(w, "%s -> %d", strbuf_text(text), result);
}

int world_apply_core(struct world *w, const struct fact *fact) {
    struct error error = { 0 };
    recorder_fact(&w->recorder, fact);
    int result = core_apply(w->core, fact, &error);
    w->steps++;
    trace_fact(w, fact, result);
    if (result < 0)
        world_trace(w, "    refused: %s", error.text);
    return result;
}

/* Which invariant is it about whether such a fact is taken, ignored or refused? */
static const char *invariant_of(enum fact_kind kind) {
    if (kind == FACT_DEPENDENCIES)
        return "I12";
    if (kind == FACT_TASK_ADDED)
        return "I2";
    return kind >= FACT_ORDER_REFUSED ? "I9" : "I8";
}

int world_apply_fact(struct world *w, const struct fact *fact) {
    struct books *b = &w->books;
    int expected = w->options.checks && b->synced ? books_answer(b, fact) : NO_OPINION;
    bool ignored = expected == 1 || expected == -1;
    uint64_t before = ignored ? check_digest(b, w->core) : 0;
    int result = world_apply_core(w, fact);
    int answer = result < 0 ? -1 : result;
    if (expected != NO_OPINION && answer != expected)
        breach_set(&w->breach, invariant_of(fact->kind),
                   "%s of task %" PRIu64 " (attempt %" PRIu32 ") was answered %d instead of %d",
                   fact_kind_name(fact->kind), fact->task, fact->attempt, answer, expected);
    else if (ignored && check_digest(b, w->core) != before)
        breach_set(&w->breach, "I9", "%s of task %" PRIu64 " was ignored, but changed something",
                   fact_kind_name(fact->kind), fact->task);
    books_applied(b, fact, result);
    if (fact->kind == FACT_RUN_TOKENS && result == 0)
        disk_note_tokens(&w->disk, fact->task);
    return result;
}

/* --- deciding -------------------------------------------------------------------------------- */

void world_check(struct world *w) {
    if (!w->options.checks || w->breach.found)
        return;
    check_turn(&w->books, w->core);
    check_no_task_waits_in_vain(&w->books, w->core);
    if (w->turns % CHECK_ALL_EACH == 0)
        check_all(&w->books, w->core);
}

static void trace_order(struct world *w, const struct order *order) {
    if (!w->options.trace)
        return;
    strbuf_clear(&w->text);
    order_print(order, core_symbols(w->core), &w->text);
    world_trace(w, "%" PRId64 "     %s", w->now, strbuf_text(&w->text));
}

static size_t decide_once(struct world *w) {
    size_t count;
    books_begin_decision(&w->books);
    const struct order *orders = core_decide(w->core, &count);
    w->steps += count;
    recorder_decision(&w->recorder, orders, count, core_symbols(w->core));
    for (size_t i = 0; i < count && !w->breach.found; i++) {
        trace_order(w, &orders[i]);
        books_ordered(&w->books, &orders[i]);
        if (orders[i].kind == ORDER_START || orders[i].kind == ORDER_STOP)
            process_ordered(w, &orders[i]);
    }
    books_decided(&w->books);
    disk_commit(&w->disk, w->core);
    world_check(w);
    books_end_turn(&w->books);
    return count;
}

void world_decide(struct world *w) {
    (void)decide_once(w);
    w->turns++;
}

/* --- time ------------------------------------------------------------------------------------ */

static void apply_clock(struct world *w) {
    (void)world_apply_fact(w, &(struct fact){ .kind = FACT_CLOCK, .now = w->now });
}

/* No fact is applied, and the wake-up is later: then nothing may happen. */
static void probe(struct world *w, time_ms next) {
    struct rng rng = { .state = hash_mix(w->options.seed, w->turns) };
    if (next <= w->now + 1 || rng_below(&rng, 4) != 0)
        return;
    w->now = rng_below(&rng, 2) ? next - 1 : rng_between(&rng, w->now + 1, next - 1);
    apply_clock(w);
    if (decide_once(w) > 0)
        breach_set(&w->breach, "I21",
                   "a decision %" PRId64 " ms before the next wake-up gave orders", next - w->now);
}

static void clock_jumps(struct world *w) {
    if (world_chance(w, 50)) {
        time_ms back = w->now - world_span(w, 1, HOURS(2));
        (void)world_apply_fact(w, &(struct fact){ .kind = FACT_CLOCK, .now = back });
    } else {
        w->now += world_span(w, SECONDS(1), HOURS(3));
        apply_clock(w);
    }
    world_plan(w, HAPPENS_CLOCK, world_span(w, MINUTES(1), HOURS(1)));
}

static void outage(struct world *w) {
    unsigned l = 1 + (unsigned)rng_below(&w->rng, LIMITERS);
    w->outage_until[l] = w->now + world_span(w, SECONDS(5), MINUTES(10));
    world_plan(w, HAPPENS_OUTAGE, world_span(w, MINUTES(1), MINUTES(30)));
}

/* --- what happens ---------------------------------------------------------------------------- */

/* Facts after which the books cannot follow without a decision stand alone in their turn. */
static bool stands_alone(enum happening what) {
    return what == HAPPENS_ARRIVAL || what == HAPPENS_CONFIG || what == HAPPENS_CLOCK
           || what == HAPPENS_CRASH;
}

static void happen(struct world *w, const struct event *event) {
    switch (event->what) {
    case HAPPENS_ARRIVAL:
        arrivals_happen(w);
        break;
    case HAPPENS_PERSON:
        people_act(w);
        world_plan(w, HAPPENS_PERSON, world_span(w, 1, w->person_every));
        break;
    case HAPPENS_CONFIG:
        config_change(w);
        world_plan(w, HAPPENS_CONFIG, world_span(w, 1, w->config_every));
        break;
    case HAPPENS_OUTAGE:
        outage(w);
        break;
    case HAPPENS_CLOCK:
        clock_jumps(w);
        break;
    case HAPPENS_CRASH:
        crash_and_restart(w, swarm_has(&w->swarm, DAEMON_CRASHES_BEFORE_COMMIT)
                                 && world_chance(w, 50));
        world_plan(w, HAPPENS_CRASH, world_span(w, SECONDS(10), w->crash_every));
        break;
    case HAPPENS_VERDICT:
        people_give_verdicts(w);
        world_plan(w, HAPPENS_VERDICT, SECONDS(30));
        break;
    case HAPPENS_ORDER_REFUSED:
    case HAPPENS_RUN_STARTED:
    case HAPPENS_RUN_TOKENS:
    case HAPPENS_RUN_VALIDATING:
    case HAPPENS_RUN_WAITING:
    case HAPPENS_RUN_WORKING:
    case HAPPENS_RUN_LIMITED:
    case HAPPENS_RUN_ENDED:
    case HAPPENS_STOP_OBEYED:
        (void)process_happens(w, event);
        break;
    }
}

/* False: nothing will ever happen again. */
static bool turn(struct world *w) {
    time_ms next = time_min(core_next_wakeup(w->core), agenda_next(&w->agenda));
    if (next == TIME_NEVER)
        return false;
    if (w->options.checks)
        probe(w, next);
    if (w->breach.found)
        return false;
    w->now = time_max(w->now, next);
    unsigned most = 1;
    if (swarm_has(&w->swarm, HAS_BURSTS) && !w->calm) {
        most = 1 + (unsigned)rng_below(&w->rng, BURST);
        w->now += world_chance(w, 50) ? rng_between(&w->rng, 0, SECONDS(5)) : 0;
    }
    apply_clock(w);
    for (unsigned n = 0; n < most && agenda_next(&w->agenda) <= w->now; n++) {
        bool alone = stands_alone(w->agenda.events[1].what);
        if (alone && n > 0)
            break;
        struct event event = agenda_take(&w->agenda);
        happen(w, &event);
        if (alone)
            break;
    }
    world_decide(w);
    return !w->breach.found;
}

/* Turns until `steps` are done, `end` has come, all is done or nothing happens any more. */
static void turns(struct world *w, uint64_t steps, time_ms end) {
    time_ms since = w->now;
    unsigned standing = 0;
    while (w->steps < steps && w->now <= end && !calm_is_over(w) && turn(w)) {
        standing = w->now == since ? standing + 1 : 0;
        since = w->now;
        if (standing > STANDSTILL) {
            breach_set(&w->breach, "I21", "%d turns and the time does not go on", STANDSTILL);
            return;
        }
    }
}

/* --- one seed -------------------------------------------------------------------------------- */

static void init(struct world *w, const struct options *options) {
    *w = (struct world){ .options = *options, .rng = { .state = hash_u64(options->seed) } };
    books_init(&w->books, &w->breach, options->checks);
    w->recorder.on = options->checks;
    w->next_task = 1;
    swarm_draw(&w->swarm, &w->rng);
    if (options->trace) {
        swarm_print(&w->swarm, &w->text);
        world_trace(w, "seed %" PRIu64 ":%s", options->seed, strbuf_text(&w->text));
    }
    w->core = core_new();
    names_intern(core_symbols(w->core));
    core_watch(w->core);
    setup_draw(w);
    setup_apply(w);
}

static void finish(struct world *w) {
    core_free(w->core);
    disk_finish(&w->disk);
    books_finish(&w->books);
    agenda_finish(&w->agenda);
    recorder_finish(&w->recorder);
    strbuf_finish(&w->text);
    free(w->processes);
}

bool world_play(const struct options *options, struct breach *ret, uint64_t *ret_steps) {
    struct world *w = xcalloc(1, sizeof(*w));
    init(w, options);
    turns(w, options->steps, TIME_NEVER);
    if (!w->breach.found) {
        world_trace(w, "%" PRId64 " calm", w->now);
        calm_begin(w);
        uint64_t most = w->steps + 10000 + w->books.count * CALM_STEPS_EACH;
        turns(w, most, calm_longest(w));
        if (!w->breach.found)
            calm_check_done(w);
    }
    if (!w->breach.found && w->recorder.on)
        recorder_replay(&w->recorder, &w->breach);
    *ret = w->breach;
    *ret_steps += w->steps;
    bool held = !w->breach.found;
    finish(w);
    free(w);
    return held;
}
