/* request.h: requests from a command to the daemon, with error reporting.
 *
 *     _cleanup_(request_finish) struct request req = { 0 };
 *     int code = request_post(&req, json_pack("{s:b}", "dry_run", 1), "/v1/tick");
 *     if (code != CMD_OK)
 *         return code;
 *     … req.answer …
 *
 * Every function returns CMD_OK, or prints one message and returns the exit code. The daemon's
 * messages are printed as they are. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/json_get.h"

enum request_mode {
    REQUEST_START,   /* starts a daemon if none runs; CMD_NO_DAEMON if that fails */
    REQUEST_RUNNING, /* requires a running daemon: else a message and CMD_NO_DAEMON */
    REQUEST_TRY,     /* the same without a message; CMD_FAILED if one runs but is unreachable */
    REQUEST_HOME,    /* as REQUEST_TRY, but only this home's daemon, even if it is a standby */
};

struct request {
    struct client *client;
    json_t *answer; /* to the last request; NULL after a failure */
    struct error err;
    int64_t index; /* on refusal: the list item it is about; -1: none */
};

int request_open(struct request *req, enum request_mode how);
void request_finish(struct request *req); /* safe on a zeroed struct; usable with _cleanup_ */

/* `path` includes its query and is escaped: see request_path, client_query. Both connect first if
 * request_open was not called: GET to a running daemon, POST starts one. POST takes `body`. */
int request_get(struct request *req, const char *path);
int request_post(struct request *req, json_t *body, const char *path);
/* BEFORE + first argument, escaped + AFTER; the argument must not be empty. POST with a `body`,
 * which is taken, otherwise GET. */
int request_named(struct request *req, const struct cmd_call *call, json_t *body,
                  const char *before, const char *after);

/* A command that sends one request and prints the answer: the `data` of its entry, with request_run as
 * its function. With --json the answer is printed unchanged. */
struct request_command {
    const char *before, *after; /* the path; if there is `after`, the first argument is between */
    bool is_post;               /* the options given are members of the body (cmd_option.member) */
    enum request_mode mode;     /* of a POST; a GET requires a running daemon */
    time_ms timeout;            /* for the answer; 0: default */
    /* Adds other members to the body, or a query to the path: CMD_OK, or as cmd_usage_error. */
    int (*body)(const struct cmd_call *call, json_t *body);
    int (*query)(const struct cmd_call *call, struct strbuf *path);
    void (*print)(const struct cmd_call *call, const json_t *answer, struct strbuf *out);
    int (*exit_code)(const json_t *answer); /* NULL: CMD_OK */
};
int request_run(const struct cmd_call *call);
#define REQUEST_COMMAND(...)                                                                       \
    .run = request_run, .data = &(const struct request_command) {                                  \
        __VA_ARGS__                                                                                \
    }

/* The same without a message: 0, or the errno of the refusal (req->err has the message). */
int request_try_get(struct request *req, const char *path);
int request_try_post(struct request *req, json_t *body, const char *path);
int request_try_named(struct request *req, const char *before, const char *name, const char *after);
/* GET /v1/tasks/ID */
int request_try_task(struct request *req, const char *id);
/* Did the daemon refuse the last request? A missing socket has the same errno. */
bool request_was_answered(const struct request *req);
/* Prints req->err and returns its exit code: invalid input 2, not found or failed 1, no daemon 3,
 * refused by a guard or by a task's state, or deferred, 4. */
int request_failed(const struct request *req);
/* The same; with --json also prints the daemon's error object, so that stdout is one JSON value.
 * For commands that print nothing else. */
int request_refused(const struct cmd_call *call, const struct request *req);

/* --- building requests ----------------------------------------------------------------------- */

/* CMD_OK if the argument is not empty. Otherwise as cmd_usage_error. */
int request_check_name(const struct cmd_call *call, const char *name);
/* Are all arguments non-empty? Otherwise as cmd_usage_error with the message. */
int request_check_names(const struct cmd_call *call, const char *message);
/* Arguments `from` to before `to` as a list of strings. */
json_t *request_args(const struct cmd_call *call, size_t from, size_t to);
/* Adds a member for every option given (cmd_option.member): its text, or true for a switch. */
void request_take_members(const struct cmd_call *call, json_t *body);
/* The same for a NULL-terminated list of { option, member }. */
void request_take_options(const struct cmd_call *call, const char *const (*list)[2], json_t *body);
/* Adds "KEY=VALUE" to an object of texts; as cmd_usage_error if malformed or repeated. */
int request_add_pair(const struct cmd_call *call, const char *pair, json_t *object);
/* BEFORE + name, escaped + AFTER. */
void request_path(struct strbuf *out, const char *before, const char *name, const char *after);

/* --- answers --------------------------------------------------------------------------------- */

/* Warns on stderr if this home's daemon is a standby, and names the daemon that answered. */
void request_warn_standby(const struct request *req);

/* Prints the daemon's answer unchanged, for --json. */
int request_print(const struct request *req);
/* True if the command is done: the request failed (*code), or --json printed its answer. */
bool request_ended(const struct cmd_call *call, const struct request *req, int *code);

/* GET `path` page by page, and `each` for every item, at most `most`. CMD_OK, or as above. */
typedef void (*request_each)(void *ctx, const json_t *item);
int request_pages(struct request *req, const char *path, size_t most, request_each each, void *ctx);
void request_append(void *array, const json_t *item); /* collects all items */

/* Appends all tasks of a group, as GET /v1/tasks has them, in the order of submission. */
int request_group(struct request *req, const char *group, json_t *tasks);
int request_try_group(struct request *req, const char *group,
                      json_t *tasks); /* as request_try_get */

/* The list of the last answer, either top-level or in "items". */
const json_t *request_items(const struct request *req);
