/* cmd_digest.c: a one-page summary of a period, for a person, a mail or a chat.
 *
 * Outcomes come from events, which are exact; usage and messages from runs; the present state from
 * lists and the status. Events and runs are read from the newest back to `since`, at most PAGES_MAX
 * pages. The result is one JSON object, also printed by `sluice digest --json`:
 *   since, until           times, in ms
 *   partial                not everything was read: the sums are too low
 *   totals                 runs, ok, running, waiting, added, done, failed, canceled, restarts,
 *                          busy_ms, tokens_in, tokens_out, tokens_cached, cost_usd (null: unknown),
 *                          unknown_cost, unknown_tokens (runs that did not report it); live_usd: what
 *                          live runs have cost so far, in no sum
 *   done, failed           tasks: id, title, project, agent, at, runs, busy_ms, tokens, cost_usd,
 *                          reason, message
 *   people                 what waits for a person: task or account, title, what, why, do
 *   spent                  project, agent and the sums over their runs
 *   waits                  longest waiting tasks: id, title, state, since, gate, why
 *   limited                accounts that were limited: name, times, until
 *   gates                  tasks waiting now: gate, count
 * All texts are untrusted: page.c sanitizes them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "cli/page.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "os/clock.h"
#include "os/moment.h"
#include "sim/text.h"

#define PAGES_MAX 500u /* of a thousand items */
#define TASKS_MAX 1000u
#define WAITS_MAX 10u
#define READ_MAX  50u /* tasks without a run in this period that are looked up one by one */

struct gathering {
    struct request *req;
    time_ms since;
    json_t *digest, *totals;
    json_t *tasks;   /* by id */
    json_t *spent;   /* by project and agent */
    json_t *limited; /* by account */
};

static void add_int(json_t *object, const char *key, int64_t more) {
    json_object_set_new(object, key, json_integer(get_int(object, key, 0) + more));
}

/* The object in a member, created if it is missing. */
static json_t *member_object(json_t *object, const char *key) {
    if (!json_object_get(object, key))
        json_object_set_new(object, key, json_object());
    return json_object_get(object, key);
}

/* --- runs ------------------------------------------------------------------------------------ */

static void add_spent(json_t *sums, const json_t *run) {
    bool known = json_is_number(json_object_get(run, "cost_usd"));
    bool tokens = json_is_integer(json_object_get(run, "tokens_in"))
                  || json_is_integer(json_object_get(run, "tokens_out"));
    double cost = get_real(sums, "cost_usd", 0) + get_real(run, "cost_usd", 0);
    int64_t began = get_int(run, "started_at", 0), ended = get_int(run, "ended_at", 0);
    add_int(sums, "runs", 1);
    add_int(sums, "ok", member_is(run, "outcome", "ok"));
    add_int(sums, "busy_ms", began > 0 && ended > began ? ended - began : 0);
    add_int(sums, "tokens_in", get_int(run, "tokens_in", 0));
    add_int(sums, "tokens_out", get_int(run, "tokens_out", 0));
    add_int(sums, "tokens_cached", get_int(run, "tokens_cached", 0));
    add_int(sums, "unknown_cost", !known);
    add_int(sums, "unknown_tokens", !tokens);
    if (known) /* null until a run reports it */
        json_object_set_new(sums, "cost_usd", json_real((double)(int64_t)(cost * 1e6 + 0.5) / 1e6));
}

/* The latest run of a task comes first: its message counts. */
static void take_run(struct gathering *g, const json_t *run) {
    const char *id = get_text(run, "task", NULL);
    if (!id || get_int(run, "ended_at", 0) == 0)
        return;
    json_t *task = member_object(g->tasks, id);
    if (get_int(task, "runs", 0) == 0)
        copy_members(task, run, "title project agent message");
    _cleanup_(freep) char *key =
        xasprintf("%s\n%s", get_text(run, "project", ""), get_text(run, "agent", ""));
    json_t *pair = member_object(g->spent, key);
    copy_members(pair, run, "project agent");
    add_spent(task, run);
    add_spent(pair, run);
    add_spent(g->totals, run);
}

