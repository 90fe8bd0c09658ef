/* cmd_config.c: looks at the configuration. What is shown is made in config/; here is only which
 * file is meant. How it is changed is in config_change.c.
 *
 * Without --file it is the user's own, which need not exist. With --live it is what the daemon has in
 * force, which differs when the file was changed by hand and not read again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/config_change.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "cli/sanitize.h"
#include "config/config_show.h"
#include "os/files.h"
#include "os/home.h"

DEFINE_FREEP(struct config, config_free);

/* A pipe will do. */
static int read_named(struct config *config, const char *path, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = file_read_any(path, CONFIG_FILE_MAX, &text, err);
    if (r == -EFBIG)
        r = err->code = -EINVAL; /* as for a text: the input is wrong */
    return r < 0 ? r : config_read_text(config, path, strbuf_text(&text), text.length, err);
}

static int read_file(const struct cmd_call *call, struct config *config, struct error *err) {
    const char *named = cmd_value(call, "file");
    if (named)
        return read_named(config, named, err);
    _cleanup_(home_finish) struct home home = { 0 };
    if (home_find(&home, NULL) < 0)
        return 0; /* no home: nothing is configured */
    int r = config_read_file(config, home.config_file, err);
    return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* The file, then each --set. */
static int read_config(const struct cmd_call *call, struct config *config, struct error *err) {
    int r = read_file(call, config, err);
    const char *pair;
    for (size_t n = 0; r >= 0 && (pair = cmd_value_at(call, "set", n)); n++) {
        const char *equals = strchr(pair, '=');
        if (!equals)
            return error_set(err, -EINVAL, "option '--set': expected KEY=VALUE, got '%.200s'",
                             pair);
        _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
        strbuf_add(&key, pair, (size_t)(equals - pair));
        r = config_set(config, strbuf_text(&key), equals + 1, "--set", err);
    }
    return r;
}

static int print(struct strbuf *out) {
    output_rest(out);
    strbuf_finish(out);
    return CMD_OK;
}

/* --- what the daemon has in force ------------------------------------------------------------ */

static int check_live(const struct cmd_call *call) {
    static const char *const others[] = { "file", "set" };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (cmd_has(call, others[i]))
            return cmd_usage_error(call->cmd, "'--live' and '--%s' exclude each other", others[i]);
    return CMD_OK;
}

static bool is_plain(const json_t *list) {
    size_t i;
    json_t *word;
    json_array_foreach(list, i, word) {
        if (!json_is_string(word) || strpbrk(json_string_value(word), " ,\"\n"))
            return false;
    }
    return true;
}

/* A value as `config set` takes it: texts without quotes, lists with commas where that is safe. */
static void add_value(const json_t *value, struct strbuf *out) {
    size_t i;
    json_t *word;
    if (json_is_string(value)) {
        sanitize_line(json_string_value(value), out);
    } else if (json_is_array(value) && is_plain(value)) {
        json_array_foreach(value, i, word) {
            strbuf_puts(out, i ? ", " : "");
            sanitize_line(json_string_value(word), out);
        }
    } else if (!json_is_null(value)) {
        ask_dump(value, out);
        out->text[--out->length] = '\0'; /* the newline */
    }
}

static int show_live(const struct cmd_call *call) {
    int code = check_live(call);
    _cleanup_(ask_finish) struct ask ask = { 0 };
    if (code == CMD_OK)
        code = ask_open_get(&ask, "/v1/config?all=true");
    if (code != CMD_OK)
        return code;
    if (call->json)
        return ask_print(&ask);
    struct output_column columns[] = { { "KEY" }, { "VALUE" }, { "ORIGIN" } };
    _cleanup_(rows_finish) struct rows rows = { columns, ARRAY_SIZE(columns) };
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(ask.answer, "items"), i, item) {
        _cleanup_(strbuf_finish) struct strbuf value = STRBUF_INIT;
        add_value(json_object_get(item, "value"), &value);
        rows_add(&rows, (const char *[]){ ask_text(item, "key", NULL), strbuf_text(&value),
                                          ask_text(item, "origin", NULL) });
    }
    struct strbuf out = STRBUF_INIT;
    rows_print(&rows, &out);
    return print(&out);
}

static int get_live(const struct cmd_call *call) {
    int code = check_live(call);
    _cleanup_(ask_finish) struct ask ask = { 0 };
    if (code == CMD_OK)
        code = ask_open_named(&ask, call, "/v1/config/", "");
    if (code != CMD_OK || call->json)
        return code == CMD_OK ? ask_print(&ask) : code;
    struct strbuf out = STRBUF_INIT;
    add_value(json_object_get(ask.answer, "value"), &out);
    strbuf_putc(&out, '\n');
    return print(&out);
}

