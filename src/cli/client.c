/* client.c: one question, one answer, whatever happens to the connection in between.
 *
 * A request may reach the daemon although its answer does not reach us. So every POST carries a key
 * that is made once and kept for all tries: the daemon knows which of its answers to give again, and
 * trying again is always safe. How long to try is one deadline for all of it. */
#include "cli/client.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "cli/client_internal.h"
#include "os/clock.h"

#define TIMEOUT_STANDARD SECONDS(60)
#define TEXT_MAX         ((size_t)256 * 1024 * 1024)
#define TRIES_MAX        6
#define PAUSE_FIRST_MS   20  /* before the second try over a new connection; doubles */
#define PAUSE_MOST_MS    250 /* while a daemon that is active is looked for */
#define HURRY_MS         50
#define FAILOVER         SECONDS(20) /* so long one is looked for among standbys */
#define NOBODY           SECONDS(3)  /* the same where nobody answers at all: all may be starting */

/* --- life ------------------------------------------------------------------------------------ */

static time_ms deadline_of(const struct client *client) {
    time_ms timeout = client->options.timeout;
    return time_add(clock_read_steady(), timeout ? timeout : TIMEOUT_STANDARD);
}

bool client_is_absent(int result) {
    return result == -ENOENT || result == -ECONNREFUSED;
}

/* One call, until it has an answer. */
struct hunt {
    time_ms deadline;
    time_ms since; /* when it went wrong for the first time; 0: it has not */
    bool may_start;
    unsigned tries; /* over connections that were new */
    size_t passed;  /* addresses, since the last pause */
    char unknown
        [ERROR_TEXT_MAX]; /* what a daemon said that does not know what became of it; "": none did */
};

static void hunt_init(struct hunt *hunt, const struct client *client) {
    *hunt = (struct hunt){ .deadline = deadline_of(client), .may_start = true };
}

/* Before the next try. */
static void hunt_pause(struct hunt *hunt) {
    time_ms left = hunt->deadline - clock_read_steady();
    unsigned doubled = hunt->tries < 4 ? hunt->tries : 4;
    time_ms span = time_min((time_ms)PAUSE_FIRST_MS << doubled, PAUSE_MOST_MS);
    hunt->tries++;
    hunt->passed = 0;
    if (left > 0)
        (void)poll(NULL, 0, (int)time_min(span, left));
}

/* It went wrong. Is there time for another try? */
static bool hunt_goes_on(struct hunt *hunt, time_ms patience) {
    time_ms now = clock_read_steady();
    if (hunt->since == 0)
        hunt->since = time_max(now, 1);
    return now < hunt->deadline && now - hunt->since < patience;
}

/* Connects; starts a daemon if there is none and that is wanted. Where there are several, none is started: it might
 * have a store of its own, and what is added there would not be seen by anybody. */
static int connect_or_start(struct client *client, struct hunt *hunt, struct error *err) {
    int r;
    while (client_is_absent(r = client_connect(client, hunt->deadline, err)) && client->has_peers
           && hunt_goes_on(hunt, NOBODY))
        hunt_pause(hunt);
    if (!client_is_absent(r) || !client->options.start || !hunt->may_start || client->has_peers)
        return r;
    hunt->may_start = false;
    r = client->options.start(client->options.ctx, err);
    return r < 0 ? r : client_connect(client, hunt->deadline, err);
}

bool client_is_in_run(void) {
    const char *socket = getenv("SLUICE_SOCKET"), *token = getenv("SLUICE_TOKEN");
    return socket && *socket && token && *token && !getenv("SLUICE_HOME");
}

/* Inside a run its token goes with every request to the daemon of the run, and nowhere else. What is no
 * plain word is not sent: it would end the header. */
static void take_token(struct client *client, const char *place) {
    const char *socket = getenv("SLUICE_SOCKET"), *token = getenv("SLUICE_TOKEN");
    const char *ca = getenv("SLUICE_CA"), *peers = getenv("SLUICE_PEERS");
    if (!socket || !token || !*token || strcmp(socket, place) != 0
        || strspn(token, "0123456789abcdef") != strlen(token))
        return;
    client->token = xstrdup(token);
    client->peer_ca = ca && *ca ? xstrdup(ca) : NULL;
    if (peers && *peers)
        client_take_peers(client, peers);
}