static int gather_runs(struct gathering *g) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "/v1/runs?limit=1000&since=%" PRId64, g->since);
    size_t first = path.length;
    for (unsigned page = 0; page < PAGES_MAX; page++) {
        int code = request_get(g->req, strbuf_text(&path));
        const char *next = get_text(g->req->answer, "next", NULL);
        EACH_ITEM(run, request_items(g->req)) {
            take_run(g, run);
        }
        if (code != CMD_OK || !next)
            return code;
        path.length = first;
        path.text[first] = '\0';
        client_query(&path, "after", next);
    }
    json_object_set_new(g->digest, "partial", json_true());
    return CMD_OK;
}

/* The daemon has the sum: the digest shows the same figure as every other view. */
static int gather_money(struct gathering *g) {
    struct print_text path = print_format("/v1/usage/tasks?limit=1&since=%" PRId64, g->since);
    int code = request_get(g->req, path.text);
    static const char *const sums[] = { "cost_usd", "live_usd" };
    for (size_t i = 0; i < ARRAY_SIZE(sums) && code == CMD_OK; i++) {
        json_t *sum = json_object_get(g->req->answer, sums[i]);
        json_object_set(g->totals, sums[i], sum ? sum : json_null());
    }
    return code;
}

/* --- events ---------------------------------------------------------------------------------- */

/* From the newest back: of several events about a task the first one counts. */
static void take_event(struct gathering *g, const json_t *event) {
    const char *kind = get_text(event, "kind", ""), *id = get_text(event, "task", NULL);
    const json_t *data = json_object_get(event, "data");
    bool is_state = strcmp(kind, "task.state") == 0, is_merge = strcmp(kind, "run.merge") == 0;
    if (id && (is_state || is_merge)) {
        json_t *task = member_object(g->tasks, id);
        if (json_object_get(task, is_state ? "became" : "delivered"))
            return;
        if (is_state)
            json_object_update_new(task, json_pack("{s:s, s:I}", "became", get_text(data, "to", ""),
                                                   "at", (json_int_t)get_int(event, "at", 0)));
        else
            json_object_set_new(task, "delivered", json_true());
        copy_members(task, data, is_state ? "reason" : "changes");
    } else if (strcmp(kind, "task.added") == 0) {
        add_int(g->totals, "added", 1);
    } else if (strcmp(kind, "daemon.started") == 0) {
        add_int(g->totals, "restarts", 1);
    } else if (strcmp(kind, "limiter.limited") == 0) {
        json_t *account = member_object(g->limited, get_text(data, "limiter", "?"));
        add_int(account, "times", 1);
        copy_members(account, data, "until");
    }
}

static int gather_events(struct gathering *g) {
    int64_t before = 0;
    for (unsigned page = 0; page < PAGES_MAX; page++) {
        struct print_text path = print_format("/v1/events?limit=1000");
        if (before > 0)
            path = print_format("/v1/events?limit=1000&before=%" PRId64, before);
        int code = request_get(g->req, path.text);
        const json_t *items = request_items(g->req);
        for (size_t i = json_array_size(items); i-- > 0;) {
            const json_t *event = json_array_get(items, i);
            if (get_int(event, "at", 0) < g->since)
                return code;
            take_event(g, event);
            before = get_int(event, "seq", 0);
        }
        if (code != CMD_OK || json_array_size(items) == 0 || before <= 1)
            return code;
    }
    json_object_set_new(g->digest, "partial", json_true());
    return CMD_OK;
}

/* --- outcomes -------------------------------------------------------------------------------- */

static int compare_int(const json_t *a, const json_t *b, const char *member) {
    int64_t x = get_int(a, member, 0), y = get_int(b, member, 0);
    return x < y ? -1 : x > y;
}

/* The latest first. */
static int by_time(const void *a, const void *b) {
    return compare_int(*(json_t *const *)b, *(json_t *const *)a, "at");
}

/* The first `most` items of a list, which is taken. */
static json_t *sorted(json_t *list, int (*compare)(const void *, const void *), size_t most) {
    size_t count = json_array_size(list);
    json_t **items = xcalloc(count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++)
        items[i] = json_array_get(list, i);
    qsort(items, count, sizeof(*items), compare);
    json_t *ret = json_array();
    for (size_t i = 0; i < count && i < most; i++)
        json_array_append(ret, items[i]);
    free(items);
    json_decref(list);
    return ret;
}

