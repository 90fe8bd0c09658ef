/* told.h: an agent prints a few lines and ends; what does the reader make of it? */
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

/* Whose runs are recorded in tests/fixtures/agents: every agent that needs no configuration, and acp. NULL behind the last. */
static inline const char *recorded_agent(size_t index) {
    return index == 0 ? "acp" : agent_builtin(index - 1);
}

#define TOLD_NOW INT64_C(1794711600000) /* 2026-11-15T03:00:00Z */

struct told {
    const char *out, *err, *usage; /* NULL: nothing */
    int code, signal;              /* a signal needs no code */
    enum agent_ended_by by;
    const struct agent_prior_usage *before; /* NULL: nothing is known */
};

static inline struct agent_outcome told(const char *agent, struct told told) {
    const struct agent_adapter *adapter = agent_adapter_find(agent);
    if (!adapter)
        fail_msg("there is no adapter '%s'", agent);
    struct agent_reader *reader = agent_reader_new(adapter);
    if (told.before)
        agent_reader_set_prior_usage(reader, told.before);
    if (told.out)
        agent_reader_stdout(reader, told.out, strlen(told.out));
    if (told.err)
        agent_reader_stderr(reader, told.err, strlen(told.err));
    if (told.usage)
        agent_reader_usage(reader, told.usage, strlen(told.usage));
    struct agent_end end = {
        .code = told.signal ? -1 : told.code,
        .signal = told.signal,
        .by = told.by,
        .now = TOLD_NOW,
    };
    struct agent_outcome outcome;
    agent_reader_end(reader, &end, &outcome);
    agent_reader_free(reader);
    return outcome;
}

/* What is known after these lines, while it runs. `session` of it is gone. */
static inline struct agent_progress told_live(const char *agent, const char *out, const char *err) {
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

/* The command as one line, its words between blanks. */
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
