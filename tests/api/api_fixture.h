/* api_fixture.h: a real server on a real socket, with fake operations behind it.
 *
 * Life:   api_start(options) → api_connect, api_send, api_read… → api_stop
 * The server's loop runs in a thread of its own; the test is its client. What the operations do is set
 * and asked through functions that run inside the loop (api_do), so nothing is shared.
 * Waiting is always for an event, with a deadline: a test that would hang fails with a message. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/server.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "harness/scratch.h"
#include "ops/op.h"

struct api {
    char folder[SCRATCH_PATH];
    char path[100]; /* of the socket */
    struct server *server;
    struct loop *loop;
};

/* The fake operations: GET /v1/echo?text=&number= and POST /v1/echo {…} answer their parameters;
 * POST /v1/tasks takes any list; GET /v1/wait answers when api_release is called; GET /v1/big?size=N has
 * a large answer; GET /v1/fail?code=ENOENT|…; POST /v1/once writes; GET /metrics; GET /v1/events;
 * GET /v1/tasks/{id}/log; POST /v1/shutdown. */
struct api *api_start(const struct server_options *options);
void api_stop(struct api *api);
void api_stopp(struct api **api);
#define API(name, ...)                                                                             \
    _cleanup_(api_stopp) struct api *name =                                                        \
        api_start(&(struct server_options){ .ctx = NULL, __VA_ARGS__ })

/* Runs inside the loop, between two rounds; returns when it has run. */
void api_do(struct api *api, void (*function)(struct api *api, void *arg), void *arg);
struct server_stats api_stats(struct api *api);
/* How often the loop wakes up by itself in this time. */
uint64_t api_wakeups_within(struct api *api, time_ms span);
/* Waits until the number at `offset` of the stats is `value`: API_WAIT_STAT(api, connections, 0). */
void api_wait_stat(struct api *api, const char *name, size_t offset, uint64_t value);
#define API_WAIT_STAT(api, member, value)                                                          \
    api_wait_stat(api, #member, offsetof(struct server_stats, member), value)

/* --- the world behind the operations ------------------------------------------------------------ */

/* Calls that wait (GET /v1/wait): how many there are; answers them all; how many were abandoned. */
size_t api_waiting(struct api *api);
void api_wait_for_calls(struct api *api, size_t count);
void api_release(struct api *api);
size_t api_abandoned(struct api *api);
void api_wait_for_abandoned(struct api *api, size_t count);
/* How often POST /v1/once was carried out. */
size_t api_done_once(struct api *api);
/* A new event, stored and published; `task` 0: about none. */
void api_event(struct api *api, task_id task, const char *data);
/* The same, stored in one turn with the pages that are asked for, published at its end. */
void api_events(struct api *api, size_t count);
/* The events before `first` are gone. */
void api_prune(struct api *api, uint64_t first);
/* GET /v1/tasks/1/log sends this file of the fixture's folder; follows it if `follow`. */
void api_log(struct api *api, const char *name, uint64_t offset, bool follow);
/* The same with out.log and err.log, merged in the order of the file `order`. */
void api_log_merged(struct api *api, enum op_log_format format, uint64_t tail, bool follow);
void api_log_path(struct api *api, const char *name, char path[192]);
void api_run_ended(struct api *api, task_id task, uint32_t attempt);
bool api_stop_asked(struct api *api);
void api_stop_accepting(struct api *api);

/* --- a client ----------------------------------------------------------------------------------- */

int api_connect(struct api *api);
void api_send(int fd, const char *text);
void api_send_bytes(int fd, const void *bytes, size_t size);
/* Reads until `needle` has come; what has come so far is in `text`. */
void api_read_until(int fd, struct strbuf *text, const char *needle);
/* Reads what is there, or waits for it; adds nothing when the other side has closed. */
void api_read_more(int fd, struct strbuf *text);
void api_read_exactly(int fd, struct strbuf *text, size_t size);
/* Reads until the other side closes. */
void api_read_all(int fd, struct strbuf *text);
void api_expect_closed(int fd); /* nothing more comes */

struct api_answer {
    int status;
    struct strbuf head, body;
};
void api_answer_finish(struct api_answer *answer);
#define ANSWER(name) _cleanup_(api_answer_finish) struct api_answer name = { 0 }
/* Reads exactly one answer with a Content-Length; bytes behind it stay in the socket. */
void api_read_answer(int fd, struct api_answer *ret);
/* Sends and reads one answer; fails unless it has this status. */
void api_ask(int fd, const char *text, int status, struct api_answer *ret);
/* One request on a connection of its own. */
void api_once(struct api *api, const char *text, int status, struct api_answer *ret);

#define GET(path) "GET " path " HTTP/1.1\r\nHost: sluice\r\n\r\n"
#define ASSERT_HAS(text, needle)                                                                   \
    do {                                                                                           \
        if (!strstr(text, needle))                                                                 \
            fail_msg("expected '%s' in: %s", needle, text);                                        \
    } while (0)
#define ASSERT_HAS_NOT(text, needle)                                                               \
    do {                                                                                           \
        if (strstr(text, needle))                                                                  \
            fail_msg("did not expect '%s' in: %s", needle, text);                                  \
    } while (0)