/* The last line of a run's output; plain commands usually explain a failure there. */
static bool take_last_line(struct gathering *g, json_t *task, const char *stream) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, line = STRBUF_INIT;
    /* One event of an agent may be much longer than its text. */
    request_path(&path, "/v1/tasks/", get_text(task, "id", ""),
                 "/log?format=text&tail=65536&stream=");
    strbuf_puts(&path, stream);
    if (client_call(g->req->client, "GET", strbuf_text(&path), NULL, NULL, NULL) != 200)
        return false;
    const char *text = client_text(g->req->client);
    size_t size = strlen(text);
    while (size > 0 && (unsigned char)text[size - 1] <= ' ')
        size--;
    size_t begin = size;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    strbuf_add(&line, text + begin, size - begin);
    if (line.length > 0)
        json_object_set_new(task, "message", json_text(strbuf_text(&line)));
    return line.length > 0;
}

/* Completes tasks one by one: those without a run in this period, unless they are deleted; and for
 * `messages` the end of the log of runs without a message. */
static void complete_tasks(struct gathering *g, const json_t *list, bool messages) {
    unsigned found = 0, read = 0;
    EACH_ITEM(task, list) {
        bool has_run = get_int(task, "runs", 0) > 0;
        if (!has_run && found++ < READ_MAX
            && request_try_task(g->req, get_text(task, "id", "")) == 0)
            copy_members(task, g->req->answer, "title project agent");
        if (messages && has_run && !json_object_get(task, "message") && read++ < READ_MAX
            && !take_last_line(g, task, "err"))
            (void)take_last_line(g, task, "out");
    }
}

static void sort_tasks(struct gathering *g) {
    static const char *const states[] = { "done", "failed", "canceled" };
    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        json_t *list = json_array();
        EACH_MEMBER(id, task, g->tasks) {
            json_object_set_new(task, "id", json_string(id));
            if (strcmp(get_text(task, "became", ""), states[i]) == 0)
                json_array_append(list, task);
        }
        json_object_set_new(g->totals, states[i], json_integer((json_int_t)json_array_size(list)));
        list = sorted(list, by_time, TASKS_MAX);
        complete_tasks(g, list, strcmp(states[i], "failed") == 0);
        if (strcmp(states[i], "canceled") == 0) /* by a user: the count is enough */
            json_decref(list);
        else
            json_object_set_new(g->digest, states[i], list);
    }
}

/* --- present state --------------------------------------------------------------------------- */

/* Something that waits for a person. `verb`: the command for it, before the name; NULL: unknown. */
static void add_action(json_t *people, json_t *item, const char *verb, const char *name) {
    if (verb)
        json_object_set_new(item, "do", json_sprintf("sluice %s %s", verb, name));
    json_array_append_new(people, item);
}

/* The position of the alert about a task; SIZE_MAX: none. */
static size_t find_alert(const json_t *people, const char *task) {
    for (size_t i = 0; task && i < json_array_size(people); i++) {
        const json_t *item = json_array_get(people, i);
        if (member_is(item, "what", "alert") && member_is(item, "task", task))
            return i;
    }
    return SIZE_MAX;
}

/* Instead of its alert, which has the same cause. */
static void add_task_action(json_t *people, const json_t *task, const char *what,
                            const char *verb) {
    size_t alert = find_alert(people, get_text(task, "id", NULL));
    if (alert != SIZE_MAX)
        json_array_remove(people, alert);
    json_t *item = json_pack("{s:s, s:s}", "what", what, "task", get_text(task, "id", "?"));
    copy_members(item, task, "title why");
    add_action(people, item, verb, get_text(task, "id", "?"));
}

/* What was denied, and the command that allows it. */
static void take_denied(json_t *people, const json_t *task) {
    const json_t *denied = json_object_get(task, "denied");
    const char *tool = get_text(denied, "tool", ""), *argument = get_text(denied, "argument", "");
    const char *rule = get_text(denied, "allow", NULL);
    _cleanup_(freep) char *what =
        xasprintf("%s was not permitted to use %s%s%s%s", get_text(denied, "agent", "its agent"),
                  *tool ? tool : "a tool", *argument ? " (" : "", argument, *argument ? ")" : "");
    _cleanup_(freep) char *verb =
        xasprintf("retry%s%s%s", rule ? " --allow '" : "", rule ? rule : "", rule ? "'" : "");
    add_task_action(people, task, what, verb);
}

