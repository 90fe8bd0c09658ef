/* svg_internal.h: what svg.c and svg_bars.c share. */
#pragma once

#include "sim/axis.h"
#include "sim/svg.h"

#define SVG_WIDTH     1200
#define SVG_MARGIN    24
#define SVG_PLOT_LEFT 196
#define SVG_PLOT_SIZE (SVG_WIDTH - SVG_MARGIN - SVG_PLOT_LEFT)
#define SVG_COLOURS   8

struct svg {
    struct strbuf *out;
    const struct sim_case *c;
    time_ms span;
    double y; /* where the next thing goes */
};

/* Text for XML: escaped, without what XML forbids. */
void svg_escape(struct strbuf *out, const char *text);
/* Where a moment of the play is on the time axis. */
double svg_x(const struct svg *svg, time_ms at);
const char *svg_project_name(const struct svg *svg, uint32_t project);

/* All projects, each with its heading, and moves svg->y below them. */
void svg_bars(struct svg *svg);
/* Are runs shown one by one? And tasks? */
bool svg_has_bars(const struct sim_case *c);
bool svg_has_rows(const struct sim_case *c);
/* The height svg_bars will take. */
double svg_bars_height(const struct sim_case *c);
/* The steps of how many runs lived at once, `height` pixels for `scale` runs, as the points of a
 * path from the base line to the base line. */
void svg_area(struct svg *svg, uint32_t project, double base, double height, double scale);
