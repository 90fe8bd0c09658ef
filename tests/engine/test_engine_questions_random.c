/* Random histories of questions: I31 of docs/internals/invariants.md.
 *
 * An answer is used exactly once: one attempt or one waiting call gets it, and another attempt only if the one that had it was interrupted
 * (lost, or not launched). Meanwhile the daemon dies at any commit, commits fail, another daemon takes over, runs end
 * while none is running, and people answer, withdraw, cancel and answer twice. Some questions have a deadline and a default, which is an answer, too.
 * A task asks no more than `limit` questions in a row that no person answers.
 *
 * The model sees what a run sees: its environment has the answer in SLUICE_ANSWER. A failing seed is printed with its step; SEED=N runs it
 * alone, SEEDS=N runs more. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "engine/questions.h"
#include "engine_kit.h"
#include "harness/no_waits.h"
#include "harness/test.h"
#include "late_store.h"

#define SEEDS       60
#define STEPS       150
#define RUNS_MAX    2048u
#define ANSWERS_MAX 512u
#define TASKS_MAX   60u /* the fake executor knows 64 runs */
#define DEADLINE    SECONDS(20)
#define CONFIG                                                                                     \
    KIT_CALM "limits: {runs: 3}\nlost: requeue\nprojects: {web: }\nrunaway: {pause_s: 0}\n"        \
             "retry: {lost: {delay_s: 0, max: 1000}, failed: {delay_s: 0, max: 1000, jitter: "     \
             "0}}\nbreaker: {max: 1000}\ncapability: {questions: %u}\n"

/* The processes, whether a daemon sees them or not. */
static struct real_run {
    struct run_key key;
    unsigned answer; /* which one it was given; 0: none */
    bool lives, interrupted;
    int code;       /* exit status; after 1 the next attempt follows */
    bool has_asked; /* it has read what it was given, even if it is interrupted later */
    unsigned waits; /* the question for whose answer a call of it waits; 0: none */
} runs[RUNS_MAX];

static struct answer {
    task_id task;
    bool acknowledged;  /* the person knows that it was taken; a default: it was seen */
    unsigned calls;     /* waiting calls that returned it */
} answers[ANSWERS_MAX]; /* [0] is not used */

static struct kit kit;
static size_t run_count, seen_starts, seen_stops;
static unsigned answer_count, question_count;
static bool is_canceled[TASKS_MAX];
static unsigned limit;          /* capability.questions */
static unsigned default_answer; /* of the next question; 0: it has none */

/* The last question of each task. */
static struct asked {
    unsigned question, in_row;
    bool by_person; /* a person has answered it */
} asked[TASKS_MAX];
static uint64_t seed, dice;
static int step;

static unsigned roll(unsigned sides) {
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(dice >> 33) % sides;
}

static void broken(const char *rule, task_id task, unsigned answer) {
    fail_msg("I31: %s: task %" PRIu64 ", answer %u (seed %" PRIu64 ", step %d)", rule, task, answer,
             seed, step);
}

static struct real_run *live_run(task_id task) {
    for (size_t i = run_count; i > 0; i--)
        if (runs[i - 1].key.task == task && runs[i - 1].lives)
            return &runs[i - 1];
    return NULL;
}

/* How many have got it and were not interrupted. */
static unsigned times_used(unsigned answer) {
    unsigned times = answers[answer].calls;
    for (size_t i = 0; i < run_count; i++)
        times += runs[i].answer == answer && (!runs[i].interrupted || runs[i].has_asked);
    return times;
}

/* --- what the daemon does ----------------------------------------------------------------------- */

static void see_start(const struct fake_start *start) {
    const char *text = strstr(start->env, "SLUICE_ANSWER=a-");
    unsigned answer = text ? (unsigned)strtoul(text + strlen("SLUICE_ANSWER=a-"), NULL, 10) : 0;
    assert_true(run_count < RUNS_MAX);
    if (answer > 0 && answers[answer].task != start->run.task)
        broken("a run gets the answer of another task", start->run.task, answer);
    if (answer > 0 && times_used(answer) > 0)
        broken("an answer is used twice", start->run.task, answer);
    runs[run_count++] = (struct real_run){ .key = start->run, .lives = true, .answer = answer };
    fake_report_started(start->run);
}