static void take_held(void *ctx, const json_t *task) {
    static const struct {
        const char *hold, *what, *verb;
    } rows[] = {
        { "review", "waits for review", "approve" },
        { "question", "has asked a question", "answer" },
        { "external", "waits to be closed", "close" },
        { "person", "held by a person", "release" },
        { "breaker", "could not be launched", NULL },
        { "budget", "has used up its budget", NULL },
    };
    if (member_is(task, "hold", "denied"))
        take_denied(ctx, task);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (strcmp(rows[i].hold, get_text(task, "hold", "")) == 0)
            add_task_action(ctx, task, rows[i].what, rows[i].verb);
}

static void take_closed(json_t *people, const json_t *account) {
    const char *message = get_text(account, "said", ""), *fix = get_text(account, "fix", "");
    _cleanup_(strbuf_finish) struct strbuf what = STRBUF_INIT;
    strbuf_puts(&what, "the account is closed: ");
    if (*message)
        strbuf_printf(&what, "%s said \"%s\"; ", get_text(account, "agent", "the agent"), message);
    strbuf_printf(&what, "%s%s", *fix ? fix : "login or bill", *fix ? ", then" : "");
    const char *name = get_text(account, "name", "?");
    add_action(people, json_pack("{s:s, s:s}", "what", strbuf_text(&what), "account", name),
               "limiter clear", name);
}

static int gather_status(struct gathering *g, json_t *people) {
    int code = request_get(g->req, "/v1/status");
    if (code != CMD_OK)
        return code;
    const json_t *status = g->req->answer, *counts = json_object_get(status, "counts");
    json_object_set_new(
        g->totals, "running",
        json_integer(get_int(counts, "running", 0) + get_int(counts, "starting", 0)));
    json_object_set_new(g->totals, "waiting",
                        json_integer(get_int(counts, "waiting", 0) + get_int(counts, "ready", 0)));
    if (get_true(status, "paused"))
        add_action(people,
                   json_pack("{s:s, s:s}", "what", "nothing starts: the queue is paused", "why",
                             "'sluice resume' continues"),
                   NULL, NULL);
    EACH_ITEM(item, json_object_get(status, "limiters")) {
        if (member_is(item, "state", "closed"))
            take_closed(people, item);
    }
    EACH_ITEM(item, json_object_get(status, "alerts")) {
        if (strncmp(get_text(item, "key", ""), "denied:", strlen("denied:")) == 0
            || strncmp(get_text(item, "key", ""), "account:", strlen("account:")) == 0)
            continue; /* already listed as a task or account */
        if (find_alert(people, get_text(item, "task", NULL)) != SIZE_MAX)
            continue; /* the first one is enough */
        json_t *action = json_pack("{s:s}", "what", "alert");
        copy_members(action, item, "task");
        set_text(action, "why", get_text(item, "text", NULL));
        add_action(people, action, NULL, NULL);
    }
    json_t *gates = json_object_get(status, "waiting_by_gate");
    json_object_set(g->digest, "gates", gates ? gates : json_null());
    return CMD_OK;
}

static int by_names(const void *a, const void *b) {
    const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    int order = strcmp(get_text(x, "project", ""), get_text(y, "project", ""));
    return order ? order : strcmp(get_text(x, "agent", ""), get_text(y, "agent", ""));
}

static int by_change(const void *a, const void *b) {
    return compare_int(*(json_t *const *)a, *(json_t *const *)b, "since");
}

static void take_waiting(void *ctx, const json_t *task) {
    json_t *item = json_object();
    copy_members(item, task, "id title state gate why");
    json_object_set_new(item, "since", json_integer(get_int(task, "changed_at", 0)));
    json_array_append_new(ctx, item);
}

/* --- putting it together --------------------------------------------------------------------- */

static json_t *values(const json_t *object, const char *name_member) {
    json_t *ret = json_array();
    EACH_MEMBER(key, value, object) {
        if (name_member)
            json_object_set_new(value, name_member, json_string(key));
        json_array_append(ret, value);
    }
    return ret;
}

