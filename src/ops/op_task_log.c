/* op_task_log.c: what a run printed.
 *
 * The operation finds the file and where to begin; the front end sends the bytes, and goes on sending
 * while the run lives when that is wished. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/away.h"
#include "engine/live.h"
#include "ops/print.h"

static int run(struct op_call *call) {
    task_id task = op_task(call);
    struct task_view t;
    if (!task || !core_task(engine_core(call->engine), task, &t))
        return call->err.code;
    int64_t attempt = op_number(call, "attempt", t.attempt);
    if (attempt < 1 || attempt > t.attempt)
        return op_fail(call, -ENOENT,
                       attempt < 1 ? "task '%s' has not run yet"
                                   : "task '%s' has had no such attempt",
                       op_quote(op_text(call, "id")).text);
    if (op_json(call, "offset") && op_json(call, "tail"))
        return op_fail(call, -EINVAL, "'offset' and 'tail' exclude each other");
    const char *stream = op_text(call, "stream");
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    engine_run_folder(call->engine, task, (uint32_t)attempt, &path);
    strbuf_printf(&path, "/%s.log", stream ? stream : "out");
    struct stat st;
    bool there = stat(strbuf_text(&path), &st) == 0;
    struct engine_run live;
    bool lives = engine_live_run(call->engine, task, &live) && live.attempt == (uint32_t)attempt;
    struct engine_host_state host;
    if (!there && lives && engine_away_run(call->engine, task, &host))
        return op_fail(call, -EBUSY,
                       "the log of attempt %" PRId64
                       " of task '%s' is on host '%s', which is unreachable; with 'data.folder' on "
                       "a file system of both it would be here",
                       attempt, op_quote(op_text(call, "id")).text, host.name);
    int64_t keep = config_number(engine_config(call->engine), "retention.iterations", NULL);
    if (!there && !lives && attempt > 1 && keep > 0 && t.attempt - attempt >= keep)
        return op_fail(call, -ENOENT,
                       "the log of attempt %" PRId64
                       " of task '%s' was removed by retention.iterations, which keeps the first "
                       "and the newest %" PRId64,
                       attempt, op_quote(op_text(call, "id")).text, keep);
    if (!there && !lives)
        return op_fail(call, -ENOENT,
                       "there is no log of attempt %" PRId64 " of task '%s' (any more)", attempt,
                       op_quote(op_text(call, "id")).text);
    int64_t size = there ? st.st_size : 0, tail = op_number(call, "tail", size);
    call->log.path = strbuf_take(&path);
    call->log.offset = (uint64_t)op_number(call, "offset", tail < size ? size - tail : 0);
    call->log.follow = op_flag(call, "follow");
    call->log.task = task;
    call->log.attempt = (uint32_t)attempt;
    if (!stream || strcmp(stream, "out") == 0)
        call->log.adapter = engine_run_adapter(call->engine, task, (uint32_t)attempt);
    const char *format = op_text(call, "format");
    call->log.as_text = format && strcmp(format, "text") == 0;
    return 0;
}

static const char *const streams[] = { "out", "err", "check", "prepare", NULL };

static const char *const formats[] = { "raw", "text", NULL };

const struct op op_task_log = {
    OP("task.log", "GET", "/v1/tasks/{id}/log", "read what a run printed"),
    .text = "The bytes as they were printed, `application/octet-stream`; secrets of the run are "
            "replaced by the same number of bytes. `X-Sluice-Attempt` and `X-Sluice-Offset` say "
            "what they are; adding their number to the offset is where to go on. The middle of a "
            "long log may be gone; a line says how many bytes were cut there. `X-Sluice-Adapter` "
            "names the agent whose events the output is, if it is one. With `format=text` these "
            "events come as a transcript, `text/plain`: what the agent says, each tool call with "
            "its main argument and the first lines of its result, without control characters. "
            "Other output is the same in both formats. `offset` and `tail` count bytes of the log; "
            "a transcript begins with the next complete line.",
    .params = PARAMS(
        OP_PARAM_ID,
        PARAM(NUMBER, QUERY, "attempt", .text = "which run; the last when not given", .min = 1,
              .max = UINT32_MAX),
        PARAM(TEXT, QUERY, "stream",
              .text = "its output (the default), its errors, the output of its checks, or the "
                      "output of `projects.P.prepare`",
              .choices = streams),
        PARAM(NUMBER, QUERY, "offset", .text = "bytes to leave out at the beginning"),
        PARAM(NUMBER, QUERY, "tail", .text = "only so many bytes of the end"),
        PARAM(BOOLEAN, QUERY, "follow", .text = "go on until the run has ended"),
        PARAM(TEXT, QUERY, "format",
              .text =
                  "`raw` (the default): the bytes. `text`: what an agent says and does, for people",
              .choices = formats)),
    .right = OP_READ,
    .reach = OP_REACH_SUBTREE,
    .answer = OP_ANSWER_LOG,
    .run = run,
};
