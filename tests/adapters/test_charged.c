/* test_charged.c: the usage that the reader counts equals what was charged, in every recorded run.
 *
 * tests/fixtures/agents/charged.txt has what the service charged for each run, from its own ledger. Runs that resume
 * another one are read after it, with the prior usage of their session, as the daemon does; also in another order,
 * several in one log, and truncated after each line: never more than was charged. */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "fake_run.h"
#include "harness/test.h"
#include "os/files.h"

#define FOLDER SOURCE_ROOT "/tests/fixtures/agents"
#define RUNS   200
#define CHAIN  8
#define OTHERS 4

struct run {
    char agent[32], scenario[64], after[64];
    int64_t in, out;               /* charged */
    int64_t booked_in, booked_out; /* -1: not known */
    bool has_why;
    struct strbuf stdout_bytes, stderr_bytes, usage_bytes, file_bytes;
    struct {
        char id[64];
        struct strbuf bytes;
    } others[OTHERS]; /* agents that it has started */
    size_t other_count;
    int code;
};

static struct run runs[RUNS];
static size_t run_count;

/* --- the table ------------------------------------------------------------------------------------ */

static bool read_part(const struct run *r, const char *part, struct strbuf *out) {
    char path[512];
    struct error err = { 0 };
    (void)snprintf(path, sizeof(path), "%s/%s/%s/%s", FOLDER, r->agent, r->scenario, part);
    if (access(path, F_OK) != 0)
        return false;
    if (file_read(path, 16 * 1024 * 1024, out, &err) < 0)
        fail_msg("%s", err.text);
    return true;
}

/* The files session-ID of agents that it has started. */
static void read_others(struct run *r) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s/%s", FOLDER, r->agent, r->scenario);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strncmp(entry->d_name, "session-", 8) == 0) {
            assert_true(r->other_count < OTHERS);
            (void)snprintf(r->others[r->other_count].id, sizeof(r->others[0].id), "%.63s",
                           entry->d_name + 8);
            (void)read_part(r, entry->d_name, &r->others[r->other_count++].bytes);
        }
    (void)closedir(folder);
}

static int64_t booked_of(const char *text, int64_t charged) {
    if (strcmp(text, "=") == 0)
        return charged;
    return strcmp(text, "-") == 0 ? -1 : strtoll(text, NULL, 10);
}

static void run_read(const char *line) {
    struct run *r = &runs[run_count++];
    char in[24], out[24];
    int behind = 0;
    assert_true(run_count < RUNS);
    if (sscanf(line, "%31s %63s %" SCNd64 " %" SCNd64 " %23s %23s %63s %n", r->agent, r->scenario,
               &r->in, &r->out, in, out, r->after, &behind)
        != 7)
        fail_msg("charged.txt: '%s' has not seven fields", line);
    r->booked_in = booked_of(in, r->in);
    r->booked_out = booked_of(out, r->out);
    r->has_why = behind > 0 && line[behind];
    _cleanup_(strbuf_finish) struct strbuf code = STRBUF_INIT;
    assert_true(read_part(r, "stdout", &r->stdout_bytes));
    (void)read_part(r, "stderr", &r->stderr_bytes);
    (void)read_part(r, "usage", &r->usage_bytes);
    (void)read_part(r, "session", &r->file_bytes);
    assert_true(read_part(r, "exit", &code));
    r->code = (int)strtol(strbuf_text(&code), NULL, 10);
    read_others(r);
}

static int read_table(void **state) {
    (void)state;
    _cleanup_(strbuf_finish) struct strbuf table = STRBUF_INIT;
    struct error err = { 0 };
    if (file_read(FOLDER "/charged.txt", 1024 * 1024, &table, &err) < 0)
        fail_msg("%s", err.text);
    for (char *line = table.text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (*line && *line != '#')
            run_read(line);
    }
    return 0;
}

static int free_table(void **state) {
    (void)state;
    for (size_t i = 0; i < run_count; i++) {
        strbuf_finish(&runs[i].stdout_bytes);
        strbuf_finish(&runs[i].stderr_bytes);
        strbuf_finish(&runs[i].usage_bytes);
        strbuf_finish(&runs[i].file_bytes);
        for (size_t n = 0; n < runs[i].other_count; n++)
            strbuf_finish(&runs[i].others[n].bytes);
    }
    return 0;
}