static int gather_all(struct gathering *g) {
    static const char *const sums[] = {
        "runs",      "ok",         "added",         "restarts",     "busy_ms",
        "tokens_in", "tokens_out", "tokens_cached", "unknown_cost", "unknown_tokens"
    };
    for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
        json_object_set_new(g->totals, sums[i], json_integer(0));
    json_object_set_new(g->totals, "cost_usd", json_null());
    json_t *people = json_array();
    json_object_set_new(g->digest, "people", people);
    int code = gather_status(g, people);
    if (code == CMD_OK)
        code =
            request_pages(g->req, "/v1/tasks?state=held&limit=1000", TASKS_MAX, take_held, people);
    if (code == CMD_OK)
        code = gather_runs(g);
    if (code == CMD_OK)
        code = gather_money(g);
    if (code == CMD_OK)
        code = gather_events(g);
    /* The longest in their state, of the oldest thousand. */
    json_t *waits = json_array();
    if (code == CMD_OK)
        code = request_pages(g->req, "/v1/tasks?state=ready,waiting&order=old&limit=1000",
                             TASKS_MAX, take_waiting, waits);
    json_object_set_new(g->digest, "waits", sorted(waits, by_change, WAITS_MAX));
    if (code != CMD_OK)
        return code;
    sort_tasks(g);
    json_object_set_new(g->digest, "spent", sorted(values(g->spent, NULL), by_names, SIZE_MAX));
    json_object_set_new(g->digest, "limited", values(g->limited, "name"));
    return CMD_OK;
}

/* --- the page: actions for a person, then failures, then the rest --------------------------- */

#define SHOWN_MAX 50u

/* "$1.25", or "unknown". */
static void put_money(struct strbuf *out, const json_t *sums) {
    int64_t unknown = get_int(sums, "unknown_cost", 0), runs = get_int(sums, "runs", 0);
    bool known = json_is_number(json_object_get(sums, "cost_usd"));
    if (known)
        strbuf_puts(out, print_usd(get_real(sums, "cost_usd", 0)).text);
    if (unknown > 0 && known)
        strbuf_printf(out, " (cost of %" PRId64 " run%s unknown)", unknown,
                      unknown == 1 ? "" : "s");
    else if (!known)
        strbuf_puts(out, runs > 0 ? "cost unknown" : "$0.00");
}

static void put_part(struct strbuf *out, int64_t count, const char *what) {
    strbuf_puts(out, out->length > 0 ? " · " : "");
    text_count(out, count);
    strbuf_printf(out, " %s", what);
}

static void print_totals(struct page *page, const json_t *digest) {
    const json_t *t = json_object_get(digest, "totals");
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    put_part(&line, get_int(t, "done", 0), "done");
    put_part(&line, get_int(t, "failed", 0), "failed");
    if (get_int(t, "canceled", 0) > 0)
        put_part(&line, get_int(t, "canceled", 0), "canceled");
    put_part(&line, get_int(t, "added", 0), "added");
    put_part(&line, get_int(t, "running", 0), "running now");
    put_part(&line, get_int(t, "waiting", 0), "waiting now");
    int64_t starts = get_int(t, "restarts", 0);
    if (starts > 0)
        put_part(&line, starts, starts == 1 ? "start of the daemon" : "starts of the daemon");
    page_line(page, strbuf_text(&line));
    strbuf_clear(&line);
    put_part(&line, get_int(t, "runs", 0), get_int(t, "runs", 0) == 1 ? "run (" : "runs (");
    text_count(&line, get_int(t, "ok", 0));
    strbuf_puts(&line, " ok), ");
    text_duration(&line, get_int(t, "busy_ms", 0));
    put_part(&line, get_int(t, "tokens_in", 0), "tokens in,");
    strbuf_putc(&line, ' ');
    text_count(&line, get_int(t, "tokens_out", 0));
    strbuf_puts(&line, " out · ");
    put_money(&line, t);
    double live = get_real(t, "live_usd", 0);
    if (live > 0)
        strbuf_printf(&line, " + %s in live runs", print_usd(live).text);
    page_line(page, strbuf_text(&line));
    if (get_true(digest, "partial"))
        page_line(page, "Only the most recent events were counted, so the numbers are too low.");
}

