/* state_style.c: see state_style.h. */
#include "core/state_style.h"

#include <string.h>

#include "base/macros.h"
#include "base/number.h"

#define CIRCLE   "M13 8A5 5 0 1 1 3 8A5 5 0 1 1 13 8z"
#define DOT      "M10.2 8A2.2 2.2 0 1 1 5.8 8A2.2 2.2 0 1 1 10.2 8z"
#define TRIANGLE "M4.5 2.8v10.4L13 8z"

/* clang-format off */
static const struct state_style looks[] = {
    [TASK_ABSENT] = { .symbol = "?", .ascii = "?", .color8 = -1, .color256 = -1,
        .outline = CIRCLE, .solid = "", .light = "#666e76", .dark = "#8b949c" },
    [TASK_DRAFT] = { .symbol = "◌", .ascii = "_", .color8 = -1, .color256 = -1, .dim = true,
        .outline = CIRCLE, .solid = "", .dashed = true, .light = "#6b737b", .dark = "#788189" },
    [TASK_WAITING] = { .symbol = "○", .ascii = ".", .color8 = -1, .color256 = -1,
        .outline = CIRCLE, .solid = "", .light = "#666e76", .dark = "#8b949c" },
    [TASK_READY] = { .symbol = "◉", .ascii = "o", .color8 = 4, .color256 = 75,
        .outline = CIRCLE, .solid = DOT, .light = "#336879", .dark = "#8fc0cf" },
    [TASK_STARTING] = { .symbol = "◐", .ascii = ")", .color8 = 6, .color256 = 39, .bold = true,
        .outline = CIRCLE, .solid = "M8 3a5 5 0 0 1 0 10z", .light = "#0a6ea6", .dark = "#5db4e6" },
    [TASK_RUNNING] = { .symbol = "▶", .ascii = ">", .color8 = 6, .color256 = 39, .bold = true,
        .outline = TRIANGLE, .solid = TRIANGLE, .light = "#0a6ea6", .dark = "#5db4e6" },
    [TASK_HELD] = { .symbol = "‖", .ascii = "=", .color8 = 3, .color256 = 214,
        .outline = "M5.5 3.5v9M10.5 3.5v9", .solid = "", .heavy = true,
        .light = "#8f5300", .dark = "#e2a44a" },
    [TASK_DONE] = { .symbol = "✓", .ascii = "+", .color8 = 6, .color256 = 36,
        .outline = "M3 8.6l3.3 3.3L13 4.8", .solid = "", .heavy = true,
        .light = "#17785a", .dark = "#55c39c" },
    [TASK_FAILED] = { .symbol = "✗", .ascii = "x", .color8 = 1, .color256 = 202, .bold = true,
        .outline = "M4 4l8 8M12 4l-8 8", .solid = "", .heavy = true,
        .light = "#b23409", .dark = "#ff8560" },
    [TASK_CANCELED] = { .symbol = "⊘", .ascii = "-", .color8 = -1, .color256 = -1, .dim = true,
        .outline = CIRCLE "M4.5 11.5l7-7", .solid = "", .light = "#6b737b", .dark = "#788189" },
    [TASK_INVALIDATED] = { .symbol = "≈", .ascii = "~", .color8 = -1, .color256 = -1, .dim = true,
        .outline = "M3 9.5c1.7-3 3.3-3 5-1.5s3.3 1.5 5-1.5", .solid = "", .heavy = true,
        .light = "#76558d", .dark = "#b79acb" },
};
/* clang-format on */
_Static_assert(ARRAY_SIZE(looks) == TASK_STATE_MAX, "a state has no look");

const struct state_style *state_style(enum task_state state) {
    return &looks[state];
}

const char *state_symbol(enum task_state state, bool unicode) {
    return unicode ? looks[state].symbol : looks[state].ascii;
}

enum task_state task_state_find(const char *name) {
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        if (strcmp(task_state_name((enum task_state)s), name) == 0)
            return (enum task_state)s;
    return TASK_ABSENT;
}

static unsigned channel_at(const char *color, int channel) {
    const char *digits = color + 1 + 2 * (ptrdiff_t)channel;
    return (unsigned)(number_hex_digit(digits[0]) * 16 + number_hex_digit(digits[1]));
}

struct state_fill state_fill(enum task_state state, bool dark) {
    const char *color = dark ? looks[state].dark : looks[state].light;
    const char *background = dark ? "#16181d" : "#ffffff";
    unsigned percent = dark ? 30 : 20;
    struct state_fill ret = { "#" };
    for (int channel = 0; channel < 3; channel++) {
        unsigned value = (channel_at(color, channel) * percent
                          + channel_at(background, channel) * (100 - percent))
                         / 100;
        ret.text[1 + 2 * channel] = "0123456789abcdef"[value >> 4];
        ret.text[2 + 2 * channel] = "0123456789abcdef"[value & 15];
    }
    return ret;
}
