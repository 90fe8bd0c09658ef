/* kit.c: temporary folders, calls of the store, sample rows. */
#include "kit.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "harness/scratch.h"
#include "os/files.h"

#define FILE_MOST ((size_t)64 << 20)

/* --- folders ------------------------------------------------------------------------------------ */

char *kit_folder(void) {
    char folder[SCRATCH_PATH];
    scratch_make_fast(folder, "store");
    return xstrdup(folder);
}

void kit_remove_folder(const char *folder) {
    scratch_remove(folder);
}

char *kit_path(const char *folder, const char *name) {
    struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/%s", folder, name);
    return strbuf_take(&path);
}

/* Calls `each` with the names of the plain files in a folder. */
static void for_files(const char *folder, void (*each)(const char *path, const char *to),
                      const char *to) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        _cleanup_(freep) char *path = kit_path(folder, entry->d_name);
        _cleanup_(freep) char *target = to ? kit_path(to, entry->d_name) : NULL;
        each(path, target);
    }
    closedir(dir);
}

void kit_copy_file(const char *from, const char *to) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    if (file_read(from, FILE_MOST, &bytes, &err) < 0
        || file_write(to, strbuf_text(&bytes), bytes.length, &err) < 0)
        fail_msg("%s", err.text);
}

static void unlink_one(const char *path, const char *to) {
    (void)to;
    assert_int_equal(unlink(path), 0);
}

void kit_copy_folder(const char *from, const char *to) {
    for_files(from, kit_copy_file, to);
}

void kit_remove_files(const char *folder) {
    for_files(folder, unlink_one, NULL);
}

/* --- calls -------------------------------------------------------------------------------------- */

struct loop *kit_loop;

/* Runs the loop until the callback stops it. */
static void wait_for(const bool *came) {
    struct error err = { 0 };
    if (!*came && kit_loop && loop_run(kit_loop, &err) < 0)
        fail_msg("the loop ends: %s", err.text);
    assert_true(*came);
}

static void has_come(bool *came) {
    *came = true;
    if (kit_loop)
        loop_stop(kit_loop);
}

struct asking {
    store_answered done;
    void *ctx;
    bool came;
};

static void pass_answer(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct asking *asking = ctx;
    assert_false(asking->came);
    asking->done(asking->ctx, answer, err);
    has_come(&asking->came);
}

void kit_ask(struct store *store, const struct store_query *question, store_answered done,
             void *ctx) {
    struct asking asking = { .done = done, .ctx = ctx };
    store_query(store, question, pass_answer, &asking);
    wait_for(&asking.came);
}

int kit_file_open(void **state) {
    struct kit_file *f = xcalloc(1, sizeof(*f));
    f->folder = kit_folder();
    f->path = kit_path(f->folder, "store.db");
    *state = f;
    return 0;
}

int kit_file_close(void **state) {
    struct kit_file *f = *state;
    kit_remove_folder(f->folder);
    free(f->folder);
    free(f->path);
    free(f);
    return 0;
}

struct store *kit_open(const char *url, struct store_report *ret_report) {
    struct store_options options = {
        .url = url, .loop = kit_loop, .reserve_bytes = -1, .is_slow = kit_loop != NULL
    };
    struct store *store = NULL;
    struct error err = { 0 };
    if (store_open(&options, &store, ret_report, &err) < 0)
        fail_msg("cannot open '%s': %s", url, err.text);
    return store;
}

struct store_totals kit_load(struct store *store, const struct store_reader *reader) {
    struct store_totals totals = { 0 };
    struct error err = { 0 };
    if (store_load(store, reader, &totals, &err) < 0)
        fail_msg("cannot load: %s", err.text);
    return totals;
}

struct came {
    bool came;
    enum store_outcome outcome;
    struct error err;
};

static void keep_outcome(void *ctx, enum store_outcome outcome, const struct error *err) {
    struct came *came = ctx;
    came->outcome = outcome;
    if (err)
        came->err = *err;
    has_come(&came->came);
}

enum store_outcome kit_try(struct store *store, struct store_batch *batch, struct error *ret_err) {
    struct came came = { 0 };
    store_commit(store, batch, keep_outcome, &came);
    wait_for(&came.came);
    store_batch_clear(batch);
    if (ret_err)
        *ret_err = came.err;
    return came.outcome;
}

struct copying {
    bool over;
    struct error *err;
};

static void copied(void *ctx, const struct error *err) {
    struct copying *copying = ctx;
    assert_false(copying->over);
    copying->over = true;
    *copying->err = err ? *err : (struct error){ 0 };
}

int kit_backup(struct store *store, const char *path, struct error *ret_err) {
    struct copying copying = { .err = ret_err };
    store_backup(store, path, copied, &copying);
    while (!copying.over)
        (void)store_maintain(store, 0);
    return ret_err->code;
}

void kit_commit(struct store *store, struct store_batch *batch) {
    struct error err = { 0 };
    enum store_outcome outcome = kit_try(store, batch, &err);
    if (outcome != STORE_OK)
        fail_msg("a commit is %s: %s", store_outcome_name(outcome), err.text);
}

/* --- rows ---------------------------------------------------------------------------------------- */

static const task_id needs_of_kit[] = { 7, 3, 5 };

