/* runs.c: the runs that have not ended. There are few; each is found by its task. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env_text.h"
#include "base/hash.h"
#include "engine/live_run.h"
#include "engine/run_token.h"
#include "engine/runs.h"
#include "engine/runs/runs_internal.h"
#include "engine/slurm/slurm_internal.h"
#include "os/random.h"

struct runs {
    struct slab slab; /* struct live_run */
    struct id_map of_task;
    LIST(uint32_t) live; /* handles */
};

PART_STATE(runs, struct runs, runs_of)

static struct live_run *run_at(const struct engine *e, uint32_t handle) {
    return slab_at(&runs_of(e)->slab, handle);
}

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    const struct engine *e = ctx;
    return run_at(e, handle)->task == *(const task_id *)key;
}

struct live_run *run_find(const struct engine *e, task_id task) {
    uint32_t handle = id_map_find(&runs_of(e)->of_task, hash_u64(task), &task);
    return handle ? run_at(e, handle) : NULL;
}

struct live_run *run_find_attempt(const struct engine *e, struct run_key key) {
    struct live_run *run = run_find(e, key.task);
    return run && run->view.attempt == key.attempt ? run : NULL;
}

struct live_run *run_add(struct engine *e, task_id task, uint32_t attempt) {
    run_remove(e, task); /* of an earlier attempt */
    uint32_t handle = slab_alloc(&runs_of(e)->slab);
    struct live_run *run = run_at(e, handle);
    *run = (struct live_run){ .task = task, .cost_micro_usd = -1, .tokens_cached = -1 };
    run->view.attempt = attempt;
    run->view.tokens_in = run->view.tokens_out = -1;
    run->launch_deadline = TIME_NEVER;
    run->position = runs_of(e)->live.count;
    *LIST_ADD(&runs_of(e)->live) = handle;
    id_map_add(&runs_of(e)->of_task, hash_u64(task), handle);
    return run;
}

static void run_free_texts(struct live_run *run) {
    free((char *)run->view.folder);
    free(run->agent);
    free(run->boot_id);
    free(run->cwd);
    run_proof_finish(&run->proof);
    free(run->host);
    free(run->spawner);
    free(run->session);
    free(run->model);
    free(run->sandbox);
    free(run->sandbox_root);
}

void run_remove(struct engine *e, task_id task) {
    uint32_t handle = id_map_find(&runs_of(e)->of_task, hash_u64(task), &task);
    if (!handle)
        return;
    struct live_run *run = run_at(e, handle);
    stopping_confirmed(e, run);
    uint32_t last = runs_of(e)->live.items[--runs_of(e)->live.count];
    runs_of(e)->live.items[run->position] = last;
    run_at(e, last)->position = run->position;
    id_map_remove(&runs_of(e)->of_task, hash_u64(task), &task);
    run_free_texts(run);
    slab_free(&runs_of(e)->slab, handle);
}

static void runs_free(struct engine *e) {
    struct runs *r = runs_of(e);
    for (size_t i = 0; i < r->live.count; i++) {
        stopping_confirmed(e, run_live_at(e, i));
        run_free_texts(run_live_at(e, i));
    }
    free(r->live.items);
    slab_finish(&r->slab);
    id_map_finish(&r->of_task);
    *r = (struct runs){ 0 };
}

static void runs_reset(struct engine *e) {
    runs_free(e);
    slab_init(&runs_of(e)->slab, sizeof(struct live_run));
    id_map_init(&runs_of(e)->of_task, same_task, e);
}

size_t run_count(const struct engine *e) {
    return runs_of(e)->live.count;
}

struct live_run *run_live_at(const struct engine *e, size_t index) {
    return run_at(e, runs_of(e)->live.items[index]);
}

size_t engine_live_tasks(const struct engine *e, task_id *ret_tasks, size_t max) {
    size_t count = run_count(e);
    if (max == 0 || count == 0)
        return count;
    task_id *tasks = xcalloc(count, sizeof(*tasks));
    for (size_t i = 0; i < count; i++)
        tasks[i] = run_live_at(e, i)->task;
    qsort(tasks, count, sizeof(*tasks), task_id_compare);
    memcpy(ret_tasks, tasks, (max < count ? max : count) * sizeof(*tasks));
    free(tasks);
    return count;
}

