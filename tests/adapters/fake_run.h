/* fake_run.h: feeds a few lines of output to the reader of an adapter, and returns its outcome. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "base/macros.h"

/* The agents with recorded runs in tests/fixtures/agents: all built-in agents, and acp. NULL after
 * the last. */
static inline const char *recorded_agent(size_t index) {
    return index == 0 ? "acp" : agent_builtin(index - 1);
}

#define FAKE_NOW INT64_C(1794711600000) /* 2026-11-15T03:00:00Z */

struct fake_run {
    const char *out, *err, *usage; /* NULL: none */
    int code, signal;              /* `code` is ignored with a signal */
    enum agent_ended_by by;
    const struct agent_prior_usage *before; /* NULL: unknown */
};

static inline struct agent_outcome fake_run(const char *agent, struct fake_run run) {
    const struct agent_adapter *adapter = agent_adapter_find(agent);
    if (!adapter)
        fail_msg("there is no adapter '%s'", agent);
    struct agent_reader *reader = agent_reader_new(adapter);
    if (run.before)
        agent_reader_set_prior_usage(reader, run.before);
    if (run.out)
        agent_reader_stdout(reader, run.out, strlen(run.out));
    if (run.err)
        agent_reader_stderr(reader, run.err, strlen(run.err));
    if (run.usage)
        agent_reader_usage(reader, run.usage, strlen(run.usage));
    struct agent_end end = {
        .code = run.signal ? -1 : run.code,
        .signal = run.signal,
        .by = run.by,
        .now = FAKE_NOW,
    };
    struct agent_outcome outcome;
    agent_reader_end(reader, &end, &outcome);
    agent_reader_free(reader);
    return outcome;
}

/* The progress after these lines, while the agent runs. Without `session`, which the reader owned. */
static inline struct agent_progress fake_progress(const char *agent, const char *out,
                                                  const char *err) {
    struct agent_reader *reader = agent_reader_new(agent_adapter_find(agent));
    struct agent_progress live;
    agent_reader_stdout(reader, out, strlen(out));
    agent_reader_stderr(reader, err, strlen(err));
    agent_reader_progress(reader, &live);
    agent_reader_free(reader);
    live.session = NULL;
    return live;
}

static inline void expect_result(const struct agent_outcome *outcome, enum agent_result result) {
    if (outcome->result != result)
        fail_msg("the outcome is '%s' (message '%s'), expected '%s'",
                 agent_result_name(outcome->result), outcome->message, agent_result_name(result));
}

static inline void expect_tokens(const struct agent_outcome *outcome, int64_t in, int64_t out,
                                 int64_t cached) {
    const struct agent_usage *u = &outcome->usage;
    if (u->in != in || u->out != out || u->cached != cached)
        fail_msg("tokens in/out/cached are %lld/%lld/%lld, expected %lld/%lld/%lld",
                 (long long)u->in, (long long)u->out, (long long)u->cached, (long long)in,
                 (long long)out, (long long)cached);
}

/* The command as one line, its words separated by blanks. */
static inline void expect_command(const char *agent, const struct agent_launch *launch,
                                  const char *expected) {
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    const struct agent_adapter *adapter = agent_adapter_find(agent);
    size_t count = agent_command(adapter, launch, &words), seen = 0;
    for (size_t i = 0; i < words.length; i++)
        if (words.text[i] == '\0') {
            seen++;
            words.text[i] = i + 1 < words.length ? ' ' : '\0';
        }
    assert_int_equal(seen, count);
    assert_string_equal(strbuf_text(&words), expected);
}
