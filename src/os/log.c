/* log.c: one line, one write, so that lines of two processes never mix.
 *
 * A reader that hangs (a pager, a log collector) must not block the scheduler: a line that would
 * block is dropped, and the next one reports the number dropped. */
#include "os/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/strbuf.h"
#include "os/clock.h"

static unsigned dropped;
static enum log_level highest = LOG_INFO_LEVEL;

static const char *const level_names[LOG_LEVEL_MAX] = { "error", "warning", "info", "debug" };

void log_set_level(enum log_level level) {
    highest = level;
}

bool log_is_on(enum log_level level) {
    return level <= highest;
}

/* True: it is written, or stderr is closed. */
static bool write_to_stderr(const struct strbuf *line) {
    struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
    if (poll(&out, 1, 0) == 0)
        return false;
    ssize_t n = write(STDERR_FILENO, line->text, line->length);
    (void)n; /* there is no other place to report it */
    return true;
}

_printf_(2, 0) static void write_line(enum log_level level, const char *format, va_list args) {
    struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
    strbuf_vprintf(&text, format, args);
    time_ms now = clock_read();
    time_t seconds = (time_t)(now / 1000);
    struct tm tm;
    char at[40];
    gmtime_r(&seconds, &tm);
    size_t length = strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(at + length, sizeof(at) - length, ".%03dZ", (int)(now % 1000));
    struct json_writer w;
    json_write_init(&w, &line, false);
    json_write_object_begin(&w);
    json_put_string(&w, "at", at);
    json_put_string(&w, "level", level_names[level]);
    json_put_string(&w, "text", strbuf_text(&text));
    if (dropped > 0)
        json_put_int(&w, "dropped", dropped);
    json_write_object_end(&w);
    strbuf_putc(&line, '\n');
    dropped = write_to_stderr(&line) ? 0 : dropped + 1;
    strbuf_finish(&text);
    strbuf_finish(&line);
}

#define DEFINE_LEVEL(name, level)                                                                  \
    void name(const char *format, ...) {                                                           \
        if (!log_is_on(level))                                                                     \
            return;                                                                                \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        write_line(level, format, args);                                                           \
        va_end(args);                                                                              \
    }                                                                                              \
    struct level_needs_a_semicolon_

DEFINE_LEVEL(log_error, LOG_ERROR_LEVEL);
DEFINE_LEVEL(log_warning, LOG_WARNING_LEVEL);
DEFINE_LEVEL(log_info, LOG_INFO_LEVEL);
DEFINE_LEVEL(log_debug, LOG_DEBUG_LEVEL);
