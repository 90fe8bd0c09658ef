/* cmd_config.c: reads and changes the configuration.
 *
 * A running daemon applies changes: it validates the values and writes the file, so that file and
 * memory agree. Without a daemon, or with --file, the same code edits the file here. --live shows
 * the daemon's current values. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "cli/daemon.h"
#include "cli/preflight.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "config/config.h"
#include "config/config_edit.h"
#include "config/config_show.h"
#include "config/presets.h"
#include "config/settings.h"
#include "os/files.h"
#include "os/home.h"

DEFINE_FREEP(struct config, config_free);

static int read_file(const struct cmd_call *call, struct config *config, struct error *err) {
    const char *named = cmd_value(call, "file");
    _cleanup_(home_finish) struct home home = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (!named && home_find(&home, NULL) < 0)
        return 0; /* no home: nothing is configured */
    if (!named) {
        int r = config_read_file(config, home.config_file, err);
        return r == -ENOENT || r == -ENOTDIR ? 0 : r;
    }
    int r = file_read_any(named, CONFIG_FILE_MAX, &text, err);
    if (r == -EFBIG)
        r = err->code = -EINVAL; /* as for a text: invalid input */
    return r < 0 ? r : config_read_text(config, named, strbuf_text(&text), text.length, err);
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

static int check_live(const struct cmd_call *call) {
    const char *other = cmd_has(call, "file") ? "file" : cmd_has(call, "set") ? "set" : NULL;
    return other ? cmd_usage_error(call->cmd, "'--live' and '--%s' cannot be used together", other)
                 : CMD_OK;
}

static bool is_plain(const json_t *list) {
    EACH_ITEM(word, list) {
        if (!json_is_string(word) || strpbrk(json_string_value(word), " ,\"\n"))
            return false;
    }
    return true;
}

/* A value as `config set` accepts it: texts without quotes, lists with commas if unambiguous. */
static void add_value(const json_t *value, struct strbuf *out) {
    const char *between = "";
    if (json_is_string(value)) {
        sanitize_line(json_string_value(value), out);
    } else if (json_is_array(value) && is_plain(value)) {
        EACH_ITEM(word, value) {
            strbuf_puts(out, between);
            sanitize_line(json_string_value(word), out);
            between = ", ";
        }
    } else if (!json_is_null(value)) {
        output_put_json(value, out);
        out->text[--out->length] = '\0'; /* drop the newline */
    }
}

static void put_setting_value(struct strbuf *out, const json_t *setting, time_ms now) {
    (void)now;
    add_value(json_object_get(setting, "value"), out);
}

static int print_value_of(const json_t *setting) {
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    put_setting_value(&out, setting, 0);
    strbuf_putc(&out, '\n');
    return CMD_OK;
}

static int print_live(const struct cmd_call *call) {
    int code = check_live(call);
    _cleanup_(request_finish) struct request req = { 0 };
    if (code == CMD_OK)
        code = request_get(&req, "/v1/config?all=true");
    if (request_ended(call, &req, &code))
        return code;
    static const struct column columns[] = {
        { "KEY", "key" },
        { "VALUE", .put = put_setting_value },
        { "ORIGIN", "origin" },
        { NULL },
    };
    _cleanup_(rows_finish) struct rows rows = rows_new(columns);
    EACH_ITEM(item, json_object_get(req.answer, "items")) {
        rows_add_item(&rows, item, 0);
    }
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    rows_print(&rows, &out);
    return CMD_OK;
}

static int get_run(const struct cmd_call *call) {
    int code = request_check_name(call, call->args[0]);
    if (code != CMD_OK)
        return code;
    if (cmd_has(call, "live")) {
        _cleanup_(request_finish) struct request req = { 0 };
        code = check_live(call);
        if (code == CMD_OK)
            code = request_named(&req, call, NULL, "/v1/config/", "");
        return request_ended(call, &req, &code) ? code : print_value_of(req.answer);
    }
    _cleanup_(config_freep) struct config *config = config_new();
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct error err = { 0 };
    if (read_config(call, config, &err) < 0
        || config_explain(config, call->args[0], true, &text, &err) < 0)
        return cmd_error(&err);
    json_auto_t *all = json_loads(strbuf_text(&text), 0, NULL);
    if (!json_object_get(all, "origin"))
        return cmd_usage_error(call->cmd,
                               "'%s' stands for many keys: replace the capital letter with a name",
                               call->args[0]);
    if (call->json)
        return output_json(json_pack("{s:O, s:O, s:O}", "key", json_object_get(all, "key"), "value",
                                     json_object_get(all, "value"), "origin",
                                     json_object_get(all, "origin")));
    return print_value_of(all);
}

static int show_run(const struct cmd_call *call) {
    if (cmd_has(call, "live"))
        return print_live(call);
    _cleanup_(config_freep) struct config *config = config_new();
    struct error err = { 0 };
    if (read_config(call, config, &err) < 0)
        return cmd_error(&err);
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    config_show(config, call->json, &out);
    return CMD_OK;
}

static int explain_run(const struct cmd_call *call) {
    _cleanup_(config_freep) struct config *config = config_new();
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (read_config(call, config, &err) < 0
        || config_explain(config, call->args[0], call->json, &out, &err) < 0)
        return cmd_error(&err);
    output_rest(&out);
    return CMD_OK;
}

