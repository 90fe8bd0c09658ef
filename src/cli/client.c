/* client.c: sends requests and retries them over broken connections.
 *
 * A request may reach the daemon although its answer is lost. So every POST has a key that stays
 * the same for all attempts: the daemon repeats its first answer, and retrying is always safe. One
 * deadline covers all attempts. */
#include "cli/client.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/number.h"
#include "cli/cmd.h"
#include "http_client/http_client.h"
#include "http_client/http_wire.h"
#include "os/clock.h"
#include "os/random.h"

#define TIMEOUT_STANDARD SECONDS(60)
#define TEXT_MAX         ((size_t)256 * 1024 * 1024)
#define TRIES_MAX        6
#define PAUSE_FIRST_MS   20  /* before the second attempt on a new connection; doubles */
#define PAUSE_MOST_MS    250 /* while looking for the active daemon */
#define TIME_LEFT_MIN_MS 50
#define FAILOVER         SECONDS(20) /* how long to look for an active daemon among standbys */
#define ABSENT_PATIENCE  SECONDS(3)  /* the same if none answers: all may be starting */
#define TCP_TIMEOUT      SECONDS(4)  /* to connect: the next address may answer */
#define SILENCE_MAX      SECONDS(60)
#define EVENT_MAX        ((size_t)4 * 1024 * 1024)

struct client_address {
    char *text; /* as it was written */
    struct http_url url;
};

struct client {
    struct client_address *addresses; /* at least one: this home's */
    size_t address_count, address_capacity;
    size_t own_count;    /* of these, those given to client_open */
    size_t at;           /* index of the current address */
    bool has_read_peers; /* `peers` was called */
    bool has_peers;      /* there are other addresses: then no daemon is started */
    char *peer_token;    /* sent over TCP; or NULL */
    char *peer_ca;       /* or NULL */
    char *standby;       /* message of the first address if it is a standby; or NULL */
    struct client_options options;
    char *run;
    char *token; /* of the run this process belongs to; or NULL */
    struct http_wire wire;
    int reader;         /* see client_set_reader */
    bool fresh;         /* no answer yet on this connection */
    struct strbuf text; /* of the last answer */

    char key[129]; /* of the next POST; "": generate one */

    /* Stream state. */
    bool streaming;
    http_sink sink;
    void *sink_ctx;
    client_each each_event;
    void *event_ctx;
    struct strbuf line, kind, data;
    uint64_t seq;
};

/* One request, sent once or repeatedly. */
struct client_request {
    const char *method, *path, *accept;
    const char *body; /* or NULL */
    size_t size;
    const char *key; /* or NULL */
    bool streams;    /* the caller reads the body of a successful answer */
};

bool client_is_absent(int result) {
    return result == -ENOENT || result == -ECONNREFUSED;
}

/* --- addresses -------------------------------------------------------------------------------- */

/* Order of addresses: this home's daemon first. If it is absent or a standby, those in the
 * configuration in order, and those that a standby reports. So a command that finds its daemon at
 * home reads no configuration. A token goes only to configured addresses: of those that a standby
 * reports, only local sockets are used. */

/* "unix:/PATH", "http://HOST:PORT", "https://HOST:PORT"; ignores others and known ones. */
static void client_add_address(struct client *client, const char *text) {
    struct client_address address = { 0 };
    for (size_t i = 0; i < client->address_count; i++)
        if (strcmp(client->addresses[i].text, text) == 0)
            return;
    if (strncmp(text, "unix:", 5) == 0) /* the path may contain a colon */
        address.url.socket = xstrdup(text + 5);
    else if (http_url_parse(text, &address.url, NULL) < 0)
        return;
    address.text = xstrdup(text);
    client->addresses = xgrow(client->addresses, &client->address_capacity,
                              client->address_count + 1, sizeof(address));
    client->addresses[client->address_count++] = address;
}

