/* digest_print.c: a digest as a page: first what somebody must do, then what went wrong, then the rest. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cell.h"
#include "cli/digest.h"
#include "cli/page.h"
#include "cli/print_task.h"
#include "sim/text.h"

#define SHOWN_MAX 50u

/* "$1.25", or that nobody knows. */
static void put_money(struct strbuf *out, const json_t *sums) {
    int64_t unknown = ask_int(sums, "unknown_cost", 0), runs = ask_int(sums, "runs", 0);
    bool known = json_is_number(json_object_get(sums, "cost_usd"));
    if (known)
        strbuf_puts(out, print_usd(ask_real(sums, "cost_usd", 0)).text);
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
    put_part(&line, ask_int(t, "done", 0), "done");
    put_part(&line, ask_int(t, "failed", 0), "failed");
    if (ask_int(t, "canceled", 0) > 0)
        put_part(&line, ask_int(t, "canceled", 0), "canceled");
    put_part(&line, ask_int(t, "added", 0), "added");
    put_part(&line, ask_int(t, "running", 0), "running now");
    put_part(&line, ask_int(t, "waiting", 0), "waiting now");
    int64_t starts = ask_int(t, "restarts", 0);
    if (starts > 0)
        put_part(&line, starts, starts == 1 ? "start of the daemon" : "starts of the daemon");
    page_line(page, strbuf_text(&line));
    strbuf_clear(&line);
    put_part(&line, ask_int(t, "runs", 0), ask_int(t, "runs", 0) == 1 ? "run (" : "runs (");
    text_count(&line, ask_int(t, "ok", 0));
    strbuf_puts(&line, " ok), ");
    text_duration(&line, ask_int(t, "busy_ms", 0));
    put_part(&line, ask_int(t, "tokens_in", 0), "tokens in,");
    strbuf_putc(&line, ' ');
    text_count(&line, ask_int(t, "tokens_out", 0));
    strbuf_puts(&line, " out · ");
    put_money(&line, t);
    page_line(page, strbuf_text(&line));
    if (ask_true(digest, "partial"))
        page_line(page, "So much has happened that only the last part was looked at: the numbers "
                        "are too small.");
}

/* A list with its heading; nothing when it is empty. */
static const json_t *begin_list(struct page *page, const json_t *digest, const char *key,
                                const char *heading, int64_t count) {
    const json_t *list = json_object_get(digest, key);
    if (json_array_size(list) > 0)
        page_heading(page, heading, (long)count);
    return list;
}

static void say_more(struct page *page, int64_t all) {
    if (all <= (int64_t)SHOWN_MAX)
        return;
    char text[80];
    (void)snprintf(text, sizeof(text), "… and %" PRId64 " more", all - (int64_t)SHOWN_MAX);
    page_item(page, NULL, text, NULL);
}

static void print_people(struct page *page, const json_t *digest) {
    size_t count = json_array_size(json_object_get(digest, "people"));
    const json_t *list = begin_list(page, digest, "people", "Waits for a person", (int64_t)count);
    for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
        const json_t *item = json_array_get(list, i);
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        const char *title = ask_text(item, "title", ""), *why = ask_text(item, "why", "");
        const char *what = ask_text(item, "what", ""), *code = ask_text(item, "do", NULL);
        strbuf_printf(&text, "%s%s%s", title, *title ? ": " : "", what);
        if (*why && !code)
            strbuf_printf(&text, ": %s", why);
        if (code)
            strbuf_putc(&text, ':');
        page_item(page, ask_text(item, "task", ask_text(item, "account", NULL)), strbuf_text(&text),
                  code);
    }
    say_more(page, (int64_t)count);
}

static void print_failed(struct page *page, const json_t *digest) {
    int64_t all = ask_int(json_object_get(digest, "totals"), "failed", 0);
    const json_t *list = begin_list(page, digest, "failed", "Failed", all);
    for (size_t i = 0; i < json_array_size(list) && i < SHOWN_MAX; i++) {
        const json_t *task = json_array_get(list, i);
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        const char *message = ask_text(task, "message", "");
        int64_t runs = ask_int(task, "runs", 0);
        strbuf_puts(&text, ask_text(task, "title", ""));
        if (*message)
            strbuf_printf(&text, "%s%s", text.length ? ": " : "", message);
        strbuf_printf(&text, " (%s", ask_text(task, "reason", "failed"));
        if (runs > 0)
            strbuf_printf(&text, ", %" PRId64 " run%s", runs, runs == 1 ? "" : "s");
        strbuf_putc(&text, ')');
        page_item(page, ask_text(task, "id", "?"), strbuf_text(&text), NULL);
    }
    say_more(page, all);
}

