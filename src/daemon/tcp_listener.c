/* tcp_listener.c: listens for TCP clients: on http.listen, or on a port that `sluice dash`
 * requested.
 *
 * Off until one of the two. The port of `sluice dash` is on the loopback interface, and the next
 * daemon opens it again while a page is signed in; the setting takes precedence. An unavailable
 * address is retried, and nothing else waits for it. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/server.h"
#include "base/alloc.h"
#include "daemon/services.h"
#include "engine/access.h"
#include "os/log.h"
#include "os/loop.h"

#define TRY_AGAIN SECONDS(30)

struct tcp_listener {
    struct engine *engine;
    struct loop *loop;
    struct server *server;
    char *wanted;             /* the settings as last read; "": none */
    struct loop_timer *timer; /* set while it cannot listen */
    struct loop_timer *again; /* set while another program has the port of the pages */
    bool reload;              /* read the settings again even if unchanged */
    struct error problem;     /* code 0: none */
};

/* All settings that affect listening, as one text; "": do not listen. */
static char *wanted_now(const struct engine *engine) {
    const struct config *config = engine_config(engine);
    const char *listen = config_text(config, "http.listen", NULL);
    const char *const *hosts = NULL;
    struct strbuf text = STRBUF_INIT;
    if (*listen) {
        size_t count = config_words(config, "http.hosts", NULL, &hosts);
        strbuf_printf(&text, "%s\n%s\n%s", listen, config_text(config, "http.tls_cert", NULL),
                      config_text(config, "http.tls_key", NULL));
        for (size_t i = 0; i < count; i++)
            strbuf_printf(&text, "\n%s", hosts[i]);
    }
    return text.text ? strbuf_take(&text) : xstrdup("");
}

int tcp_listen_configured(struct server *server, const struct config *config, struct error *err) {
    struct server_tcp tcp = { .address = config_text(config, "http.listen", NULL),
                              .certificate = config_text(config, "http.tls_cert", NULL),
                              .key = config_text(config, "http.tls_key", NULL) };
    (void)config_words(config, "http.hosts", NULL, &tcp.hosts);
    return *tcp.address ? server_listen_tcp(server, &tcp, err) : 0;
}

static void listen_now(void *ctx) {
    struct tcp_listener *l = ctx;
    bool was_failing = l->problem.code != 0;
    l->problem = (struct error){ 0 };
    if (tcp_listen_configured(l->server, engine_config(l->engine), &l->problem) == 0) {
        log_info("clients with a token come in at %s", server_url(l->server));
        return;
    }
    if (!was_failing)
        log_warning("http.listen: %s; it is tried again every %d s", l->problem.text,
                    (int)(TRY_AGAIN / 1000));
    loop_timer_set(l->loop, l->timer, time_add(loop_now_steady(l->loop), TRY_AGAIN));
}

void tcp_listener_check_config(struct tcp_listener *l) {
    /* Common case: not listening, and not configured to. */
    if (!*l->wanted && !*config_text(engine_config(l->engine), "http.listen", NULL))
        return;
    char *wanted = wanted_now(l->engine);
    bool same = strcmp(wanted, l->wanted) == 0;
    if (same && !l->reload) {
        free(wanted);
        return;
    }
    free(l->wanted);
    l->wanted = wanted;
    l->reload = false;
    l->problem = (struct error){ 0 };
    loop_timer_clear(l->loop, l->timer);
    if (*wanted)
        listen_now(l);
    /* Only configured addresses stay open; but a bad new certificate does not replace the old
     * one. */
    if (!*wanted || (l->problem.code && !same))
        server_close_tcp(l->server);
}

void tcp_listener_reload(struct tcp_listener *l) {
    l->reload = *config_text(engine_config(l->engine), "http.tls_cert", NULL) != '\0';
}

void tcp_listener_event(struct tcp_listener *l, const struct event_row *event) {
    if (strcmp(event->kind, "token.ended") != 0 || !event->data)
        return;
    json_t *data = json_loads(event->data, 0, NULL);
    const char *id = json_string_value(json_object_get(data, "id"));
    if (id)
        server_access_ended(l->server, id);
    json_decref(data);
}

/* --- operations ------------------------------------------------------------------------------- */

static const char *url(void *ctx) {
    return server_url(((struct tcp_listener *)ctx)->server);
}

static const char *problem(void *ctx) {
    const struct tcp_listener *l = ctx;
    return l->problem.code ? l->problem.text : NULL;
}

static int open_port(void *ctx, unsigned port, struct error *err) {
    struct tcp_listener *l = ctx;
    char address[32];
    if (l->problem.code) /* the configured address takes precedence */
        return error_set(err, -EBUSY, "http.listen: %s", l->problem.text);
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    int r = server_listen_tcp(l->server, &(struct server_tcp){ .address = address }, err);
    if (r < 0) /* the client chose the port */
        return err ? err->code = -EBUSY : -EBUSY;
    log_info("pages of the dashboard and clients with a token come in at %s",
             server_url(l->server));
    return 0;
}

/* Pages that are signed in find the daemon where it was. */
static void open_again(void *ctx) {
    struct tcp_listener *l = ctx;
    unsigned port = engine_remembered_port(l->engine);
    struct error err = { 0 };
    if (*l->wanted || port == 0 || server_url(l->server) || !engine_has_pages(l->engine)
        || open_port(l, port, &err) == 0)
        return;
    log_warning("the port of the dashboard: %s; it is tried again every %d s", err.text,
                (int)(TRY_AGAIN / 1000));
    loop_timer_set(l->loop, l->again, time_add(loop_now_steady(l->loop), TRY_AGAIN));
}

/* --- life ------------------------------------------------------------------------------------- */

struct tcp_listener *tcp_listener_new(struct engine *engine, struct loop *loop,
                                      struct server *server) {
    struct tcp_listener *l = xcalloc(1, sizeof(*l));
    l->engine = engine;
    l->loop = loop;
    l->server = server;
    l->wanted = xstrdup("");
    l->timer = loop_timer_new(loop, listen_now, l);
    engine_set_tcp_listener(engine, &(struct engine_tcp_listener){ url, problem, open_port, l });
    tcp_listener_check_config(l);
    l->again = loop_timer_new(loop, open_again, l);
    open_again(l);
    return l;
}

struct tcp_listener *tcp_listener_free(struct tcp_listener *l) {
    if (!l)
        return NULL;
    engine_set_tcp_listener(l->engine, &(struct engine_tcp_listener){ 0 });
    loop_timer_free(l->loop, l->timer);
    loop_timer_free(l->loop, l->again);
    free(l->wanted);
    free(l);
    return NULL;
}
