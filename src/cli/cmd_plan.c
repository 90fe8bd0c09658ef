/* cmd_plan.c: shows what the scheduler would do: plan, sim, and debug scheduler.
 *
 * `plan` decides once for a snapshot; `sim` runs one in virtual time, with --set twice to compare;
 * `debug scheduler` lists the candidates of a snapshot or of the daemon. Nothing is started.
 * Reasons are computed while printing, so a million waiting tasks cost time but no memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "base/number.h"
#include "cli/cmd.h"
#include "cli/output.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/terminal.h"
#include "sim/sim_report.h"

#define SET_OPTION                                                                                 \
    { "set", 's', "KEY=VALUE", "override a setting of the snapshot; repeatable" }

DEFINE_FREEP(struct snapshot, snapshot_free);

/* FILE, or stdin for "-", with the values of --set. */
static int read_snapshot(const struct cmd_call *call, const char *path, struct snapshot **ret) {
    struct error err = { 0 };
    FILE *file;
    if (file_open(path, &file, &err) < 0)
        return cmd_error(&err);
    size_t count = 0;
    const char **overrides = xcalloc(call->given_count + 1, sizeof(*overrides));
    while ((overrides[count] = cmd_value_at(call, "set", count)))
        count++;
    struct snapshot_options options = { overrides, count };
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    int r = snapshot_read(file, name, &options, ret, &err);
    free(overrides);
    file_close(file);
    return r < 0 ? cmd_error(&err) : CMD_OK;
}

#define SHOWN_MAX 20 /* rows of a list on a terminal */

struct plan {
    const struct snapshot *snapshot;
    struct core *core;
    const struct symbol_table *symbols;
    struct task_names names;
    const struct order *orders;
    size_t order_count, start_count;
    size_t shown_max;
    struct strbuf out, code, message; /* scratch for one row */
    const struct waiting *waiting;
    struct output_span span;
};

/* A waiting task and its display group. */
struct waiting {
    task_id task;
    unsigned group;
};

static const char *symbol_or_dash(const struct plan *p, sym symbol) {
    return symbol ? symbol_name(p->symbols, symbol) : "-";
}

/* Is it listed under `blocked`? Sets the reason. */
static bool is_waiting(const struct plan *p, task_id task, struct verdict *ret) {
    struct task_view view;
    if (!core_task(p->core, task, &view))
        return false;
    if (view.state != TASK_WAITING && view.state != TASK_READY && view.state != TASK_HELD)
        return false;
    return core_blocked(p->core, task, ret);
}

/* Fills p->code and, `with_message`, p->message. */
static void explain(struct plan *p, const struct verdict *verdict, bool with_message) {
    strbuf_clear(&p->code);
    strbuf_clear(&p->message);
    verdict_code(verdict, p->symbols, &p->code);
    if (with_message)
        verdict_message(verdict, p->symbols, &p->names, &p->message);
}

static void write_start(struct plan *p, const struct order *order) {
    struct json_writer w;
    json_write_init(&w, &p->out, false);
    json_write_object_begin(&w);
    json_put_string(&w, "task", snapshot_task_name(p->snapshot, order->task));
    json_put_string(&w, "project", order->project ? symbol_name(p->symbols, order->project) : NULL);
    json_put_string(&w, "agent", order->agent ? symbol_name(p->symbols, order->agent) : NULL);
    json_put_int(&w, "score", order->score);
    json_write_object_end(&w);
}

static void write_blocked(struct plan *p, task_id task, const struct verdict *verdict) {
    explain(p, verdict, true);
    struct json_writer w;
    json_write_init(&w, &p->out, false);
    json_write_object_begin(&w);
    json_put_string(&w, "task", snapshot_task_name(p->snapshot, task));
    json_put_string(&w, "gate", strbuf_text(&p->code));
    json_put_string(&w, "reason", strbuf_text(&p->message));
    if (verdict->opens_at == TIME_NEVER)
        json_put_null(&w, "opens_at");
    else
        json_put_int(&w, "opens_at", verdict->opens_at);
    json_write_object_end(&w);
}

/* One line per entry: easy to read, grep and diff. */
static void next_entry(struct plan *p, size_t *count) {
    strbuf_puts(&p->out, (*count)++ ? ",\n" : "\n");
    output_some(&p->out);
}

