/* cmd_mcp.c: the MCP server that agents start.
 *
 * Without an argument it serves until end of input. `install` is an argument, not a subcommand,
 * because agents are configured to run `sluice mcp`. Only messages go to stdout, one per line.
 *
 * Requests are sent one at a time over the first connection. task.wait has its own connection, and
 * so does the event stream, which is open only while there are subscriptions. The loop closes it,
 * never its own callback. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/daemon.h"
#include "cli/mcp_install.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "mcp/mcp.h"
#include "os/clock.h"

#define READ_SIZE       65536
#define RECONNECT_AFTER 500 /* ms, while no daemon answers */

/* A request that is answered later, over its own connection. */
struct pending {
    struct mcp_question *question; /* NULL: free */
    struct client *client;
};

#define PENDING_MAX 16u

struct stdio {
    struct mcp *mcp;
    struct pending pendings[PENDING_MAX];
    struct client *client; /* for requests; NULL: not connected */
    struct client *events; /* the event stream; NULL: none */
    bool fresh;            /* just opened: events may have arrived with its headers */
    bool watching;
    time_ms reconnect; /* when to reopen the stream; TIME_NEVER: open, or not wanted */
    struct strbuf line;
    bool skipping;     /* discarding the rest of a line that is too long */
    bool unread;       /* the agent has closed our output */
    unsigned requests; /* number sent, for their keys */
};

static void on_send(void *ctx, enum mcp_kind kind, const char *text, size_t size) {
    struct stdio *s = ctx;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    (void)kind;
    strbuf_add(&out, text, size);
    strbuf_putc(&out, '\n');
    output_rest(&out);
    s->unread |= output_flush() < 0;
}

static int connect_client(bool may_start, struct client **ret_client, struct error *err) {
    int r = daemon_connect(may_start, ret_client, err);
    if (r >= 0)
        client_set_run(*ret_client, cmd_env("SLUICE_RUN"));
    return r;
}

/* "/v1/tasks/{id}/why" with its parameters. */
static int make_path(const struct mcp_question *question, struct strbuf *path, struct error *err) {
    for (const char *at = question->op->path; *at;) {
        size_t plain = strcspn(at, "{");
        strbuf_add(path, at, plain);
        at += plain;
        if (*at != '{')
            break;
        _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
        size_t size = strcspn(++at, "}");
        strbuf_add(&name, at, size);
        const char *value =
            json_string_value(json_object_get(question->params, strbuf_text(&name)));
        if (!value || !*value)
            return error_set(err, -EINVAL, "parameter '%s' must be a text", strbuf_text(&name));
        client_escape(path, value);
        at += size + 1;
    }
    return 0;
}

static int take_bytes(void *ctx, const char *bytes, size_t size) {
    struct strbuf *out = ctx;
    size_t room = MCP_LOG_MAX - out->length;
    strbuf_add(out, bytes, size < room ? size : room);
    return 0;
}

struct answer {
    char key[96];
    struct mcp_reply reply;
    struct strbuf bytes;
    struct error err;
};

/* Only changes start a daemon: a read must not restart one that was stopped. So the connection that
 * stays open is always one that starts none. */
static int connect_for(struct stdio *s, bool writes, struct error *err) {
    int r = s->client ? 0 : connect_client(false, &s->client, err);
    if (client_is_absent(r) && writes) {
        r = connect_client(true, &s->client, err);
        if (r >= 0) {
            s->client = client_close(s->client);
            r = connect_client(false, &s->client, err);
        }
    }
    if (r < 0)
        s->client = NULL;
    return r;
}

/* Returns the status, or <0 if there was no answer. */
static int try_request(struct stdio *s, const struct mcp_question *question, const char *path,
                       struct answer *a) {
    _cleanup_(strbuf_finish) struct strbuf full = STRBUF_INIT;
    json_auto_t *body = json_object();
    bool is_post = strcmp(question->op->method, "POST") == 0;
    int r = connect_for(s, question->op->writes, &a->err);
    if (r < 0)
        return r;
    strbuf_puts(&full, path);
    EACH_MEMBER(name, value, question->params) {
        const struct mcp_param *param = mcp_param_find(question->op->params, name);
        if (!param || strcmp(param->place, "body") == 0) {
            (void)json_object_set(body, name, value);
        } else if (strcmp(param->place, "query") == 0) {
            _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
            if (!json_is_string(value))
                output_add_json(value, &text);
            client_query(&full, name,
                         text.length > 0 ? strbuf_text(&text) : json_string_value(value));
        }
    }
    if (is_post)
        client_set_key(s->client, a->key);
    int status =
        question->op->bytes
            ? client_stream_bytes(s->client, strbuf_text(&full), take_bytes, &a->bytes, &a->err)
            : client_call(s->client, question->op->method, strbuf_text(&full),
                          is_post ? json_incref(body) : NULL, &a->reply.value, &a->err);
    if (status < 0)
        s->client = client_close(s->client);
    return status;
}

