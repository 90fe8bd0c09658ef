/* ask.h: one question of a command to the daemon, and what to do when it is not answered.
 *
 *     _cleanup_(ask_finish) struct ask ask = { 0 };
 *     int code = ask_open(&ask, ASK_START);
 *     if (code == CMD_OK)
 *         code = ask_post(&ask, json_pack("{s:b}", "dry_run", 1), "/v1/tick");
 *     if (code != CMD_OK)
 *         return code;
 *     … ask.answer …
 *
 * Every function returns CMD_OK, or prints one message and returns the exit code. The
 * daemon's messages name what was wrong, so nothing is added to them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/client.h"
#include "cli/cmd.h"

enum ask_how {
    ASK_START,   /* starts a daemon when none runs; CMD_NO_DAEMON if that fails */
    ASK_RUNNING, /* only one that runs: else a message, CMD_NO_DAEMON */
    ASK_TRY,     /* the same without a message; CMD_FAILED if one is there and cannot be reached */
    ASK_HOME,    /* as ASK_TRY, but the one of this home and no other, even if it is a standby */
};

struct ask {
    struct client *client;
    json_t *answer; /* of the last question; NULL after a failure */
    struct error err;
    int64_t index; /* with a refusal: which of a list it is about; -1: of none */
};

int ask_open(struct ask *ask, enum ask_how how);
void ask_finish(struct ask *ask); /* safe on a zeroed one; usable with _cleanup_ */

/* `path` with its query, escaped: ask_path, client_query. */
int ask_get(struct ask *ask, const char *path);
/* `body` is taken. */
int ask_post(struct ask *ask, json_t *body, const char *path);
/* ask_open, and then the question: who only looks needs a daemon that runs, who changes something
 * starts one. */
int ask_open_get(struct ask *ask, const char *path);
int ask_open_post(struct ask *ask, json_t *body, const char *path);
/* The thing that the first argument names: GET BEFORE + name, escaped + AFTER. */
int ask_open_named(struct ask *ask, const struct cmd_call *call, const char *before,
                   const char *after);
/* The same for a change; `body` is taken. */
int ask_open_change(struct ask *ask, const struct cmd_call *call, json_t *body, const char *before,
                    const char *after);
/* The same without a message: 0, or the errno of the refusal (ask->err has the message). */
int ask_try_get(struct ask *ask, const char *path);
int ask_try_post(struct ask *ask, json_t *body, const char *path);
/* GET /v1/tasks/ID */
int ask_try_task(struct ask *ask, const char *id);
/* Was the last refusal the daemon's? An unknown name and an absent socket have the same errno. */
bool ask_was_answered(const struct ask *ask);
/* Prints ask->err and returns its exit code: wrong input 2, not found or failed 1, no daemon 3,
 * refused by a guard or by the state of a task, or deferred, 4. */
int ask_failed(const struct ask *ask);
/* The same; with --json also prints the daemon's error object, so that stdout is one JSON value. For a command
 * that prints nothing else. */
int ask_refused(const struct cmd_call *call, const struct ask *ask);

/* --- making questions ------------------------------------------------------------------------ */

/* CMD_OK if the argument can be a name at all: not empty. Else as cmd_usage_error. */
int ask_name(const struct cmd_call *call, const char *name);
/* A JSON text of any bytes: what is no UTF-8 becomes U+FFFD. */
json_t *ask_string(const char *text);
/* A member for every option that was given and has one in its table (cmd_option.member): its text, or
 * true for one without an argument. */
void ask_take_members(const struct cmd_call *call, json_t *body);
/* The same for a list { option, member }, NULL at its end, that was given: its text, or
 * true for one without an argument. */
void ask_take_options(const struct cmd_call *call, const char *const (*list)[2], json_t *body);
/* Puts "KEY=VALUE" into an object of texts; as cmd_usage_error if it is none, or a key comes twice. */
int ask_add_pair(const struct cmd_call *call, const char *pair, json_t *object);
/* BEFORE + name, escaped + AFTER. */
void ask_path(struct strbuf *out, const char *before, const char *name, const char *after);

/* --- answers --------------------------------------------------------------------------------- */

/* Says on stderr that the daemon of this home is a standby, and whose the answer is; nothing if it is not. */
void ask_warn_standby(const struct ask *ask);

/* The daemon's answer as it is, for --json. */
int ask_print(const struct ask *ask);
/* Is nothing left to do? The question has failed (*code), or its answer was printed, because of --json. */
bool ask_ended(const struct cmd_call *call, const struct ask *ask, int *code);

/* Any value, on one line. */
void ask_dump(const json_t *value, struct strbuf *out);
/* The same, to stdout; `value` is taken. CMD_OK. */
int ask_print_json(json_t *value);

/* Calls GET `path` page by page and gives every item of "items" to
 * `each`, at most `most` of them. CMD_OK, or as above. */
typedef void (*ask_each)(void *ctx, const json_t *item);
int ask_pages(struct ask *ask, const char *path, size_t most, ask_each each, void *ctx);
void ask_append(void *array, const json_t *item); /* one that keeps them all */

/* Every item of a list:  ASK_EACH(task, json_object_get(answer, "tasks")) { … } */
struct ask_cursor {
    const json_t *list;
    size_t at;
    bool ended;
};
static inline json_t *ask_next(struct ask_cursor *cursor) {
    return json_array_get(cursor->list, cursor->at++);
}
#define ASK_EACH(item, array)                                                                      \
    for (struct ask_cursor item##_at = { array, 0, false }; !item##_at.ended;                      \
         item##_at.ended = true)                                                                   \
        for (json_t * item; (item = ask_next(&item##_at));)

/* The list of the last answer, whether it comes alone or as "items". */
const json_t *ask_items(const struct ask *ask);
/* Members of an object; what is absent, null or of another type is `otherwise`. */
const char *ask_text(const json_t *object, const char *key, const char *otherwise);
int64_t ask_int(const json_t *object, const char *key, int64_t otherwise);
double ask_real(const json_t *object, const char *key, double otherwise);
bool ask_true(const json_t *object, const char *key);
/* Is the text one of the words, which have blanks between them? What is absent is none. */
bool ask_is(const json_t *object, const char *key, const char *words);
bool ask_is_word(const char *word, const char *words);
