/* fuzz_agent.h: arbitrary bytes as the output of an agent. A target defines AGENT and includes this file.
 *
 * The first three bytes select how the process ended and how its output was split into pieces; 0x1e separates
 * stdout, stderr and the file with token counts.
 *
 * Beyond not crashing: the outcome does not depend on the size of the pieces; texts for users and command lines
 * have no control characters; a count is not negative, or -1 for unknown; a run without output is not successful.
 * The transcript has no control characters either, and does not depend on the pieces. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/transcript.h"
#include "base/utf8.h"

#ifndef AGENT
#define AGENT "plain"
#endif

#define FUZZ_STREAMS 3
#define FUZZ_NOW     INT64_C(1794711600000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_input {
    const char *bytes[FUZZ_STREAMS];
    size_t size[FUZZ_STREAMS];
    struct agent_end end;
};

static void fuzz_run(const struct fuzz_input *input, size_t piece, struct agent_outcome *ret) {
    struct agent_reader *reader = agent_reader_new(agent_adapter_find(AGENT));
    struct agent_progress live;
    for (size_t i = 0; i + 1 < FUZZ_STREAMS; i++) {
        for (size_t at = 0; at < input->size[i]; at += piece) {
            size_t left = input->size[i] - at, take = left < piece ? left : piece;
            (i == 0 ? agent_reader_stdout : agent_reader_stderr)(reader, input->bytes[i] + at,
                                                                 take);
        }
        agent_reader_progress(reader, &live);
    }
    agent_reader_usage(reader, input->bytes[2], input->size[2]);
    agent_reader_end(reader, &input->end, ret);
    agent_reader_free(reader);
}

static void expect_clean(const char *text) {
    for (size_t left = strlen(text), n; left > 0; left -= n, text += n) {
        n = utf8_length(text, left);
        assert(n > 0 && (unsigned char)*text >= 0x20 && *text != 0x7f);
    }
}

static void expect_outcome(const struct fuzz_input *input, const struct agent_outcome *outcome) {
    const struct agent_usage *usage = &outcome->usage;
    assert(outcome->result < AGENT_RESULT_MAX);
    assert(usage->in >= -1 && usage->out >= -1 && usage->cached >= -1
           && usage->cost_micro_usd >= -1);
    assert((outcome->reset_at == 0) == (outcome->reset_source == AGENT_SOURCE_NONE));
    assert(outcome->reset_at == 0 || outcome->result == AGENT_LIMITED);
    expect_clean(outcome->message);
    expect_clean(outcome->model);
    assert(outcome->session[0] != '-' && !strpbrk(outcome->session, " '\"$`\\/\n"));
    if (input->size[0] == 0 && strcmp(AGENT, "plain") != 0)
        assert(outcome->result != AGENT_OK && outcome->result != AGENT_DENIED);
}

static void fuzz_transcript(const struct fuzz_input *input, size_t piece, struct strbuf *out) {
    struct transcript *t = transcript_new(agent_adapter_find(AGENT), TRANSCRIPT_PLAIN);
    if (!t)
        return;
    for (size_t at = 0; at < input->size[0]; at += piece) {
        size_t left = input->size[0] - at, take = left < piece ? left : piece;
        transcript_feed(t, input->bytes[0] + at, take, out);
    }
    transcript_end(t, out);
    expect_clean(transcript_last_line(t));
    transcript_free(t);
}

static void expect_transcripts(const struct fuzz_input *input, size_t piece) {
    struct strbuf whole = STRBUF_INIT, pieces = STRBUF_INIT;
    fuzz_transcript(input, SIZE_MAX / 2, &whole);
    fuzz_transcript(input, piece, &pieces);
    assert(strcmp(strbuf_text(&whole), strbuf_text(&pieces)) == 0);
    for (size_t at = 0, n; at < whole.length; at += n) {
        n = utf8_length(whole.text + at, whole.length - at);
        assert(n > 0);
        assert(whole.text[at] == '\n' || whole.text[at] == '\t'
               || !utf8_is_control(whole.text + at, n));
    }
    strbuf_finish(&whole);
    strbuf_finish(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3)
        return 0;
    struct fuzz_input input = {
        .end = { .code = data[0],
                 .by = (enum agent_ended_by)(data[1] % 3),
                 .now = FUZZ_NOW,
                 .utc_offset_s = ((int)(data[1] >> 2) - 32) * 900 },
    };
    if (data[0] > 192)
        input.end = (struct agent_end){ .code = -1, .signal = data[0] - 192, .now = FUZZ_NOW };
    const char *at = (const char *)data + 3;
    size_t left = size - 3;
    for (size_t i = 0; i < FUZZ_STREAMS; i++) {
        const char *end = left > 0 && i + 1 < FUZZ_STREAMS ? memchr(at, 0x1e, left) : NULL;
        input.bytes[i] = at;
        input.size[i] = end ? (size_t)(end - at) : left;
        at += input.size[i] + (end != NULL);
        left -= input.size[i] + (end != NULL);
    }
    struct agent_outcome whole, pieces;
    fuzz_run(&input, SIZE_MAX / 2, &whole);
    fuzz_run(&input, 1 + data[2] % 64u, &pieces);
    expect_outcome(&input, &whole);
    expect_transcripts(&input, 1 + data[2] % 64u);
    assert(whole.result == pieces.result && whole.reset_at == pieces.reset_at);
    assert(memcmp(&whole.usage, &pieces.usage, sizeof(whole.usage)) == 0);
    assert(strcmp(whole.message, pieces.message) == 0);
    assert(strcmp(whole.session, pieces.session) == 0);
    return 0;
}
