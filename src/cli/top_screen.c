/* top_screen.c: cells and keys, through ncurses.
 *
 * The caller blocks signals and reads them from a descriptor, so ncurses' own handlers never run
 * and nothing is drawn inside one. Without colors (NO_COLOR, an old terminal), symbols, bold and
 * reverse remain. */
#include "cli/top.h"

#include "base/macros.h"
#include "core/state_style.h"

/* After our headers: it defines words like `lines` and `columns`. */
#include <curses.h>
#include <term.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

static SCREEN *screen;
static bool has_colours;
static bool knows_mouse; /* the terminal reports it */
static bool is_ansi;     /* its control sequences begin with ESC [ */
static bool is_pasting;

/* --- crashes --------------------------------------------------------------------------------- */

/* Sequences that restore the terminal, prepared because a signal handler may do little. */
static struct termios terminal_before;
static char leave_bytes[128];
static size_t leave_size;

static bool has_capability(const char *name) {
    const char *text = tigetstr(name);
    return text && text != (char *)-1;
}

static void add_leave_text(const char *text) {
    size_t size = strlen(text);
    if (leave_size + size >= sizeof(leave_bytes))
        return;
    (void)snprintf(leave_bytes + leave_size, sizeof(leave_bytes) - leave_size, "%s", text);
    leave_size += size;
}

static void add_leave(const char *capability) {
    const char *text = tigetstr(capability);
    if (has_capability(capability) && !strstr(text, "$<")) /* padding delays */
        add_leave_text(text);
}

static void on_crash(int signal_number) {
    (void)!write(STDOUT_FILENO, leave_bytes, leave_size);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
    (void)raise(signal_number); /* the handler is reset: the default action follows */
}

static void watch_crashes(bool on) {
    static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    struct sigaction action = { .sa_flags = SA_RESETHAND };
    action.sa_handler = on ? on_crash : SIG_DFL;
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        (void)sigaction(signals[i], &action, NULL);
}

/* --- colours --------------------------------------------------------------------------------- */

static attr_t attributes_of(unsigned style) {
    static const attr_t weights[] = { A_NORMAL, A_DIM, A_BOLD, A_UNDERLINE, A_BOLD };
    unsigned kind = style & ~(unsigned)TOP_SELECTED;
    attr_t selected = style & TOP_SELECTED ? A_REVERSE : A_NORMAL;
    if (kind < TOP_STATE)
        return weights[kind] | selected;
    const struct state_style *look = state_style((enum task_state)(kind - TOP_STATE));
    return (look->bold ? A_BOLD : look->dim ? A_DIM : A_NORMAL) | selected;
}

/* One pair per style; without a color it is the terminal's, -1. */
static void open_colours(void) {
    const char *no_color = getenv("NO_COLOR");
    has_colours = !(no_color && *no_color) && has_colors() && start_color() != ERR
                  && use_default_colors() != ERR;
    for (short i = 1; has_colours && i < TOP_STYLE_MAX; i++) {
        const struct state_style *look =
            state_style(i == TOP_ALERT   ? TASK_HELD
                        : i >= TOP_STATE ? (enum task_state)(i - TOP_STATE)
                                         : TASK_ABSENT);
        (void)init_pair(i, COLORS >= 256 ? look->color256 : look->color8, -1);
    }
}

/* --- pasted text ----------------------------------------------------------------------------- */

/* The terminal marks its begin and end: it is no series of keys, whatever it contains. */
enum { PASTE_BEGIN = KEY_MAX + 1, PASTE_END };

static void mark_pastes(bool on) {
    if (!is_ansi)
        return;
    (void)fputs(on ? "\033[?2004h" : "\033[?2004l", stdout);
    (void)fflush(stdout);
    is_pasting = false;
}

/* --- opening --------------------------------------------------------------------------------- */

