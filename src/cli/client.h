/* client.h: what a command asks the daemon, over its Unix socket, or of several daemons the active one.
 *
 * Life:    client_open → client_call … client_stream … → client_close
 * A call:  returns the HTTP status (200, 404 …), or <0 when there was no answer at all. With a status
 *          from 400 on, `err` has the daemon's message and its errno; *ret_answer is
 *          the JSON that came, of an error too ({"error":{"code","message"}, "depths"? …}).
 *
 *              _cleanup_(client_closep) struct client *client = NULL;
 *              if ((r = client_open(path, NULL, &client, &err)) < 0)
 *                  return client_is_absent(r) ? … : cmd_error(&err);
 *              _cleanup_(client_answer_freep) json_t *answer = NULL;
 *              json_t *body = json_pack("{s:[s]}", "tasks", call->args[0]);
 *              int status = client_call(client, "POST", "/v1/tasks/cancel", body, &answer, &err);
 *              if (status != 200) {
 *                  cmd_warn("%s", err.text);
 *                  return CMD_FAILED; // cli/ask.h knows better
 *              }
 *
 * Lost:    every POST carries an idempotency key, new for each call. When the connection breaks
 *          before the answer, the client connects again (calling `start` if there is no daemon) and
 *          sends the same request with the same key: it is done once, whatever happened. The same when a daemon says that
 *          it does not know what became of it (outcome_unknown): it ends, and the next one knows.
 * Several: a daemon that is a standby, or is not there, is passed over for the next address. Who has heard of a standby
 *          goes round until one of them has taken over, for 20 s.
 * Streams: bytes of a log, or events; a callback gets them as they come. Blocking with
 *          client_stream_*, or beside other descriptors with client_begin_*, client_fd, client_pump.
 * Runs:    what goes to SLUICE_SOCKET, and to the sockets of SLUICE_PEERS when another daemon has taken over, carries
 *          SLUICE_TOKEN, by which the daemon knows the run. On another machine that is
 *          no socket but addresses, "https://a:7878,https://b:7878"; SLUICE_CA is a file with certificates to trust.
 * Paths:   user text in a path or query goes through client_escape; client_get does it for %s. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

struct client;

/* Where else daemons of the same store may be; everything is borrowed, and copied. */
struct client_peers {
    const char *const *addresses; /* "unix:/PATH", "http://HOST:PORT", "https://HOST:PORT" */
    size_t count;
    const char *token; /* sent over TCP; or NULL */
    const char *ca;    /* file with the certificates that are trusted; NULL: the system's */
};

struct client_options {
    time_ms timeout; /* for one answer, tries included; 0: 60 s */
    /* There is no daemon: start one and return 0 when its socket answers, or <0 with a message.
     * NULL: the call fails with -ECONNREFUSED. Called at most once per call, and never with peers. */
    int (*start)(void *ctx, struct error *err);
    /* The socket is absent, or its daemon is a standby: where else? Called at most once. NULL: nowhere. */
    void (*peers)(void *ctx, struct client_peers *ret);
    void *ctx;
};

/* `place`: the path of a socket, or "https://HOST:PORT,…", which SLUICE_SOCKET has on another host (trusted are the
 * certificates in the file SLUICE_CA, or the system's). -ENOENT: there is no socket. -ECONNREFUSED: no listener.
 * Both only if `start` is NULL. -ENAMETOOLONG: a socket's path has at most 107 bytes. `options` may be NULL. */
int client_open(const char *place, const struct client_options *options, struct client **ret_client,
                struct error *err);
struct client *client_close(struct client *client); /* accepts NULL, returns NULL */
DEFINE_FREEP(struct client, client_close);

/* This process belongs to a run, and asks as that (SLUICE_TOKEN). */
bool client_is_in_run(void);

/* No daemon behind the socket: the two errors above. Or only such as are standbys. */
bool client_is_absent(int result);
/* Which address has answered: "unix:/PATH" or as it was configured. */
const char *client_address_text(const struct client *client);
/* What the daemon at the first address said of itself when it answered as a standby; NULL: it did not, or has
 * taken over since, and is the one that answered. */
