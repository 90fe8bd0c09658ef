/* cmd_top.c: the main loop of `sluice top`: keys, signals, events, drawing.
 *
 * It sleeps until one of them arrives. While something runs, or a countdown is visible, it wakes
 * once a second to update times, without a request. */
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/top.h"
#include "os/clock.h"
#include "os/terminal.h"

#define TICK     SECONDS(1)
#define DRAW_GAP 40 /* ms between two drawings while a log streams */
#define SETTLE   80 /* ms after a key until the selected task is shown beside the list */
#define PIECES   16 /* chunks of a log before the screen and keys get their turn */

struct session {
    struct top top;
    struct top_daemon daemon;
    struct top_cells cells;
    int signals;
    time_ms drawn; /* steady clock */
    time_ms keyed; /* steady clock: last key */
};

static void session_finish(struct session *s) {
    top_daemon_close(&s->daemon);
    top_finish(&s->top);
    top_cells_finish(&s->cells);
    if (s->signals >= 0)
        close(s->signals);
}

/* Sets the locale of the C library. The environment may name a locale that is not installed. */
static bool set_locale(void) {
    bool wanted = terminal_is_utf8();
    if (setlocale(LC_CTYPE, "") && wanted && MB_CUR_MAX > 1)
        return true;
    return wanted && setlocale(LC_CTYPE, "C.UTF-8");
}

/* --- signals --------------------------------------------------------------------------------- */

static int watch_signals(void) {
    static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
        sigaddset(&set, wanted[i]);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* 1: exit. */
static int take_signals(struct session *s) {
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo != SIGWINCH && info.ssi_signo != SIGTSTP)
            return 1;
        if (info.ssi_signo == SIGTSTP)
            top_screen_suspend();
        top_screen_resize(&s->top.width, &s->top.height);
    }
    return 0;
}

/* --- keys ------------------------------------------------------------------------------------ */

/* 1: exit. */
static int take_keys(struct session *s) {
    for (;;) {
        int key = top_screen_key(&s->top.mouse_y, &s->top.mouse_x);
        if (key < 0)
            return key == -2;
        if (key == 0)
            continue;
        s->top.now = clock_read();
        s->keyed = clock_read_steady();
        /* Keys typed ahead refer to the first row of a list that is not known yet. */
        if (top_is_list(s->top.pane) && top_list_known(&s->top.lists[s->top.pane]) == 0)
            (void)top_daemon_load(&s->daemon, &s->top);
        top_input(&s->top, key);
        if (s->top.request == TOP_REQUEST_QUIT)
            return 1;
        if (s->top.request == TOP_REQUEST_REDRAW)
            top_screen_redraw();
        if (s->top.request == TOP_REQUEST_MOUSE)
            top_screen_mouse(!s->top.no_mouse);
        top_daemon_do(&s->daemon, &s->top);
    }
}

/* --- the loop -------------------------------------------------------------------------------- */

static void draw(struct session *s) {
    s->drawn = clock_read_steady();
    s->top.now = clock_read();
    top_view(&s->top, &s->cells);
    top_screen_show(&s->cells);
}

/* Time until the selected task is to be shown; a long one if it is. Holding a key down in a list
 * does not request every task on the way. */
static time_ms time_to_look(const struct session *s) {
    time_ms passed = clock_read_steady() - s->keyed;
    return top_daemon_wants_look(&s->top) ? time_max(SETTLE - passed, 0) : SECONDS(60);
}

/* `more`: does not wait, because more can be read. False: exit. */
static bool wait_for_anything(struct session *s, bool more) {
    time_ms span =
        time_min(top_daemon_pause(&s->daemon, &s->top, clock_read_steady()), time_to_look(s));
    struct pollfd fds[] = {
        { .fd = STDIN_FILENO, .events = POLLIN },
        { .fd = s->signals, .events = POLLIN },
        { .fd = s->daemon.events ? client_fd(s->daemon.events) : -1, .events = POLLIN },
        { .fd = log_stream_fd(&s->daemon.log), .events = POLLIN },
        { .fd = s->daemon.late ? client_fd(s->daemon.late) : -1, .events = POLLIN },
    };
    (void)poll(fds, ARRAY_SIZE(fds), more ? 0 : (int)(s->top.moves ? time_min(span, TICK) : span));
    if (fds[1].revents && take_signals(s))
        return false;
    if (fds[0].revents && take_keys(s))
        return false;
    top_daemon_listen(&s->daemon, &s->top, fds[2].revents);
    top_daemon_take_late(&s->daemon, &s->top, fds[4].revents);
    return true;
}

