/* ask.h: requests from a command to the daemon, with error reporting.
 *
 *     _cleanup_(ask_finish) struct ask ask = { 0 };
 *     int code = ask_post(&ask, json_pack("{s:b}", "dry_run", 1), "/v1/tick");
 *     if (code != CMD_OK)
 *         return code;
 *     … ask.answer …
 *
 * Every function returns CMD_OK, or prints one message and returns the exit code. The daemon's
 * messages are printed as they are. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/client.h"
#include "cli/cmd.h"

enum ask_how {
    ASK_START,   /* starts a daemon if none runs; CMD_NO_DAEMON if that fails */
    ASK_RUNNING, /* requires a running daemon: else a message and CMD_NO_DAEMON */
    ASK_TRY,     /* the same without a message; CMD_FAILED if one runs but is unreachable */
    ASK_HOME,    /* as ASK_TRY, but only this home's daemon, even if it is a standby */
};

struct ask {
    struct client *client;
    json_t *answer; /* to the last request; NULL after a failure */
    struct error err;
    int64_t index; /* on refusal: the list item it is about; -1: none */
};

int ask_open(struct ask *ask, enum ask_how how);
void ask_finish(struct ask *ask); /* safe on a zeroed struct; usable with _cleanup_ */

/* `path` includes its query and is escaped: see ask_path, client_query. Both connect first if
 * ask_open was not called: GET to a running daemon, POST starts one. POST takes `body`. */
int ask_get(struct ask *ask, const char *path);
int ask_post(struct ask *ask, json_t *body, const char *path);
/* GET BEFORE + first argument, escaped + AFTER; the argument must not be empty. */
int ask_get_named(struct ask *ask, const struct cmd_call *call, const char *before,
                  const char *after);
/* The same with POST; takes `body`. */
int ask_post_named(struct ask *ask, const struct cmd_call *call, json_t *body, const char *before,
                   const char *after);

/* A command that sends one request and prints the answer: the `data` of its entry, with ask_run as
 * its function. With --json the answer is printed unchanged. */
struct ask_command {
    const char *before, *after; /* the path; if there is `after`, the first argument is between */
    bool is_post;               /* the options given are members of the body (cmd_option.member) */
    /* Adds other members to the body, or a query to the path: CMD_OK, or as cmd_usage_error. */
    int (*body)(const struct cmd_call *call, json_t *body);
    int (*query)(const struct cmd_call *call, struct strbuf *path);
    void (*print)(const struct cmd_call *call, const json_t *answer, struct strbuf *out);
};
int ask_run(const struct cmd_call *call);
#define ASK_COMMAND(...)                                                                           \
    .run = ask_run, .data = &(const struct ask_command) {                                          \
        __VA_ARGS__                                                                                \
    }

/* The same without a message: 0, or the errno of the refusal (ask->err has the message). */
int ask_try_get(struct ask *ask, const char *path);
int ask_try_post(struct ask *ask, json_t *body, const char *path);
int ask_try_named(struct ask *ask, const char *before, const char *name, const char *after);
/* GET /v1/tasks/ID */
int ask_try_task(struct ask *ask, const char *id);
/* Did the daemon refuse the last request? A missing socket has the same errno. */
bool ask_was_answered(const struct ask *ask);
/* Prints ask->err and returns its exit code: invalid input 2, not found or failed 1, no daemon 3,
 * refused by a guard or by a task's state, or deferred, 4. */
int ask_failed(const struct ask *ask);
/* The same; with --json also prints the daemon's error object, so that stdout is one JSON value.
 * For commands that print nothing else. */
int ask_refused(const struct cmd_call *call, const struct ask *ask);

/* --- building requests ----------------------------------------------------------------------- */

/* CMD_OK if the argument is not empty. Otherwise as cmd_usage_error. */
int ask_name(const struct cmd_call *call, const char *name);
/* Are all arguments non-empty? Otherwise as cmd_usage_error with the message. */
int ask_names(const struct cmd_call *call, const char *message);
/* A JSON string from any bytes: invalid UTF-8 becomes U+FFFD. */
json_t *ask_string(const char *text);
/* Arguments `from` to before `to` as a list of strings. */
json_t *ask_args(const struct cmd_call *call, size_t from, size_t to);
/* Sets a member to a text; nothing if it is NULL. */
void ask_put(json_t *object, const char *key, const char *text);
/* Copies members, by space-separated names, that are not null and that `to` does not have yet. */
void ask_copy(json_t *to, const json_t *from, const char *names);
/* Adds a member for every option given (cmd_option.member): its text, or true for a switch. */
void ask_take_members(const struct cmd_call *call, json_t *body);
/* The same for a NULL-terminated list of { option, member }. */
void ask_take_options(const struct cmd_call *call, const char *const (*list)[2], json_t *body);
/* Adds "KEY=VALUE" to an object of texts; as cmd_usage_error if malformed or repeated. */
int ask_add_pair(const struct cmd_call *call, const char *pair, json_t *object);
/* BEFORE + name, escaped + AFTER. */
void ask_path(struct strbuf *out, const char *before, const char *name, const char *after);

/* --- answers --------------------------------------------------------------------------------- */

/* Warns on stderr if this home's daemon is a standby, and names the daemon that answered. */
void ask_warn_standby(const struct ask *ask);

/* Prints the daemon's answer unchanged, for --json. */
int ask_print(const struct ask *ask);
/* True if the command is done: the request failed (*code), or --json printed its answer. */
bool ask_ended(const struct cmd_call *call, const struct ask *ask, int *code);

/* Any value on one line. */
void ask_dump(const json_t *value, struct strbuf *out);
/* The same to stdout; takes `value`. Returns CMD_OK. */
int ask_print_json(json_t *value);

/* GET `path` page by page, and `each` for every item, at most `most`. CMD_OK, or as above. */
typedef void (*ask_each)(void *ctx, const json_t *item);
int ask_pages(struct ask *ask, const char *path, size_t most, ask_each each, void *ctx);
void ask_append(void *array, const json_t *item); /* collects all items */

/* Iterates over a list: ASK_EACH(task, json_object_get(answer, "tasks")) { … } */
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

/* Adds the texts of a list, with `between` between them and what is in `out` already. */
void ask_join(struct strbuf *out, const char *between, const json_t *list);
/* The list of the last answer, either top-level or in "items". */
const json_t *ask_items(const struct ask *ask);
/* Members of an object; `otherwise` if missing, null or of another type. */
const char *ask_text(const json_t *object, const char *key, const char *otherwise);
int64_t ask_int(const json_t *object, const char *key, int64_t otherwise);
double ask_real(const json_t *object, const char *key, double otherwise);
bool ask_true(const json_t *object, const char *key);
/* Is the text one of the space-separated words? False if missing. */
bool ask_is(const json_t *object, const char *key, const char *words);
bool ask_is_word(const char *word, const char *words);