static void add_list(struct client *client, const char *list) {
    _cleanup_(strbuf_finish) struct strbuf one = STRBUF_INIT;
    for (const char *at = list; *at; at += strspn(at, ",")) {
        strbuf_clear(&one);
        strbuf_add(&one, at, strcspn(at, ","));
        client_add_address(client, strbuf_text(&one));
        at += one.length;
    }
}

static void read_peers(struct client *client) {
    struct client_peers peers = { 0 };
    if (client->has_read_peers || !client->options.peers)
        return;
    client->has_read_peers = true;
    client->options.peers(client->options.ctx, &peers);
    client->has_peers = peers.count > 0;
    for (size_t i = 0; i < peers.count; i++)
        client_add_address(client, peers.addresses[i]);
    client->peer_token = peers.token ? xstrdup(peers.token) : NULL;
    client->peer_ca = peers.ca ? xstrdup(peers.ca) : NULL;
}

static void try_next_address(struct client *client, const json_t *answer) {
    size_t i;
    json_t *item;
    read_peers(client);
    json_array_foreach(json_object_get(answer, "active"), i, item) {
        const char *text = json_string_value(item);
        if (text && strncmp(text, "unix:/", 6) == 0)
            client_add_address(client, text);
    }
    client->at = (client->at + 1) % client->address_count;
}

/* --- connecting ------------------------------------------------------------------------------ */

/* To the current address. */
static int connect_once(struct client *client, time_ms deadline, struct error *err) {
    const struct client_address *address = &client->addresses[client->at];
    const struct http_url *url = &address->url;
    const char *why = NULL;
    http_wire_close(&client->wire);
    if (!url->socket && !client->peer_token && !client->token)
        return error_set(
            err, -EACCES,
            "'%s' needs a token: set SLUICE_API_TOKEN, or 'daemon.token_file' to a file "
            "with one ('sluice token add' makes it)",
            address->text);
    time_ms until = url->socket ? deadline : time_min(deadline, clock_read_steady() + TCP_TIMEOUT);
    int r = http_wire_connect(&client->wire, url, until, &why);
    if (r == -ENAMETOOLONG)
        return error_set(err, r,
                         "the socket's path '%s' has more than 107 bytes: use a shorter folder",
                         url->socket);
    if (r < 0 && url->socket)
        return client_is_absent(r) ? error_set(err, r, "no daemon answers at '%s'", url->socket)
                                   : error_set(err, r, "cannot connect to the daemon at '%s': %s",
                                               url->socket, why);
    if (r < 0) /* whatever the error, the daemon may be at the next address */
        return error_set(err, -ECONNREFUSED, "no daemon answers at '%s': %s", address->text, why);
    if (url->tls) {
        struct http_tls_peer peer = { address->text, url->host, client->peer_ca, "daemon.tls_ca" };
        r = http_wire_start_tls(&client->wire, &peer, deadline, err);
        if (r < 0)
            return r;
    }
    client->fresh = true;
    return 0;
}

static int client_connect(struct client *client, time_ms deadline, struct error *err) {
    struct error refused = { 0 }; /* by one address, while the others have no daemon */
    size_t first = client->at;
    int r = connect_once(client, deadline, err);
    if (!client_is_absent(r))
        return r;
    read_peers(client);
    for (size_t i = 1; i < client->address_count; i++) {
        client->at = (first + i) % client->address_count;
        r = connect_once(client, deadline, err);
        if (r >= 0)
            return r;
        if (!client_is_absent(r) && refused.code == 0)
            refused = *err;
    }
    client->at = first;
    if (refused.code < 0)
        return error_set(err, refused.code, "%s", refused.text);
    if (client->address_count == 1)
        return r;
    _cleanup_(strbuf_finish) struct strbuf list = STRBUF_INIT;
    for (size_t i = 0; i < client->address_count; i++)
        strbuf_printf(&list, "%s'%s'", i ? ", " : "", client->addresses[i].text);
    return error_set(err, -ECONNREFUSED,
                     "no daemon answers at %s; 'sluice up' starts the one of this home",
                     strbuf_text(&list));
}

