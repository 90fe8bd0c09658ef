/* terminal.c: asks the kernel and the environment about the terminal. */
#include "os/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_UNKNOWN 80
#define WIDTH_MAX     10000

bool terminal_is(FILE *file) {
    return isatty(fileno(file)) == 1;
}

unsigned terminal_width(FILE *file) {
    const char *columns = getenv("COLUMNS");
    if (columns) {
        char *end;
        unsigned long n = strtoul(columns, &end, 10);
        if (*columns && !*end && n > 0 && n <= WIDTH_MAX)
            return (unsigned)n;
    }
    struct winsize size;
    if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return WIDTH_UNKNOWN;
}

bool terminal_has_colour(FILE *file) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return terminal_is(file) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}