/* Both print the same JSON. */
static int keys_or_reference_run(const struct cmd_call *call) {
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    if (!call->json && strcmp(cmd_name(call->cmd), "reference") == 0)
        config_reference(&out);
    else
        config_keys(call->json, &out);
    return CMD_OK;
}

#define FILE_MAX (4u << 20)

/* {"changed":[keys]}, from the daemon or from here. `file`: NULL if the daemon changed it. */
static void print_changed(const struct cmd_call *call, const json_t *answer, const char *file) {
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    const json_t *changed = json_object_get(answer, "changed");
    EACH_ITEM(key, call->json ? NULL : changed) {
        cmd_put_line(&out, "%s changed%s%s", json_string_value(key), file ? " in " : "",
                     file ? file : "");
    }
    if (call->json)
        output_put_json(answer, &out);
    else if (json_array_size(changed) == 0)
        strbuf_puts(&out, "nothing changed: the value is already set\n");
}

/* `body`: {"set":{key:value}} or {"unset":[key]}. */
static int edit_file(const struct cmd_call *call, const json_t *body) {
    struct error err = { 0 };
    _cleanup_(home_finish) struct home home = { 0 };
    const char *file = cmd_value(call, "file");
    if (!file) {
        if (home_find(&home, &err) < 0 || cmd_make_parent(home.config_file, &err) < 0)
            return cmd_fail(&err);
        file = home.config_file;
    }
    size_t count = 0;
    _cleanup_(freep) struct config_change *changes = xcalloc(call->arg_count, sizeof(*changes));
    EACH_MEMBER(key, value, json_object_get(body, "set")) {
        changes[count++] = (struct config_change){ key, json_string_value(value) };
    }
    EACH_ITEM(key, json_object_get(body, "unset")) {
        changes[count++].key = json_string_value(key);
    }
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    (void)file_read(file, FILE_MAX, &before, NULL); /* may not exist */
    if (config_edit(file, changes, count, &err) < 0)
        return cmd_error(&err);
    bool same = file_read(file, FILE_MAX, &after, NULL) == 0
                && strcmp(strbuf_text(&before), strbuf_text(&after)) == 0;
    json_auto_t *answer = json_pack("{s:[]}", "changed");
    for (size_t i = 0; !same && i < count; i++)
        json_array_append_new(json_object_get(answer, "changed"), json_text(changes[i].key));
    print_changed(call, answer, file);
    return CMD_OK;
}

/* `config set` and `config unset`. */
static int change_run(const struct cmd_call *call) {
    bool set = strcmp(cmd_name(call->cmd), "set") == 0;
    json_auto_t *pairs = json_object();
    for (size_t i = 0; set && i < call->arg_count; i++)
        if (request_add_pair(call, call->args[i], pairs) != CMD_OK)
            return CMD_USAGE;
    if (!set && request_check_names(call, "a name is empty") != CMD_OK)
        return CMD_USAGE;
    json_auto_t *body = set ? json_pack("{s:O}", "set", pairs)
                            : json_pack("{s:o}", "unset", request_args(call, 0, call->arg_count));
    _cleanup_(request_finish) struct request req = { 0 };
    int code = cmd_has(call, "file") ? CMD_NO_DAEMON : request_open(&req, REQUEST_TRY);
    if (code == CMD_NO_DAEMON)
        return edit_file(call, body);
    if (code == CMD_OK)
        code = request_post(&req, json_incref(body), "/v1/config");
    if (code == CMD_OK)
        print_changed(call, req.answer, NULL);
    return code;
}

static void print_reloaded(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    (void)call;
    (void)answer;
    strbuf_puts(out, "configuration reloaded\n");
}

#define FILE_OPTIONS                                                                               \
    { "file", 'f', "FILE", "read this file instead of your own" }, {                               \
        "set", 's', "KEY=VALUE", "override a setting of the file; repeatable"                      \
    }
static const struct cmd_option file_options[] = { FILE_OPTIONS, { NULL } };
static const struct cmd_option live_options[] = {
    FILE_OPTIONS,
    { "live", 'l', NULL, "show the values of the running daemon instead of a file" },
    { NULL },
};

static const struct cmd_option edit_options[] = {
    { "file", 'f', "FILE", "change only this file" },
    { NULL },
};

const struct cmd cmd_config = {
    "config",
    .subs = CMD_LIST(
        CMD_SUB("config explain", explain_run, 1, 1, file_options),
        CMD_SUB("config get", get_run, 1, 1, live_options),
        CMD_SUB("config keys", keys_or_reference_run),
        CMD_SUB("config reference", keys_or_reference_run),
        CMD_SUB("config reload", REQUEST_COMMAND("/v1/config/reload", .is_post = true,
                                                 .mode = REQUEST_RUNNING, .print = print_reloaded)),
        CMD_SUB("config set", change_run, 1, CMD_ANY_ARGS, edit_options),
        CMD_SUB("config show", show_run, 0, 0, live_options),
        CMD_SUB("config unset", change_run, 1, CMD_ANY_ARGS, edit_options))
};
