/* test_recordings.c: recorded runs of real agents: complete, truncated, and with holes.
 *
 * tests/fixtures/agents/expected.txt has the expected outcome of each. A truncated run is `ok` only if
 * the agent's final message is in the rest. This test finds the end of that message by its line, not with
 * the adapters. */
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
#define CUTS   150 /* random ones of each recording */

struct recording {
    char agent[32], scenario[64], result[32], in[24], out[24], cached[24], cost[24], reset[24];
    const char *message; /* in the table */
    struct strbuf stdout_bytes, stderr_bytes, usage_bytes;
    int code;
};

static void read_part(const struct recording *r, const char *part, struct strbuf *out) {
    char path[512];
    struct error err = { 0 };
    (void)snprintf(path, sizeof(path), "%s/%s/%s/%s", FOLDER, r->agent, r->scenario, part);
    if (file_read(path, 16 * 1024 * 1024, out, &err) < 0)
        fail_msg("%s", err.text);
}

static void recording_finish(struct recording *r) {
    strbuf_finish(&r->stdout_bytes);
    strbuf_finish(&r->stderr_bytes);
    strbuf_finish(&r->usage_bytes);
}

/* false: the line has none. */
static bool recording_read(const char *line, struct recording *r) {
    *r = (struct recording){ 0 };
    int behind = 0;
    if (line[0] == '#' || line[0] == '\0')
        return false;
    if (sscanf(line, "%31s %63s %31s %23s %23s %23s %23s %23s %n", r->agent, r->scenario, r->result,
               r->in, r->out, r->cached, r->cost, r->reset, &behind)
            != 8
        || behind == 0)
        fail_msg("expected.txt: '%s' has not nine fields", line);
    r->message = line + behind;
    read_part(r, "stdout", &r->stdout_bytes);
    read_part(r, "stderr", &r->stderr_bytes);
    _cleanup_(strbuf_finish) struct strbuf code = STRBUF_INIT;
    read_part(r, "exit", &code);
    r->code = (int)strtol(strbuf_text(&code), NULL, 10);
    char usage[512];
    (void)snprintf(usage, sizeof(usage), "%s/%s/%s/usage", FOLDER, r->agent, r->scenario);
    if (access(usage, F_OK) == 0) /* only of those that write one */
        read_part(r, "usage", &r->usage_bytes);
    return true;
}

/* Calls it for each line of the table. */
static size_t each_recording(void (*look)(const struct recording *recording)) {
    _cleanup_(strbuf_finish) struct strbuf table = STRBUF_INIT;
    struct error err = { 0 };
    if (file_read(FOLDER "/expected.txt", 1024 * 1024, &table, &err) < 0)
        fail_msg("%s", err.text);
    size_t count = 0;
    for (char *line = table.text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        struct recording r;
        if (!recording_read(line, &r))
            continue;
        look(&r);
        recording_finish(&r);
        count++;
    }
    return count;
}

/* In pieces of `piece` bytes. */
static struct agent_outcome play(const struct recording *r, const char *bytes, size_t size,
                                 size_t piece, int code) {
    struct agent_reader *reader = agent_reader_new(agent_adapter_find(r->agent));
    for (size_t at = 0; at < size; at += piece)
        agent_reader_stdout(reader, bytes + at, piece < size - at ? piece : size - at);
    agent_reader_stderr(reader, strbuf_text(&r->stderr_bytes), r->stderr_bytes.length);
    agent_reader_usage(reader, strbuf_text(&r->usage_bytes), r->usage_bytes.length);
    bool is_signal = code == 128 + 2 || code == 128 + 15;
    struct agent_end end = { .code = is_signal ? -1 : code,
                             .signal = is_signal ? code - 128 : 0,
                             .now = FAKE_NOW };
    struct agent_outcome outcome;
    agent_reader_end(reader, &end, &outcome);
    agent_reader_free(reader);
    return outcome;
}

/* --- whole ---------------------------------------------------------------------------------------- */