/* Returns 0, or <0 with a message in a->err. */
static int request(struct stdio *s, const struct mcp_question *question, struct answer *a) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    int r = make_path(question, &path, &a->err);
    if (r < 0)
        return r;
    bool was_connected = s->client != NULL;
    int status = try_request(s, question, strbuf_text(&path), a);
    /* The daemon was restarted. The key stays the same, so nothing is executed twice. */
    if (client_is_absent(status) && was_connected && question->op->writes)
        status = try_request(s, question, strbuf_text(&path), a);
    if (status >= 200 && status < 300)
        return 0;
    a->reply.absent = status < 0;
    a->reply.index = get_int(json_object_get(a->reply.value, "error"), "index", -1);
    if (a->err.code >= 0)
        (void)error_set(&a->err, status < 0 ? status : -EIO, "the daemon answered with status %d",
                        status);
    return a->err.code;
}

static void fail_question(struct mcp_question *question, const struct error *err, bool absent) {
    mcp_answer(question,
               &(struct mcp_reply){
                   .code = err->code, .message = err->text, .index = -1, .absent = absent },
               clock_read_steady());
}

/* task.wait must not block other requests. */
static void begin_wait(struct stdio *s, struct mcp_question *question) {
    struct error err = { 0 };
    struct pending *pending = s->pendings;
    while (pending < s->pendings + PENDING_MAX && pending->question)
        pending++;
    if (pending == s->pendings + PENDING_MAX) {
        error_set(&err, -EAGAIN, "%u waits are open: end one of them", PENDING_MAX);
        fail_question(question, &err, false);
        return;
    }
    int r = connect_client(false, &pending->client, &err);
    if (r >= 0)
        r = client_begin_call(pending->client, question->op->path, json_incref(question->params),
                              &err);
    if (r < 0) {
        pending->client = client_close(pending->client);
        fail_question(question, &err, true);
        return;
    }
    pending->question = question;
    question->own = pending;
}

static void end_wait(struct pending *pending) {
    struct error err = { 0 };
    json_t *value = NULL;
    struct mcp_question *question = pending->question;
    int status = client_end_call(pending->client, &value, &err);
    pending->client = client_close(pending->client);
    pending->question = NULL;
    question->own = NULL;
    if (status >= 200 && status < 300)
        mcp_answer(question, &(struct mcp_reply){ .value = value, .index = -1 },
                   clock_read_steady());
    else
        fail_question(question, &err, status < 0 || err.code == -ESHUTDOWN);
    json_decref(value);
}

static void on_question(void *ctx, struct mcp_question *question) {
    struct stdio *s = ctx;
    if (strcmp(question->op->name, "task.wait") == 0) {
        begin_wait(s, question);
        return;
    }
    struct answer a = { .reply.index = -1 };
    struct mcp_reply *reply = &a.reply;
    (void)snprintf(a.key, sizeof(a.key), "mcp-%d-%" PRId64 "-%" PRId64 "-%u", (int)getpid(),
                   clock_read(), clock_read_steady_us(), ++s->requests);
    reply->code = request(s, question, &a);
    reply->message = a.err.text;
    json_t *value = reply->value;
    if (reply->code < 0) {
        reply->value = NULL;
    } else if (question->op->bytes) {
        reply->bytes = strbuf_text(&a.bytes);
        reply->size = a.bytes.length;
    } else if (!value) {
        reply->code = -EPROTO;
        reply->message = "the response of the daemon is not JSON";
    }
    mcp_answer(question, reply, clock_read_steady());
    json_decref(value);
    strbuf_finish(&a.bytes);
}

/* All other requests are answered synchronously. */
static void on_drop(void *ctx, struct mcp_question *question) {
    struct pending *pending = question->own;
    (void)ctx;
    if (!pending)
        return;
    pending->client = client_close(pending->client); /* so the daemon ends the wait */
    pending->question = NULL;
}

static int on_event(void *ctx, const struct client_event *event) {
    struct stdio *s = ctx;
    json_auto_t *data = json_loads(event->data, 0, NULL);
    const char *task = get_text(data, "task", "");
    bool missed = strcmp(event->kind, "reset") == 0 || strcmp(event->kind, "overflow") == 0;
    mcp_event(s->mcp, missed ? NULL : task, clock_read_steady());
    return 0;
}

static void open_events(struct stdio *s) {
    struct error err = { 0 };
    s->reconnect = TIME_NEVER;
    int r = connect_client(false, &s->events, &err);
    if (r >= 0)
        r = client_begin_events(s->events, "/v1/events", CLIENT_EVENTS_NEW, on_event, s, &err);
    if (r == 200) {
        s->fresh = true;
        return;
    }
    s->reconnect = clock_read_steady() + RECONNECT_AFTER;
    s->events = client_close(s->events);
}

static void on_watch(void *ctx, bool wanted) {
    struct stdio *s = ctx;
    s->watching = wanted;
    if (wanted && !s->events)
        open_events(s);
    /* The loop closes an open one: this may be inside its callback. */
}

