/* op_plan_snapshot.c: the live queue, for `sluice plan` and `sluice sim`.
 *
 * The engine writes a file; the front end opens it when it answers, and sends it as the client takes it. The name is
 * removed with the call: whatever becomes of the client, nothing stays behind. */
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
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

static void take(struct op_call *call, const char *path) {
    state_of(call)->path = xstrdup(path);
}

static int answer(struct op_call *call) {
    call->log.path = xstrdup(state_of(call)->path);
    return 0;
}

static int run(struct op_call *call) {
    return op_wait_snapshot(call, op_flag(call, "anonymous"), take, answer);
}

const struct op op_plan_snapshot = {
    .name = "plan.snapshot",
    .method = "GET",
    .path = "/v1/snapshot",
    .summary = "get the live queue as a snapshot for plan and sim",
    .text = "Everything the next decision depends on, as of one moment, in the format of "
            "docs/snapshot.md. Titles, prompts and commands are not in it. The answer may be large "
            "(about 200 bytes for each task) and comes in chunks. One at a time: another one "
            "meanwhile is refused with 409. Above 1 GB of scheduler state (about 3 million tasks) "
            "it is refused with 413.",
    .params = PARAMS(
        PARAM(BOOLEAN, QUERY, "anonymous",
              .text = "names and ids are replaced by neutral ones; the decisions stay the same")),
    .result = "{\"live\":true,\"now\":1760000000000,\"config\":{\"preset\":\"sluice\"},"
              "\"projects\":[{\"id\":\"web\"}],\"tasks\":[]}",
    .right = OP_ADMIN,
    .answer = OP_ANSWER_FILE,
    .run = run,
};