static const struct run *run_find(const char *agent, const char *scenario) {
    for (size_t i = 0; i < run_count; i++)
        if (strcmp(runs[i].agent, agent) == 0 && strcmp(runs[i].scenario, scenario) == 0)
            return &runs[i];
    fail_msg("charged.txt has no line for %s %s", agent, scenario);
    return NULL;
}

/* --- reading -------------------------------------------------------------------------------------- */

/* What a daemon remembers of a session. */
struct memory {
    char session[128];
    struct agent_usage used;
    bool is_short;
};

/* The id in front of a run that begins a session: the caller has chosen it. */
static void session_of(const struct run *r, char ret[128]) {
    struct agent_outcome o =
        fake_run(r->agent, (struct fake_run){ .out = strbuf_text(&r->stdout_bytes) });
    (void)snprintf(ret, 128, "%s", o.session[0] ? o.session : "given");
}

static const struct strbuf *file_of(const struct run *r, const char *session) {
    for (size_t i = 0; i < r->other_count; i++)
        if (strcmp(session, r->others[i].id) == 0)
            return &r->others[i].bytes;
    return &r->file_bytes;
}

/* Its own first; those of others may name more of them. */
static void read_files(const struct run *r, struct agent_reader *reader) {
    char done[CHAIN][128];
    size_t count = 0;
    for (size_t index = 0; count < CHAIN;) {
        const char *id = agent_reader_wants_file(reader, index++);
        bool is_done = false;
        for (size_t i = 0; id && i < count; i++)
            is_done = is_done || strcmp(done[i], id) == 0;
        if (!id)
            break;
        if (is_done)
            continue;
        (void)snprintf(done[count++], sizeof(done[0]), "%s", id);
        const struct strbuf *bytes = file_of(r, done[count - 1]);
        agent_reader_session_file(reader, done[count - 1], strbuf_text(bytes), bytes->length);
        index = 0;
    }
}

static struct agent_outcome play(const struct run *r, size_t size, bool with_files,
                                 struct memory *memory) {
    struct agent_reader *reader = agent_reader_new(agent_adapter_find(r->agent));
    bool resumes = memory->session[0];
    struct agent_prior_usage before = { .session = memory->session,
                                        .used = memory->used,
                                        .is_short = memory->is_short,
                                        .resumes = resumes };
    if (!resumes)
        session_of(r, memory->session);
    agent_reader_set_prior_usage(reader, &before);
    agent_reader_stdout(reader, strbuf_text(&r->stdout_bytes), size);
    agent_reader_stderr(reader, strbuf_text(&r->stderr_bytes), r->stderr_bytes.length);
    agent_reader_usage(reader, strbuf_text(&r->usage_bytes), r->usage_bytes.length);
    if (with_files)
        read_files(r, reader);
    struct agent_end end = { .code = r->code, .now = FAKE_NOW };
    struct agent_outcome o;
    agent_reader_end(reader, &end, &o);
    agent_reader_free(reader);
    if (o.session[0])
        memcpy(memory->session, o.session, sizeof(memory->session));
    memory->used = o.session_usage;
    memory->is_short = o.is_short;
    return o;
}

/* A run and those that it resumes, the oldest first. */
static size_t chain_of(const struct run *r, const struct run *ret[CHAIN]) {
    size_t count = 0;
    for (const struct run *one = r; one;
         one = strcmp(one->after, "-") == 0 ? NULL : run_find(one->agent, one->after)) {
        assert_true(count < CHAIN);
        memmove(ret + 1, ret, count * sizeof(*ret));
        ret[0] = one;
        count++;
    }
    return count;
}

/* --- tests ---------------------------------------------------------------------------------------- */

static void expect_number(const struct run *r, const char *what, int64_t expected, int64_t number) {
    if (number != expected)
        fail_msg("%s %s: %s is %" PRId64 ", expected %" PRId64, r->agent, r->scenario, what, number,
                 expected);
}

