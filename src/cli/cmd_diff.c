/* cmd_diff.c: shows the files that a task has changed, and the patch.
 *
 * An agent wrote the patch, so it is sanitized for a terminal. A pipe or file gets it unchanged: a
 * patch must be applicable. */
#include <inttypes.h>
#include <string.h>

#include "cli/diff_view.h"
#include "cli/request.h"
#include "os/terminal.h"

/* Every line of a hunk begins with a mark; header lines do not. */
static const char *colour_of(const char *line, bool in_hunk) {
    const struct output_style *style = output_style();
    if (strncmp(line, "@@", 2) == 0)
        return style->cyan;
    if (!in_hunk)
        return style->bold;
    return *line == '+' ? style->green : *line == '-' ? style->red : "";
}

static void put_patch(const char *patch, struct strbuf *out) {
    const char *reset = output_style()->reset;
    bool in_hunk = false;
    while (*patch) {
        struct sanitizer s = SANITIZER_INIT;
        size_t length = strcspn(patch, "\n");
        if (strncmp(patch, "diff --git ", strlen("diff --git ")) == 0)
            in_hunk = false; /* file lines always have a mark */
        const char *colour = colour_of(patch, in_hunk);
        in_hunk |= strncmp(patch, "@@", 2) == 0;
        strbuf_puts(out, colour);
        sanitizer_feed(&s, patch, length, out);
        sanitizer_finish(&s, out);
        strbuf_puts(out, *colour ? reset : "");
        strbuf_putc(out, '\n');
        patch += length + (patch[length] == '\n');
        output_some(out);
    }
}

void print_patch(const char *patch, struct strbuf *out) {
    if (terminal_is(stdout))
        put_patch(patch, out);
    else
        strbuf_puts(out, patch);
}

/* "  +12   -3  src/main.c" */
static void put_file(const json_t *file, struct strbuf *out) {
    const struct output_style *style = output_style();
    const char *old_path = get_text(file, "old_path", "");
    char added[24], removed[24];
    (void)snprintf(added, sizeof(added), "+%" PRId64, get_int(file, "added", 0));
    (void)snprintf(removed, sizeof(removed), "-%" PRId64, get_int(file, "removed", 0));
    if (get_true(file, "binary"))
        strbuf_printf(out, "%14s  ", "binary");
    else
        strbuf_printf(out, "%s%7s%s%s%7s%s  ", style->green, added, style->reset, style->red,
                      removed, style->reset);
    if (*old_path) {
        sanitize_line(old_path, out);
        strbuf_puts(out, " => ");
    }
    sanitize_line(get_text(file, "path", "?"), out);
    strbuf_putc(out, '\n');
    output_some(out);
}

static void put_files(const json_t *files, struct strbuf *out) {
    int64_t added = 0, removed = 0;
    EACH_ITEM(file, files) {
        put_file(file, out);
        added += get_int(file, "added", 0);
        removed += get_int(file, "removed", 0);
    }
    size_t count = json_array_size(files);
    strbuf_printf(out, "%zu file%s, +%" PRId64 " -%" PRId64 "\n", count, count == 1 ? "" : "s",
                  added, removed);
}

static int add_query(const struct cmd_call *call, struct strbuf *path) {
    int64_t iteration = 0;
    client_query(path, "iteration", cmd_value(call, "iteration"));
    client_query(path, "stat", cmd_has(call, "stat") ? "true" : NULL);
    return cmd_number(call, "iteration", 1, UINT32_MAX - 1, &iteration);
}

static void print_diff(const struct cmd_call *call, const json_t *diff, struct strbuf *out) {
    const json_t *files = json_object_get(diff, "files");
    if (json_array_size(files) == 0)
        cmd_warn("'%s' changed nothing", call->args[0]);
    else if (cmd_has(call, "stat"))
        put_files(files, out);
    else
        print_patch(get_text(diff, "patch", ""), out);
    if (get_true(diff, "truncated"))
        cmd_warn("the diff is cut: at most 1,000 files and 1 MiB are shown; see its worktree for "
                 "the rest");
}

const struct cmd cmd_diff = {
    "diff", REQUEST_COMMAND("/v1/tasks/", "/diff", .query = add_query, .print = print_diff),
    .min_args = 1, .max_args = 1,
    .options = CMD_OPTIONS(
        { "iteration", 'i', "N", "the changes of this iteration; default: the complete task" },
        { "stat", 0, NULL, "only files and line counts, without the patch" })
};