int client_open(const char *place, const struct client_options *options, struct client **ret_client,
                struct error *err) {
    struct hunt hunt;
    struct client *client = xcalloc(1, sizeof(*client));
    client->wire = (struct http_wire)HTTP_WIRE_INIT;
    client->reader = -1;
    client_take_place(client, place);
    take_token(client, place);
    if (options)
        client->options = *options;
    hunt_init(&hunt, client);
    int r = client->address_count > 0
                ? connect_or_start(client, &hunt, err)
                : error_set(err, -EINVAL, "'%.200s' is no address of a daemon: https://HOST:PORT",
                            place);
    if (r < 0) {
        client_close(client);
        return r;
    }
    *ret_client = client;
    return 0;
}

struct client *client_close(struct client *client) {
    if (!client)
        return NULL;
    http_wire_finish(&client->wire);
    client_free_addresses(client);
    free(client->peer_token);
    free(client->peer_ca);
    free(client->standby);
    free(client->run);
    free(client->token);
    strbuf_finish(&client->text);
    strbuf_finish(&client->line);
    strbuf_finish(&client->kind);
    strbuf_finish(&client->data);
    free(client);
    return NULL;
}

void client_set_timeout(struct client *client, time_ms timeout) {
    client->options.timeout = timeout;
}

void client_set_reader(struct client *client, int fd) {
    client->reader = fd;
}

void client_set_run(struct client *client, const char *run) {
    free(client->run);
    client->run = run ? xstrdup(run) : NULL;
}

void client_set_key(struct client *client, const char *key) {
    assert(strlen(key) < sizeof(client->key));
    memcpy(client->key, key, strlen(key) + 1);
}

/* 128 random bits: two callers never have the same. */
static void make_key(char key[33]) {
    unsigned char bytes[16];
    size_t have = 0;
    while (have < sizeof(bytes)) {
        ssize_t n = getrandom(bytes + have, sizeof(bytes) - have, 0);
        assert(n > 0 || errno == EINTR); /* cannot fail otherwise for so few bytes */
        have += n > 0 ? (size_t)n : 0;
    }
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(key + 2 * i, 3, "%02x", bytes[i]);
}

/* --- the last answer ------------------------------------------------------------------------- */

int client_status(const struct client *client) {
    return client->wire.status;
}

const char *client_place(const struct client *client) {
    return client_address(client)->text;
}

const char *client_standby(const struct client *client) {
    return client->at > 0 ? client->standby : NULL;
}

const char *client_text(const struct client *client) {
    return strbuf_text(&client->text);
}

const char *client_header(const struct client *client, const char *name) {
    return http_wire_header(&client->wire, name);
}

bool client_was_replayed(const struct client *client) {
    return client_header(client, "idempotent-replay") != NULL;
}

