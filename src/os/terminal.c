/* terminal.c: asks the kernel and the environment about the terminal. */
#include "os/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/macros.h"

#define WIDTH_UNKNOWN  80
#define HEIGHT_UNKNOWN 24
#define SIZE_MOST      10000

bool terminal_is(FILE *file) {
    return isatty(fileno(file)) == 1;
}

/* A number from the environment; 0: not set. */
static unsigned number_in(const char *variable) {
    const char *text = getenv(variable);
    char *end;
    unsigned long n = text ? strtoul(text, &end, 10) : 0;
    return text && *text && !*end && n <= SIZE_MOST ? (unsigned)n : 0;
}

/* The environment wins; 0 from the kernel means unknown. */
static unsigned size_of(FILE *file, const char *variable, bool is_width, unsigned unknown) {
    struct winsize size = { 0 };
    unsigned given = number_in(variable);
    if (given == 0 && ioctl(fileno(file), TIOCGWINSZ, &size) == 0)
        given = is_width ? size.ws_col : size.ws_row;
    return given > 0 ? given : unknown;
}

unsigned terminal_width(FILE *file) {
    return size_of(file, "COLUMNS", true, WIDTH_UNKNOWN);
}

unsigned terminal_height(FILE *file) {
    return size_of(file, "LINES", false, HEIGHT_UNKNOWN);
}

bool terminal_has_colour(FILE *file) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return terminal_is(file) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

bool terminal_is_utf8(void) {
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *value = getenv(names[i]);
        if (value && value[0])
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}