const char *client_standby(const struct client *client);

/* `path` with its query, escaped. `body`: taken, also on failure; NULL: none (a POST then sends {}).
 * *ret_answer is NULL when the answer is no JSON (client_text has it). `ret_answer` may be NULL. */
int client_call(struct client *client, const char *method, const char *path, json_t *body,
                json_t **ret_answer, struct error *err);
/* client_call in two halves, for an answer that comes later: a POST is sent, 0 or <0; when client_fd is readable
 * the answer is read, as client_call returns it. Nothing is tried again. In between the client is good for nothing
 * else; client_close ends it. */
int client_begin_call(struct client *client, const char *path, json_t *body, struct error *err);
int client_end_call(struct client *client, json_t **ret_answer, struct error *err);
/* client_call with GET; each %s in the format is escaped for a URL. Only %s, %d, %u, %lld, %llu, %%. */
int client_get(struct client *client, json_t **ret_answer, struct error *err, const char *format,
               ...) _printf_(4, 5);

/* Of the last answer; borrowed until the next call. */
int client_status(const struct client *client);
const char *client_text(const struct client *client);                     /* the body as it came */
const char *client_header(const struct client *client, const char *name); /* or NULL */
/* The same key was answered before: nothing was done again. */
bool client_was_replayed(const struct client *client);

/* The key of the next POST instead of a new one: 8 to 128 printable characters, no spaces. */
void client_set_key(struct client *client, const char *key);
void client_set_timeout(struct client *client, time_ms timeout);
/* From inside a run: which one asks ("web-17.2", SLUICE_RUN), sent with every request; NULL: none. */
void client_set_run(struct client *client, const char *run);

/* Nobody may be left who reads what a stream is printed to (stdout): then it ends with -EPIPE, and
 * not only when the next bytes come. -1: none. */
void client_set_reader(struct client *client, int fd);

/* --- streams --------------------------------------------------------------------------------- */

/* Callbacks: 0 goes on, 1 ends the stream in good order, <0 ends it with that result. */
typedef int (*client_bytes)(void *ctx, const char *bytes, size_t size);

struct client_event {
    uint64_t seq; /* of the last event with one; 0: none yet */
    const char
        *kind; /* "task.state"; "reset": read the state again; "overflow": too slow, dropped */
    const char *data; /* JSON text; may be "" */
};
typedef int (*client_each)(void *ctx, const struct client_event *event);

/* GET `path`; the status as client_call, when the stream has ended. -EINTR: a signal handler ran.
 * A stream that breaks: -ECONNRESET; events are then resumed by asking with after=SEQ. */
int client_stream_bytes(struct client *client, const char *path, client_bytes each, void *ctx,
                        struct error *err);
/* `after`: the last event that was seen; 0: from the first one kept; CLIENT_EVENTS_NEW: only new ones. */
#define CLIENT_EVENTS_NEW UINT64_MAX
int client_stream_events(struct client *client, const char *path, uint64_t after, client_each each,
                         void *ctx, struct error *err);

/* The same in pieces. begin: the status, when the headers have come; 200: call client_pump, and again
 * whenever client_fd is readable: 1 while it goes on, 0 when it has ended, <0 when it broke. Ended or
 * not, client_end makes the client free for calls again. */
int client_begin_bytes(struct client *client, const char *path, client_bytes each, void *ctx,
                       struct error *err);
int client_begin_events(struct client *client, const char *path, uint64_t after, client_each each,
                        void *ctx, struct error *err);
int client_fd(const struct client *client);
int client_pump(struct client *client, struct error *err);
void client_end(struct client *client);

/* --- texts ----------------------------------------------------------------------------------- */

/* Percent-encodes everything but letters, digits and -._~ */
void client_escape(struct strbuf *out, const char *text);
/* Adds "?name=value", or "&name=value" when `path` has a query already; nothing if value is NULL. */
void client_query(struct strbuf *path, const char *name, const char *value);

void client_answer_freep(json_t **answer);

/* For tests: a client in the middle of a stream of events, which come from `fd`. */
struct client *client_from_fd(int fd, client_each each, void *ctx);