bool engine_live_run(const struct engine *e, task_id task, struct engine_run *ret) {
    const struct live_run *run = run_find(e, task);
    if (!run)
        return false;
    *ret = run->view;
    return true;
}

void engine_run_folder(const struct engine *e, task_id task, uint32_t attempt, struct strbuf *out) {
    char id[ENGINE_ID_MAX];
    strbuf_printf(out, "%s/", e->runs_folder);
    rundir_name(out, engine_task_id(e, task, id), attempt);
}

void engine_run_order(const struct engine *e, task_id task, uint32_t attempt, struct strbuf *out) {
    engine_run_folder(e, task, attempt, out);
    strbuf_puts(out, "/" RUN_ORDER_NAME);
}

int run_read_spec(const struct engine *e, const struct live_run *run, struct run_spec_read **ret,
                  struct error *err) {
    return rundir_read_spec(e->runs_folder, run->view.folder, run_proof_key(&run->proof), ret, err);
}

const char *run_spec_variable(const struct run_spec *spec, const char *name) {
    return env_find(spec->env, name);
}

const char *run_spec_lookup(void *spec, const char *name) {
    return run_spec_variable(spec, name);
}

void engine_limit_children(struct engine *e, const char *key) {
    struct fact fact = { .kind = FACT_RESOURCE };
    fact.resource.id = symbol_of(e, key);
    fact.resource.cap = config_number(e->config, "capability.running", NULL);
    (void)core_apply(e->core, &fact, NULL);
}

/* capability.running may have changed. */
static int runs_apply_config(struct engine *e, struct error *err) {
    const struct symbol_table *symbols = core_symbols(e->core);
    (void)err;
    for (sym name = 1; name <= symbols->count; name++)
        if (strncmp(symbol_name(symbols, name), CHILDREN_KEY, strlen(CHILDREN_KEY)) == 0)
            engine_limit_children(e, symbol_name(symbols, name));
    return 0;
}

/* Its resources limit how many children of a task run at once. */
static void runs_load_task(struct engine *e, struct task_spec *spec) {
    for (size_t i = 0; i < spec->resource_count; i++)
        if (strncmp(name_of(e, spec->resources[i]), CHILDREN_KEY, strlen(CHILDREN_KEY)) == 0)
            engine_limit_children(e, name_of(e, spec->resources[i]));
}

/* Its account is in backoff now. */
static void runs_applied(struct engine *e, const struct fact *fact) {
    struct live_run *run = fact->kind == FACT_RUN_LIMITED ? run_find(e, fact->task) : NULL;
    struct task_spec spec;
    struct limiter_view account = { 0 };
    if (!run)
        return;
    if (core_task_spec(e->core, run->task, &spec))
        (void)core_limiter(e->core, spec.run_limiter, &account);
    run->limited_until = time_max(account.backoff_until, e->now);
    rows_write_run(e, run);
}

const struct engine_part runs_part = {
    .state_size = sizeof(struct runs),
    .at = { [STEP_INIT] = runs_reset, [STEP_UNLOAD] = runs_reset, [STEP_FREE] = runs_free },
    .load_task = runs_load_task,
    .applied = runs_applied,
    .apply_config = runs_apply_config,
};

/* --- proofs ----------------------------------------------------------------------------------- */

void run_proof_make(struct run_proof *proof) {
    random_bytes(proof->key.bytes, sizeof(proof->key.bytes));
    proof->has_key = true;
}

void run_proof_finish(struct run_proof *proof) {
    free((char *)(uintptr_t)proof->shim.cgroup);
    explicit_bzero(proof, sizeof(*proof));
}

const struct tag_key *run_proof_key(const struct run_proof *proof) {
    return proof->has_key ? &proof->key : NULL;
}

static void set_shim(struct run_proof *proof, const struct executor_shim *shim) {
    free((char *)(uintptr_t)proof->shim.cgroup);
    proof->shim = *shim;
    proof->shim.cgroup = shim->cgroup ? xstrdup(shim->cgroup) : NULL;
}