static void print_json(struct plan *p) {
    size_t count = 0;
    strbuf_puts(&p->out, "{\"start\":[");
    for (size_t i = 0; i < p->order_count; i++) {
        if (p->orders[i].kind != ORDER_START)
            continue;
        next_entry(p, &count);
        write_start(p, &p->orders[i]);
    }
    strbuf_puts(&p->out, "],\n\"blocked\":[");
    count = 0;
    size_t tasks = snapshot_task_count(p->snapshot);
    for (task_id task = 1; task <= tasks; task++) {
        struct verdict verdict;
        if (!is_waiting(p, task, &verdict))
            continue;
        next_entry(p, &count);
        write_blocked(p, task, &verdict);
    }
    time_ms next = core_next_wakeup(p->core);
    strbuf_puts(&p->out, "],\n\"next_wakeup\":");
    if (next == TIME_NEVER)
        strbuf_puts(&p->out, "null}\n");
    else
        strbuf_printf(&p->out, "%" PRId64 "}\n", next);
}

static void put_title(struct plan *p, const char *colour, const char *title) {
    strbuf_printf(&p->out, "%s%s%s%s\n", output_style()->bold, colour, title,
                  output_style()->reset);
}

static void print_cut(struct plan *p, size_t count) {
    if (count > p->shown_max)
        strbuf_printf(&p->out, "  ... and %zu more; --all shows them\n", count - p->shown_max);
    strbuf_putc(&p->out, '\n');
}

static void print_starts(struct plan *p) {
    if (p->start_count == 0)
        return;
    static const struct column columns[] = {
        { "#", .right = true }, { "TASK" }, { "PROJECT" }, { "AGENT" }, { "SCORE" }, { NULL },
    };
    _cleanup_(rows_finish) struct rows rows = rows_new(columns);
    put_title(p, output_style()->green, "starts now");
    size_t number = 0;
    for (size_t i = 0; i < p->order_count && number < p->shown_max; i++) {
        const struct order *o = &p->orders[i];
        if (o->kind != ORDER_START)
            continue;
        rows_add(&rows, (const char *[]){
                            print_format("%zu", ++number).text,
                            snapshot_task_name(p->snapshot, o->task), symbol_or_dash(p, o->project),
                            symbol_or_dash(p, o->agent), print_format("%d", o->score).text });
    }
    rows_print(&rows, &p->out);
    print_cut(p, p->start_count);
}