static struct run_end end_of(const struct real_run *run) {
    struct run_end end = fake_exit(run->code);
    if (run->interrupted)
        end.kind = RUN_END_LOST, end.code = -1;
    return end;
}

static void see_stop(const struct fake_stop *stop) {
    struct real_run *run = live_run(stop->run.task);
    if (!run || run->key.attempt != stop->run.attempt)
        return;
    run->lives = false;
    struct run_end end = end_of(run);
    end.kind = RUN_END_STOPPED;
    end.code = -1;
    fake_report_ended(run->key, &end);
}

static bool some_rounds(struct kit *k, void *ctx) {
    int *rounds = ctx;
    loop_again(k->loop);
    return --*rounds <= 0 || engine_is_broken(k->engine);
}

static void see_all(void) {
    while (seen_starts < fake_start_count())
        see_start(fake_start_at(seen_starts++));
    while (seen_stops < fake_stop_count())
        see_stop(fake_stop_at(seen_stops++));
}

/* The next daemon finds the processes as they are. A run that was ordered and not started is lost. */
static void restart(void) {
    see_all();
    fake_forget_everything();
    seen_starts = seen_stops = 0;
    for (size_t i = 0; i < run_count; i++) {
        bool is_last = true; /* of its task */
        for (size_t k = i + 1; k < run_count; k++)
            is_last = is_last && runs[k].key.task != runs[i].key.task;
        if (!is_last)
            continue;
        struct run_end end = {
            .kind = RUN_END_EXIT, .code = runs[i].code, .durable = true, .out_bytes = 1
        };
        if (runs[i].interrupted)
            end.kind = RUN_END_LOST, end.code = -1;
        fake_will_adopt(runs[i].key,
                        runs[i].lives         ? ADOPTED_ALIVE
                        : runs[i].interrupted ? ADOPTED_LOST
                                              : ADOPTED_ENDED,
                        &end);
    }
    kit_restart(&kit);
}

static void restart_if_broken(void) {
    if (engine_is_broken(kit.engine))
        restart();
}

static void settle(void) {
    uint64_t failed = 0;
    for (int i = 0, quiet = 0; quiet < 2; i++) {
        int rounds = 8;
        assert_true(i < 60);
        kit_wait(&kit, some_rounds, &rounds, "a few rounds");
        size_t before = seen_starts + seen_stops;
        see_all();
        quiet = before == seen_starts + seen_stops ? quiet + 1 : 0;
        if (engine_is_broken(kit.engine)) {
            restart();
            failed = 0;
            quiet = 0;
        } else if (kit_stats(&kit).failed_commits > failed) {
            failed = kit_stats(&kit).failed_commits;
            clock_skip(2000);
            quiet = 0;
        }
    }
}

static bool is_answered(struct kit *k, void *ctx) {
    return ((struct kit_ask *)ctx)->answered || engine_is_broken(k->engine);
}

static void request(struct kit_ask *ask) {
    kit_send(&kit, ask);
    kit_wait(&kit, is_answered, ask, "the answer of a request");
}

/* --- what runs and people do ---------------------------------------------------------------------- */

static struct kit_ask asking(int (*run)(struct engine *, struct kit_ask *), task_id task) {
    return (struct kit_ask){ .run = run, .fact = { .task = task } };
}

/* `count`: the number of the question. */
static int run_ask(struct engine *e, struct kit_ask *ask) {
    struct engine_run live;
    char text[32];
    if (!engine_live_run(e, ask->fact.task, &live) || live.attempt != ask->fact.attempt)
        return -1;
    char fallback[32];
    snprintf(text, sizeof(text), "question %zu", ask->count);
    snprintf(fallback, sizeof(fallback), "a-%u", default_answer);
    struct engine_question question = { .task = ask->fact.task,
                                        .attempt = live.attempt,
                                        .text = text,
                                        .fallback = default_answer > 0 ? fallback : NULL,
                                        .deadline =
                                            default_answer > 0 ? engine_now(e) + DEADLINE : 0 };
    return engine_ask(e, &question, &ask->err) < 0 ? -1 : 0;
}

static int run_answer(struct engine *e, struct kit_ask *ask) {
    char text[32];
    snprintf(text, sizeof(text), "a-%u", answer_count);
    return engine_answer(e, ask->fact.task, text, "ann", &ask->err) < 0 ? -1 : 0;
}

