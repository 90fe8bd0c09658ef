/* run_token.h: the token of a run.
 *
 * 128 random bits, created when the run is ordered to start; its command gets them as SLUICE_TOKEN.
 * The store and its backups hold only their SHA-256, in the row of the live run: a token is valid
 * until its run ends, across restarts. ops/capability.h decides which rights it grants. */
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
    bool is_made; /* false: this run has no token */
};

struct config;
struct engine;

/* Checks the syntax only. */
bool run_token_is_valid(const char *text);

const char *engine_run_socket_path(const struct engine *engine);

/* The task and attempt of a token; 0: not of a live run. */
task_id engine_find_token(const struct engine *engine, const char *token, uint32_t *ret_attempt);

/* Where the command of a live run was started. False: unknown, the run has changed its spec. */
bool engine_run_folder_of(const struct engine *engine, task_id task, struct strbuf *ret_folder);

/* Its timeout and idle timeout; 0: none. False: unknown. */
bool engine_run_spans_of(const struct engine *engine, task_id task, time_ms *ret_timeout,
                         time_ms *ret_idle);

/* Limits how many children of this task run at once: those that have the key among their resources.
 * `key`: run_token_key. */
void engine_limit_children(struct engine *engine, const char *key);
#define CHILDREN_KEY "below:" /* followed by the id of the parent */

/* --- inside the engine ----------------------------------------------------------------------- */

void run_token_make(struct run_token *token);
/* For a run that was found with it. */
void run_token_adopt(struct run_token *token, const char *text);
/* Its command has it. */
void run_token_forget(struct run_token *token);
/* What the row keeps; NULL: nothing. */
const char *run_token_print(const struct run_token *token, char buf[SHA256_HEX_SIZE]);
void run_token_read(struct run_token *token, const char *hash);