/* --- what the file says ---------------------------------------------------------------------- */

static int get_run(const struct cmd_call *call) {
    int code = ask_name(call, call->args[0]);
    if (code != CMD_OK)
        return code;
    if (cmd_has(call, "live"))
        return get_live(call);
    _cleanup_(config_freep) struct config *config = config_new();
    _cleanup_(strbuf_finish) struct strbuf all = STRBUF_INIT;
    struct error err = { 0 };
    if (read_config(call, config, &err) < 0
        || config_explain(config, call->args[0], true, &all, &err) < 0)
        return cmd_error(&err);
    _cleanup_(client_answer_freep) json_t *told = json_loads(strbuf_text(&all), 0, NULL);
    if (!json_object_get(told, "origin"))
        return cmd_usage_error(call->cmd, "'%s' stands for many keys: put a name into it",
                               call->args[0]);
    struct strbuf out = STRBUF_INIT;
    if (call->json) {
        json_t *one =
            json_pack("{s:O, s:O, s:O}", "key", json_object_get(told, "key"), "value",
                      json_object_get(told, "value"), "origin", json_object_get(told, "origin"));
        ask_dump(one, &out);
        json_decref(one);
        return print(&out);
    }
    add_value(json_object_get(told, "value"), &out);
    strbuf_putc(&out, '\n');
    return print(&out);
}

static int show_run(const struct cmd_call *call) {
    if (cmd_has(call, "live"))
        return show_live(call);
    _cleanup_(config_freep) struct config *config = config_new();
    struct error err = { 0 };
    if (read_config(call, config, &err) < 0)
        return cmd_error(&err);
    struct strbuf out = STRBUF_INIT;
    config_show(config, call->json, &out);
    return print(&out);
}

static int explain_run(const struct cmd_call *call) {
    _cleanup_(config_freep) struct config *config = config_new();
    struct error err = { 0 };
    struct strbuf out = STRBUF_INIT;
    if (read_config(call, config, &err) < 0
        || config_explain(config, call->args[0], call->json, &out, &err) < 0)
        return cmd_error(&err);
    return print(&out);
}

static int keys_run(const struct cmd_call *call) {
    struct strbuf out = STRBUF_INIT;
    config_keys(call->json, &out);
    return print(&out);
}

static int reference_run(const struct cmd_call *call) {
    struct strbuf out = STRBUF_INIT;
    if (call->json)
        config_keys(true, &out);
    else
        config_reference(&out);
    return print(&out);
}

static const struct cmd_option file_options[] = {
    { "file", 'f', "FILE", "look at this file instead of your own" },
    { "set", 's', "KEY=VALUE", "change a setting after the file's; may be repeated" },
    { NULL },
};

static const struct cmd_option live_options[] = {
    { "file", 'f', "FILE", "look at this file instead of your own" },
    { "set", 's', "KEY=VALUE", "change a setting after the file's; may be repeated" },
    { "live", 'l', NULL, "ask the daemon what is in force, instead of a file" },
    { NULL },
};

static const struct cmd_option edit_options[] = {
    { "file", 'f', "FILE", "change this file, and nothing else" },
    { NULL },
};

static const struct cmd config_explain_cmd = { "config explain", .options = file_options,
                                               .min_args = 1, .max_args = 1, .run = explain_run };

static const struct cmd config_get_cmd = { "config get", .options = live_options, .min_args = 1,
                                           .max_args = 1, .run = get_run };

static const struct cmd config_keys_cmd = { "config keys", .run = keys_run };

static const struct cmd config_reference_cmd = { "config reference", .run = reference_run };

static const struct cmd config_reload_cmd = { "config reload", .run = config_change_reload };

static const struct cmd config_set_cmd = { "config set", .options = edit_options, .min_args = 1,
                                           .max_args = CMD_ANY_ARGS, .run = config_change_set };

static const struct cmd config_unset_cmd = { "config unset", .options = edit_options, .min_args = 1,
                                             .max_args = CMD_ANY_ARGS, .run = config_change_unset };

static const struct cmd config_show_cmd = { "config show", .options = live_options,
                                            .run = show_run };

const struct cmd cmd_config = { "config", .subs = CMD_LIST(&config_explain_cmd, &config_get_cmd,
                                                           &config_keys_cmd, &config_reference_cmd,
                                                           &config_reload_cmd, &config_set_cmd,
                                                           &config_show_cmd, &config_unset_cmd) };
