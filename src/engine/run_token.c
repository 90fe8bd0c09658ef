/* run_token.c: see run_token.h.
 *
 * Hashes are compared in a time that does not depend on where they differ; a token that is no token is
 * refused before. Live runs are few, so nothing is looked up but by comparing. */
#include "engine/run_token.h"

#include <stdio.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "os/random.h"

static const char digits[] = "0123456789abcdef";

static void hash_text(const char *text, uint8_t ret[SHA256_SIZE]) {
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, text, strlen(text));
    sha256_end(&hash, ret);
}

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
    hash_text(token->text, token->hash);
    token->is_made = true;
    explicit_bzero(bytes, sizeof(bytes));
}

void run_token_adopt(struct run_token *token, const char *text) {
    token->is_made = run_token_is_valid(text);
    hash_text(text, token->hash);
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
    hash_text(token, hash);
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
    struct run_spec_read *spec = NULL;
    if (run && run->cwd)
        strbuf_puts(ret_folder, run->cwd);
    else if (run && run_read_spec(e, run, &spec, NULL) == 0) /* a daemon before has started it */
        strbuf_puts(ret_folder, spec->spec.cwd);
    run_spec_read_free(&spec);
    return ret_folder->length > 0;
}

bool engine_run_spans_of(const struct engine *e, task_id task, time_ms *ret_timeout,
                         time_ms *ret_idle) {
    const struct live_run *run = run_find(e, task);
    struct run_spec_read *spec = NULL;
    if (!run || run_read_spec(e, run, &spec, NULL) < 0)
        return false;
    *ret_timeout = spec->spec.command.timeout;
    *ret_idle = spec->spec.idle_timeout;
    run_spec_read_free(&spec);
    return true;
}

void engine_limit_children(struct engine *e, const char *key) {
    struct fact fact = { .kind = FACT_RESOURCE };
    fact.resource.id = symbol_intern(core_symbols(e->core), key, strlen(key));
    fact.resource.cap = config_number(e->config, "capability.running", NULL);
    (void)core_apply(e->core, &fact, NULL);
}

void run_token_configure(struct engine *e, const struct config *old) {
    if (config_number(old, "capability.running", NULL)
        == config_number(e->config, "capability.running", NULL))
        return;
    const struct symbol_table *symbols = core_symbols(e->core);
    for (sym name = 1; name <= symbols->count; name++)
        if (strncmp(symbol_name(symbols, name), CHILDREN_KEY, strlen(CHILDREN_KEY)) == 0)
            engine_limit_children(e, symbol_name(symbols, name));
}
