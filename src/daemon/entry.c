/* entry.c: see entry.h. */
#include "daemon/entry.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/server.h"
#include "base/alloc.h"
#include "engine/access.h"
#include "os/log.h"
#include "os/loop.h"

#define TRY_AGAIN SECONDS(30)

struct entry {
    struct engine *engine;
    struct loop *loop;
    struct server *server;
    char *wanted;             /* the settings as they were last seen; "": none */
    struct loop_timer *timer; /* set while it cannot listen */
    bool reload;              /* they are looked at again though they are the same */
    struct error problem;     /* code 0: there is none */
};

/* Everything that listening depends on, as one text; "" when nobody shall listen. */
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

int entry_listen(struct server *server, const struct config *config, struct error *err) {
    struct server_tcp tcp = { .address = config_text(config, "http.listen", NULL),
                              .certificate = config_text(config, "http.tls_cert", NULL),
                              .key = config_text(config, "http.tls_key", NULL) };
    (void)config_words(config, "http.hosts", NULL, &tcp.hosts);
    return *tcp.address ? server_listen_tcp(server, &tcp, err) : 0;
}

static void listen_now(void *ctx) {
    struct entry *entry = ctx;
    bool said = entry->problem.code != 0;
    entry->problem = (struct error){ 0 };
    if (entry_listen(entry->server, engine_config(entry->engine), &entry->problem) == 0) {
        log_info("clients with a token come in at %s", server_url(entry->server));
        return;
    }
    if (!said)
        log_warning("http.listen: %s; it is tried again every %d s", entry->problem.text,
                    (int)(TRY_AGAIN / 1000));
    loop_timer_set(entry->loop, entry->timer, time_add(loop_now_steady(entry->loop), TRY_AGAIN));
}

void entry_look(struct entry *entry) {
    /* Nearly always nobody listens and nobody wants to: then it costs one look. */
    if (!*entry->wanted && !*config_text(engine_config(entry->engine), "http.listen", NULL))
        return;
    char *wanted = wanted_now(entry->engine);
    bool same = strcmp(wanted, entry->wanted) == 0;
    if (same && !entry->reload) {
        free(wanted);
        return;
    }
    free(entry->wanted);
    entry->wanted = wanted;
    entry->reload = false;
    entry->problem = (struct error){ 0 };
    loop_timer_clear(entry->loop, entry->timer);
    if (*wanted)
        listen_now(entry);
    /* Only what is configured is open; but a certificate that was renewed badly does not end the old one. */
    if (!*wanted || (entry->problem.code && !same))
        server_close_tcp(entry->server);
}

void entry_reload(struct entry *entry) {
    entry->reload = *config_text(engine_config(entry->engine), "http.tls_cert", NULL) != '\0';
}

void entry_heard(struct entry *entry, const struct event_row *event) {
    if (strcmp(event->kind, "token.ended") != 0 || !event->data)
        return;
    json_t *data = json_loads(event->data, 0, NULL);
    const char *id = json_string_value(json_object_get(data, "id"));
    if (id)
        server_access_ended(entry->server, id);
    json_decref(data);
}

/* --- what operations ask ----------------------------------------------------------------------- */

static const char *url(void *ctx) {
    return server_url(((struct entry *)ctx)->server);
}

static const char *problem(void *ctx) {
    const struct entry *entry = ctx;
    return entry->problem.code ? entry->problem.text : NULL;
}

static int open_port(void *ctx, unsigned port, struct error *err) {
    struct entry *entry = ctx;
    char address[32];
    if (entry->problem.code) /* what was configured is what is wanted */
        return error_set(err, -EBUSY, "http.listen: %s", entry->problem.text);
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", port);
    int r = server_listen_tcp(entry->server, &(struct server_tcp){ .address = address }, err);
    if (r < 0) /* the port was the client's choice */
        return err ? err->code = -EBUSY : -EBUSY;
    log_info(
        "the dashboard was asked for: clients with a token come in at %s, until this daemon ends",
        server_url(entry->server));
    return 0;
}

/* --- life ------------------------------------------------------------------------------------ */

struct entry *entry_new(struct engine *engine, struct loop *loop, struct server *server) {
    struct entry *entry = xcalloc(1, sizeof(*entry));
    entry->engine = engine;
    entry->loop = loop;
    entry->server = server;
    entry->wanted = xstrdup("");
    entry->timer = loop_timer_new(loop, listen_now, entry);
    engine_set_entry(engine, &(struct engine_entry){ url, problem, open_port, entry });
    entry_look(entry);
    return entry;
}

struct entry *entry_free(struct entry *entry) {
    if (!entry)
        return NULL;
    engine_set_entry(entry->engine, &(struct engine_entry){ 0 });
    loop_timer_free(entry->loop, entry->timer);
    free(entry->wanted);
    free(entry);
    return NULL;
}