static int check_terminal(struct error *err) {
    const char *name = getenv("TERM");
    int found = 0;
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
        return error_set(err, -ENOTTY,
                         "keys are read from a terminal, and the standard input is none: use "
                         "'sluice top --once'");
    if (!name || !*name)
        return error_set(err, -EINVAL,
                         "TERM is not set: set it, or use 'sluice top --once' (example: "
                         "TERM=xterm sluice top)");
    if (setupterm(NULL, STDOUT_FILENO, &found) == ERR)
        return error_set(err, -EINVAL,
                         "the terminal '%s' is not known here: use 'sluice top --once', or another "
                         "TERM (example: TERM=xterm sluice top)",
                         name);
    bool places = has_capability("cup");
    leave_size = 0;
    knows_mouse = has_capability("kmous");
    is_ansi = places && strncmp(tigetstr("cup"), "\033[", 2) == 0;
    add_leave_text(knows_mouse ? "\033[?1006;1000l" : "");
    add_leave_text(is_ansi ? "\033[?2004l" : "");
    add_leave("sgr0");
    add_leave("cnorm");
    add_leave("rmkx");
    add_leave("rmcup");
    (void)del_curterm(cur_term); /* newterm reads it itself */
    if (!places)
        return error_set(err, -EINVAL,
                         "the terminal '%s' cannot place its cursor: use 'sluice top --once', or "
                         "another TERM (example: TERM=xterm sluice top)",
                         name);
    return 0;
}

static void set_modes(void) {
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)intrflush(stdscr, FALSE);
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)leaveok(stdscr, TRUE);
    (void)curs_set(0);
    (void)define_key("\033[200~", PASTE_BEGIN);
    (void)define_key("\033[201~", PASTE_END);
    mark_pastes(true);
    (void)set_escdelay(25); /* ms: a key that starts with ESC arrives in one piece, even over ssh */
}

/* A press and a release that arrive together are a click, several of them a double click. */
#define PRESSES                                                                                    \
    (BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON1_DOUBLE_CLICKED | BUTTON1_TRIPLE_CLICKED)

void top_screen_mouse(bool on) {
    /* All events: the library waits for the next one after one that is not wanted, even with
     * nodelay. */
    (void)mousemask(on && knows_mouse ? ALL_MOUSE_EVENTS : 0, NULL);
    (void)mouseinterval(0); /* report a press at once, without waiting for a double click */
}

int top_screen_open(struct error *err) {
    int r = check_terminal(err);
    if (r < 0)
        return r;
    (void)tcgetattr(STDIN_FILENO, &terminal_before);
    screen = newterm(NULL, stdout, stdin);
    if (!screen)
        return error_set(err, -EINVAL, "the terminal '%s' cannot be used: use 'sluice top --once'",
                         getenv("TERM"));
    (void)set_term(screen);
    watch_crashes(true);
    set_modes();
    open_colours();
    return 0;
}

void top_screen_close(void) {
    if (!screen)
        return;
    mark_pastes(false);
    (void)endwin();
    watch_crashes(false);
    delscreen(screen);
    screen = NULL;
}

/* --- showing --------------------------------------------------------------------------------- */

void top_screen_resize(unsigned *ret_width, unsigned *ret_height) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        (void)resize_term(size.ws_row, size.ws_col);
    top_screen_redraw();
    *ret_width = COLS > 0 ? (unsigned)COLS : 1;
    *ret_height = LINES > 0 ? (unsigned)LINES : 1;
}

void top_screen_redraw(void) {
    (void)clearok(curscr, TRUE);
}

static void show_cell(unsigned y, unsigned x, const struct top_cell *cell) {
    wchar_t text[CCHARW_MAX + 1] = { 0 };
    cchar_t wide;
    const char *from = cell->text;
    mbstate_t state = { 0 };
    size_t count = mbsrtowcs(text, &from, CCHARW_MAX, &state);
    if (count == (size_t)-1) {
        text[0] = L'?';
        count = 1;
    }
    text[count] = L'\0';
    short pair = has_colours ? (short)(cell->style & ~(unsigned)TOP_SELECTED) : 0;
    if (setcchar(&wide, text, attributes_of(cell->style), pair, NULL) != ERR)
        (void)mvadd_wch((int)y, (int)x, &wide);
}

