/* acp_question.c: asks the daemon, which asks a person. See acp.h.
 *
 * POST /v1/tasks/ID/question with `wait_s`: the same operation as `sluice ask --wait`. The question
 * belongs to the task, so nothing is lost if this process ends: the next attempt asks the same, and
 * gets the answer. A request that got no answer is repeated unchanged and with its key, because the
 * daemon may have marked the answer as used. Runs in Slurm have no Unix socket, and cannot ask. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "acp/acp.h"
#include "base/alloc.h"
#include "base/env_text.h"
#include "base/number.h"
#include "os/clock.h"
#include "os/random.h"

#define REPLY_MAX   (64u << 10)
#define REQUEST_MAX MINUTES(60) /* the daemon waits no longer */
#define GRACE       SECONDS(60) /* how late a reply may be */
#define RETRY       SECONDS(1)
#define PIECE       4096

/* --- where ------------------------------------------------------------------------------------ */

/* "/PATH" or "unix:/PATH"; others are not used. */
static void add_address(struct acp_question *q, const char *text, size_t size) {
    static const char prefix[] = "unix:";
    if (size > strlen(prefix) && strncmp(text, prefix, strlen(prefix)) == 0) {
        text += strlen(prefix);
        size -= strlen(prefix);
    }
    if (size == 0 || *text != '/' || size >= sizeof(((struct sockaddr_un *)NULL)->sun_path)
        || q->count == ACP_ADDRESSES)
        return;
    q->addresses[q->count++] = xstrndup(text, size);
}

void acp_question_init(struct acp_question *q, const char *const *env) {
    const char *socket = env_find(env, "SLUICE_SOCKET"), *peers = env_find(env, "SLUICE_PEERS");
    *q = (struct acp_question){ .fd = -1,
                                .wake = TIME_NEVER,
                                .task = env_find(env, "SLUICE_TASK"),
                                .token = env_find(env, "SLUICE_TOKEN"),
                                .attempt = env_find(env, "SLUICE_ATTEMPT") };
    if (socket)
        add_address(q, socket, strlen(socket));
    for (size_t size; peers && *peers; peers += size + (peers[size] == ',')) {
        size = strcspn(peers, ",");
        add_address(q, peers, size);
    }
    if (!q->task || !q->token || !socket)
        q->problem = "this is not a run: SLUICE_TASK, SLUICE_TOKEN or SLUICE_SOCKET is missing";
    else if (q->count == 0)
        q->problem = "a person can be asked only by runs on the machine of the daemon";
}

static void disconnect(struct acp_question *q) {
    if (q->fd >= 0)
        close(q->fd);
    q->fd = -1;
    strbuf_clear(&q->out);
    strbuf_clear(&q->in);
}

void acp_question_end(struct acp_question *q) {
    disconnect(q);
    q->ask = NULL;
    q->wake = TIME_NEVER;
}

void acp_question_finish(struct acp_question *q) {
    acp_question_end(q);
    for (size_t i = 0; i < q->count; i++)
        free(q->addresses[i]);
    strbuf_finish(&q->out);
    strbuf_finish(&q->in);
    strbuf_finish(&q->answer);
    strbuf_finish(&q->by);
    strbuf_finish(&q->message);
}

/* --- the request ------------------------------------------------------------------------------ */

static void print_body(const struct acp_question *q, const struct acp_options *options,
                       struct strbuf *out) {
    const struct acp_ask *ask = q->ask;
    struct json_writer w;
    int64_t attempt;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    json_put_string(&w, "question", strbuf_text(&ask->text));
    json_put_array(&w, "choices");
    for (size_t i = 0; i < ask->count; i++)
        json_write_string(&w, ask->choices[i].name);
    json_write_array_end(&w);
    json_put_string(&w, "default", ask->choices[ask->fallback].name);
    json_put_int(&w, "deadline_s", (options->ask_deadline + 999) / 1000);
    json_put_int(&w, "wait_s", (q->span + 999) / 1000);
    if (q->attempt && number_parse_int(q->attempt, &attempt, NULL) == 0)
        json_put_int(&w, "attempt", attempt);
    json_write_object_end(&w);
}

static void print_request(struct acp_question *q, const struct acp_options *options) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    print_body(q, options, &body);
    strbuf_clear(&q->out);
    strbuf_printf(&q->out,
                  "POST /v1/tasks/%s/question HTTP/1.1\r\nHost: sluice\r\nConnection: close\r\n"
                  "Authorization: Bearer %s\r\nIdempotency-Key: %s\r\n"
                  "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                  q->task, q->token, q->key, body.length);
    strbuf_add(&q->out, strbuf_text(&body), body.length);
}