/* A list with its heading and count, cut to SHOWN_MAX; nothing if it is empty. */
static void print_list(struct page *page, const json_t *list, const char *heading, int64_t count,
                       void (*print)(struct page *page, const json_t *item)) {
    if (json_array_size(list) > 0)
        page_heading(page, heading, (long)count);
    for (size_t i = 0; i < json_array_size(list) && i < SHOWN_MAX; i++)
        print(page, json_array_get(list, i));
    if (count > (int64_t)SHOWN_MAX)
        page_item(page, NULL,
                  print_format("… and %" PRId64 " more", count - (int64_t)SHOWN_MAX).text, NULL);
}

static void print_action(struct page *page, const json_t *item) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *title = get_text(item, "title", ""), *why = get_text(item, "why", "");
    const char *code = get_text(item, "do", NULL);
    strbuf_printf(&text, "%s%s%s", title, *title ? ": " : "", get_text(item, "what", ""));
    if (code)
        strbuf_putc(&text, ':');
    else if (*why)
        strbuf_printf(&text, ": %s", why);
    page_item(page, get_text(item, "task", get_text(item, "account", NULL)), strbuf_text(&text),
              code);
}

static void print_failed(struct page *page, const json_t *task) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *message = get_text(task, "message", "");
    int64_t runs = get_int(task, "runs", 0);
    strbuf_puts(&text, get_text(task, "title", ""));
    if (*message)
        strbuf_printf(&text, "%s%s", text.length ? ": " : "", message);
    strbuf_printf(&text, " (%s", get_text(task, "reason", "failed"));
    if (runs > 0)
        strbuf_printf(&text, ", %" PRId64 " run%s", runs, runs == 1 ? "" : "s");
    strbuf_putc(&text, ')');
    page_item(page, get_text(task, "id", "?"), strbuf_text(&text), NULL);
}

static void print_done(struct page *page, const json_t *task) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, get_text(task, "title", ""));
    if (get_int(task, "runs", 0) > 0) {
        strbuf_printf(&text, " (%s%s", get_text(task, "agent", ""),
                      json_object_get(task, "agent") ? ", " : "");
        text_duration(&text, get_int(task, "busy_ms", 0));
        if (json_is_number(json_object_get(task, "cost_usd")))
            strbuf_printf(&text, ", %s", print_usd(get_real(task, "cost_usd", 0)).text);
        strbuf_putc(&text, ')');
    }
    strbuf_puts(&text, print_is_empty(task) ? ": no changes" : "");
    page_item(page, get_text(task, "id", "?"), strbuf_text(&text), NULL);
}

static void print_spent(struct page *page, const json_t *digest) {
    const json_t *list = json_object_get(digest, "spent");
    if (json_array_size(list) == 0)
        return;
    page_heading(page, "Tokens and money", -1);
    page_table(
        page,
        (const char *[]){ "project", "agent", "runs", "ok", "time", "tokens in", "out", "cost" },
        8);
    EACH_ITEM(item, list) {
        _cleanup_(strbuf_finish) struct strbuf time = STRBUF_INIT, cost = STRBUF_INIT;
        bool silent = get_int(item, "unknown_tokens", 0) == get_int(item, "runs", 0);
        text_duration(&time, get_int(item, "busy_ms", 0));
        put_money(&cost, item);
        page_row(page, (const char *[]){
                           get_text(item, "project", "none"), get_text(item, "agent", "none"),
                           print_count(get_int(item, "runs", 0)).text,
                           print_count(get_int(item, "ok", 0)).text, strbuf_text(&time),
                           silent ? "unknown" : print_count(get_int(item, "tokens_in", 0)).text,
                           silent ? "unknown" : print_count(get_int(item, "tokens_out", 0)).text,
                           strbuf_text(&cost) });
    }
}

static void print_waits(struct page *page, const json_t *digest) {
    const json_t *list = json_object_get(digest, "waits");
    time_ms now = get_int(digest, "until", 0);
    if (json_array_size(list) == 0)
        return;
    page_heading(page, "Longest waits", -1);
    page_table(page, (const char *[]){ "task", "title", "since", "gate", "why" }, 5);
    EACH_ITEM(item, list) {
        page_row(page, (const char *[]){ get_text(item, "id", "?"), get_text(item, "title", ""),
                                         cell_when(item, "since", now).text,
                                         get_text(item, "gate", ""), get_text(item, "why", "") });
    }
}