static void expect_number(const struct recording *r, const char *what, const char *expected,
                          int64_t number, int decimals) {
    char text[32] = "-";
    if (number >= 0 && decimals == 0)
        (void)snprintf(text, sizeof(text), "%" PRId64, number);
    else if (number >= 0)
        (void)snprintf(text, sizeof(text), "%g", (double)number / 1e6);
    if (strcmp(text, expected) != 0)
        fail_msg("%s %s: %s is %s, expected %s", r->agent, r->scenario, what, text, expected);
}

static void look_whole(const struct recording *r) {
    static const size_t pieces[] = { SIZE_MAX / 2, 4096, 7, 1 };
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
        struct agent_outcome o =
            play(r, strbuf_text(&r->stdout_bytes), r->stdout_bytes.length, pieces[i], r->code);
        if (strcmp(agent_result_name(o.result), r->result) != 0)
            fail_msg("%s %s: the outcome is %s, expected %s (message: '%s')", r->agent, r->scenario,
                     agent_result_name(o.result), r->result, o.message);
        expect_number(r, "tokens in", r->in, o.usage.in, 0);
        expect_number(r, "tokens out", r->out, o.usage.out, 0);
        expect_number(r, "tokens cached", r->cached, o.usage.cached, 0);
        expect_number(r, "cost", r->cost, o.usage.cost_micro_usd, 6);
        expect_number(r, "reset", r->reset, o.reset_at > 0 ? o.reset_at : -1, 0);
        bool fits =
            strcmp(r->message, "-") == 0 ? !o.message[0] : strstr(o.message, r->message) != NULL;
        if (!fits)
            fail_msg("%s %s: the message is '%s', expected '%s'", r->agent, r->scenario, o.message,
                     r->message);
    }
}

TEST(every_recording_gives_what_the_table_says) {
    assert_true(each_recording(look_whole) >= 75);
}

/* --- cut ------------------------------------------------------------------------------------------ */

/* The end of the first line with the agent's final message; SIZE_MAX: no such line. A document over
 * several lines is its own final message. */
static size_t final_message_end(const struct recording *r, size_t from, size_t *ret_start) {
    static const char *const words[][2] = {
        { "acp", "{\"acp\":\"end\"" },
        { "claude", "\"type\":\"result\"" },
        { "codex", "\"type\":\"turn.completed\"" },
        { "copilot", "\"type\":\"result\"" },
        { "gemini", "\"type\":\"result\"" },
        { "opencode", "\"type\":\"step_finish\"" },
    };
    const char *bytes = strbuf_text(&r->stdout_bytes);
    if (strncmp(bytes, "{\n", 2) == 0) {
        const char *close = strstr(bytes, "\n}");
        *ret_start = 0;
        return from == 0 && close ? (size_t)(close - bytes) + 2 : SIZE_MAX;
    }
    size_t i = 0;
    while (i < ARRAY_SIZE(words) && strcmp(words[i][0], r->agent) != 0)
        i++;
    if (i == ARRAY_SIZE(words))
        fail_msg("say how '%s' marks its final message", r->agent);
    const char *found = strstr(bytes + from, words[i][1]), *start = found;
    if (!found)
        return SIZE_MAX;
    while (start > bytes && start[-1] != '\n')
        start--;
    *ret_start = (size_t)(start - bytes);
    return (size_t)(strchrnul(found, '\n') - bytes);
}

/* With the exit code that looks best. */
static void look_cut_at(const struct recording *r, size_t size) {
    size_t start, end = final_message_end(r, 0, &start);
    struct agent_outcome o = play(r, strbuf_text(&r->stdout_bytes), size, size ? size : 1, 0);
    if (o.result == AGENT_OK && size < end)
        fail_msg("%s %s is ok when cut at byte %zu, but its final message ends at byte %zu",
                 r->agent, r->scenario, size, end);
    o = play(r, strbuf_text(&r->stdout_bytes), size, size ? size : 1, r->code);
    if (o.result == AGENT_OK && (size < end || strcmp(r->result, "ok") != 0))
        fail_msg("%s %s is ok when cut at byte %zu", r->agent, r->scenario, size);
}

static struct rng rng = { 20261115 };