/* The errno that the word of an error object stands for. */
static int errno_of(const char *word, int status) {
    static const struct {
        const char *word;
        int code;
    } words[] = {
        { "bad_request", EINVAL },   { "cycle", ELOOP },        { "refused", EPERM },
        { "not_found", ENOENT },     { "exists", EEXIST },      { "conflict", EBUSY },
        { "ambiguous", ENOTUNIQ },   { "too_large", EFBIG },    { "deferred", EAGAIN },
        { "busy", EAGAIN },          { "timeout", ETIMEDOUT },  { "not_supported", ENOTSUP },
        { "outcome_unknown", EIO },  { "stopping", ESHUTDOWN }, { "disk_full", ENOSPC },
        { "standby", ECONNREFUSED },
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (word && strcmp(words[i].word, word) == 0)
            return -words[i].code;
    return status < 500 ? -EINVAL : -EIO;
}

void client_take_error(const struct client *client, const json_t *answer, struct error *err) {
    const json_t *object = json_object_get(answer, "error");
    const char *word = json_string_value(json_object_get(object, "code"));
    const char *message = json_string_value(json_object_get(object, "message"));
    int code = errno_of(word, client->wire.status);
    if (message)
        error_set(err, code, "%s", message);
    else
        error_set(err, code, "the daemon answered with status %d and no sentence",
                  client->wire.status);
}

/* --- asking ---------------------------------------------------------------------------------- */

static void print_request(const struct client *client, const struct client_request *request,
                          struct strbuf *out) {
    const struct client_address *address = client_address(client);
    const char *token = client->at < client->own_count ? client->token : NULL;
    if (!address->url.socket && !token)
        token = client->peer_token;
    strbuf_printf(out, "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n", request->method,
                  request->path, address->url.socket ? "sluice" : address->url.authority,
                  request->accept);
    if (client->run)
        strbuf_printf(out, "X-Sluice-Run: %s\r\n", client->run);
    if (token)
        strbuf_printf(out, "Authorization: Bearer %s\r\n", token);
    if (request->key)
        strbuf_printf(out, "Idempotency-Key: %s\r\n", request->key);
    if (request->body)
        strbuf_printf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                      request->size);
    strbuf_puts(out, "\r\n");
    strbuf_add(out, request->body, request->size);
}

static int take_text(void *ctx, const char *bytes, size_t size) {
    struct strbuf *text = ctx;
    if (size > TEXT_MAX - text->length)
        return -EFBIG;
    strbuf_add(text, bytes, size);
    return 0;
}

static int read_text(struct client *client, time_ms deadline) {
    for (;;) {
        int r = http_wire_take_body(&client->wire, take_text, &client->text);
        if (r != 0)
            return r < 0 ? r : 0;
        r = http_wire_read(&client->wire, deadline);
        if (r == 0)
            return http_wire_take_end(&client->wire);
        if (r < 0 && r != -EINTR)
            return r;
    }
}

/* Over the connection that is there. */
static int exchange(struct client *client, const struct client_request *request,
                    const struct strbuf *bytes, time_ms deadline) {
    strbuf_clear(&client->text);
    client->wire.status = 0;
    client->wire.header_count = 0;
    int sent = http_wire_send(&client->wire, bytes->text, bytes->length, deadline);
    /* Refused in the middle of a large body: why is waiting to be read. */
    if (sent < 0 && sent != -EPIPE)
        return sent;
    int r = http_wire_read_head(&client->wire, deadline);
    if (r < 0)
        return r;
    client->fresh = false;
    if (request->streams && client->wire.status < 400)
        return 0;
    r = read_text(client, deadline);
    if (r >= 0 && (!client->wire.keep_alive || sent < 0))
        http_wire_close(&client->wire);
    return r;
}

static int no_answer(const struct client *client, int code, struct error *err) {
    time_ms timeout = client->options.timeout ? client->options.timeout : TIMEOUT_STANDARD;
    switch (-code) {
    case ETIMEDOUT:
        return error_set(err, code, "the daemon did not answer within %lld s",
                         (long long)(timeout / 1000));
    case ECONNRESET:
        return error_set(err, code, "the daemon closed the connection without an answer");
    case EPROTO:
        return error_set(err, code, "what listens at '%s' does not speak HTTP",
                         client_place(client));
    case EFBIG:
        return error_set(err, code, "the daemon's answer is larger than 256 MiB");
    default:
        return error_set(err, code, "cannot ask the daemon: %s", strerror(-code));
    }
}

/* Does the answer mean that another daemon is, or will be, the one to ask, and how long is that worth waiting for? 0: it
 * does not. What became of the request is known by its key, whoever it is. A daemon that does not know it usually ends, so
 * the next one of the same home is another one, too. */
