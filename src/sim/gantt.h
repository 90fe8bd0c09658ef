/* gantt.h: a play as a picture made of characters.
 *
 * Up to 40 tasks: one row each, with its waits and failed attempts. More: one lane per project whose
 * height is the number of runs. Plain ASCII when the terminal is not UTF-8. */
#pragma once

#include "base/strbuf.h"
#include "sim/player.h"

#define GANTT_ROWS_MAX 40

struct gantt_style {
    unsigned width; /* columns of a whole line */
    bool unicode;
    bool colour;
};

/* `span`: how much time the width shows; 0 = the play's own. Two plays drawn with the same span
 * can be compared by eye. */
void gantt_print(const struct sim_world *world, const struct sim_play *play, time_ms span,
                 const struct gantt_style *style, struct strbuf *out);
