/* top_screen.h: the terminal, and the only file that knows the terminal library.
 *
 *     if (top_screen_open(&err) < 0) …            // a sentence: no terminal, unknown TERM
 *     top_screen_size(&width, &height);
 *     top_screen_show(&cells);
 *     while ((key = top_screen_key()) >= 0) …     // until nothing is left to read
 *     top_screen_close();
 *
 * One at a time. Between open and close the terminal is ours: keys come one by one, nothing is echoed.
 * It is put back by close, and by a crash of the program (SIGSEGV, SIGABRT …) too. Signals that ask
 * for something (Ctrl-C, Ctrl-Z, another size) are the caller's. */
#pragma once

#include "base/error.h"
#include "cli/top_cells.h"

/* -ENOTTY: keys cannot be read, or nobody looks. -EINVAL: TERM is unknown, or such a terminal cannot
 * place its cursor. */
int top_screen_open(struct error *err);
void top_screen_close(void);

/* Asks the terminal, after SIGWINCH and when the program goes on; the next drawing is complete. */
void top_screen_resize(void);
void top_screen_size(unsigned *ret_width, unsigned *ret_height);
/* The next top_screen_show draws everything, whatever others have written meanwhile. */
void top_screen_redraw(void);
/* Only what differs from the last one is sent. */
void top_screen_show(const struct top_cells *cells);
/* A character, one of enum top_key, or -1: there is none now; -2: the terminal has gone. */
int top_screen_key(void);

/* Ctrl-Z: gives the terminal back, stops, and goes on when the shell says so. */
void top_screen_suspend(void);