static int compare_waiting(const void *left, const void *right) {
    const struct waiting *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

/* All waiting tasks, grouped by gate, otherwise in file order. */
static struct waiting *find_waiting(struct plan *p, size_t *ret_count) {
    size_t tasks = snapshot_task_count(p->snapshot), count = 0, capacity = 0;
    struct waiting *found = NULL;
    for (task_id task = 1; task <= tasks; task++) {
        struct verdict v;
        if (!is_waiting(p, task, &v))
            continue;
        unsigned lease = v.gate == GATE_LEASE ? (unsigned)v.lease : 0;
        found = xgrow(found, &capacity, count + 1, sizeof(*found));
        found[count++] = (struct waiting){ task, (unsigned)v.gate * LEASE_KIND_MAX + lease };
    }
    if (count > 0)
        qsort(found, count, sizeof(*found), compare_waiting);
    *ret_count = count;
    return found;
}

static bool fill_waiting(void *ctx, size_t row, bool printing, const char **cells) {
    struct plan *p = ctx;
    struct verdict v;
    if (!core_blocked(p->core, p->waiting[row].task, &v))
        return false;
    explain(p, &v, printing);
    p->span = (struct output_span){ "-" };
    if (v.opens_at != TIME_NEVER)
        p->span = output_span(v.opens_at - snapshot_now(p->snapshot));
    cells[0] = snapshot_task_name(p->snapshot, p->waiting[row].task);
    cells[1] = strbuf_text(&p->code);
    cells[2] = p->span.text;
    cells[3] = strbuf_text(&p->message);
    return true;
}

static void print_waiting(struct plan *p, const struct waiting *waiting, size_t count) {
    if (count == 0)
        return;
    struct output_column columns[] = { { "TASK" }, { "GATE" }, { "OPENS IN" }, { "WHY" } };
    put_title(p, output_style()->yellow, "waits");
    p->waiting = waiting;
    output_table(&(struct output_table){ columns, ARRAY_SIZE(columns), fill_waiting, p },
                 count < p->shown_max ? count : p->shown_max, &p->out);
    print_cut(p, count);
}

static void put_count(struct plan *p, size_t count, const char *what, bool *any) {
    if (count > 0)
        strbuf_printf(&p->out, "%s%zu %s", *any ? ", " : "", count, what);
    *any |= count > 0;
}

static void print_closing(struct plan *p, const struct waiting *waiting, size_t count) {
    size_t by_gate[GATE_MAX] = { 0 };
    for (size_t i = 0; i < count; i++)
        by_gate[waiting[i].group / LEASE_KIND_MAX]++;
    struct core_counts counts;
    core_count(p->core, &counts);
    size_t tasks = snapshot_task_count(p->snapshot), finished = 0;
    size_t live = counts.by_state[TASK_STARTING] + counts.by_state[TASK_RUNNING] - p->start_count;
    for (int state = 0; state < TASK_STATE_MAX; state++)
        if (task_state_is_final((enum task_state)state))
            finished += counts.by_state[state];
    strbuf_printf(&p->out, "%zu task%s: ", tasks, tasks == 1 ? "" : "s");
    bool any = false;
    put_count(p, p->start_count, "start", &any);
    put_count(p, count, "wait", &any);
    for (int gate = 0, first = 1; gate < GATE_MAX; gate++) {
        if (by_gate[gate] == 0)
            continue;
        strbuf_printf(&p->out, "%s%zu %s", first ? " (" : ", ", by_gate[gate],
                      gate_name((enum gate)gate));
        first = 0;
    }
    strbuf_puts(&p->out, count > 0 ? ")" : "");
    put_count(p, live, "running", &any);
    put_count(p, counts.by_state[TASK_DRAFT], "draft", &any);
    put_count(p, finished, "finished", &any);
    strbuf_puts(&p->out, any ? "\n" : "nothing to do\n");
    time_ms next = core_next_wakeup(p->core);
    if (next != TIME_NEVER)
        strbuf_printf(&p->out, "next look in %s\n",
                      output_span(next - snapshot_now(p->snapshot)).text);
}

static int cmd_plan_run(const struct cmd_call *call) {
    _cleanup_(snapshot_freep) struct snapshot *snapshot = NULL;
    int code = read_snapshot(call, call->args[0], &snapshot);
    if (code != CMD_OK)
        return code;
    struct plan p = {
        .snapshot = snapshot,
        .core = snapshot_core(snapshot),
        .symbols = core_symbols(snapshot_core(snapshot)),
        .names = snapshot_names(snapshot),
        .shown_max = cmd_has(call, "all") || !terminal_is(stdout) ? SIZE_MAX : SHOWN_MAX,
    };
    p.orders = core_decide(p.core, &p.order_count);
    for (size_t i = 0; i < p.order_count; i++)
        p.start_count += p.orders[i].kind == ORDER_START;
    if (call->json) {
        print_json(&p);
    } else {
        size_t count;
        struct waiting *waiting = find_waiting(&p, &count);
        print_starts(&p);
        print_waiting(&p, waiting, count);
        print_closing(&p, waiting, count);
        free(waiting);
    }
    output_rest(&p.out);
    strbuf_finish(&p.out);
    strbuf_finish(&p.code);
    strbuf_finish(&p.message);
    return CMD_OK;
}

const struct cmd cmd_plan = {
    "plan", cmd_plan_run, 1, 1,
    CMD_OPTIONS({ "all", 'a', NULL, "show every row, also on a terminal" }, SET_OPTION)
};

#define INPUT_MAX     ((size_t)4 << 30) /* maximum for input that cannot be read twice */
#define WIDTH_PIPED   100
#define WIDTH_MIN     60
#define WIDTH_MAX     300
#define OVERRIDES_MAX 64
#define HORIZON_DAYS  30

/* A snapshot and its simulation. */
struct sim_side {
    struct snapshot *snapshot;
    struct sim_world world;
    struct sim_play play;
    struct sim_result result;
    struct sim_case c;
};

struct sim_call {
    const char *path;
    struct strbuf input; /* complete input, if it can be read only once */
    bool is_buffered;
    struct sim_options options;
    bool seed_given;
    const char *overrides[OVERRIDES_MAX + 1]; /* NULL-terminated */
    size_t override_count;
    struct strbuf title; /* of the second side */
};

static void side_finish(struct sim_side *side) {
    sim_result_finish(&side->result);
    sim_play_finish(&side->play);
    side->snapshot = snapshot_free(side->snapshot);
}

/* An option in hours with up to three decimals; *ret is unchanged if not given. */
static int parse_hours(const struct cmd_call *call, const char *option, time_ms *ret,
                       struct error *err) {
    const char *text = cmd_value(call, option);
    int64_t milli;
    if (!text)
        return 0;
    if (number_parse_milli(text, &milli, err) < 0)
        return error_prefix(err, "--%s", option);
    if (milli < 0 || milli > INT64_C(100000000000))
        return error_set(err, -EINVAL, "--%s: hours must be between 0 and 100,000,000, not '%s'",
                         option, text);
    *ret = milli * 3600;
    return 0;
}

static int parse_call(const struct cmd_call *call, struct sim_call *sim, struct error *err) {
    const char *pair, *text = cmd_value(call, "seed");
    int64_t seed = 0;
    sim->path = call->args[0];
    sim->options.horizon = DAYS(HORIZON_DAYS);
    sim->options.approve_after = TIME_NEVER;
    for (size_t i = 0; (pair = cmd_value_at(call, "set", i)) != NULL; i++) {
        if (i == OVERRIDES_MAX)
            return error_set(err, -EINVAL, "more than %d settings with --set", OVERRIDES_MAX);
        if (!strchr(pair, '='))
            return error_set(err, -EINVAL, "'%s' is not KEY=VALUE", pair);
        strbuf_printf(&sim->title, "%s%s", i == 0 ? "with " : ", ", pair);
        sim->overrides[sim->override_count++] = pair;
    }
    if (text && number_parse_int(text, &seed, err) < 0)
        return error_prefix(err, "--seed");
    if (seed < 0)
        return error_set(err, -EINVAL, "--seed: '%s' is negative", text);
    sim->options.seed = (uint64_t)seed;
    sim->seed_given = text != NULL;
    int r = parse_hours(call, "until-h", &sim->options.horizon, err);
    return r < 0 ? r : parse_hours(call, "approve-after-h", &sim->options.approve_after, err);
}

static int open_input(struct sim_call *sim, FILE **ret, struct error *err) {
    static char nothing[] = " "; /* fmemopen needs at least one byte; a blank reads the same */
    if (!sim->is_buffered)
        return file_open(sim->path, ret, err);
    bool empty = sim->input.length == 0;
    *ret = fmemopen(empty ? nothing : sim->input.text, empty ? 1 : sim->input.length, "r");
    if (!*ret)
        return error_set(err, -errno, "cannot read from memory: %s", strerror(errno));
    return 0;
}

static int play_side(struct sim_call *sim, bool with, struct sim_side *side, struct error *err) {
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

static int print_sim(const struct cmd_call *call, const struct sim_call *sim,
                     const struct sim_side *now, const struct sim_side *with, struct error *err) {
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
    bool known = terminal_is(stdout) || getenv("COLUMNS");
    unsigned width = known ? terminal_width(stdout) : WIDTH_PIPED;
    const struct gantt_style style = {
        .width = width < WIDTH_MIN   ? WIDTH_MIN
                 : width > WIDTH_MAX ? WIDTH_MAX
                                     : width,
        .unicode = terminal_is_utf8(),
        .colour = terminal_has_colour(stdout),
    };
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
    struct sim_call sim = { 0 };
    _cleanup_(side_finish) struct sim_side now = { 0 };
    _cleanup_(side_finish) struct sim_side with = { 0 };
    struct stat st;
    int r = parse_call(call, &sim, &err);
    bool is_usage_error = r<0, compare = sim.override_count> 0;
    /* A pipe can be read only once: buffer it if needed twice. */
    sim.is_buffered =
        compare && (strcmp(sim.path, "-") == 0 || stat(sim.path, &st) < 0 || !S_ISREG(st.st_mode));
    if (r >= 0 && sim.is_buffered)
        r = file_read_any(sim.path, INPUT_MAX, &sim.input, &err);
    if (r >= 0)
        r = play_side(&sim, false, &now, &err);
    if (r >= 0 && compare)
        r = play_side(&sim, true, &with, &err);
    if (r >= 0)
        r = print_sim(call, &sim, &now, compare ? &with : NULL, &err);
    strbuf_finish(&sim.input);
    strbuf_finish(&sim.title);
    if (is_usage_error)
        return cmd_usage_error(call->cmd, "%s", err.text);
    return r < 0 ? cmd_error(&err) : CMD_OK;
}

static const struct cmd_option sim_options[] = {
    { "set", 's', "KEY=VALUE", "compare with this setting; repeatable" },
    { "seed", 0, "N", "random seed; default: that of the file, or 1" },
    { "svg", 0, "FILE", "also write the chart as SVG" },
    { "until-h", 0, "H", "stop after this many hours; default 720" },
    { "approve-after-h", 0, "H",
      "approve tasks that wait for a person after this many hours; default: never" },
    { NULL },
};

const struct cmd cmd_sim = { "sim", cmd_sim_run, 1, 1, sim_options };

#define CANDIDATES_MOST 2000000

/* Two or three words for a gate's code, or the code itself: the column is narrow. */
static const char *gate_words(const char *gate) {
    static const char *const words[][2] = {
        { "paused", "paused" },
        { "project", "project inactive" },
        { "held", "held" },
        { "dependency", "dependency incomplete" },
        { "parent", "parent incomplete" },
        { "artifact", "artifact missing" },
        { "breaker", "breaker open" },
        { "limiter", "rate limited" },
        { "host", "host short" },
        { "budget", "budget used up" },
        { "project-budget", "project budget used up" },
        { "pace", "paced" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i][0], gate) == 0)
            return words[i][1];
    return gate;
}

static const char *verdict_words(const struct verdict *v) {
    return v->gate == GATE_LIMITER && v->reserved ? "only reserve left"
           : v->gate == GATE_LIMITER && v->closed ? "account closed"
                                                  : gate_words(gate_name(v->gate));
}

/* A waiting task of the daemon or of a snapshot. */
struct candidate {
    int64_t score;
    time_ms created_at;
    size_t number;      /* index in the answer, or the task of the snapshot */
    const json_t *item; /* NULL: of the snapshot */
};

struct listing {
    struct candidate *candidates;
    size_t count;
    time_ms now;
    const struct snapshot *snapshot; /* NULL: the daemon's */
    struct core *core;
    struct strbuf out, reason, runnable; /* buffers for one row */
    char score[24], depth[24], iteration[24];
    struct output_span age;
};

static void listing_finish(struct listing *l) {
    free(l->candidates);
    strbuf_finish(&l->out);
    strbuf_finish(&l->reason);
    strbuf_finish(&l->runnable);
}

struct candidate_row {
    const char *id, *kind, *reason; /* reason NULL: it could start */
    int64_t score, age, depth, iteration;
};

/* By score, highest first; then age, oldest first; then original order. */
static int compare_candidates(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->created_at != b->created_at)
        return a->created_at < b->created_at ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static struct candidate_row candidate_row_at(struct listing *l, size_t i) {
    const struct candidate *c = &l->candidates[i];
    struct candidate_row row = { .score = c->score, .age = l->now - c->created_at };
    if (c->item) {
        const char *gate = get_text(c->item, "gate", NULL);
        row.id = get_text(c->item, "id", "?");
        row.kind = get_text(c->item, "kind", NULL);
        row.reason = gate ? gate_words(gate) : NULL;
        row.depth = get_int(c->item, "depth", 0);
        row.iteration = get_int(c->item, "iteration", 0);
        return row;
    }
    struct task_view v;
    struct verdict verdict;
    (void)core_task(l->core, (task_id)c->number, &v);
    row.id = snapshot_task_name(l->snapshot, v.id);
    row.kind = v.kind ? symbol_name(core_symbols(l->core), v.kind) : NULL;
    if (core_blocked(l->core, v.id, &verdict)) {
        strbuf_clear(&l->reason);
        verdict_code(&verdict, core_symbols(l->core), &l->reason);
        row.reason = verdict.gate == GATE_LEASE ? strbuf_text(&l->reason) : verdict_words(&verdict);
    }
    row.depth = v.depth;
    row.iteration = v.iteration;
    return row;
}

/* One line per task: easy to read, grep and diff. */
static void print_listing_json(struct listing *l) {
    strbuf_puts(&l->out, "{\"tasks\":[");
    for (size_t i = 0; i < l->count; i++) {
        struct candidate_row row = candidate_row_at(l, i);
        json_t *value =
            json_pack("{s:s, s:s?, s:I, s:I, s:I, s:I, s:b, s:s?}", "id", row.id, "type", row.kind,
                      "priority", (json_int_t)row.score, "age_ms", (json_int_t)row.age, "depth",
                      (json_int_t)row.depth, "iteration", (json_int_t)row.iteration, "runnable",
                      row.reason == NULL, "reason", row.reason);
        strbuf_puts(&l->out, i ? ",\n" : "\n");
        output_add_json(value, &l->out);
        json_decref(value);
        output_some(&l->out);
    }
    strbuf_puts(&l->out, "]}\n");
}

static bool fill_candidate(void *ctx, size_t i, bool printing, const char **cells) {
    struct listing *l = ctx;
    struct candidate_row row = candidate_row_at(l, i);
    (void)printing;
    strbuf_clear(&l->runnable);
    if (row.reason)
        strbuf_printf(&l->runnable, "no (%s)", row.reason);
    else
        strbuf_puts(&l->runnable, "yes");
    (void)snprintf(l->score, sizeof(l->score), "%" PRId64, row.score);
    (void)snprintf(l->depth, sizeof(l->depth), "%" PRId64, row.depth);
    (void)snprintf(l->iteration, sizeof(l->iteration), "%" PRId64, row.iteration);
    l->age = output_span(row.age);
    cells[0] = row.id;
    cells[1] = row.kind ? row.kind : "-";
    cells[2] = l->score;
    cells[3] = l->age.text;
    cells[4] = l->depth;
    cells[5] = l->iteration;
    cells[6] = strbuf_text(&l->runnable);
    return true;
}

static int print_listing(const struct cmd_call *call, struct listing *l) {
    struct output_column columns[] = {
        { "ID" }, { "TYPE" }, { "PRIORITY" }, { "AGE" }, { "DEPTH" }, { "ITER" }, { "RUNNABLE" },
    };
    if (l->count > 0)
        qsort(l->candidates, l->count, sizeof(*l->candidates), compare_candidates);
    if (call->json)
        print_listing_json(l);
    else
        output_table(&(struct output_table){ columns, ARRAY_SIZE(columns), fill_candidate, l },
                     l->count, &l->out);
    output_rest(&l->out);
    return CMD_OK;
}

static int list_live(const struct cmd_call *call) {
    _cleanup_(request_finish) struct request req = { 0 };
    json_auto_t *found = json_array();
    _cleanup_(listing_finish) struct listing l = { 0 };
    int code = request_pages(&req, "/v1/tasks?state=waiting,ready,held&limit=1000", CANDIDATES_MOST,
                             request_append, found);
    if (code != CMD_OK)
        return code;
    l.now = clock_read();
    l.candidates = xcalloc(json_array_size(found) + 1, sizeof(*l.candidates));
    EACH_ITEM(item, found) {
        l.candidates[l.count] =
            (struct candidate){ get_int(item, "score", 0), get_int(item, "created_at", l.now),
                                l.count, item };
        l.count++;
    }
    return print_listing(call, &l);
}

static int scheduler_run(const struct cmd_call *call) {
    const char *path = cmd_value(call, "snapshot");
    if (!path && cmd_has(call, "set"))
        return cmd_usage_error(call->cmd, "option '--set' needs --snapshot");
    if (!path)
        return list_live(call);
    _cleanup_(snapshot_freep) struct snapshot *snapshot = NULL;
    int code = read_snapshot(call, path, &snapshot);
    if (code != CMD_OK)
        return code;
    _cleanup_(listing_finish) struct listing l = { .snapshot = snapshot,
                                                   .core = snapshot_core(snapshot),
                                                   .now = snapshot_now(snapshot) };
    size_t tasks = snapshot_task_count(snapshot);
    l.candidates = xcalloc(tasks + 1, sizeof(*l.candidates));
    for (task_id task = 1; task <= tasks; task++) {
        struct task_view v;
        if (core_task(l.core, task, &v)
            && (v.state == TASK_WAITING || v.state == TASK_READY || v.state == TASK_HELD))
            l.candidates[l.count++] = (struct candidate){ v.score, v.created_at, task, NULL };
    }
    return print_listing(call, &l);
}

const struct cmd debug_scheduler = {
    "debug scheduler", scheduler_run, 0, 0,
    CMD_OPTIONS({ "snapshot", 0, "FILE",
                  "use this snapshot instead of the queue of the daemon; - is stdin" },
                SET_OPTION)
};