/* A call that waits asks again, as after a restart, and returns the answer if it is there: ops/op_questions.c. */
static int run_take(struct engine *e, struct kit_ask *ask) {
    if (run_ask(e, ask) < 0)
        return -1;
    const struct engine_question *q = engine_question(e, ask->fact.task);
    bool takes = q->state == QUESTION_ANSWERED && !q->is_used;
    ask->first = takes ? (task_id)strtoul(q->answer + 2, NULL, 10) : 0;
    if (takes)
        engine_use_answer(e, ask->fact.task);
    return 0;
}

/* Each step asks one question at most, so none is missed. */
static void see_questions(void) {
    for (task_id task = 1; task <= engine_last_task(kit.engine); task++) {
        const struct engine_question *q = engine_question(kit.engine, task);
        struct asked *a = &asked[task];
        if (!q)
            continue;
        unsigned number = (unsigned)strtoul(q->text + strlen("question "), NULL, 10);
        if (number != a->question)
            *a = (struct asked){ .question = number, .in_row = a->by_person ? 1 : a->in_row + 1 };
        if (a->in_row > limit)
            broken("a task asks too often", task, 0);
        if (q->state != QUESTION_ANSWERED)
            continue;
        a->by_person = strcmp(q->by, QUESTION_BY_DEADLINE) != 0;
        if (!a->by_person)
            answers[strtoul(q->answer + 2, NULL, 10)].acknowledged = true;
    }
}

static void take_answer(struct real_run *run) {
    struct kit_ask ask = asking(run_take, run->key.task);
    ask.fact.attempt = run->key.attempt;
    ask.count = run->waits;
    request(&ask);
    unsigned answer = (unsigned)ask.first;
    if (!ask.answered || ask.outcome != STORE_OK) {
        /* The client repeats its request with the same key, and gets what was stored. */
        restart_if_broken();
        const struct engine_question *q = engine_question(kit.engine, run->key.task);
        if (answer == 0 || !q || !q->is_used)
            return;
    }
    if (answer == 0)
        return;
    run->waits = 0;
    if (times_used(answer) > 0)
        broken("a call returns an answer that is used", run->key.task, answer);
    answers[answer].calls++;
}

static void answer_question(task_id task) {
    struct kit_ask ask = asking(run_answer, task);
    assert_true(answer_count + 1 < ANSWERS_MAX);
    answers[++answer_count] = (struct answer){ .task = task };
    request(&ask);
    answers[answer_count].acknowledged = ask.answered && ask.outcome == STORE_OK && ask.result == 0;
    const struct real_run *run = live_run(task);
    if (answers[answer_count].acknowledged && run && run->answer > 0 && times_used(run->answer) > 1)
        broken("an answer is used twice", task, run->answer);
}

static void end_run(struct real_run *run, bool interrupted) {
    run->lives = false;
    run->interrupted = interrupted;
    struct run_end end = end_of(run);
    fake_report_ended(run->key, &end);
}

static void apply(enum fact_kind kind, task_id task) {
    struct kit_ask ask = kit_ask_apply(kind, task);
    request(&ask);
}

static void with_run(struct real_run *run) {
    struct kit_ask ask = asking(run_ask, run->key.task);
    const struct engine_question *q;
    switch (roll(8)) {
    case 0:
    case 1:
        ask.fact.attempt = run->key.attempt;
        ask.count = ++question_count;
        assert_true(answer_count + 1 < ANSWERS_MAX);
        if (roll(3) == 0)
            answers[default_answer = ++answer_count] = (struct answer){ .task = run->key.task };
        request(&ask);
        default_answer = 0;
        if (strstr(ask.err.text, "no person has answered") && asked[run->key.task].in_row < limit)
            broken("a question is refused", run->key.task, 0);
        if (ask.answered && ask.outcome == STORE_OK && ask.result == 0 && roll(2))
            run->waits = question_count;
        restart_if_broken(); /* is it stored? */
        q = engine_question(kit.engine, run->key.task);
        run->has_asked = run->has_asked || (q && q->attempt == run->key.attempt);
        break;
    case 2:
    case 3:
        if (run->waits > 0)
            take_answer(run);
        break;
    case 4:
        end_run(run, true);
        break;
    case 5: /* it ends while no daemon is running */
        run->lives = false;
        run->interrupted = roll(3) == 0;
        run->code = roll(3) == 0;
        restart();
        break;
    default:
        run->code = roll(2) ? 1 : 0;
        end_run(run, false);
        break;
    }
}