struct task_row kit_task(task_id id) {
    uint32_t n = (uint32_t)id;
    return (struct task_row){
        .id = id,
        .project = n % 2 ? "web" : "api",
        .kind = "ralph",
        .agent = "claude",
        .limiter = n % 3 ? "anthropic" : NULL,
        .workspace = n % 2 ? "/srv/place one" : NULL,
        .serial = n % 4 ? NULL : "phase-2",
        .resources = n % 5 ? NULL : "gpu,port-8080",
        .run_agent = n % 6 ? NULL : "codex",
        .run_limiter = n % 7 ? NULL : "openai",
        .depends_on = needs_of_kit,
        .depends_on_count = n % 4,
        .spec = { .id = id,
                  .priority = -5 + (int32_t)n,
                  .parent = id / 2,
                  .parent_iteration = n + 1,
                  .created_at = 1700000000000 + n,
                  .ready_since = 1700000000100 + n,
                  .not_before = n % 2 ? 1700000009000 + n : 0,
                  .iteration = n + 2,
                  .attempt = n + 3,
                  .state = 1 + n % (TASK_STATE_MAX - 1),
                  .hold = n % HOLD_MAX,
                  .phase = n % PHASE_MAX,
                  .started_at = n % 2 ? 1700000001000 + n : 0,
                  .until = n % UNTIL_MAX,
                  .parent_gate = n % PARENT_GATE_MAX,
                  .parallelizable = n % 2,
                  .review = n % 3 == 1,
                  .artifact_missing = n % 5 == 1,
                  .bound = n % 7 == 3,
                  .keeps = n % (KEEP_ALL + 1),
                  .run_unlimited = n % 3 == 2,
                  .ready_clock = 1700000000200 + n,
                  .reason = n % REASON_MAX,
                  .retry_max = n % 3 ? -1 : (int32_t)n,
                  .failures = (uint16_t)(n + 4),
                  .launch_failures = (uint16_t)(n + 5),
                  .losses = (uint16_t)(n + 6),
                  .restarts = (uint16_t)(n + 7),
                  .breaker_openings = (uint16_t)(n + 8),
                  .stop = n % STOP_REQUEST_MAX,
                  .group = n % 3,
                  .lender = n % 4 ? 0 : id / 2,
                  .borrowed = n % 4 ? 0 : n % (LEND_ALL + 1) },
        .reason = n % REASON_MAX,
        .changed_at = 1700000002000 + n,
    };
}

struct spec_row kit_spec(task_id id) {
    return (struct spec_row){ .id = id,
                              .title = "write the \"parser\", then läuft's",
                              .json = "{\"prompt\":\"do it\"}",
                              .json_size = strlen("{\"prompt\":\"do it\"}") };
}

struct run_row kit_run(task_id task, uint32_t attempt) {
    bool ended = attempt % 2 == 1;
    return (struct run_row){
        .task = task,
        .attempt = attempt,
        .iteration = attempt + 1,
        .agent = "claude",
        .executor = "local",
        .host = "here",
        .boot_id = "b0075eed",
        .folder = "runs/17/2",
        .phase = (task + attempt) % PHASE_MAX,
        .ended = ended,
        .ordered_at = 1700000003000 + attempt,
        .started_at = 1700000004000 + attempt,
        .ended_at = ended ? 1700000005000 + attempt : 0,
        .outcome = ended ? attempt % OUTCOME_MAX : OUTCOME_OK,
        .how = ended ? "exit" : NULL,
        .exit_code = ended ? (int32_t)attempt : -1,
        .exit_signal = ended ? 15 : 0,
        .tokens_in = ended ? 1000000000000 + attempt : -1,
        .tokens_out = ended ? 2000 + (int64_t)attempt : -1,
        .cost_micro_usd = ended ? 3000 + (int64_t)attempt : -1,
        .applied = ended ? "{\"memory_mb\":512}" : NULL,
        .message = ended ? "it ended with code 1" : NULL,
        .limited_until = attempt % 3 == 1 ? 1700000004500 + attempt : 0,
        .stop_now = attempt % 5 == 2,
        .token_hash = ended ? NULL : "5eed",
        .tokens_cached = ended ? 700 + (int64_t)attempt : -1,
        .session = attempt % 2 ? "1d66c3a0-5b1e" : NULL,
        .resumed = attempt % 3 == 2,
        .model = ended ? "sonnet-5" : NULL,
        .result = ended ? "max-turns" : NULL,
        .shim_key = ended ? NULL : "0123abcd",
        .shim_pid = ended ? 0 : 4711 + (int64_t)attempt,
        .shim_start = ended ? 0 : 9000000000000 + (int64_t)attempt,
        .shim_space = ended ? 0 : 4026531836,
        .cgroup = ended ? NULL : "/sys/fs/cgroup/sluice-0123abcd/1700000000000.1",
    };
}

struct event_row kit_event(uint64_t seq, task_id task) {
    return (struct event_row){ .seq = seq,
                               .at = 1700000006000 + (time_ms)seq,
                               .kind = task ? "task.state" : "daemon.started",
                               .task = task,
                               .attempt = (uint32_t)(seq % 3),
                               .data = seq % 2 ? "{\"to\":\"ready\"}" : NULL };
}