bool run_proof_learn(struct engine *e, struct live_run *run) {
    struct error err = { 0 };
    struct executor *ex = executor_of(e, run->executor, &err);
    struct executor_shim shim =
        ex ? executor_shim(ex, run_key_of(run)) : (struct executor_shim){ 0 };
    if (shim.pid == 0 || shim.pid == run->proof.shim.pid)
        return false;
    set_shim(&run->proof, &shim);
    return true;
}

void run_proof_read(struct run_proof *proof, const struct run_row *row) {
    *proof = (struct run_proof){ 0 };
    proof->has_key = row->shim_key && sha256_from_hex(row->shim_key, proof->key.bytes);
    const struct executor_shim shim = { .pid = (pid_t)row->shim_pid,
                                        .start = (uint64_t)row->shim_start,
                                        .space = (uint64_t)row->shim_space,
                                        .cgroup = row->cgroup };
    set_shim(proof, &shim);
}

void run_proof_write(const struct run_proof *proof, char hex[SHA256_HEX_SIZE],
                     struct run_row *row) {
    if (proof->has_key) {
        sha256_hex(proof->key.bytes, hex);
        row->shim_key = hex;
    }
    row->shim_pid = proof->shim.pid;
    row->shim_start = (int64_t)proof->shim.start;
    row->shim_space = (int64_t)proof->shim.space;
    row->cgroup = proof->shim.cgroup;
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* Hashes are compared in constant time, after malformed tokens are refused. Live runs are few. */

static const char digits[] = "0123456789abcdef";

bool run_token_is_valid(const char *text) {
    return strlen(text) == RUN_TOKEN_SIZE - 1 && strspn(text, digits) == RUN_TOKEN_SIZE - 1;
}

void run_token_make(struct run_token *token) {
    uint8_t bytes[(RUN_TOKEN_SIZE - 1) / 2];
    random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        token->text[2 * i] = digits[bytes[i] >> 4];
        token->text[2 * i + 1] = digits[bytes[i] & 15];
    }
    token->text[RUN_TOKEN_SIZE - 1] = '\0';
    sha256_of(token->text, strlen(token->text), token->hash);
    token->is_made = true;
    explicit_bzero(bytes, sizeof(bytes));
}

void run_token_adopt(struct run_token *token, const char *text) {
    token->is_made = run_token_is_valid(text);
    sha256_of(text, strlen(text), token->hash);
}

void run_token_forget(struct run_token *token) {
    explicit_bzero(token->text, sizeof(token->text));
}

const char *run_token_print(const struct run_token *token, char buf[SHA256_HEX_SIZE]) {
    if (!token->is_made)
        return NULL;
    sha256_hex(token->hash, buf);
    return buf;
}

void run_token_read(struct run_token *token, const char *hash) {
    *token = (struct run_token){ 0 };
    token->is_made = hash && sha256_from_hex(hash, token->hash);
}

task_id engine_find_token(const struct engine *e, const char *token, uint32_t *ret_attempt) {
    uint8_t hash[SHA256_SIZE];
    if (!run_token_is_valid(token))
        return 0;
    sha256_of(token, strlen(token), hash);
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (!run->token.is_made || !sha256_same(run->token.hash, hash))
            continue;
        *ret_attempt = run->view.attempt;
        return run->task;
    }
    return 0;
}

bool engine_run_folder_of(const struct engine *e, task_id task, struct strbuf *ret_folder) {
    const struct live_run *run = run_find(e, task);
    _cleanup_(run_spec_read_free) struct run_spec_read *spec = NULL;
    if (run && run->cwd)
        strbuf_puts(ret_folder, run->cwd);
    else if (run && run_read_spec(e, run, &spec, NULL) == 0) /* an earlier daemon started it */
        strbuf_puts(ret_folder, spec->spec.cwd);
    return ret_folder->length > 0;
}

bool engine_run_spans_of(const struct engine *e, task_id task, time_ms *ret_timeout,
                         time_ms *ret_idle) {
    const struct live_run *run = run_find(e, task);
    _cleanup_(run_spec_read_free) struct run_spec_read *spec = NULL;
    if (!run || run_read_spec(e, run, &spec, NULL) < 0)
        return false;
    *ret_timeout = spec->spec.command.timeout;
    *ret_idle = spec->spec.idle_timeout;
    return true;
}
