/* formula_find.c: see formula_find.h. */
#include "cli/formula_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "config/config.h"
#include "os/files.h"
#include "os/home.h"

DEFINE_FREEP(struct config, config_free);

/* --- places ---------------------------------------------------------------------------------- */

static char *join(const char *folder, const char *below) {
    struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s%s", folder, below);
    return strbuf_take(&path);
}

static int read_places(const struct home *home, const struct config *config, const char *project,
                       struct formula_places *places, struct error *err) {
    const char *path = project ? config_text(config, "projects.P.path", project) : "";
    if (*path)
        places->folders[0] = join(path, "/.sluice/formulas");
    const char *slash = strrchr(home->config_file, '/');
    _cleanup_(freep) char *beside =
        xstrndup(home->config_file, slash ? (size_t)(slash - home->config_file) : 0);
    places->folders[1] = join(beside, "/formulas");
    places->work = *path ? xstrdup(path) : getcwd(NULL, 0);
    return places->work ? 0
                        : error_set(err, -errno, "this folder has no path: %s", strerror(errno));
}

int formula_places_find(const char *project, struct formula_places *ret, struct error *err) {
    _cleanup_(home_finish) struct home home = { 0 };
    _cleanup_(config_freep) struct config *config = config_new();
    *ret = (struct formula_places){ 0 };
    int r = home_find(&home, err);
    if (r < 0)
        return r;
    r = config_read_file(config, home.config_file, err);
    if (r < 0 && r != -ENOENT)
        return r;
    return read_places(&home, config, project, ret, err);
}

void formula_places_finish(struct formula_places *places) {
    free(places->folders[0]);
    free(places->folders[1]);
    free(places->work);
}

/* --- finding --------------------------------------------------------------------------------- */

static bool is_path(const char *name) {
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
}

/* A pipe will do. */
static int read_named(const char *path, const char *folder, struct formula **ret,
                      struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = file_read_any(path, FORMULA_BYTES_MAX, &text, err);
    return r < 0 ? r : formula_read_text(path, folder, strbuf_text(&text), text.length, ret, err);
}

int formula_find(const struct formula_places *places, const char *name, struct formula **ret,
                 struct error *err) {
    if (is_path(name))
        return read_named(name, places->work, ret, err);
    _cleanup_(strbuf_finish) struct strbuf looked = STRBUF_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(places->folders); i++) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        if (!places->folders[i])
            continue;
        strbuf_printf(&path, "%s/%s.yaml", places->folders[i], name);
        if (access(strbuf_text(&path), F_OK) == 0)
            return formula_read(strbuf_text(&path), places->work, ret, err);
        strbuf_printf(&looked, "%s%s", looked.length ? " and not " : "", strbuf_text(&path));
    }
    return error_set(err, -ENOENT, "there is no formula '%.60s': not %s", name,
                     strbuf_text(&looked));
}

/* --- values ---------------------------------------------------------------------------------- */

void formula_values_finish(struct formula_values *values) {
    for (size_t i = 0; i < values->text_count; i++)
        free(values->texts[i]);
    free(values->texts);
    free(values->items);
}

static char *keep(struct formula_values *values, char *text) {
    values->texts = xgrow(values->texts, &values->text_capacity, values->text_count + 1,
                          sizeof(*values->texts));
    values->texts[values->text_count++] = text;
    return text;
}

static void add(struct formula_values *values, struct formula_value value) {
    values->items =
        xgrow(values->items, &values->capacity, values->count + 1, sizeof(*values->items));
    values->items[values->count++] = value;
}

void formula_values_offer(struct formula_values *values, const char *name, const char *value) {
    add(values, (struct formula_value){ .name = name,
                                        .value = keep(values, xstrdup(value ? value : "")),
                                        .offered = true });
}

int formula_values_take(const struct cmd_call *call, struct formula_values *values) {
    const char *pair;
    for (size_t n = 0; (pair = cmd_value_at(call, "var", n)); n++) {
        const char *equals = strchr(pair, '=');
        if (!equals || equals == pair)
            return cmd_usage_error(call->cmd, "option '--var': expected NAME=VALUE, got '%s'",
                                   pair);
        char *name = keep(values, xstrndup(pair, (size_t)(equals - pair)));
        add(values, (struct formula_value){ .name = name, .value = equals + 1 });
    }
    return CMD_OK;
}
