/* notify_news.h: the events that are worth a notification, as texts. Private to daemon/.
 *
 * Most events are not news: starts, ends of runs, iterations, retries, waits, cancellations. News
 * are (values of `notify.events`):
 *   done            a task is done
 *   failed          a task has failed permanently, unless due to another failure or deletion
 *   limited         an account must wait for longer than notify.limited_s
 *   needs-person    a task waits for review or to be closed; an alert that no other news reports
 *   group-finished  a group has closed
 *
 * Life:  news_read → news_complete (reads the title from the store) → … → news_free */
#pragma once

#include "base/arena.h"
#include "engine/engine.h"

#define NEWS_SCHEMA_VERSION 1

enum news_kind {
    NEWS_DONE,
    NEWS_FAILED,
    NEWS_LIMITED,
    NEWS_PERSON,
    NEWS_GROUP,
    NEWS_TEST,
    NEWS_KIND_MAX,
};

/* Strings are on one line, without control characters, in the arena; NULL: none. */
struct news {
    struct arena arena;
    enum news_kind kind;
    uint64_t seq; /* of its event; 0: a test */
    time_ms at;
    char *id; /* same for all attempts: seq and time, unique even after a restored backup */
    task_id number;
    uint32_t attempt;
    char *task, *project, *title;
    char *reason;  /* one word */
    char *message; /* of the last run of a task that has failed */
    char *text;    /* message, set by news_complete */
    char *account; /* of a limit, or of an alert about one */
    time_ms until; /* of a limit; 0: none */
    char *alert;   /* its key */
    char *group;
    int64_t total, open, failed; /* of the group */
    bool is_question;
    char *url;                  /* of the task in the dashboard */
    char *answer_url;           /* a secret: answers the question without a login */
    struct completion *linking; /* its link is being stored; or NULL */
};

/* The reported pauses of accounts; empty if zeroed. A repeated report after a restart is
 * harmless. */
#define NEWS_ACCOUNTS_MAX 64u
struct news_reader {
    struct {
        char *account;
        int64_t hits;
        time_ms pause;
    } reported[NEWS_ACCOUNTS_MAX];
    size_t count;
};
void news_reader_finish(struct news_reader *reader);

/* NULL: the event is not news, or not in notify.events. */
struct news *news_read(struct news_reader *reader, const struct engine *engine,
                       const struct event_row *event);
struct news *news_sample(time_ms now);
struct news *news_free(struct news *news); /* accepts NULL, returns NULL */

/* Adds title and message from the store, and the addresses, then calls `done`, perhaps from inside.
 * `wants_link`: an answer link, if it is enabled. */
typedef void (*news_completed)(void *ctx);
struct news_completion {
    bool wants_link;
    news_completed done;
    void *ctx;
};
void news_complete(struct engine *engine, struct news *news, const struct news_completion *how);

const char *news_kind_name(enum news_kind kind);
/* The body of a webhook: docs/guide/notifications.md has the schema. `with_link`: the receiver may
 * have the answer link. */
void news_print(const struct news *news, bool with_link, struct strbuf *out);
