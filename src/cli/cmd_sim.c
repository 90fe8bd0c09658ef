/* cmd_sim.c: how would this queue go, and how with other settings?
 *
 * Plays a snapshot in virtual time; nothing is started and no daemon is asked. With --set the file
 * is read and played twice, once as it is and once with the overrides, and the two are compared. */
#include "cli/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/number.h"
#include "os/files.h"
#include "os/terminal.h"
#include "sim/report.h"
#include "sim/svg.h"
#include "sim/world.h"

#define INPUT_MAX     ((size_t)4 << 30) /* of what cannot be read twice */
#define WIDTH_PIPED   100
#define WIDTH_MIN     60
#define WIDTH_MAX     300
#define OVERRIDES_MAX 64
#define HORIZON_DAYS  30

/* One snapshot and its play. */
struct side {
    struct snapshot *snapshot;
    struct sim_world world;
    struct sim_play play;
    struct sim_result result;
    struct sim_case c;
};

struct sim_call {
    const char *path;
    struct strbuf input; /* the whole input, if it can be read only once */
    bool in_memory;
    struct sim_options options;
    bool seed_given;
    const char *overrides[OVERRIDES_MAX + 1]; /* NULL at the end */
    size_t override_count;
    struct strbuf title; /* of the second side */
};

static void side_finish(struct side *side) {
    sim_result_finish(&side->result);
    sim_play_finish(&side->play);
    side->snapshot = snapshot_free(side->snapshot);
}

static void sim_call_finish(struct sim_call *sim) {
    strbuf_finish(&sim->input);
    strbuf_finish(&sim->title);
}

/* --- options --------------------------------------------------------------------------------- */

/* Hours with up to three places, as a span. */
static int parse_hours(const char *option, const char *text, time_ms *ret, struct error *err) {
    int64_t milli;
    int r = number_parse_milli(text, &milli, err);
    if (r < 0)
        return error_prefix(err, "--%s", option);
    if (milli < 0 || milli > INT64_C(100000000000))
        return error_set(err, -EINVAL, "--%s: hours must be between 0 and 100,000,000, not '%s'",
                         option, text);
    *ret = milli * 3600;
    return 0;
}

static int parse_overrides(const struct cmd_call *call, struct sim_call *sim, struct error *err) {
    const char *pair;
    for (size_t i = 0; (pair = cmd_value_at(call, "set", i)) != NULL; i++) {
        if (i == OVERRIDES_MAX)
            return error_set(err, -EINVAL, "more than %d settings with --set", OVERRIDES_MAX);
        if (!strchr(pair, '='))
            return error_set(err, -EINVAL, "'%s' is not KEY=VALUE", pair);
        strbuf_printf(&sim->title, "%s%s", i == 0 ? "with " : ", ", pair);
        sim->overrides[sim->override_count++] = pair;
    }
    return 0;
}

static int parse_call(const struct cmd_call *call, struct sim_call *sim, struct error *err) {
    sim->path = call->args[0];
    sim->options.horizon = DAYS(HORIZON_DAYS);
    sim->options.approve_after = TIME_NEVER;
    int r = parse_overrides(call, sim, err);
    const char *text = cmd_value(call, "seed");
    if (r >= 0 && text) {
        int64_t seed;
        r = number_parse_int(text, &seed, err);
        if (r < 0)
            return error_prefix(err, "--seed");
        if (seed < 0)
            return error_set(err, -EINVAL, "--seed: '%s' is negative", text);
        sim->options.seed = (uint64_t)seed;
        sim->seed_given = true;
    }
    text = cmd_value(call, "until-h");
    if (r >= 0 && text)
        r = parse_hours("until-h", text, &sim->options.horizon, err);
    text = cmd_value(call, "approve-after-h");
    if (r >= 0 && text)
        r = parse_hours("approve-after-h", text, &sim->options.approve_after, err);
    return r;
}

/* --- input ----------------------------------------------------------------------------------- */

/* What is no regular file comes only once: it is kept when it is needed twice. */
static int read_once(struct sim_call *sim, struct error *err) {
    struct stat st;
    if (sim->override_count == 0
        || (strcmp(sim->path, "-") != 0 && stat(sim->path, &st) == 0 && S_ISREG(st.st_mode)))
        return 0;
    sim->in_memory = true;
    return file_read_any(sim->path, INPUT_MAX, &sim->input, err);
}

