/* config_change.c: changes the configuration where it is in force.
 *
 * A daemon that runs is asked: it alone knows whether the values can be applied, it writes the file,
 * and both are true at the same moment. When none runs the file is edited here by the same code. A
 * file named with --file is only a file. */
#include "cli/config_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "cli/ask.h"
#include "cli/output.h"
#include "cli/sanitize.h"
#include "config/config_edit.h"
#include "os/files.h"
#include "os/home.h"

#define FILE_MAX (4u << 20)

/* {"changed":[keys]}: the same whoever did it. */
static void print_changed(const struct cmd_call *call, const json_t *answer, const char *where) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    const json_t *changed = json_object_get(answer, "changed");
    if (call->json) {
        ask_dump(answer, &out);
        output_rest(&out);
        return;
    }
    size_t i;
    json_t *key;
    json_array_foreach(changed, i, key) {
        sanitize_line(json_string_value(key) ? json_string_value(key) : "?", &out);
        strbuf_printf(&out, " changed%s\n", where);
    }
    if (json_array_size(changed) == 0)
        strbuf_puts(&out, "nothing changed: it was so already\n");
    output_rest(&out);
}

/* --- the file -------------------------------------------------------------------------------- */

/* The folder of the file, when it is the user's own and not there yet. */
static int make_folder(const char *file, struct error *err) {
    _cleanup_(freep) char *folder = xstrdup(file);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) < 0 && errno != EEXIST)
            return error_set_errno(err, "make the folder", folder);
        *slash = '/';
    }
    return 0;
}

static int edit_file(const struct cmd_call *call, const struct config_change *changes,
                     size_t count) {
    struct error err = { 0 };
    _cleanup_(home_finish) struct home home = { 0 };
    const char *file = cmd_value(call, "file");
    if (!file) {
        if (home_find(&home, &err) < 0 || make_folder(home.config_file, &err) < 0) {
            cmd_warn("%s", err.text);
            return CMD_FAILED;
        }
        file = home.config_file;
    }
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    (void)file_read(file, FILE_MAX, &before, NULL); /* it need not be there */
    if (config_edit(file, changes, count, &err) < 0)
        return cmd_error(&err);
    bool same = file_read(file, FILE_MAX, &after, NULL) == 0 && before.length == after.length
                && memcmp(strbuf_text(&before), strbuf_text(&after), after.length) == 0;
    _cleanup_(client_answer_freep) json_t *answer = json_pack("{s:[]}", "changed");
    for (size_t i = 0; !same && i < count; i++)
        json_array_append_new(json_object_get(answer, "changed"), ask_string(changes[i].key));
    _cleanup_(strbuf_finish) struct strbuf where = STRBUF_INIT;
    strbuf_puts(&where, " in ");
    sanitize_line(file, &where);
    print_changed(call, answer, strbuf_text(&where));
    return CMD_OK;
}

/* --- both ways ------------------------------------------------------------------------------- */

static json_t *make_body(const struct config_change *changes, size_t count) {
    json_t *set = json_object(), *unset = json_array();
    for (size_t i = 0; i < count; i++) {
        if (changes[i].value)
            json_object_set_new(set, changes[i].key, ask_string(changes[i].value));
        else
            json_array_append_new(unset, ask_string(changes[i].key));
    }
    json_t *body = json_object();
    if (json_object_size(set) > 0)
        json_object_set(body, "set", set);
    if (json_array_size(unset) > 0)
        json_object_set(body, "unset", unset);
    json_decref(set);
    json_decref(unset);
    return body;
}

static int change(const struct cmd_call *call, const struct config_change *changes, size_t count) {
    if (cmd_has(call, "file"))
        return edit_file(call, changes, count);
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open(&ask, ASK_TRY);
    if (code == CMD_NO_DAEMON)
        return edit_file(call, changes, count);
    if (code == CMD_OK)
        code = ask_post(&ask, make_body(changes, count), "/v1/config");
    if (code == CMD_OK)
        print_changed(call, ask.answer, "");
    return code;
}

int config_change_set(const struct cmd_call *call) {
    _cleanup_(client_answer_freep) json_t *pairs = json_object();
    for (size_t i = 0; i < call->arg_count; i++)
        if (ask_add_pair(call, call->args[i], pairs) != CMD_OK)
            return CMD_USAGE;
    size_t count = 0;
    _cleanup_(freep) struct config_change *changes = xcalloc(call->arg_count, sizeof(*changes));
    const char *key;
    json_t *value;
    json_object_foreach(pairs, key, value) {
        changes[count++] = (struct config_change){ key, json_string_value(value) };
    }
    return change(call, changes, count);
}

int config_change_unset(const struct cmd_call *call) {
    _cleanup_(freep) struct config_change *changes = xcalloc(call->arg_count, sizeof(*changes));
    for (size_t i = 0; i < call->arg_count; i++) {
        if (ask_name(call, call->args[i]) != CMD_OK)
            return CMD_USAGE;
        changes[i].key = call->args[i];
    }
    return change(call, changes, call->arg_count);
}

int config_change_reload(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open(&ask, ASK_RUNNING);
    if (code == CMD_OK)
        code = ask_post(&ask, NULL, "/v1/config/reload");
    if (code != CMD_OK)
        return code;
    if (call->json)
        return ask_print(&ask);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    strbuf_puts(&out, "configuration read again\n");
    output_rest(&out);
    return CMD_OK;
}
