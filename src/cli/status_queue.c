/* status_queue.c: see status_queue.h. */
#include "cli/status_queue.h"

#include "cli/ask.h"
#include "cli/output.h"
#include "cli/sanitize.h"

static void put_depths(const json_t *queue, struct strbuf *out) {
    const char *kind;
    json_t *depth;
    int64_t rest = ask_int(queue, "depth", 0);
    const char *comma = "";
    json_object_foreach(json_object_get(queue, "depths"), kind, depth) {
        strbuf_puts(out, comma);
        sanitize_line(kind, out);
        strbuf_printf(out, " %lld", (long long)json_integer_value(depth));
        rest -= json_integer_value(depth);
        comma = ", ";
    }
    if (rest > 0)
        strbuf_printf(out, "%sof no kind %lld", comma, (long long)rest);
}

static size_t put_warning(const char *warning, struct strbuf *out) {
    const struct output_style *style = output_style();
    if (!warning)
        return 0;
    strbuf_puts(out, style->yellow);
    sanitize_line(warning, out);
    strbuf_printf(out, "%s\n", style->reset);
    return 1;
}

size_t status_queue(const json_t *status, struct strbuf *out) {
    size_t lines = put_warning(ask_text(status, "warning", NULL), out);
    const json_t *queue = json_object_get(status, "queue");
    const char *warning = ask_text(queue, "warning", NULL);
    int64_t soft = ask_int(queue, "soft", -1), hard = ask_int(queue, "hard", -1);
    if (warning)
        return lines + put_warning(warning, out);
    if (json_object_size(json_object_get(queue, "depths")) == 0)
        return lines;
    strbuf_puts(out, "queue: ");
    put_depths(queue, out);
    if (soft >= 0)
        strbuf_printf(out, "; soft limit %lld", (long long)soft);
    if (hard >= 0)
        strbuf_printf(out, "; hard limit %lld", (long long)hard);
    strbuf_putc(out, '\n');
    return lines + 1;
}