TEST_GROUP(read_table, free_table)

TEST(what_is_booked_is_what_was_charged) {
    size_t exact = 0;
    for (size_t i = 0; i < run_count; i++) {
        const struct run *r = &runs[i], *chain[CHAIN];
        struct memory memory = { 0 };
        size_t count = chain_of(r, chain);
        struct agent_outcome o = { 0 };
        for (size_t n = 0; n < count; n++)
            o = play(chain[n], chain[n]->stdout_bytes.length, true, &memory);
        expect_number(r, "booked in", r->booked_in, o.usage.in);
        expect_number(r, "booked out", r->booked_out, o.usage.out);
        bool is_less = r->in + r->out > 0 && (r->booked_in != r->in || r->booked_out != r->out);
        assert_true(r->booked_in <= r->in && r->booked_out <= r->out);
        if (is_less != r->has_why)
            fail_msg("charged.txt: %s %s: a reason belongs where less is booked", r->agent,
                     r->scenario);
        exact += !is_less;
    }
    assert_true(run_count >= 125 && exact >= run_count - 16);
}

static int64_t known(int64_t number) {
    return number > 0 ? number : 0;
}

/* Never more than was charged, over all runs of a session; `sum` is of those before. */
static void expect_at_most(const struct run *r, const char *how, const struct agent_usage *used,
                           int64_t in, int64_t out) {
    if (used->in > in || used->out > out || used->in < -1 || used->out < -1)
        fail_msg("%s %s %s: %" PRId64 "/%" PRId64 " is booked, %" PRId64 "/%" PRId64 " was charged",
                 r->agent, r->scenario, how, used->in, used->out, in, out);
}

/* A run that is resumed was cut off after each of its lines: its session catches up, or not. */
TEST(a_run_that_is_cut_off_books_no_more_than_was_charged) {
    for (size_t i = 0; i < run_count; i++) {
        const struct run *r = &runs[i], *chain[CHAIN];
        size_t count = chain_of(r, chain);
        const char *bytes = strbuf_text(&r->stdout_bytes);
        for (size_t size = 0; size <= r->stdout_bytes.length; size++) {
            if (size > 0 && bytes[size - 1] != '\n')
                continue;
            struct memory memory = { 0 };
            for (size_t n = 0; n + 1 < count; n++)
                (void)play(chain[n], chain[n]->stdout_bytes.length, true, &memory);
            struct agent_outcome o = play(r, size, false, &memory);
            expect_at_most(r, "cut off", &o.usage, r->in, r->out);
        }
    }
}

/* The files of sessions cannot be read: what a killed run has used is booked with the next one of its session, where that has it. */
TEST(without_files_a_session_catches_up) {
    static const char *const last[] = { "term-resume", "int-resume",    "subagent-json",
                                        "budget-end",  "compact-after", "turns-resume" };
    for (size_t i = 0; i < run_count; i++) {
        const struct run *r = &runs[i], *chain[CHAIN];
        struct memory memory = { 0 };
        struct agent_usage sum = { 0 }, charged = { 0 };
        size_t count = chain_of(r, chain);
        for (size_t n = 0; n < count; n++) {
            struct agent_outcome o = play(chain[n], chain[n]->stdout_bytes.length, false, &memory);
            sum.in += known(o.usage.in);
            sum.out += known(o.usage.out);
            charged.in += chain[n]->in;
            charged.out += chain[n]->out;
        }
        expect_at_most(r, "without files", &sum, charged.in, charged.out);
        for (size_t n = 0; strcmp(r->agent, "claude") == 0 && n < ARRAY_SIZE(last); n++)
            if (strcmp(r->scenario, last[n]) == 0) {
                expect_number(r, "in of the session", charged.in, sum.in);
                expect_number(r, "out of the session", charged.out, sum.out);
            }
    }
}