static time_ms look_elsewhere(struct client *client, const struct client_request *request,
                              struct hunt *hunt) {
    if (client->wire.status != 503)
        return 0;
    json_t *answer = json_loadb(client_text(client), client->text.length, 0, NULL);
    const json_t *object = json_object_get(answer, "error");
    const char *word = json_string_value(json_object_get(object, "code"));
    const char *message = json_string_value(json_object_get(object, "message"));
    bool standby = word && strcmp(word, "standby") == 0;
    bool unknown = word && strcmp(word, "outcome_unknown") == 0;
    bool ends = unknown || (word && strcmp(word, "stopping") == 0);
    if (standby && client->at == 0) {
        free(client->standby);
        client->standby = xstrdup(message ? message : "");
    }
    if (unknown && request->key)
        (void)snprintf(hunt->unknown, sizeof(hunt->unknown), "%s", message ? message : word);
    if (standby || ends)
        client_learn(client, answer);
    json_decref(answer);
    if (standby || (ends && client->has_peers))
        return FAILOVER;
    return unknown && request->key ? NOBODY : 0;
}

/* False: what was answered is the answer. So it is when hardly any time is left: it says more than that the time is
 * over. */
static bool try_next(struct client *client, struct hunt *hunt, time_ms patience) {
    if (++hunt->passed >= client->address_count && hunt_goes_on(hunt, patience))
        hunt_pause(hunt);
    if (!hunt_goes_on(hunt, patience) || clock_read_steady() + HURRY_MS > hunt->deadline)
        return false;
    http_wire_close(&client->wire);
    return true;
}

/* Over a connection, which is there. The status; 0: again; <0: it is over. */
static int send_once(struct client *client, const struct client_request *request, struct hunt *hunt,
                     struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    bool fresh = client->fresh;
    print_request(client, request, &bytes);
    int r = exchange(client, request, &bytes, hunt->deadline);
    if (r >= 0) {
        time_ms patience = look_elsewhere(client, request, hunt);
        return patience > 0 && try_next(client, hunt, patience) ? 0 : client->wire.status;
    }
    http_wire_close(&client->wire);
    bool lost = r == -ECONNRESET;
    bool again = client->has_peers || hunt->unknown[0]
                     ? hunt_goes_on(hunt, FAILOVER)
                     : hunt->tries + 1 < TRIES_MAX && clock_read_steady() < hunt->deadline;
    if (!lost || !again)
        return no_answer(client, r, err);
    if (fresh) /* an old one may just have been idle for too long: no pause then */
        hunt_pause(hunt);
    else
        hunt->tries += !client->has_peers;
    return 0;
}

/* The daemon that did not know it is ending, and the next one cannot start before it has: there is time for that. In
 * the end what it said is worth more than that nobody answers. */
static int wait_for_next(struct hunt *hunt, int result, struct error *err) {
    if (!hunt->unknown[0])
        return result;
    if (!hunt_goes_on(hunt, FAILOVER))
        return error_set(err, -EIO, "%s", hunt->unknown);
    hunt->may_start = true;
    hunt_pause(hunt);
    return 0;
}

int client_send(struct client *client, const struct client_request *request, struct error *err) {
    struct hunt hunt;
    assert(!client->streaming);
    hunt_init(&hunt, client);
    for (;;) {
        int r = client->wire.fd >= 0 ? 0 : connect_or_start(client, &hunt, err);
        if (r < 0)
            r = wait_for_next(&hunt, r, err);
        else
            r = send_once(client, request, &hunt, err);
        if (r != 0)
            return r;
    }
}

static json_t *parse_answer(const struct client *client, struct error *err) {
    const char *type = client_header(client, "content-type");
    json_error_t problem;
    if (!type || strncasecmp(type, "application/json", strlen("application/json")) != 0)
        return NULL;
    json_t *answer = json_loadb(client_text(client), client->text.length, 0, &problem);
    if (!answer)
        error_set(err, -EPROTO, "the daemon's answer is no JSON: %s", problem.text);
    return answer;
}

/* The status; the answer of a refusal, too. */
static int take_answer(struct client *client, json_t **ret_answer, struct error *err) {
    struct error problem = { 0 };
    json_t *answer = parse_answer(client, &problem);
    if (client->wire.status >= 400)
        client_take_error(client, answer, err);
    else if (problem.code < 0)
        return error_set(err, problem.code, "%s", problem.text);
    if (ret_answer)
        *ret_answer = answer;
    else
        json_decref(answer);
    return client->wire.status;
}