static void print_limits(struct page *page, const json_t *digest) {
    const json_t *limited = json_object_get(digest, "limited");
    const json_t *gates = json_object_get(digest, "gates");
    if (json_array_size(limited) + json_array_size(gates) == 0)
        return;
    page_heading(page, "Limits", -1);
    EACH_ITEM(item, limited) {
        int64_t times = get_int(item, "times", 0);
        page_item(page, get_text(item, "name", "?"),
                  print_format("was limited %" PRId64 " time%s, at last until %s", times,
                               times == 1 ? "" : "s", cell_time(get_int(item, "until", 0)).text)
                      .text,
                  NULL);
    }
    for (size_t i = 0; i < json_array_size(gates) && i < SHOWN_MAX; i++) {
        const json_t *item = json_array_get(gates, i);
        page_item(page, get_text(item, "gate", "?"),
                  print_format("stops %s now", print_count(get_int(item, "count", 0)).text).text,
                  NULL);
    }
}

static void digest_print(const json_t *digest, bool html, struct strbuf *out) {
    struct page page = { .html = html, .out = out };
    _cleanup_(strbuf_finish) struct strbuf title = STRBUF_INIT;
    time_ms since = get_int(digest, "since", 0), until = get_int(digest, "until", 0);
    strbuf_printf(&title, "Sluice since %s (", cell_time(since).text);
    text_duration(&title, until - since);
    strbuf_putc(&title, ')');
    page_begin(&page, strbuf_text(&title));
    print_totals(&page, digest);
    const json_t *people = json_object_get(digest, "people");
    const json_t *totals = json_object_get(digest, "totals");
    print_list(&page, people, "Waiting for a person", (int64_t)json_array_size(people),
               print_action);
    print_list(&page, json_object_get(digest, "failed"), "Failed", get_int(totals, "failed", 0),
               print_failed);
    print_list(&page, json_object_get(digest, "done"), "Done", get_int(totals, "done", 0),
               print_done);
    print_spent(&page, digest);
    print_waits(&page, digest);
    print_limits(&page, digest);
    page_end(&page);
}

#define SINCE_STANDARD "12h"

int digest_since(const char *text, time_ms now, time_ms *ret_since, struct error *err) {
    bool yesterday = strcmp(text, "yesterday") == 0;
    if (!yesterday && strcmp(text, "today") != 0)
        return moment_parse_past(text, now, ret_since, err);
    time_t seconds = now / 1000;
    struct tm tm;
    (void)localtime_r(&seconds, &tm);
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_mday -= yesterday;
    tm.tm_isdst = -1;
    *ret_since = SECONDS(mktime(&tm));
    return 0;
}

static int run(const struct cmd_call *call) {
    static const char *const formats[] = { "markdown", "html", "json", NULL };
    const char *text = cmd_value(call, "since");
    time_ms now = clock_read(), since = 0;
    struct error err = { 0 };
    int format = cmd_choice(call, "format", formats);
    bool html = format == 1, json = format == 2;
    if (format < 0)
        return CMD_USAGE;
    if (call->json && cmd_has(call, "format") && !json)
        return cmd_usage_error(call->cmd, "'--json' and '--format %s' cannot be used together",
                               cmd_value(call, "format"));
    if (digest_since(text ? text : SINCE_STANDARD, now, &since, &err) < 0)
        return cmd_usage_error(call->cmd, "option '--since': %s", err.text);
    _cleanup_(request_finish) struct request req = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    json_auto_t *tasks = json_object(), *spent = json_object(), *limited = json_object();
    json_auto_t *digest = json_pack("{s:I, s:I, s:b, s:{}}", "since", (json_int_t)since, "until",
                                    (json_int_t)now, "partial", 0, "totals");
    struct gathering g = { &req,  since, digest, json_object_get(digest, "totals"),
                           tasks, spent, limited };
    int code = gather_all(&g);
    if (code != CMD_OK)
        return code;
    if (json || call->json)
        return output_json(json_incref(digest));
    digest_print(digest, html, &out);
    output_rest(&out);
    return CMD_OK;
}

const struct cmd cmd_digest = {
    "digest", run, 0, 0,
    CMD_OPTIONS({ "since", 's', "WHEN",
                  "start of the period: 12h, yesterday, today, 18:30, 2027-01-31; default 12h" },
                { "format", 'f', "FORMAT", "markdown (the default), html or json" })
};