/* Several runs in one log, as a wrapper around an agent prints them, in any order. */
static struct agent_usage play_log(const struct run *const *list, size_t count) {
    struct agent_reader *reader = agent_reader_new(agent_adapter_find(list[0]->agent));
    struct agent_end end = { .now = FAKE_NOW };
    struct agent_outcome o;
    for (size_t i = 0; i < count; i++) {
        agent_reader_stdout(reader, strbuf_text(&list[i]->stdout_bytes),
                            list[i]->stdout_bytes.length);
        agent_reader_stdout(reader, "\n", 1);
    }
    agent_reader_end(reader, &end, &o);
    agent_reader_free(reader);
    return o.usage;
}

/* Its numbers are in its output, all of them, and it stands for itself. */
static bool is_plain(const struct run *r) {
    return !r->has_why && r->file_bytes.length == 0 && r->usage_bytes.length == 0
           && strcmp(r->after, "-") == 0;
}

TEST(runs_of_several_sessions_add_up) {
    struct rng rng = { 20261116 };
    for (int round = 0; round < 2000; round++) {
        const struct run *list[CHAIN];
        size_t count = 0;
        struct agent_usage charged = { 0 };
        const struct run *first = &runs[rng_below(&rng, run_count)];
        for (int n = 0; n < CHAIN; n++) {
            const struct run *r = n == 0 ? first : &runs[rng_below(&rng, run_count)];
            bool is_there = !is_plain(r) || strcmp(r->agent, first->agent) != 0;
            for (size_t k = 0; k < count; k++)
                is_there = is_there || list[k] == r;
            if (is_there)
                continue;
            list[count++] = r;
            charged.in += r->in;
            charged.out += r->out;
        }
        if (count == 0)
            continue;
        struct agent_usage used = play_log(list, count);
        expect_number(first, "in of a log of several runs", charged.in, known(used.in));
        expect_number(first, "out of a log of several runs", charged.out, known(used.out));
    }
}

/* All runs of one session in one log, in each order of two of them. */
TEST(runs_of_one_session_add_up_in_any_order) {
    for (size_t i = 0; i < run_count; i++) {
        const struct run *r = &runs[i], *chain[CHAIN];
        struct agent_usage charged = { 0 };
        size_t count = chain_of(r, chain);
        /* The second of v197-budget looks as if the first process had gone on without using anything. */
        bool is_whole = count > 1 && !strstr(r->scenario, "fork")
                        && strcmp(r->scenario, "v197-budget-again") != 0;
        for (size_t n = 0; n < count; n++) {
            charged.in += chain[n]->in;
            charged.out += chain[n]->out;
            is_whole = is_whole && !chain[n]->has_why && !chain[n]->file_bytes.length
                       && !chain[n]->usage_bytes.length;
        }
        for (size_t n = 0; is_whole && n < count; n++) {
            const struct run *swapped[CHAIN];
            memcpy(swapped, chain, sizeof(swapped));
            swapped[n] = chain[0];
            swapped[0] = chain[n];
            struct agent_usage used = play_log(swapped, count);
            expect_number(r, "in of a session in one log", charged.in, used.in);
            expect_number(r, "out of a session in one log", charged.out, used.out);
        }
    }
}

/* A log that was copied together, or tailed from its beginning once more: each report has a name, and counts once. */
TEST(what_is_reported_twice_counts_once) {
    for (size_t i = 0; i < run_count; i++) {
        const struct run *r = &runs[i];
        /* One object over many lines, without a name. */
        if (!is_plain(r) || strncmp(strbuf_text(&r->stdout_bytes), "{\n", 2) == 0)
            continue;
        const struct run *twice[] = { r, r };
        struct agent_usage used = play_log(twice, 2);
        expect_number(r, "in of a log that is there twice", r->in, known(used.in));
        expect_number(r, "out of a log that is there twice", r->out, known(used.out));
    }
}

TEST(every_recording_is_in_the_table) {
    const char *agent;
    for (size_t i = 0; (agent = agent_builtin(i)); i++) {
        char path[512];
        (void)snprintf(path, sizeof(path), "%s/%s", FOLDER, agent);
        DIR *folder = opendir(path);
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));)
            if (entry->d_name[0] != '.')
                (void)run_find(agent, entry->d_name);
        (void)closedir(folder);
    }
}
