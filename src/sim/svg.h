/* svg.h: a play as a picture for a browser.
 *
 * One file that needs nothing else: light and dark by the viewer's own setting, what a bar is when
 * the pointer rests on it, no script. Two cases stand below each other on one time scale.
 * Up to 60 tasks: one row each. More: the runs of a project packed on lanes. Far more: its number
 * of runs as an area. */
#pragma once

#include "sim/report.h"

/* `with` may be NULL. */
void svg_print(const struct sim_case *now, const struct sim_case *with, struct strbuf *out);
