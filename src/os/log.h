/* log.h: the daemon's log.
 *
 * One JSON object per line on standard error: {"at":"2026-01-02T03:04:05.678Z","level":"info",
 * "text":"…"}. External text is escaped, so lines cannot be forged. */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

enum log_level {
    LOG_ERROR_LEVEL,
    LOG_WARNING_LEVEL,
    LOG_INFO_LEVEL,
    LOG_DEBUG_LEVEL,
    LOG_LEVEL_MAX
};

/* Less severe lines are not written; initially: info. */
void log_set_level(enum log_level level);
bool log_is_on(enum log_level level);

void log_error(const char *format, ...) _printf_(1, 2);   /* malfunction */
void log_warning(const char *format, ...) _printf_(1, 2); /* works, but a user should know */
void log_info(const char *format, ...) _printf_(1, 2);    /* start, stop, what was found */
void log_debug(const char *format, ...) _printf_(1, 2);   /* individual decisions */