static void new_key(struct acp_question *q) {
    unsigned char bytes[(ACP_KEY_SIZE - 1) / 2];
    time_ms left = time_max(0, q->until - clock_read_steady());
    random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(q->key + 2 * i, 3, "%02x", bytes[i]);
    q->span = time_min(REQUEST_MAX, left);
}

void acp_question_begin(struct acp_question *q, const struct acp_ask *ask,
                        const struct acp_options *options) {
    q->ask = ask;
    q->until = time_add(clock_read_steady(), options->ask_wait);
    new_key(q);
    q->wake = clock_read_steady();
}

/* --- the connection --------------------------------------------------------------------------- */

/* The daemon is gone, or ends: another one may take over. */
static void retry(struct acp_question *q) {
    disconnect(q);
    q->at = (q->at + 1) % q->count;
    q->wake = time_add(clock_read_steady(), RETRY);
}

static void connect_now(struct acp_question *q, const struct acp_options *options) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    memcpy(address.sun_path, q->addresses[q->at], strlen(q->addresses[q->at]) + 1);
    q->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (q->fd < 0 || connect(q->fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        retry(q);
        return;
    }
    print_request(q, options);
    q->wake = time_add(clock_read_steady(), q->span + GRACE);
}

/* -1: the connection is lost. */
static int send_some(struct acp_question *q) {
    ssize_t sent =
        q->out.length == 0 ? 0 : send(q->fd, strbuf_text(&q->out), q->out.length, MSG_NOSIGNAL);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    q->out.length -= (size_t)sent;
    if (sent > 0)
        memmove(q->out.text, q->out.text + sent, q->out.length + 1);
    return 0;
}

/* 1: complete. -1: the connection is lost. */
static int read_some(struct acp_question *q) {
    char piece[PIECE];
    ssize_t size = recv(q->fd, piece, sizeof(piece), 0);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (size == 0)
        return q->in.length > 0 ? 1 : -1;
    if (q->in.length + (size_t)size > REPLY_MAX)
        return -1;
    strbuf_add(&q->in, piece, (size_t)size);
    return 0;
}

/* --- the reply -------------------------------------------------------------------------------- */

static void take_text(struct strbuf *to, struct json_span value) {
    strbuf_clear(to);
    (void)json_span_text(value, REPLY_MAX, to);
}

/* The status; 0: not a complete answer. */
static int parse(const struct acp_question *q, struct json_span *ret_body) {
    const char *text = strbuf_text(&q->in), *end = strstr(text, "\r\n\r\n");
    int status = 0;
    if (!end || sscanf(text, "HTTP/1.%*1[01] %3d ", &status) != 1)
        return 0;
    end += strlen("\r\n\r\n");
    return json_span_parse(end, q->in.length - (size_t)(end - text), ret_body) ? status : 0;
}

static enum acp_reply take_reply(struct acp_question *q) {
    struct json_span body = { NULL, 0 };
    int status = parse(q, &body);
    if (status == 0 || status >= 500) {
        retry(q);
        return ACP_REPLY_NONE;
    }
    take_text(&q->message, json_span_get(json_span_get(body, "error"), "message"));
    take_text(&q->answer, json_span_get(body, "answer"));
    take_text(&q->by, json_span_get(body, "by"));
    bool is_open = json_span_is(json_span_get(body, "state"), "open");
    disconnect(q);
    if (status != 200 || (!is_open && q->answer.length == 0)) {
        if (q->message.length == 0)
            strbuf_puts(&q->message, "the question was withdrawn");
        return ACP_REPLY_REFUSED;
    }
    if (!is_open)
        return ACP_REPLY_ANSWERED;
    bool is_over = clock_read_steady() >= q->until;
    new_key(q);
    q->wake = clock_read_steady();
    return is_over ? ACP_REPLY_OPEN : ACP_REPLY_NONE;
}

short acp_question_events(const struct acp_question *q) {
    return (short)(q->out.length > 0 ? POLLIN | POLLOUT : POLLIN);
}

enum acp_reply acp_question_step(struct acp_question *q, const struct acp_options *options) {
    if (!q->ask)
        return ACP_REPLY_NONE;
    if (q->fd < 0) {
        if (clock_read_steady() >= q->wake)
            connect_now(q, options);
        return ACP_REPLY_NONE;
    }
    int r = send_some(q) < 0 ? -1 : read_some(q);
    if (r > 0)
        return take_reply(q);
    if (r < 0 || clock_read_steady() >= q->wake)
        retry(q);
    return ACP_REPLY_NONE;
}