int client_call(struct client *client, const char *method, const char *path, json_t *body,
                json_t **ret_answer, struct error *err) {
    bool is_post = strcmp(method, "POST") == 0;
    char *text = body ? json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    char key[sizeof(client->key)];
    if (client->key[0])
        memcpy(key, client->key, sizeof(key));
    else
        make_key(key);
    if (is_post)
        client->key[0] = '\0';
    assert(!body || text); /* json_dumps fails only for what is no object and no list */
    json_decref(body);
    const char *sent = text ? text : is_post ? "{}" : NULL;
    int status = client_send(client,
                             &(struct client_request){ .method = method,
                                                       .path = path,
                                                       .accept = "application/json",
                                                       .body = sent,
                                                       .size = sent ? strlen(sent) : 0,
                                                       .key = is_post ? key : NULL },
                             err);
    free(text);
    if (status < 0)
        return status;
    return take_answer(client, ret_answer, err);
}

/* --- in two halves --------------------------------------------------------------------------- */

int client_begin_call(struct client *client, const char *path, json_t *body, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    char *text = json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(15));
    assert(text && !client->streaming);
    json_decref(body);
    /* Nobody may be active at this address; any small question finds out who is. */
    int found = client->fresh ? client_get(client, NULL, err, "/v1/events?limit=1") : 0;
    if (found < 0) {
        free(text);
        return found;
    }
    print_request(client,
                  &(struct client_request){ .method = "POST",
                                            .path = path,
                                            .accept = "application/json",
                                            .body = text,
                                            .size = strlen(text) },
                  &bytes);
    free(text);
    int r = http_wire_send(&client->wire, bytes.text, bytes.length, deadline_of(client));
    return r < 0 ? no_answer(client, r, err) : 0;
}

int client_end_call(struct client *client, json_t **ret_answer, struct error *err) {
    time_ms deadline = deadline_of(client);
    strbuf_clear(&client->text);
    client->wire.status = 0;
    client->wire.header_count = 0;
    int r = http_wire_read_head(&client->wire, deadline);
    if (r >= 0)
        r = read_text(client, deadline);
    return r < 0 ? no_answer(client, r, err) : take_answer(client, ret_answer, err);
}

/* --- texts ----------------------------------------------------------------------------------- */

void client_escape(struct strbuf *out, const char *text) {
    for (; *text; text++) {
        if (isalnum((unsigned char)*text) || strchr("-._~", *text))
            strbuf_putc(out, *text);
        else
            strbuf_printf(out, "%%%02X", (unsigned char)*text);
    }
}

void client_query(struct strbuf *path, const char *name, const char *value) {
    if (!value)
        return;
    strbuf_putc(path, strchr(strbuf_text(path), '?') ? '&' : '?');
    strbuf_puts(path, name);
    strbuf_putc(path, '=');
    client_escape(path, value);
}

/* One directive behind a '%'; returns where the format goes on. */
static const char *print_directive(struct strbuf *path, const char *at, va_list *args) {
    if (strncmp(at, "lld", 3) == 0 || strncmp(at, "llu", 3) == 0) {
        strbuf_printf(path, at[2] == 'd' ? "%lld" : "%llu", va_arg(*args, long long));
        return at + 3;
    }
    switch (*at) {
    case 's':
        client_escape(path, va_arg(*args, const char *));
        break;
    case 'd':
        strbuf_printf(path, "%d", va_arg(*args, int));
        break;
    case 'u':
        strbuf_printf(path, "%u", va_arg(*args, unsigned));
        break;
    default:
        assert(*at == '%');
        strbuf_putc(path, '%');
    }
    return at + 1;
}

int client_get(struct client *client, json_t **ret_answer, struct error *err, const char *format,
               ...) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at;) {
        size_t plain = strcspn(at, "%");
        strbuf_add(&path, at, plain);
        at += plain;
        if (*at)
            at = print_directive(&path, at + 1, &args);
    }
    va_end(args);
    return client_call(client, "GET", strbuf_text(&path), NULL, ret_answer, err);
}

void client_answer_freep(json_t **answer) {
    json_decref(*answer);
}
