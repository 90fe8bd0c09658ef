/* standby.c: see standby.h.
 *
 * The store reports when it is free and which daemon has it, so nothing polls. Only the first
 * answer, before there are clients, is waited for. */
#include "daemon/standby.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "config/config.h"
#include "os/log.h"
#include "os/loop.h"
#include "os/tcp.h"
#include "store/await.h"

#define PAUSE_FIRST 200 /* ms, after a failure; doubles */
#define PAUSE_MOST  SECONDS(2)

struct standby {
    struct standby_options options;
    char *url;
    const struct config *config;
    struct store_await *await; /* NULL: not waiting */
    struct loop_timer *timer;  /* set while there is no `await` */
    time_ms pause;
    time_ms since;        /* wall-clock time */
    struct error problem; /* why waiting is impossible; code 0: none */
    bool logged;          /* `problem` was logged */
    bool refused; /* it was free but could not be opened: only a successful open clears this */
    char who[STORE_WHO_MAX];
    struct strbuf status, message, active;
};

/* --- identity --------------------------------------------------------------------------------- */

static void print_host(const struct config *config, struct strbuf *out) {
    const char *set = config_text(config, "daemon.host", NULL);
    char name[256];
    if (*set)
        strbuf_puts(out, set);
    else if (gethostname(name, sizeof(name) - 1) < 0)
        strbuf_puts(out, "localhost");
    else
        strbuf_puts(out, (name[sizeof(name) - 1] = '\0', name));
}

/* The TCP address for clients; nothing if unknown. */
static void print_url(const struct config *config, struct strbuf *out) {
    const char *listen = config_text(config, "http.listen", NULL);
    const char *scheme = *config_text(config, "http.tls_cert", NULL) ? "https" : "http";
    struct tcp_address address;
    char text[TCP_TEXT_MAX];
    if (!*listen || tcp_parse(listen, &address, NULL) < 0 || tcp_port(&address) == 0)
        return;
    strbuf_printf(out, " %s://", scheme);
    if (!tcp_is_any(&address)) {
        strbuf_puts(out, tcp_print(&address, text));
        return;
    }
    print_host(config, out);
    strbuf_printf(out, ":%u", tcp_port(&address));
}

