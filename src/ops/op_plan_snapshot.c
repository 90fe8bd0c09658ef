/* op_plan_snapshot.c: the live queue, for `sluice plan` and `sluice sim`.
 *
 * The engine writes a file; the front end opens it when it answers, and sends it as the client takes it. The name is
 * removed with the call: whatever becomes of the client, nothing stays behind. */
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/live_snapshot.h"
#include "ops/print.h"

struct taken {
    char *path;
};

static void forget(void *state) {
    struct taken *taken = state;
    if (taken->path)
        (void)unlink(taken->path);
    free(taken->path);
}

static struct taken *state_of(struct op_call *call) {
    return op_state(call, sizeof(struct taken), forget);
}

static void take(void *ctx, const char *path, const struct error *err) {
    if (path)
        state_of(ctx)->path = xstrdup(path);
    op_wake(ctx, path ? 0 : err->code, err);
}

static int answer(struct op_call *call) {
    call->log.path = xstrdup(state_of(call)->path);
    return 0;
}

static int run(struct op_call *call) {
    int waits = op_wait(call, answer);
    int r = engine_snapshot(call->engine, op_flag(call, "anonymous"), take, call, &call->err);
    return r < 0 ? r : waits;
}

const struct op op_plan_snapshot = {
    OP("plan.snapshot", "GET", "/v1/snapshot", "get the live queue as a snapshot for plan and sim"),
    .text = "Everything the next decision depends on, as of one moment, in the format of "
            "docs/snapshot.md. Titles, prompts and commands are not in it. The answer may be large "
            "(about 200 bytes for each task) and comes in chunks. One at a time: another one "
            "meanwhile is refused with 409. Above 1 GB of scheduler state (about 3 million tasks) "
            "it is refused with 413.",
    .params = PARAMS(
        PARAM(BOOLEAN, QUERY, "anonymous",
              .text = "names and ids are replaced by neutral ones; the decisions stay the same")),
    .right = OP_ADMIN,
    .answer = OP_ANSWER_FILE,
    .run = run,
};