/* --- life ------------------------------------------------------------------------------------ */

static time_ms deadline_of(const struct client *client) {
    time_ms timeout = client->options.timeout;
    return time_add(clock_read_steady(), timeout ? timeout : TIMEOUT_STANDARD);
}

/* One call, with its attempts. */
struct retry {
    time_ms deadline;
    time_ms failed_at; /* steady time of the first failure; 0: none */
    bool may_start;
    unsigned tries;               /* on new connections */
    size_t addresses_tried;       /* addresses tried since the last pause */
    char unknown[ERROR_TEXT_MAX]; /* message of a daemon that does not know the outcome; "": none */
};

static void retry_pause(struct retry *retry) {
    time_ms left = retry->deadline - clock_read_steady();
    unsigned doubled = retry->tries < 4 ? retry->tries : 4;
    time_ms span = time_min((time_ms)PAUSE_FIRST_MS << doubled, PAUSE_MOST_MS);
    retry->tries++;
    retry->addresses_tried = 0;
    if (left > 0)
        (void)poll(NULL, 0, (int)time_min(span, left));
}

/* After a failure: is there time for another attempt? */
static bool retry_has_time(struct retry *retry, time_ms patience) {
    time_ms now = clock_read_steady();
    if (retry->failed_at == 0)
        retry->failed_at = time_max(now, 1);
    return now < retry->deadline && now - retry->failed_at < patience;
}

/* Connects; starts a daemon if none runs and that is allowed. With several addresses none is
 * started: with a store of its own, its tasks would be invisible to the others. */
static int connect_or_start(struct client *client, struct retry *retry, struct error *err) {
    int r;
    while (client_is_absent(r = client_connect(client, retry->deadline, err)) && client->has_peers
           && retry_has_time(retry, ABSENT_PATIENCE))
        retry_pause(retry);
    if (!client_is_absent(r) || !client->options.start || !retry->may_start || client->has_peers)
        return r;
    retry->may_start = false;
    r = client->options.start(client->options.ctx, err);
    return r < 0 ? r : client_connect(client, retry->deadline, err);
}

bool client_is_in_run(void) {
    return cmd_env("SLUICE_SOCKET") && cmd_env("SLUICE_TOKEN") && !getenv("SLUICE_HOME");
}

/* Inside a run, its token goes with every request to the run's daemon, and to no other. Malformed
 * tokens are not sent: they could inject headers. */
static void take_token(struct client *client, const char *place) {
    const char *socket = cmd_env("SLUICE_SOCKET"), *token = cmd_env("SLUICE_TOKEN");
    const char *ca = cmd_env("SLUICE_CA"), *peers = cmd_env("SLUICE_PEERS");
    if (!socket || !token || strcmp(socket, place) != 0
        || strspn(token, "0123456789abcdef") != strlen(token))
        return;
    client->token = xstrdup(token);
    client->peer_ca = ca ? xstrdup(ca) : NULL;
    if (!peers)
        return;
    add_list(client, peers);
    client->has_peers = client->address_count > 1;
    client->own_count = client->address_count;
}

