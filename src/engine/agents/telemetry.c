/* telemetry.c: see telemetry.h. The secret is not the token: it is sent to a port on which another
 * process might listen while no daemon is running, and a token can add tasks. */
#include "engine/telemetry.h"

#include <errno.h>
#include <string.h>

#include "base/sha256.h"
#include "engine/agents/agents_internal.h"
#include "engine/runs/runs_internal.h"

static void secret_of(const struct live_run *run, char ret[ENGINE_SECRET_SIZE]) {
    static const char purpose[] = "telemetry";
    struct hmac_sha256 hmac;
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    hmac_sha256_init(&hmac, run->token.hash, sizeof(run->token.hash));
    hmac_sha256_add(&hmac, purpose, sizeof(purpose));
    hmac_sha256_end(&hmac, digest);
    sha256_hex(digest, hex);
    memcpy(ret, hex, ENGINE_SECRET_SIZE - 1);
    ret[ENGINE_SECRET_SIZE - 1] = '\0';
}

bool engine_telemetry_secret(const struct engine *e, task_id task, uint32_t attempt,
                             char ret[ENGINE_SECRET_SIZE]) {
    const struct live_run *run = run_find_attempt(e, (struct run_key){ task, attempt });
    if (!run || !run->token.is_made)
        return false;
    secret_of(run, ret);
    return true;
}

void telemetry_variables(const struct engine *e, const struct live_run *run, const char *name,
                         const char *adapter, struct strbuf *out) {
    char secret[ENGINE_SECRET_SIZE];
    if (!e->run_variables)
        return;
    secret_of(run, secret);
    struct engine_launch launch = { .task = run->task,
                                    .attempt = run->view.attempt,
                                    .run = name,
                                    .adapter = adapter,
                                    .secret = secret,
                                    .ordered_at = run->view.ordered_at };
    e->run_variables(e->run_variables_ctx, &launch, out);
}

bool engine_usage_before(const struct engine *e, task_id task, uint32_t attempt,
                         struct engine_usage *ret) {
    const struct live_run *run = run_find_attempt(e, (struct run_key){ task, attempt });
    if (!run || run->view.ordered_at >= engine_started_at(e))
        return false;
    *ret = (struct engine_usage){ .tokens_in = run->view.tokens_in,
                                  .tokens_out = run->view.tokens_out,
                                  .cost_micro_usd = run->cost_micro_usd };
    return true;
}

int engine_take_telemetry(struct engine *e, task_id task, uint32_t attempt,
                          const struct engine_usage *usage, struct error *err) {
    struct live_run *run = run_find_attempt(e, (struct run_key){ task, attempt });
    char id[ENGINE_ID_MAX];
    if (!run)
        return error_set(err, -ENOENT, "attempt %u of task '%s' does not live", attempt,
                         engine_task_id(e, task, id));
    run->is_metered = true;
    if (usage->tokens_in <= run->view.tokens_in && usage->tokens_out <= run->view.tokens_out
        && usage->cost_micro_usd <= run->cost_micro_usd)
        return 0;
    return engine_report_usage(e, task, usage, err);
}

void telemetry_yield(struct live_run *run, const struct agent_usage *own) {
    if (!run->is_metered)
        return;
    if (own->in >= 0)
        run->view.tokens_in = -1;
    if (own->out >= 0)
        run->view.tokens_out = -1;
    if (own->cost_micro_usd >= 0)
        run->cost_micro_usd = -1;
}
