/* run_token.h: the token of a run, and what is known of whoever has it.
 *
 * 128 bits from the kernel, made when the run is ordered to start; its command finds them as SLUICE_TOKEN.
 * The store and its backups have their SHA-256 alone, in the row of the run while it lives: a token ends with
 * its run, and outlives the daemon. Which rights it gives is decided elsewhere (ops/capability.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "core/model.h"

#define RUN_TOKEN_SIZE 33u /* 32 digits and a NUL */

struct run_token {
    char text[RUN_TOKEN_SIZE]; /* "" once its command has it, and after a restart */
    uint8_t hash[SHA256_SIZE];
    bool is_made; /* else nobody has one for this run */
};

struct config;
struct engine;

/* Could it be one at all? */
bool run_token_is_valid(const char *text);

const char *engine_run_socket_path(const struct engine *engine);

/* Whose token this is, and which attempt; 0: of no run that lives. */
task_id engine_find_token(const struct engine *engine, const char *token, uint32_t *ret_attempt);

/* Where the command of a live run was started. False: it cannot be known, because the run has changed its spec. */
bool engine_run_folder_of(const struct engine *engine, task_id task, struct strbuf *ret_folder);

/* How long it may take, and how long it may print nothing; 0: as long as it likes. False: nobody can say. */
bool engine_run_spans_of(const struct engine *engine, task_id task, time_ms *ret_timeout,
                         time_ms *ret_idle);

/* At most so many children of this task run at once, from now on: those that name the key among their
 * resources. `name` is the key's: run_token_key. */
void engine_limit_children(struct engine *engine, const char *key);
#define CHILDREN_KEY "below:" /* and the id of the parent */

/* --- inside the engine ----------------------------------------------------------------------- */

void run_token_make(struct run_token *token);
/* Another capability.running counts at once, for all whose runs have children. */
void run_token_configure(struct engine *engine, const struct config *old);
/* Of a run that was found with it. */
void run_token_adopt(struct run_token *token, const char *text);
/* Its command has it. */
void run_token_forget(struct run_token *token);
/* What the row keeps; NULL: nothing. */
const char *run_token_print(const struct run_token *token, char buf[SHA256_HEX_SIZE]);
void run_token_read(struct run_token *token, const char *hash);