static int run_screen(struct session *s) {
    struct error err = { 0 };
    s->signals = watch_signals();
    if (top_screen_open(&err) < 0) {
        cmd_warn("%s", err.text);
        return CMD_USAGE;
    }
    top_screen_resize(&s->top.width, &s->top.height);
    top_screen_mouse(!s->top.no_mouse);
    draw(s); /* so that the list knows its height */
    for (bool more = true; wait_for_anything(s, more);) {
        if (!s->top.unreachable && top_daemon_pause(&s->daemon, &s->top, clock_read_steady()) == 0)
            top_daemon_refresh(&s->daemon, &s->top);
        more = top_daemon_load(&s->daemon, &s->top);
        if (!more && time_to_look(s) == 0)
            more = top_daemon_look(&s->daemon, &s->top);
        for (unsigned i = 0; i < PIECES && top_daemon_pump_log(&s->daemon, &s->top); i++)
            more = true;
        if (!more || clock_read_steady() - s->drawn >= DRAW_GAP)
            draw(s);
    }
    top_screen_close();
    return CMD_OK;
}

/* --- once ------------------------------------------------------------------------------------ */

static int print_message(const struct session *s) {
    cmd_warn("%s",
             s->top.message.length > 0 ? strbuf_text(&s->top.message) : "the daemon has stopped");
    return s->top.unreachable ? CMD_NO_DAEMON : CMD_FAILED;
}

static int run_once(struct session *s) {
    s->top.plain = true;
    s->top.width = terminal_width(stdout);
    s->top.height = terminal_height(stdout);
    s->top.now = clock_read();
    top_daemon_refresh(&s->daemon, &s->top);
    top_view(&s->top, &s->cells); /* so that the list knows its height */
    while (top_daemon_load(&s->daemon, &s->top))
        continue;
    if (s->top.unreachable || s->top.message.length > 0)
        return print_message(s);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    top_view(&s->top, &s->cells);
    top_cells_print(&s->cells, &out);
    while (out.length > 1 && out.text[out.length - 2] == '\n')
        out.text[--out.length] = '\0'; /* trim empty lines at the end */
    output_rest(&out);
    return CMD_OK;
}

/* --- the command ----------------------------------------------------------------------------- */

static int take_options(const struct cmd_call *call, struct top *top) {
    const char *name = cmd_value(call, "pane"), *filter = cmd_value(call, "filter");
    int pane = name ? top_pane_find(name) : TOP_PANE_RUNNING;
    if (call->json && (name || filter))
        return cmd_usage_error(call->cmd, "'--json' and '--%s' cannot be used together",
                               name ? "pane" : "filter");
    if (pane < 0) {
        struct nearest nearest = nearest_to(name);
        for (int i = 0; i < TOP_PANE_MAX; i++)
            nearest_offer(&nearest, top_panes[i].name);
        if (nearest.best)
            return cmd_usage_error(call->cmd, "there is no pane '%s'; did you mean '%s'?", name,
                                   nearest.best);
        return cmd_usage_error(call->cmd,
                               "there is no pane '%s': running, ready, waiting, ended, limits or "
                               "needs",
                               name);
    }
    top->pane = (enum top_pane)pane;
    top->no_mouse = cmd_has(call, "no-mouse");
    strbuf_puts(&top->filter, filter ? filter : "");
    return CMD_OK;
}

static int cmd_top_run(const struct cmd_call *call) {
    _cleanup_(session_finish) struct session s = { .signals = -1 };
    struct error err = { 0 };
    int code = take_options(call, &s.top);
    if (code != CMD_OK)
        return code;
    s.top.unicode = set_locale();
    if (top_daemon_open(&s.daemon, &err) < 0) {
        cmd_warn("%s", err.text);
        return CMD_NO_DAEMON;
    }
    if (call->json) {
        json_t *all = top_daemon_all(&s.daemon, &s.top);
        return all ? output_json(all) : print_message(&s);
    }
    if (cmd_has(call, "once") || !terminal_is(stdout))
        return run_once(&s);
    return run_screen(&s);
}

const struct cmd cmd_top = {
    "top", cmd_top_run, 0, 0,
    CMD_OPTIONS(
        { "once", '1', NULL, "print one screen as plain text and exit (the default in a pipe)" },
        { "pane", 'p', "NAME", "start with running, ready, waiting, ended, limits or needs" },
        { "filter", 'f', "TEXT", "start with this filter, as entered with the key /" },
        { "no-mouse", 0, NULL, "leave the mouse to the terminal, like the key m" })
};