int client_open(const char *place, const struct client_options *options, struct client **ret_client,
                struct error *err) {
    struct client *client = xcalloc(1, sizeof(*client));
    client->wire = (struct http_wire)HTTP_WIRE_INIT;
    client->reader = -1;
    client->has_peers = strstr(place, "://");
    if (client->has_peers) {
        add_list(client, place);
    } else {
        _cleanup_(strbuf_finish) struct strbuf address = STRBUF_INIT;
        strbuf_printf(&address, "unix:%s", place);
        client_add_address(client, strbuf_text(&address));
    }
    client->own_count = client->address_count;
    take_token(client, place);
    if (options)
        client->options = *options;
    struct retry retry = { .deadline = deadline_of(client), .may_start = true };
    int r = client->address_count > 0
                ? connect_or_start(client, &retry, err)
                : error_set(err, -EINVAL,
                            "'%.200s' is not an address of a daemon: expected https://HOST:PORT",
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
    for (size_t i = 0; i < client->address_count; i++) {
        free(client->addresses[i].text);
        http_url_finish(&client->addresses[i].url);
    }
    free(client->addresses);
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

void client_make_key(char key[CLIENT_KEY_SIZE]) {
    unsigned char bytes[16];
    random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(key + 2 * i, 3, "%02x", bytes[i]);
}

/* --- the last answer ------------------------------------------------------------------------- */

int client_status(const struct client *client) {
    return client->wire.status;
}

const char *client_address_text(const struct client *client) {
    return client->addresses[client->at].text;
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

/* The errno for the code of an error object. */
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

static void client_take_error(const struct client *client, const json_t *answer,
                              struct error *err) {
    const json_t *object = json_object_get(answer, "error");
    const char *word = json_string_value(json_object_get(object, "code"));
    const char *message = json_string_value(json_object_get(object, "message"));
    int code = errno_of(word, client->wire.status);
    if (message)
        error_set(err, code, "%s", message);
    else
        error_set(err, code, "the daemon answered with status %d and no message",
                  client->wire.status);
}

/* --- requests -------------------------------------------------------------------------------- */

static void print_request(const struct client *client, const struct client_request *request,
                          struct strbuf *out) {
    const struct http_url *url = &client->addresses[client->at].url;
    const char *token = client->at < client->own_count ? client->token : NULL;
    if (!url->socket && !token)
        token = client->peer_token;
    strbuf_printf(out, "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\n", request->method,
                  request->path, url->socket ? "sluice" : url->authority, request->accept);
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

static int send_bytes(struct client *client, const struct strbuf *bytes, time_ms deadline) {
    strbuf_clear(&client->text);
    client->wire.status = 0;
    client->wire.header_count = 0;
    return http_wire_send(&client->wire, bytes->text, bytes->length, deadline);
}

/* `streams`: the caller reads the body of a successful answer. */
static int read_answer(struct client *client, bool streams, time_ms deadline) {
    int r = http_wire_read_head(&client->wire, deadline);
    if (r < 0)
        return r;
    client->fresh = false;
    return streams && client->wire.status < 400 ? 0 : read_text(client, deadline);
}

static int exchange(struct client *client, const struct client_request *request,
                    const struct strbuf *bytes, time_ms deadline) {
    int sent = send_bytes(client, bytes, deadline);
    /* Refused in the middle of a large body: the reason can be read. */
    if (sent < 0 && sent != -EPIPE)
        return sent;
    int r = read_answer(client, request->streams, deadline);
    bool is_complete = !request->streams || client->wire.status >= 400;
    if (r >= 0 && is_complete && (!client->wire.keep_alive || sent < 0))
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
                         client_address_text(client));
    case EFBIG:
        return error_set(err, code, "the daemon's answer is larger than 256 MiB");
    default:
        return error_set(err, code, "cannot ask the daemon: %s", strerror(-code));
    }
}

/* How long to look for another daemon after this answer; 0: do not. Any daemon knows the outcome of
 * a request by its key. One that does not know it usually exits, so the next one of the same home
 * is a different daemon, too. */
static time_ms failover_patience(struct client *client, const struct client_request *request,
                                 struct retry *retry) {
    if (client->wire.status != 503)
        return 0;
    json_auto_t *answer = json_loadb(client_text(client), client->text.length, 0, NULL);
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
        (void)snprintf(retry->unknown, sizeof(retry->unknown), "%s", message ? message : word);
    if (standby || ends)
        try_next_address(client, answer);
    if (standby || (ends && client->has_peers))
        return FAILOVER;
    return unknown && request->key ? ABSENT_PATIENCE : 0;
}

/* False: the answer is final. Also when little time is left: it says more than a timeout. */
static bool try_next(struct client *client, struct retry *retry, time_ms patience) {
    if (++retry->addresses_tried >= client->address_count && retry_has_time(retry, patience))
        retry_pause(retry);
    if (!retry_has_time(retry, patience)
        || clock_read_steady() + TIME_LEFT_MIN_MS > retry->deadline)
        return false;
    http_wire_close(&client->wire);
    return true;
}

/* Uses an open connection. Returns the status; 0: retry; <0: give up. */
static int send_once(struct client *client, const struct client_request *request,
                     struct retry *retry, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    bool fresh = client->fresh;
    print_request(client, request, &bytes);
    int r = exchange(client, request, &bytes, retry->deadline);
    if (r >= 0) {
        time_ms patience = failover_patience(client, request, retry);
        return patience > 0 && try_next(client, retry, patience) ? 0 : client->wire.status;
    }
    http_wire_close(&client->wire);
    bool lost = r == -ECONNRESET;
    bool again = client->has_peers || retry->unknown[0]
                     ? retry_has_time(retry, FAILOVER)
                     : retry->tries + 1 < TRIES_MAX && clock_read_steady() < retry->deadline;
    if (!lost || !again)
        return no_answer(client, r, err);
    if (fresh) /* an old one may just have been idle for too long: no pause */
        retry_pause(retry);
    else
        retry->tries += !client->has_peers;
    return 0;
}

/* The daemon that did not know the outcome is exiting, and the next one cannot start before that,
 * so there is time. In the end its message says more than that no daemon answers. */
static int wait_for_restart(struct retry *retry, int result, struct error *err) {
    if (!retry->unknown[0])
        return result;
    if (!retry_has_time(retry, FAILOVER))
        return error_set(err, -EIO, "%s", retry->unknown);
    retry->may_start = true;
    retry_pause(retry);
    return 0;
}

static int client_send(struct client *client, const struct client_request *request,
                       struct error *err) {
    struct retry retry = { .deadline = deadline_of(client), .may_start = true };
    assert(!client->streaming);
    for (;;) {
        int r = client->wire.fd >= 0 ? 0 : connect_or_start(client, &retry, err);
        if (r < 0)
            r = wait_for_restart(&retry, r, err);
        else
            r = send_once(client, request, &retry, err);
        if (r != 0)
            return r;
    }
}

/* Returns the status, also for a refusal. */
static int take_answer(struct client *client, json_t **ret_answer, struct error *err) {
    const char *type = client_header(client, "content-type");
    bool is_json = type && strncasecmp(type, "application/json", strlen("application/json")) == 0;
    json_error_t problem;
    json_auto_t *answer =
        is_json ? json_loadb(client_text(client), client->text.length, 0, &problem) : NULL;
    if (client->wire.status >= 400)
        client_take_error(client, answer, err);
    else if (is_json && !answer)
        return error_set(err, -EPROTO, "the response of the daemon is not JSON: %s", problem.text);
    if (ret_answer)
        *ret_answer = json_incref(answer);
    return client->wire.status;
}

int client_call(struct client *client, const char *method, const char *path, json_t *body,
                json_t **ret_answer, struct error *err) {
    bool is_post = strcmp(method, "POST") == 0;
    char *text = body ? json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    if (!client->key[0])
        client_make_key(client->key);
    assert(!body || text); /* json_dumps fails only for scalars */
    json_decref(body);
    const char *sent = text ? text : is_post ? "{}" : NULL;
    int status = client_send(client,
                             &(struct client_request){ .method = method,
                                                       .path = path,
                                                       .accept = "application/json",
                                                       .body = sent,
                                                       .size = sent ? strlen(sent) : 0,
                                                       .key = is_post ? client->key : NULL },
                             err);
    if (is_post)
        client->key[0] = '\0';
    free(text);
    if (status < 0)
        return status;
    return take_answer(client, ret_answer, err);
}

/* --- split calls ----------------------------------------------------------------------------- */

int client_begin_call(struct client *client, const char *path, json_t *body, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    char *text = json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(15));
    assert(text && !client->streaming);
    json_decref(body);
    /* The address may have no active daemon; a small request finds it. */
    int found =
        client->fresh ? client_call(client, "GET", "/v1/events?limit=1", NULL, NULL, err) : 0;
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
    int r = send_bytes(client, &bytes, deadline_of(client));
    return r < 0 ? no_answer(client, r, err) : 0;
}

int client_end_call(struct client *client, json_t **ret_answer, struct error *err) {
    int r = read_answer(client, false, deadline_of(client));
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

/* --- events ---------------------------------------------------------------------------------- */

/* The value of a line "name: value"; NULL if the name differs. */
static const char *value_of(const char *line, const char *name) {
    size_t length = strlen(name);
    if (strncmp(line, name, length) != 0 || line[length] != ':')
        return NULL;
    return line + length + 1 + (line[length + 1] == ' ');
}

static int end_event(struct client *client) {
    int r = 0;
    if (client->kind.length > 0 || client->data.length > 0) {
        struct client_event event = { client->seq, strbuf_text(&client->kind),
                                      strbuf_text(&client->data) };
        r = client->each_event(client->event_ctx, &event);
    }
    strbuf_clear(&client->kind);
    strbuf_clear(&client->data);
    return r;
}

static int take_line(struct client *client) {
    const char *line = strbuf_text(&client->line);
    const char *value;
    int64_t seq;
    if (!*line)
        return end_event(client);
    if ((value = value_of(line, "event"))) {
        strbuf_clear(&client->kind);
        strbuf_puts(&client->kind, value);
    } else if ((value = value_of(line, "data"))) {
        if (client->data.length > 0)
            strbuf_putc(&client->data, '\n');
        strbuf_puts(&client->data, value);
    } else if ((value = value_of(line, "id"))) {
        if (number_parse_int(value, &seq, NULL) == 0 && seq >= 0)
            client->seq = (uint64_t)seq;
    }
    return client->data.length > EVENT_MAX ? -EPROTO : 0;
}

static int take_event_bytes(void *ctx, const char *bytes, size_t size) {
    struct client *client = ctx;
    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t part = end ? (size_t)(end - bytes) : size;
        strbuf_add(&client->line, bytes, part);
        if (client->line.length > EVENT_MAX)
            return -EPROTO;
        if (!end)
            return 0;
        if (client->line.length > 0 && client->line.text[client->line.length - 1] == '\r')
            client->line.text[--client->line.length] = '\0';
        int r = take_line(client);
        strbuf_clear(&client->line);
        if (r != 0)
            return r;
        bytes += part + 1;
        size -= part + 1;
    }
    return 0;
}

/* --- non-blocking streams -------------------------------------------------------------------- */

static int begin_stream(struct client *client, const char *path, const char *accept,
                        struct error *err) {
    int status = client_send(client,
                             &(struct client_request){
                                 .method = "GET", .path = path, .accept = accept, .streams = true },
                             err);
    if (status < 0)
        return status;
    if (status >= 400)
        return take_answer(client, NULL, err);
    client->streaming = true;
    client->wire.reader = client->reader;
    client->seq = 0;
    strbuf_clear(&client->line);
    strbuf_clear(&client->kind);
    strbuf_clear(&client->data);
    return status;
}

int client_begin_bytes(struct client *client, const char *path, client_bytes each, void *ctx,
                       struct error *err) {
    client->sink = each;
    client->sink_ctx = ctx;
    return begin_stream(client, path, "*/*", err);
}

static void client_set_events(struct client *client, client_each each, void *ctx) {
    client->sink = take_event_bytes;
    client->sink_ctx = client;
    client->each_event = each;
    client->event_ctx = ctx;
}

int client_begin_events(struct client *client, const char *path, uint64_t after, client_each each,
                        void *ctx, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf full = STRBUF_INIT;
    char number[24];
    (void)snprintf(number, sizeof(number), "%" PRIu64, after);
    strbuf_puts(&full, path);
    client_query(&full, "after", after == CLIENT_EVENTS_NEW ? NULL : number);
    client_set_events(client, each, ctx);
    return begin_stream(client, strbuf_text(&full), "text/event-stream", err);
}

int client_fd(const struct client *client) {
    return client->wire.fd;
}

static int broken(int code, struct error *err) {
    static const struct {
        int code;
        const char *text;
    } texts[] = {
        { -ECONNRESET, "the daemon ended the stream before its end" },
        { -ETIMEDOUT, "the daemon fell silent" },
        { -EPROTO, "the daemon's stream is not readable" },
        { -EINTR, "interrupted" },
        { -EPIPE, "the output was closed" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (texts[i].code == code)
            return error_set(err, code, "%s", texts[i].text);
    return error_set(err, code, "the stream broke: %s", strerror(-code));
}

/* 1: continues; 0: ended; <0: broken. */
static int pump(struct client *client, time_ms deadline, struct error *err) {
    assert(client->streaming);
    if (client->wire.body == BODY_DONE)
        return 0;
    int r = http_wire_take_body(&client->wire, client->sink, client->sink_ctx);
    if (r == 0) {
        r = http_wire_read(&client->wire, deadline);
        if (r == -ETIMEDOUT && deadline == 0) /* no data right now */
            return 1;
        bool is_end = r == 0;
        if (is_end)
            r = http_wire_take_end(&client->wire);
        if (r < 0)
            return broken(r, err);
        if (is_end)
            return 0;
        r = http_wire_take_body(&client->wire, client->sink, client->sink_ctx);
    }
    if (r == 0)
        return 1;
    if (r == 2) { /* the callback is done: skip the rest */
        client->wire.keep_alive = false;
        client->wire.body = BODY_DONE;
    }
    if (r > 0)
        return 0;
    client->wire.keep_alive = false;
    return r == -EPROTO ? broken(r, err) : error_set(err, r, "the stream was ended");
}

int client_pump(struct client *client, struct error *err) {
    return pump(client, 0, err);
}

void client_end(struct client *client) {
    if (!client->streaming)
        return;
    if (client->wire.body != BODY_DONE || !client->wire.keep_alive)
        http_wire_close(&client->wire);
    client->streaming = false;
    client->wire.reader = -1;
}

/* --- blocking streams ------------------------------------------------------------------------ */

static int run_stream(struct client *client, int status, time_ms silence_max, struct error *err) {
    if (status < 0 || status >= 400)
        return status;
    int r = 1;
    while (r > 0) {
        time_ms deadline =
            silence_max == TIME_NEVER ? TIME_NEVER : time_add(clock_read_steady(), silence_max);
        r = pump(client, deadline, err);
    }
    client_end(client);
    return r < 0 ? r : status;
}

int client_stream_bytes(struct client *client, const char *path, client_bytes each, void *ctx,
                        struct error *err) {
    int status = client_begin_bytes(client, path, each, ctx, err);
    return run_stream(client, status, TIME_NEVER, err);
}

int client_stream_events(struct client *client, const char *path, uint64_t after, client_each each,
                         void *ctx, struct error *err) {
    int status = client_begin_events(client, path, after, each, ctx, err);
    return run_stream(client, status, SILENCE_MAX, err);
}

struct client *client_from_fd(int fd, client_each each, void *ctx) {
    struct client *client = xcalloc(1, sizeof(*client));
    client->wire = (struct http_wire)HTTP_WIRE_INIT;
    client->wire.fd = fd;
    client->wire.body = BODY_TO_END;
    client->streaming = true;
    client_set_events(client, each, ctx);
    return client;
}