void top_screen_show(const struct top_cells *cells) {
    (void)erase();
    for (unsigned y = 0; y < cells->height; y++)
        for (unsigned x = 0; x < cells->width; x++) {
            const struct top_cell *cell = top_cells_at(cells, y, x);
            if (*cell->text)
                show_cell(y, x, cell);
        }
    (void)refresh();
}

/* --- keys ------------------------------------------------------------------------------------ */

/* 0: unknown key. `result` of get_wch: KEY_CODE_YES, or OK for a character. */
static int key_of(int result, wint_t c) {
    static const struct {
        int result;
        wint_t c;
        int key;
    } keys[] = {
        { KEY_CODE_YES, KEY_UP, TOP_KEY_UP },
        { KEY_CODE_YES, KEY_DOWN, TOP_KEY_DOWN },
        { KEY_CODE_YES, KEY_LEFT, TOP_KEY_LEFT },
        { KEY_CODE_YES, KEY_RIGHT, TOP_KEY_RIGHT },
        { KEY_CODE_YES, KEY_PPAGE, TOP_KEY_PAGE_UP },
        { KEY_CODE_YES, KEY_NPAGE, TOP_KEY_PAGE_DOWN },
        { KEY_CODE_YES, KEY_HOME, TOP_KEY_HOME },
        { KEY_CODE_YES, KEY_END, TOP_KEY_END },
        { KEY_CODE_YES, KEY_BTAB, TOP_KEY_BACK_TAB },
        { KEY_CODE_YES, KEY_ENTER, TOP_KEY_ENTER },
        { KEY_CODE_YES, KEY_BACKSPACE, TOP_KEY_BACKSPACE },
        { KEY_CODE_YES, KEY_DC, TOP_KEY_BACKSPACE },
        { OK, '\t', TOP_KEY_TAB },
        { OK, '\r', TOP_KEY_ENTER },
        { OK, '\n', TOP_KEY_ENTER },
        { OK, 0x1b, TOP_KEY_ESCAPE },
        { OK, '\b', TOP_KEY_BACKSPACE },
        { OK, 0x7f, TOP_KEY_BACKSPACE },
    };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (keys[i].result == result && keys[i].c == c)
            return keys[i].key;
    return result == OK ? (int)c : 0;
}

static int mouse_key(unsigned *ret_y, unsigned *ret_x) {
    MEVENT event;
    if (getmouse(&event) != OK || event.y < 0 || event.x < 0)
        return 0;
    *ret_y = (unsigned)event.y;
    *ret_x = (unsigned)event.x;
    return event.bstate & PRESSES           ? TOP_KEY_CLICK
           : event.bstate & BUTTON4_PRESSED ? TOP_KEY_WHEEL_UP
           : event.bstate & BUTTON5_PRESSED ? TOP_KEY_WHEEL_DOWN
                                            : 0;
}

int top_screen_key(unsigned *ret_y, unsigned *ret_x) {
    wint_t c;
    int r = get_wch(&c);
    if (r == KEY_CODE_YES && c == KEY_MOUSE)
        return mouse_key(ret_y, ret_x);
    if (r == KEY_CODE_YES && (c == PASTE_BEGIN || c == PASTE_END)) {
        is_pasting = c == PASTE_BEGIN;
        return 0;
    }
    if (r == KEY_CODE_YES || r == OK)
        return key_of(r, c) | (is_pasting ? TOP_PASTED : 0);
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    bool closed = poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL));
    return closed ? -2 : -1;
}

void top_screen_suspend(void) {
    struct sigaction usual = { .sa_handler = SIG_DFL }, before;
    sigset_t stop, mask;
    mark_pastes(false);
    (void)endwin();
    watch_crashes(false);
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    (void)sigaction(SIGTSTP, &usual, &before);
    (void)raise(SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &stop, &mask); /* stops here */
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    (void)sigaction(SIGTSTP, &before, NULL);
    watch_crashes(true);
    mark_pastes(true);
}