static void take_line(struct stdio *s) {
    size_t size = s->line.length;
    if (size > 0 && s->line.text[size - 1] == '\r')
        size--;
    if (s->skipping)
        mcp_refuse_long(s->mcp);
    else if (size > 0)
        mcp_receive(s->mcp, s->line.text, size, clock_read_steady());
    s->skipping = false;
    strbuf_clear(&s->line);
}

static void take_bytes_in(struct stdio *s, const char *bytes, size_t size) {
    while (size > 0) {
        const char *newline = memchr(bytes, '\n', size);
        size_t part = newline ? (size_t)(newline - bytes) : size;
        s->skipping |= part > MCP_MESSAGE_MAX - s->line.length;
        if (!s->skipping)
            strbuf_add(&s->line, bytes, part);
        if (newline)
            take_line(s);
        part += newline != NULL;
        bytes += part;
        size -= part;
    }
}

/* False: end of input. */
static bool read_in(struct stdio *s) {
    char buffer[READ_SIZE];
    ssize_t n = read(STDIN_FILENO, buffer, sizeof(buffer));
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    take_bytes_in(s, buffer, (size_t)n);
    if (n == 0 && (s->line.length > 0 || s->skipping)) /* the last line may lack its newline */
        take_line(s);
    return n > 0;
}

static bool turn(struct stdio *s) {
    struct pollfd fds[2 + PENDING_MAX] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = -1 } };
    for (size_t i = 0; i < PENDING_MAX; i++)
        fds[2 + i] =
            (struct pollfd){ .fd = s->pendings[i].question ? client_fd(s->pendings[i].client) : -1,
                             .events = POLLIN };
    if (!s->watching)
        s->events = client_close(s->events);
    if (s->events)
        fds[1] = (struct pollfd){ .fd = client_fd(s->events), .events = POLLIN };
    bool fresh = s->events && s->fresh;
    time_ms next = time_min(mcp_next_tick(s->mcp), s->watching ? s->reconnect : TIME_NEVER);
    time_ms left = next == TIME_NEVER ? -1 : time_max(0, next - clock_read_steady());
    if (poll(fds, ARRAY_SIZE(fds), fresh ? 0 : (int)time_min(left, MINUTES(1))) < 0
        && errno != EINTR)
        return false;
    if (fresh || fds[1].revents) {
        s->fresh = false;
        if (client_pump(s->events, NULL) <= 0) {
            s->events = client_close(s->events);
            s->reconnect = clock_read_steady() + RECONNECT_AFTER;
        }
    } else if (s->watching && !s->events && clock_read_steady() >= s->reconnect) {
        open_events(s);
        if (s->events)
            mcp_event(s->mcp, NULL, clock_read_steady());
    }
    for (size_t i = 0; i < PENDING_MAX; i++)
        if (fds[2 + i].revents
            && s->pendings[i].question) /* an earlier event may have dropped it */
            end_wait(&s->pendings[i]);
    mcp_tick(s->mcp, clock_read_steady());
    return !fds[0].revents || read_in(s);
}

static int mcp_stdio_run(void) {
    /* The configured home is for agents that people start: a run has its own daemon. */
    if (cmd_env("SLUICE_SOCKET") && cmd_env("SLUICE_TOKEN"))
        (void)unsetenv("SLUICE_HOME");
    struct stdio s = { .reconnect = TIME_NEVER };
    const struct mcp_backend backend = { on_question, on_drop, on_watch, on_send, &s };
    s.mcp = mcp_new(&backend, &(struct mcp_options){ .run = cmd_env("SLUICE_RUN") });
    while (!s.unread && turn(&s))
        ;
    s.watching = false;
    s.mcp = mcp_free(s.mcp);
    client_close(s.events);
    client_close(s.client);
    strbuf_finish(&s.line);
    return s.unread ? CMD_FAILED : CMD_OK;
}

static int cmd_mcp_run(const struct cmd_call *call) {
    if (call->arg_count > 0 && strcmp(call->args[0], "install") == 0)
        return mcp_install_run(call);
    if (call->arg_count > 0)
        return cmd_usage_error(call->cmd, "'mcp' does not take the argument '%s'", call->args[0]);
    for (const struct cmd_option *o = call->cmd->options; o->name; o++)
        if (cmd_has(call, o->name))
            return cmd_usage_error(call->cmd, "option '--%s' belongs to 'mcp install'", o->name);
    if (isatty(STDIN_FILENO))
        cmd_warn("this is an MCP server for an agent; 'sluice mcp install' configures an agent to "
                 "start it; Ctrl-D ends it");
    return mcp_stdio_run();
}

const struct cmd cmd_mcp = {
    "mcp", cmd_mcp_run, 0, 1,
    CMD_OPTIONS({ "agent", 'a', "NAME", "with install: the agent whose settings are changed" },
                { "project", 'p', NULL,
                  "with install: change the file of this folder instead of the user's" },
                { "yes", 'y', NULL, "with install: write the change instead of only showing it" })
};
