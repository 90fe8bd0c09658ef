/* terminal.h: is this a terminal, how large is it, and does it have colours? */
#pragma once

#include <stdbool.h>
#include <stdio.h>

bool terminal_is(FILE *file);
/* Columns; COLUMNS wins, 80 if unknown. */
unsigned terminal_width(FILE *file);
/* Lines; LINES wins, 24 if unknown. */
unsigned terminal_height(FILE *file);
/* A terminal that is not "dumb", and NO_COLOR is not set. */
bool terminal_has_colour(FILE *file);
/* Does the environment (LC_ALL, LC_CTYPE, LANG) select UTF-8? */
bool terminal_is_utf8(void);