void standby_print_who(const struct home *home, const struct config *config, struct strbuf *out) {
    print_host(config, out);
    strbuf_printf(out, "/%d", (int)getpid());
    size_t name = out->length;
    if (!strpbrk(home->socket, " \n"))
        strbuf_printf(out, " unix:%s", home->socket);
    print_url(config, out);
    if (out->length >= STORE_WHO_MAX) /* other daemons then need daemon.addresses */
        strbuf_cut(out, name < STORE_WHO_MAX ? name : STORE_WHO_MAX - 1);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void store_is_ours(void *ctx, int r, const struct error *err);

static void try_later(struct standby *s, const struct error *why) {
    s->await = store_await_cancel(s->await);
    s->who[0] = '\0'; /* the last holder has lost it, too, or will */
    if (!s->logged)
        log_warning("standby: the store cannot be %s, and is tried again: %s",
                    standby_can_wait(why->code) ? "reached" : "opened", why->text);
    s->logged = true;
    s->problem = *why;
    s->problem.code = why->code < 0 ? why->code : -EIO;
    loop_timer_set(s->options.loop, s->timer, time_add(loop_now_steady(s->options.loop), s->pause));
    s->pause = time_min(2 * s->pause, PAUSE_MOST);
}

static int wait_now(struct standby *s, struct error *err) {
    return store_await(s->options.loop, s->url, store_is_ours, s, &s->await, err);
}

static void timer_due(void *ctx) {
    struct standby *s = ctx;
    struct error err = { 0 };
    if (wait_now(s, &err) < 0)
        try_later(s, &err);
}

static void store_is_ours(void *ctx, int r, const struct error *err) {
    struct standby *s = ctx;
    if (r < 0)
        try_later(s, err);
    else
        s->options.free(s->options.ctx);
}

bool standby_can_wait(int result) {
    static const int codes[] = { EBUSY,       ECONNREFUSED, ECONNRESET, ECONNABORTED,
                                 ETIMEDOUT,   EHOSTUNREACH, EHOSTDOWN,  ENETDOWN,
                                 ENETUNREACH, EPIPE,        EAGAIN };
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        if (result == -codes[i])
            return true;
    return false;
}

bool standby_can_go_on(int result) {
    return standby_can_wait(result) || result == -EROFS || result == -EACCES;
}

struct store_await *standby_take(struct standby *s, const char **ret_url) {
    *ret_url = s->url;
    return TAKE_PTR(s->await);
}

void standby_again(struct standby *s, const struct error *why) {
    bool refused = !standby_can_wait(why->code);
    s->logged = s->logged && s->refused == refused;
    s->refused = refused;
    try_later(s, why);
}

/* --- status ----------------------------------------------------------------------------------- */

/* "host/pid" */
static void print_name(const struct standby *s, struct strbuf *out) {
    strbuf_add(out, s->who, strcspn(s->who, " "));
}

static bool is_listed(const struct standby *s, const char *address) {
    size_t length = strlen(address);
    for (const char *at = s->who; (at = strstr(at, address)); at += length)
        if (at > s->who && at[-1] == ' ' && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

/* Addresses of the active daemon first; then the configured ones, except our own. */
static void print_addresses(const struct standby *s, struct json_writer *w) {
    const char *const *words = NULL;
    size_t count = config_words(s->config, "daemon.addresses", NULL, &words);
    _cleanup_(strbuf_finish) struct strbuf word = STRBUF_INIT;
    const char *at = s->who + strcspn(s->who, " ");
    json_write_array_begin(w);
    while (*(at += strspn(at, " "))) {
        strbuf_clear(&word);
        strbuf_add(&word, at, strcspn(at, " "));
        json_write_string(w, strbuf_text(&word));
        at += word.length;
    }
    for (size_t i = 0; i < count; i++) {
        bool own = strncmp(words[i], "unix:", 5) == 0
                   && strcmp(words[i] + 5, s->options.home->socket) == 0;
        if (!own && !is_listed(s, words[i]))
            json_write_string(w, words[i]);
    }
    json_write_array_end(w);
}

static void print_status(struct standby *s) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT, host = STRBUF_INIT;
    struct json_writer w;
    strbuf_clear(&s->status);
    print_name(s, &name);
    print_host(s->config, &host);
    json_write_init(&w, &s->status, false);
    json_write_object_begin(&w);
    json_put_bool(&w, "ok", true);
    json_put_string(&w, "role", "standby");
    json_put_string(&w, "version", SLUICE_VERSION);
    json_put_int(&w, "pid", getpid());
    json_put_string(&w, "host", strbuf_text(&host));
    json_put_int(&w, "since", s->since);
    json_put_object(&w, "active");
    json_put_string(&w, "who", name.length > 0 ? strbuf_text(&name) : NULL);
    json_write_key(&w, "addresses");
    print_addresses(s, &w);
    json_write_object_end(&w);
    json_put_string(&w, "problem", s->problem.code ? s->problem.text : NULL);
    json_write_object_end(&w);
}

static void print_message(struct standby *s) {
    strbuf_clear(&s->message);
    strbuf_puts(&s->message, "this daemon is a standby: ");
    if (s->problem.code)
        strbuf_printf(&s->message, "the store cannot be %s: %s",
                      standby_can_wait(s->problem.code) ? "reached" : "opened", s->problem.text);
    else if (*s->who)
        strbuf_printf(&s->message, "%.*s is the active one", (int)strcspn(s->who, " "), s->who);
    else
        strbuf_puts(&s->message, "none is active, or it does not say who it is");
}

void standby_describe(struct standby *s, struct server_standby *ret) {
    struct json_writer w;
    /* If the holder is unknown, `problem` has the reason, or will soon. */
    if (s->await && store_await_holder(s->await, s->who) == 0 && !s->refused) {
        s->problem = (struct error){ 0 };
        s->logged = false;
    }
    print_status(s);
    print_message(s);
    strbuf_clear(&s->active);
    json_write_init(&w, &s->active, false);
    print_addresses(s, &w);
    *ret = (struct server_standby){ strbuf_text(&s->status), strbuf_text(&s->message),
                                    strbuf_text(&s->active) };
}

/* --- life ------------------------------------------------------------------------------------- */

void standby_set_config(struct standby *s, const struct config *config) {
    s->config = config;
}

static void log_start(struct standby *s) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    struct error err = { 0 };
    if (store_holder(s->url, s->who, &err) < 0)
        s->problem = err;
    print_name(s, &name);
    log_info("standby: %s%s", name.length > 0 ? strbuf_text(&name) : "waiting for the store",
             name.length > 0 ? " has the store; this daemon takes over when it is free" : "");
}

int standby_new(const struct standby_options *options, const struct config *config,
                struct standby **ret_standby, struct error *err) {
    struct standby *s = xcalloc(1, sizeof(*s));
    s->options = *options;
    s->url = xstrdup(options->url);
    s->config = config;
    s->since = loop_now(options->loop);
    s->pause = time_max(options->pause, PAUSE_FIRST);
    s->timer = loop_timer_new(options->loop, timer_due, s);
    int r = 0;
    if (options->pause > 0) {
        loop_timer_set(options->loop, s->timer,
                       time_add(loop_now_steady(options->loop), options->pause));
    } else {
        r = wait_now(s, err);
        if (standby_can_go_on(r)) {
            try_later(s, err);
            r = 0;
        }
    }
    if (r < 0) {
        standby_free(s);
        return r;
    }
    if (!options->was_active)
        log_start(s);
    *ret_standby = s;
    return 0;
}

struct standby *standby_free(struct standby *s) {
    if (!s)
        return NULL;
    store_await_cancel(s->await);
    loop_timer_free(s->options.loop, s->timer);
    strbuf_finish(&s->status);
    strbuf_finish(&s->message);
    strbuf_finish(&s->active);
    free(s->url);
    free(s);
    return NULL;
}
