/* event_list.c: an event's own data is printed as it comes, key=value, so that a new kind of event
 * needs nothing here. */
#include "cli/event_list.h"

#include <inttypes.h>
#include <string.h>

#include "base/safe_text.h"
#include "cli/print_task.h"

#define PAGE 1000

int event_list_after(struct ask *ask, const char *task, int64_t after, size_t most, ask_each each,
                     void *ctx) {
    for (;;) {
        size_t limit = most < PAGE ? most : PAGE;
        if (limit == 0)
            return CMD_OK;
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        strbuf_printf(&path, "/v1/events?limit=%zu&after=%" PRId64, limit, after);
        client_query(&path, "task", task);
        int code = ask_get(ask, strbuf_text(&path));
        if (code != CMD_OK)
            return code;
        size_t i;
        json_t *event;
        int64_t last = after;
        json_array_foreach(ask_items(ask), i, event) {
            each(ctx, event);
            last = ask_int(event, "seq", last);
        }
        if (i < limit || last <= after)
            return CMD_OK;
        after = last;
        most -= i;
    }
}

static void add_value(const json_t *value, struct strbuf *out) {
    if (json_is_string(value)) {
        const char *text = json_string_value(value);
        bool plain = *text && !strpbrk(text, " \t\n\"=");
        strbuf_puts(out, plain ? "" : "\"");
        sanitize_line(text, out);
        strbuf_puts(out, plain ? "" : "\"");
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    ask_dump(value, &text);
    text.text[--text.length] = '\0'; /* the newline */
    sanitize_line(text.text, out);
}

void event_list_line(const json_t *event, struct strbuf *out) {
    strbuf_printf(out, "%s  %-6" PRId64 "  ", cell_time(ask_int(event, "at", 0)).text,
                  ask_int(event, "seq", 0));
    _cleanup_(strbuf_finish) struct strbuf part = STRBUF_INIT;
    sanitize_line(ask_text(event, "kind", "?"), &part);
    strbuf_printf(out, "%-16s", strbuf_text(&part));
    const char *task = ask_text(event, "task", NULL);
    if (task) {
        strbuf_puts(out, "  ");
        sanitize_line(task, out);
        int64_t attempt = ask_int(event, "attempt", 0);
        if (attempt > 0)
            strbuf_printf(out, ".%" PRId64, attempt);
    }
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(event, "data"), key, value) {
        if (json_is_null(value))
            continue;
        strbuf_puts(out, "  ");
        sanitize_line(key, out);
        strbuf_putc(out, '=');
        if (strcmp(key, "until") == 0 && json_is_integer(value))
            strbuf_printf(out, "\"%s\"", cell_time(json_integer_value(value)).text);
        else
            add_value(value, out);
    }
    while (out->length > 0 && out->text[out->length - 1] == ' ')
        out->text[--out->length] = '\0';
    strbuf_putc(out, '\n');
}