static void print_done(struct page *page, const json_t *digest) {
    int64_t all = ask_int(json_object_get(digest, "totals"), "done", 0);
    const json_t *list = begin_list(page, digest, "done", "Done", all);
    for (size_t i = 0; i < json_array_size(list) && i < SHOWN_MAX; i++) {
        const json_t *task = json_array_get(list, i);
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        strbuf_puts(&text, ask_text(task, "title", ""));
        if (ask_int(task, "runs", 0) > 0) {
            strbuf_printf(&text, " (%s%s", ask_text(task, "agent", ""),
                          json_object_get(task, "agent") ? ", " : "");
            text_duration(&text, ask_int(task, "busy_ms", 0));
            if (json_is_number(json_object_get(task, "cost_usd")))
                strbuf_printf(&text, ", %s", print_usd(ask_real(task, "cost_usd", 0)).text);
            strbuf_putc(&text, ')');
        }
        if (print_is_empty(task))
            strbuf_puts(&text, ": no changes");
        page_item(page, ask_text(task, "id", "?"), strbuf_text(&text), NULL);
    }
    say_more(page, all);
}

static void print_spent(struct page *page, const json_t *digest) {
    const json_t *list = begin_list(page, digest, "spent", "Tokens and money", -1);
    if (json_array_size(list) == 0)
        return;
    page_table(
        page,
        (const char *[]){ "project", "agent", "runs", "ok", "time", "tokens in", "out", "cost" },
        8);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        _cleanup_(strbuf_finish) struct strbuf time = STRBUF_INIT, cost = STRBUF_INIT;
        bool silent = ask_int(item, "unknown_tokens", 0) == ask_int(item, "runs", 0);
        text_duration(&time, ask_int(item, "busy_ms", 0));
        put_money(&cost, item);
        page_row(page, (const char *[]){
                           ask_text(item, "project", "none"), ask_text(item, "agent", "none"),
                           print_count(ask_int(item, "runs", 0)).text,
                           print_count(ask_int(item, "ok", 0)).text, strbuf_text(&time),
                           silent ? "unknown" : print_count(ask_int(item, "tokens_in", 0)).text,
                           silent ? "unknown" : print_count(ask_int(item, "tokens_out", 0)).text,
                           strbuf_text(&cost) });
    }
}

static void print_waits(struct page *page, const json_t *digest) {
    const json_t *list = begin_list(page, digest, "waits", "Waits longest", -1);
    time_ms now = ask_int(digest, "until", 0);
    if (json_array_size(list) == 0)
        return;
    page_table(page, (const char *[]){ "task", "title", "since", "gate", "why" }, 5);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        page_row(page, (const char *[]){ ask_text(item, "id", "?"), ask_text(item, "title", ""),
                                         cell_span(item, "since", now).text,
                                         ask_text(item, "gate", ""), ask_text(item, "why", "") });
    }
}

static void print_limits(struct page *page, const json_t *digest) {
    const json_t *limited = json_object_get(digest, "limited");
    const json_t *gates = json_object_get(digest, "gates");
    if (json_array_size(limited) + json_array_size(gates) == 0)
        return;
    page_heading(page, "Limits", -1);
    for (size_t i = 0; i < json_array_size(limited); i++) {
        const json_t *item = json_array_get(limited, i);
        char text[160];
        (void)snprintf(text, sizeof(text), "was limited %" PRId64 " time%s, at last until %s",
                       ask_int(item, "times", 0), ask_int(item, "times", 0) == 1 ? "" : "s",
                       cell_time(ask_int(item, "until", 0)).text);
        page_item(page, ask_text(item, "name", "?"), text, NULL);
    }
    for (size_t i = 0; i < json_array_size(gates) && i < SHOWN_MAX; i++) {
        const json_t *item = json_array_get(gates, i);
        char text[80];
        (void)snprintf(text, sizeof(text), "stops %s now",
                       print_count(ask_int(item, "count", 0)).text);
        page_item(page, ask_text(item, "gate", "?"), text, NULL);
    }
}

void digest_print(const json_t *digest, bool html, struct strbuf *out) {
    struct page page = { .html = html, .out = out };
    _cleanup_(strbuf_finish) struct strbuf title = STRBUF_INIT;
    time_ms since = ask_int(digest, "since", 0), until = ask_int(digest, "until", 0);
    strbuf_printf(&title, "Sluice since %s (", cell_time(since).text);
    text_duration(&title, until - since);
    strbuf_putc(&title, ')');
    page_begin(&page, strbuf_text(&title));
    print_totals(&page, digest);
    print_people(&page, digest);
    print_failed(&page, digest);
    print_done(&page, digest);
    print_spent(&page, digest);
    print_waits(&page, digest);
    print_limits(&page, digest);
    page_end(&page);
}