static void look_cuts(const struct recording *r) {
    size_t length = r->stdout_bytes.length;
    const char *bytes = strbuf_text(&r->stdout_bytes);
    look_cut_at(r, 0);
    for (size_t i = 0; i < length; i++)
        if (bytes[i] == '\n' || (i + 1 < length && bytes[i + 1] == '\n')) {
            look_cut_at(r, i);
            look_cut_at(r, i + 1);
        }
    for (int i = 0; i < CUTS && length > 0; i++)
        look_cut_at(r, (size_t)rng_below(&rng, length));
}

TEST(a_recording_cut_anywhere_is_not_ok_without_its_last_word) {
    assert_true(each_recording(look_cuts) > 0);
}

/* A long log has lost its middle. */
static void look_holes(const struct recording *r) {
    size_t length = r->stdout_bytes.length;
    for (int i = 0; i < CUTS && length > 1; i++) {
        char *bytes = xmalloc(length + 1);
        memcpy(bytes, strbuf_text(&r->stdout_bytes), length + 1);
        size_t from = (size_t)rng_below(&rng, length),
               to = from + 1 + (size_t)rng_below(&rng, length - from);
        memset(bytes + from, 0, to - from);
        struct agent_outcome o = play(r, bytes, length, 1 + (size_t)rng_below(&rng, length), 0);
        bool has_word = false;
        size_t start = 0;
        for (size_t at = 0, end; (end = final_message_end(r, at, &start)) != SIZE_MAX; at = end)
            has_word = has_word || to <= start || from >= end;
        if (o.result == AGENT_OK && !has_word)
            fail_msg("%s %s is ok with a hole from byte %zu to %zu, where its final message is",
                     r->agent, r->scenario, from, to);
        free(bytes);
    }
}

TEST(a_hole_does_not_make_a_last_word) {
    assert_true(each_recording(look_holes) > 0);
}

/* Bytes turned: whatever comes of it, the reader lives and the message is clean. */
static void look_junk(const struct recording *r) {
    size_t length = r->stdout_bytes.length;
    for (int i = 0; i < 50 && length > 0; i++) {
        char *bytes = xmalloc(length + 1);
        memcpy(bytes, strbuf_text(&r->stdout_bytes), length + 1);
        for (int n = 0; n < 20; n++)
            bytes[rng_below(&rng, length)] = (char)rng_next(&rng);
        struct agent_outcome o = play(r, bytes, length, 1 + (size_t)rng_below(&rng, length), 0);
        for (const char *at = o.message; *at; at++)
            if ((unsigned char)*at < 0x20 || *at == 0x7f)
                fail_msg("%s %s: a control character in '%s'", r->agent, r->scenario, o.message);
        free(bytes);
    }
}

TEST(junk_is_survived) {
    assert_true(each_recording(look_junk) > 0);
}

/* --- the table ------------------------------------------------------------------------------------ */

TEST(every_recording_is_in_the_table) {
    _cleanup_(strbuf_finish) struct strbuf table = STRBUF_INIT;
    struct error err = { 0 };
    assert_int_equal(file_read(FOLDER "/expected.txt", 1024 * 1024, &table, &err), 0);
    const char *agent;
    for (size_t i = 0; (agent = recorded_agent(i)); i++) {
        char path[512], row[512];
        (void)snprintf(path, sizeof(path), "%s/%s", FOLDER, agent);
        DIR *folder = opendir(path);
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));) {
            (void)snprintf(row, sizeof(row), "\n%s %s ", agent, entry->d_name);
            if (entry->d_name[0] != '.' && !strstr(strbuf_text(&table), row))
                fail_msg("tests/fixtures/agents/%s/%s has no line in expected.txt", agent,
                         entry->d_name);
        }
        (void)closedir(folder);
    }
    DIR *all = opendir(FOLDER);
    for (struct dirent *entry; all && (entry = readdir(all));)
        if (entry->d_name[0] != '.' && !strchr(entry->d_name, '.')
            && !agent_adapter_find(entry->d_name))
            fail_msg("tests/fixtures/agents/%s: AGENT_ADAPTERS has no '%s'", entry->d_name,
                     entry->d_name);
    (void)closedir(all);
}
