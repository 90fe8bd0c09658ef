/* probe_answer.c: what the exit code and the output of a probe mean. No state. */
#include <string.h>

#include "base/safe_text.h"
#include "engine/probes/probes_internal.h"

const char *probe_answer_name(enum probe_answer answer) {
    static const char *const names[] = {
        [PROBE_UNKNOWN] = "unknown",
        [PROBE_YES] = "yes",
        [PROBE_PENDING] = "not yet",
        [PROBE_NO] = "no",
    };
    return names[answer];
}

/* The last line that has more than blanks; control characters are removed. */
static void put_last_line(const char *text, size_t size, struct strbuf *out) {
    while (size > 0 && strchr(" \t\r\n", text[size - 1]))
        size--;
    size_t from = size;
    while (from > 0 && text[from - 1] != '\n')
        from--;
    _cleanup_(freep) char *line = xstrndup(text + from, size - from);
    sanitize_line(line, out);
    if (out->length <= PROBE_LINE_MAX)
        return;
    size_t length = PROBE_LINE_MAX;
    while (length > 0 && ((unsigned char)out->text[length] & 0xC0) == 0x80)
        length--; /* never inside a character */
    strbuf_cut(out, length);
}

enum probe_answer probe_answer_of(const struct helper_end *end, struct strbuf *reason) {
    if (end->error) {
        strbuf_printf(reason, "cannot be run: %.150s", *end->why ? end->why : strerror(end->error));
        return PROBE_NO;
    }
    if (end->timed_out) {
        strbuf_puts(reason, "took too long");
        return PROBE_NO;
    }
    put_last_line(end->output, end->size, reason);
    if (end->code == 0)
        return PROBE_YES;
    if (end->code == PROBE_NOT_YET)
        return PROBE_PENDING;
    if (reason->length == 0 && end->signal)
        strbuf_printf(reason, "signal %d", end->signal);
    else if (reason->length == 0)
        strbuf_printf(reason, "exit code %d", end->code);
    return PROBE_NO;
}

time_ms probe_pause(time_ms every, time_ms most, uint32_t repeats) {
    time_ms pause = every;
    while (repeats-- > 0 && pause < most)
        pause = pause > most / 2 ? most : pause * 2;
    return pause;
}
