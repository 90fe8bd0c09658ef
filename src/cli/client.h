/* client.h: requests to the daemon over its Unix socket, or to the active one of several daemons.
 *
 * Life:    client_open → client_call … client_stream … → client_close
 * A call:  returns the HTTP status (200, 404 …), or <0 if there was no answer. For a status of 400
 *          and above, `err` has the daemon's message and its errno; *ret_answer is the JSON body,
 *          also of an error ({"error":{"code","message"}, "depths"? …}).
 *
 *              _cleanup_(client_closep) struct client *client = NULL;
 *              if ((r = client_open(path, NULL, &client, &err)) < 0)
 *                  return client_is_absent(r) ? … : cmd_error(&err);
 *              json_auto_t *answer = NULL;
 *              json_t *body = json_pack("{s:[s]}", "tasks", call->args[0]);
 *              int status = client_call(client, "POST", "/v1/tasks/cancel", body, &answer, &err);
 *              if (status != 200) {
 *                  cmd_warn("%s", err.text);
 *                  return CMD_FAILED; // cli/request.h has the exit codes
 *              }
 *
 * Retries: every POST has an idempotency key, new for each call. If the connection breaks before
 *          the answer, the client reconnects (calling `start` if there is no daemon) and resends
 *          the request with the same key, so it is executed once. The same if a daemon does not
 *          know the outcome (outcome_unknown): it exits, and the next one knows.
 * Several: standbys and absent daemons are skipped for the next address. If there is a standby, all
 *          addresses are tried for 20 s until a daemon has taken over.
 * Streams: log bytes or events, passed to a callback as they arrive. Blocking with client_stream_*,
 *          or with other descriptors with client_begin_*, client_fd, client_pump.
 * Runs:    requests to SLUICE_SOCKET, and to the sockets of SLUICE_PEERS after a failover, carry
 *          SLUICE_TOKEN, which identifies the run. On another host SLUICE_SOCKET has addresses,
 *          "https://a:7878,https://b:7878"; SLUICE_CA is a file of trusted certificates.
 * Paths:   user text in a path or query must go through client_escape or client_query. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

struct client;

/* Other addresses of daemons with the same store; borrowed, and copied. */
struct client_peers {
    const char *const *addresses; /* "unix:/PATH", "http://HOST:PORT", "https://HOST:PORT" */
    size_t count;
    const char *token; /* sent over TCP; or NULL */
    const char *ca;    /* file of trusted certificates; NULL: the system's */
};

struct client_options {
    time_ms timeout; /* per answer, including retries; 0: 60 s */
    /* Starts a daemon and returns 0 when its socket answers, or <0 with a message. NULL: the call
     * fails with -ECONNREFUSED. Called at most once per call, and never with peers. */
    int (*start)(void *ctx, struct error *err);
    /* Called at most once, if the socket is absent or a standby's. NULL: no other addresses. */
    void (*peers)(void *ctx, struct client_peers *ret);
    void *ctx;
};

/* `place`: the path of a socket, or "https://HOST:PORT,…", the form of SLUICE_SOCKET on another
 * host (certificates: the file SLUICE_CA, or the system's). -ENOENT: no socket. -ECONNREFUSED: no
 * listener. Both only if `start` is NULL. -ENAMETOOLONG: over 107 bytes. `options` may be NULL. */
int client_open(const char *place, const struct client_options *options, struct client **ret_client,
                struct error *err);
struct client *client_close(struct client *client); /* accepts NULL, returns NULL */
DEFINE_FREEP(struct client, client_close);

/* This process belongs to a run, and authenticates as the run (SLUICE_TOKEN). */
bool client_is_in_run(void);

/* True for the two errors above, and if only standbys answered. */
bool client_is_absent(int result);
/* The address that answered: "unix:/PATH" or as configured. */
const char *client_address_text(const struct client *client);
/* The first address's message if it is a standby; NULL: it is not, or has taken over. */
const char *client_standby(const struct client *client);

/* `path` is escaped. `body`: taken, also on failure; NULL: none (a POST sends {}). *ret_answer is
 * NULL if the answer is not JSON (see client_text). `ret_answer` may be NULL. */
int client_call(struct client *client, const char *method, const char *path, json_t *body,
                json_t **ret_answer, struct error *err);
/* client_call in two halves, for late answers: sends a POST, 0 or <0; when client_fd is readable,
 * reads the answer, as client_call. Nothing is retried. Until then only client_close is allowed. */
int client_begin_call(struct client *client, const char *path, json_t *body, struct error *err);
int client_end_call(struct client *client, json_t **ret_answer, struct error *err);

/* Of the last answer; borrowed until the next call. */
int client_status(const struct client *client);
const char *client_text(const struct client *client);                     /* the raw body */
const char *client_header(const struct client *client, const char *name); /* or NULL */

/* Sets the key of the next POST: 8 to 128 printable characters, no spaces. Without it, each call has
 * a new one. */
void client_set_key(struct client *client, const char *key);
#define CLIENT_KEY_SIZE 33u
void client_make_key(char key[CLIENT_KEY_SIZE]); /* 128 random bits */
void client_set_timeout(struct client *client, time_ms timeout);
/* Inside a run: its name ("web-17.2", SLUICE_RUN), sent with every request; NULL: none. */
void client_set_run(struct client *client, const char *run);

/* A stream ends with -EPIPE as soon as the reader of `fd` (stdout) closes it. -1: none. */
void client_set_reader(struct client *client, int fd);

/* --- streams --------------------------------------------------------------------------------- */

/* Callbacks: 0 continues, 1 ends the stream normally, <0 ends it with that result. */
typedef int (*client_bytes)(void *ctx, const char *bytes, size_t size);

struct client_event {
    uint64_t seq;     /* of the last event that has one; 0: none yet */
    const char *kind; /* "task.state"; "reset": reload the state; "overflow": too slow, dropped */
    const char *data; /* JSON text; may be "" */
};
typedef int (*client_each)(void *ctx, const struct client_event *event);

/* GET `path`; returns the status as client_call when the stream has ended. -EINTR: a signal handler
 * ran. -ECONNRESET: the stream broke; events can be resumed with after=SEQ. */
int client_stream_bytes(struct client *client, const char *path, client_bytes each, void *ctx,
                        struct error *err);
/* `after`: the last event seen; 0: from the first stored one; CLIENT_EVENTS_NEW: only new ones. */
#define CLIENT_EVENTS_NEW UINT64_MAX
int client_stream_events(struct client *client, const char *path, uint64_t after, client_each each,
                         void *ctx, struct error *err);

/* The same without blocking. begin returns the status when the headers have arrived; 200: call
 * client_pump, and again whenever client_fd is readable: 1 while it continues, 0 when it has ended,
 * <0 when it broke. client_end makes the client usable for calls again, at any time. */
int client_begin_bytes(struct client *client, const char *path, client_bytes each, void *ctx,
                       struct error *err);
int client_begin_events(struct client *client, const char *path, uint64_t after, client_each each,
                        void *ctx, struct error *err);
int client_fd(const struct client *client);
int client_pump(struct client *client, struct error *err);
void client_end(struct client *client);

/* --- texts ----------------------------------------------------------------------------------- */

/* Percent-encodes everything except letters, digits and -._~ */
void client_escape(struct strbuf *out, const char *text);
/* Adds "?name=value", or "&name=value" if `path` has a query; nothing if value is NULL. */
void client_query(struct strbuf *path, const char *name, const char *value);

/* For tests: a client in the middle of an event stream that it reads from `fd`. */
struct client *client_from_fd(int fd, client_each each, void *ctx);