static int open_input(struct sim_call *sim, FILE **ret, struct error *err) {
    static char nothing[] = " "; /* a stream over no bytes cannot be made; this reads the same */
    if (!sim->in_memory)
        return file_open(sim->path, ret, err);
    bool empty = sim->input.length == 0;
    *ret = fmemopen(empty ? nothing : sim->input.text, empty ? 1 : sim->input.length, "r");
    if (!*ret)
        return error_set(err, -errno, "cannot read from memory: %s", strerror(errno));
    return 0;
}

static int play_side(struct sim_call *sim, bool with, struct side *side, struct error *err) {
    const char *name = strcmp(sim->path, "-") == 0 ? "<stdin>" : sim->path;
    const struct snapshot_options options = {
        .overrides = with ? sim->overrides : NULL,
        .override_count = with ? sim->override_count : 0,
    };
    FILE *in;
    int r = open_input(sim, &in, err);
    if (r < 0)
        return r;
    r = snapshot_read(in, name, &options, &side->snapshot, err);
    file_close(in);
    if (r < 0)
        return r;
    world_from_snapshot(side->snapshot, &side->world);
    if (!sim->seed_given)
        sim->options.seed = snapshot_seed(side->snapshot);
    r = sim_play_run(&side->world, &sim->options, &side->play, err);
    if (r < 0)
        return r;
    sim_result_build(&side->world, &sim->options, &side->play, &side->result);
    const char *slash = strrchr(name, '/');
    side->c = (struct sim_case){
        .title = with    ? strbuf_text(&sim->title)
                 : slash ? slash + 1
                         : name,
        .world = &side->world,
        .play = &side->play,
        .result = &side->result,
    };
    return 0;
}

/* --- output ---------------------------------------------------------------------------------- */

static struct gantt_style chart_style(void) {
    bool known = terminal_is(stdout) || getenv("COLUMNS");
    unsigned width = known ? terminal_width(stdout) : WIDTH_PIPED;
    return (struct gantt_style){
        .width = width < WIDTH_MIN   ? WIDTH_MIN
                 : width > WIDTH_MAX ? WIDTH_MAX
                                     : width,
        .unicode = terminal_is_utf8(),
        .colour = terminal_has_colour(stdout),
    };
}

static int print_all(const struct cmd_call *call, const struct sim_call *sim,
                     const struct side *now, const struct side *with, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    const struct sim_case *second = with ? &with->c : NULL;
    const char *svg = cmd_value(call, "svg");
    if (svg) {
        svg_print(&now->c, second, &out);
        int r = file_write_any(svg, strbuf_text(&out), out.length, err);
        if (r < 0)
            return r;
        strbuf_clear(&out);
    }
    const struct gantt_style style = chart_style();
    if (call->json)
        report_json(&now->c, second, sim->overrides, &out);
    else if (second)
        report_compare(&now->c, second, &style, &out);
    else
        report_print(&now->c, &style, &out);
    if (svg && !call->json)
        strbuf_printf(&out, "\nchart written to %s\n", svg);
    output_rest(&out);
    return 0;
}

static int cmd_sim_run(const struct cmd_call *call) {
    struct error err = { 0 };
    _cleanup_(sim_call_finish) struct sim_call sim = { 0 };
    _cleanup_(side_finish) struct side now = { 0 };
    _cleanup_(side_finish) struct side with = { 0 };
    int r = parse_call(call, &sim, &err);
    if (r < 0)
        return cmd_usage_error(call->cmd, "%s", err.text);
    r = read_once(&sim, &err);
    if (r >= 0)
        r = play_side(&sim, false, &now, &err);
    bool compare = sim.override_count > 0;
    if (r >= 0 && compare)
        r = play_side(&sim, true, &with, &err);
    if (r >= 0)
        r = print_all(call, &sim, &now, compare ? &with : NULL, &err);
    return r < 0 ? cmd_error(&err) : CMD_OK;
}

static const struct cmd_option sim_options[] = {
    { "set", 's', "KEY=VALUE", "compare with this setting changed; may be repeated" },
    { "seed", 0, "N", "play with other luck; the file's own, or 1" },
    { "svg", 0, "FILE", "also write the chart as an SVG picture" },
    { "until-h", 0, "H", "stop after so many hours; 720" },
    { "approve-after-h", 0, "H", "approve what waits for a person after so many hours; never" },
    { NULL },
};

const struct cmd cmd_sim = { "sim", .options = sim_options, .min_args = 1, .max_args = 1,
                             .run = cmd_sim_run };
