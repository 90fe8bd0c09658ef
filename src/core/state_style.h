/* state_style.h: the appearance of task states on the dashboard, in `sluice top`, lists, graphs and
 * SVG. The dashboard gets the table as generated files (sluiced --api typescript and css).
 *
 * Every state has its own symbol, so that none depends on color alone. The colors are
 * distinguishable with the common kinds of color blindness. */
#pragma once

#include <stdbool.h>

#include "core/model.h"

struct state_style {
    const char *symbol, *ascii; /* one column each; ascii: where UTF-8 cannot be shown */
    /* The symbol as SVG paths in a box of 16 x 16: lines, and filled areas. */
    const char *outline, *solid; /* solid "": none */
    bool heavy, dashed;          /* of the outline */
    /* Terminal: 8 and 256 ANSI colors; -1: the default color. */
    short color8, color256;
    bool bold, dim;
    const char *light, *dark; /* #rrggbb on a light and on a dark background */
};

const struct state_style *state_style(enum task_state state);
const char *state_symbol(enum task_state state, bool unicode);
/* TASK_ABSENT: no such state. */
enum task_state task_state_find(const char *name);

/* #rrggbb of an area behind text: the state's color mixed with the background. */
struct state_fill {
    char text[8];
};
struct state_fill state_fill(enum task_state state, bool dark);