static void happen(void) {
    task_id last = engine_last_task(kit.engine);
    unsigned newest = last < 5 ? (unsigned)last : 5; /* the oldest have ended long ago */
    task_id task = last > 0 ? last - roll(newest) : 0;
    struct real_run *run = task > 0 ? live_run(task) : NULL;
    if (roll(3) == 0)
        late_crash_commit(1 + roll(3), roll(2));
    if (roll(5) == 0)
        late_fail_commit(1 + roll(2));
    fake_fail_starts(roll(12) == 0 ? -EIO : 0);
    switch (roll(12)) {
    case 0:
        if (last + 1 < TASKS_MAX) {
            struct kit_ask add = kit_ask_add(&kit, "web", "{\"argv\":[\"a\"]}");
            request(&add);
        }
        break;
    case 1:
    case 2:
        if (task > 0 && (engine_question(kit.engine, task) || roll(4) == 0))
            answer_question(task);
        break;
    case 3:
        clock_skip(DEADLINE / 2);
        break;
    case 4:
        if (task > 0 && roll(3) == 0)
            apply(FACT_RELEASE, task);
        break;
    case 5:
        if (task > 0 && roll(6) == 0) {
            is_canceled[task] = true;
            apply(FACT_CANCEL, task);
        }
        break;
    case 6:
        restart();
        break;
    case 7:
        late_lose_store(); /* another daemon takes over */
        restart();
        break;
    default:
        if (run)
            with_run(run);
        break;
    }
    settle();
    see_questions();
}

/* --- the end -------------------------------------------------------------------------------------- */

static bool is_unfinished(task_id task) {
    enum task_state state = kit_state(&kit, task);
    return state != TASK_ABSENT && !task_state_is_final(state);
}

/* People answer everything, and runs end by themselves. */
static void finish_all(void) {
    task_id last = engine_last_task(kit.engine);
    bool is_over = false;
    late_crash_commit(0, false);
    late_fail_commit(0);
    fake_fail_starts(0);
    for (int i = 0; i < 400 && !is_over; i++) {
        is_over = true;
        for (task_id task = 1; task <= last; task++) {
            const struct engine_question *q = engine_question(kit.engine, task);
            struct real_run *run = live_run(task);
            is_over = is_over && !is_unfinished(task);
            if (q && q->state == QUESTION_OPEN)
                answer_question(task);
            else if (run)
                end_run(run, false);
        }
        settle();
        see_questions();
    }
    if (!is_over)
        broken("a task waits for ever", 0, 0);
}

static void judge(void) {
    for (unsigned answer = 1; answer <= answer_count; answer++) {
        const struct answer *a = &answers[answer];
        unsigned times = times_used(answer);
        if (times > 1)
            broken("an answer is used twice", a->task, answer);
        if (times == 0 && a->acknowledged && !is_canceled[a->task])
            broken("an answer is not used", a->task, answer);
    }
    for (task_id task = 1; task <= engine_last_task(kit.engine); task++)
        if (engine_question(kit.engine, task))
            broken("a final task has a question", task, 0);
}

TEST(an_answer_is_used_exactly_once) {
    const char *from = getenv("SEED"), *count = getenv("SEEDS");
    uint64_t first = from ? strtoull(from, NULL, 10) : 1;
    uint64_t last = first + (count ? strtoull(count, NULL, 10) : from ? 1 : SEEDS) - 1;
    for (seed = first; seed <= last; seed++) {
        dice = seed * UINT64_C(0x9e3779b97f4a7c15);
        run_count = seen_starts = seen_stops = 0;
        answer_count = question_count = 0;
        memset(is_canceled, 0, sizeof(is_canceled));
        memset(asked, 0, sizeof(asked));
        char config[1024];
        limit = 1 + (unsigned)(seed % 3);
        (void)snprintf(config, sizeof(config), CONFIG, limit);
        kit_open_late(&kit, config);
        for (step = 1; step <= STEPS; step++)
            happen();
        finish_all();
        judge();
        kit_close(&kit);
    }
}
