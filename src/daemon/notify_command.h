/* notify_command.h: one command that tells people one thing. Private to daemon/. */
#pragma once

#include "daemon/notify_news.h"
#include "executor/aside.h"

/* The ways that are commands of this machine. */
enum notify_way {
    WAY_ALERTS,  /* alerts.notify: an alert is raised or cleared */
    WAY_GROUPS,  /* groups.notify: a group closes */
    WAY_COMMAND, /* notify.command: news */
    WAY_DESKTOP, /* notify.desktop: news, by notify-send */
    NOTIFY_WAY_MAX,
};

/* What is to be told of one event. */
struct notice {
    uint64_t seq;
    /* WAY_ALERTS; owned */
    char *state, *key, *text, *task;
    /* WAY_GROUPS */
    char *group;
    int64_t total, open, failed;
    /* WAY_COMMAND, WAY_DESKTOP; owned; NULL: it is no news */
    struct news *news;
};
void notice_finish(struct notice *notice);

struct notify_command {
    struct engine *engine;
    struct loop *loop;
    char *const *environment; /* the daemon's */
    enum notify_way way;
    const struct notice *notice;
    aside_ended ended;
    void *ctx;
};

/* The setting that switches it on: "alerts.notify". */
const char *notify_way_name(enum notify_way way);
/* Would it tell anybody? `ret_why` (or NULL): if it is switched on and would not, why. */
bool notify_way_is_on(const struct notify_command *command, struct strbuf *ret_why);
/* How long a command may take. */
time_ms notify_way_timeout(const struct engine *engine, enum notify_way way);

/* 0: `ended` will be called. 1: nobody is to be told. */
int notify_command_start(const struct notify_command *command, struct aside **ret_aside,
                         struct error *err);
/* Did it work? `out`: one sentence about that, beginning with the setting. */
bool notify_command_describe(const struct engine *engine, enum notify_way way,
                             const struct aside_end *end, struct strbuf *out);
