/* mcp_install.c: adds the MCP server to an agent's configuration (struct agent_mcp).
 *
 * In JSON files one member is changed and every other byte is kept, comments included (jsonc.h).
 * The TOML file of Codex gets a table at its end, where one is always valid; if it has the name in
 * another form, it is not changed. Files are replaced atomically. A file that cannot be parsed is
 * not changed, and the entry to add manually is shown instead. */
#include "cli/mcp_install.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "cli/daemon.h"
#include "cli/jsonc.h"
#include "cli/request.h"
#include "os/files.h"

#define FILE_MAX   ((size_t)64 * 1024 * 1024)
#define TOML_TABLE "[mcp_servers.sluice]"

/* NULL: unknown agent, or it has no such file. */
static const struct agent_mcp *find_mcp(const char *agent) {
    const struct agent_adapter *adapter = agent_adapter_find(agent);
    return adapter ? adapter->mcp : NULL;
}

static int find_usual_file(const char *agent, bool project, struct strbuf *out, struct error *err) {
    const struct agent_mcp *mcp = find_mcp(agent);
    const char *home = cmd_env("HOME"), *config = cmd_env("XDG_CONFIG_HOME");
    const char *own = mcp->variable ? cmd_env(mcp->variable) : NULL;
    if (project && !mcp->project_file)
        return error_set(err, -EINVAL, "'%s' has no file for a project: leave out --project",
                         agent);
    if (project)
        return cmd_absolute_path(mcp->project_file, out, err);
    if (own)
        strbuf_printf(out, "%s/%s", own, mcp->file);
    else if (config && strncmp(mcp->folder, ".config/", 8) == 0)
        strbuf_printf(out, "%s/%s/%s", config, mcp->folder + 8, mcp->file);
    else if (home)
        strbuf_printf(out, "%s/%s%s%s", home, mcp->folder, *mcp->folder ? "/" : "", mcp->file);
    else
        return error_set(err, -ENOENT, "HOME is not set: the settings of '%s' cannot be found",
                         agent);
    return 0;
}

/* If FILE.json and FILE.jsonc are read, the existing one is changed. */
static int find_file(const char *agent, bool project, struct strbuf *out, struct error *err) {
    int r = find_usual_file(agent, project, out, err);
    if (r < 0 || !find_mcp(agent)->may_have_comments || access(strbuf_text(out), F_OK) == 0)
        return r;
    strbuf_putc(out, 'c');
    if (access(strbuf_text(out), F_OK) < 0)
        out->text[--out->length] = '\0';
    return 0;
}

/* "": no file yet. */
static int read_file(const char *path, struct strbuf *out, struct error *err) {
    int r = file_read(path, FILE_MAX, out, err);
    return r == -ENOENT ? 0 : r;
}

static int make_folder(const char *path, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        strbuf_clear(&folder);
        strbuf_add(&folder, path, (size_t)(at - path));
        if (mkdir(strbuf_text(&folder), 0755) < 0 && errno != EEXIST)
            return error_set_errno(err, "make", strbuf_text(&folder));
    }
    return 0;
}

/* What the server needs to find this daemon, if it is not the default one. */
static json_t *make_environment(void) {
    const char *home = cmd_env("SLUICE_HOME");
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    if (!home || cmd_absolute_path(home, &path, &err) < 0)
        return NULL;
    return json_pack("{s:o}", "SLUICE_HOME", json_text(strbuf_text(&path)));
}

static json_t *make_entry(const struct agent_mcp *mcp, const char *program) {
    json_t *variables = make_environment(), *entry;
    if (mcp->is_one_list)
        entry = json_pack("{s:s, s:[o, s], s:b}", "type", mcp->type, "command", json_text(program),
                          "mcp", "enabled", 1);
    else
        entry = json_pack("{s:o, s:[s]}", "command", json_text(program), "args", "mcp");
    if (mcp->type && !mcp->is_one_list)
        (void)json_object_set_new(entry, "type", json_string(mcp->type));
    if (variables)
        (void)json_object_set_new(entry, mcp->is_one_list ? "environment" : "env", variables);
    return entry;
}

static void print_toml_text(struct strbuf *out, const char *text) {
    strbuf_putc(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            strbuf_putc(out, '\\');
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            strbuf_printf(out, "\\u%04X", (unsigned char)*text);
        else
            strbuf_putc(out, *text);
    }
    strbuf_putc(out, '"');
}

/* Codex passes only the variables named here to a server. */
static void print_toml(struct strbuf *out, const char *program) {
    json_auto_t *variables = make_environment();
    strbuf_puts(out, TOML_TABLE "\ncommand = ");
    print_toml_text(out, program);
    strbuf_puts(
        out, "\nargs = [\"mcp\"]\n"
             "env_vars = [\"XDG_RUNTIME_DIR\", \"SLUICE_SOCKET\", \"SLUICE_PEERS\", \"SLUICE_CA\", "
             "\"SLUICE_TASK\", \"SLUICE_RUN\", \"SLUICE_TOKEN\", \"SLUICE_DONE\"]\n");
    if (variables) {
        strbuf_puts(out, "env = { SLUICE_HOME = ");
        print_toml_text(out, json_string_value(json_object_get(variables, "SLUICE_HOME")));
        strbuf_puts(out, " }\n");
    }
}

struct change {
    struct strbuf file;       /* its path */
    struct strbuf old, added; /* removed and added text, for display; old "": nothing */
    struct strbuf text;       /* the complete new file; "": unchanged */
    bool already;
};

static void change_finish(struct change *change) {
    strbuf_finish(&change->file);
    strbuf_finish(&change->old);
    strbuf_finish(&change->added);
    strbuf_finish(&change->text);
}

static void dump(const json_t *value, struct strbuf *out) {
    char *text = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    strbuf_puts(out, text ? text : "");
    strbuf_putc(out, '\n');
    free(text);
}

static int change_json(const struct agent_mcp *mcp, const char *program,
                       const struct strbuf *before, struct change *change, struct error *err) {
    json_auto_t *entry = make_entry(mcp, program);
    json_auto_t *member = json_pack("{s:{s:O}}", mcp->member, "sluice", entry);
    struct jsonc_span span = { 0 };
    dump(member, &change->added);
    int r = jsonc_find(before, mcp->member, "sluice", &span, err);
    json_t *old = r > 0 ? json_loadb(strbuf_text(before) + span.from, span.to - span.from,
                                     JSON_DECODE_ANY, NULL)
                        : NULL; /* NULL: it contains comments */
    change->already = old && json_equal(old, entry);
    if (r > 0 && !change->already)
        strbuf_add(&change->old, before->text + span.from, span.to - span.from);
    if (r >= 0)
        r = jsonc_set(before, mcp->member, "sluice", entry, &change->text, err);
    json_decref(old);
    return r < 0 ? error_prefix(err, "'%s'", strbuf_text(&change->file)) : 0;
}

/* Does a line name it in any form? Ignores blanks and quotes. */
static bool has_toml_entry(const char *text) {
    static const char *const forms[] = { "[mcp_servers.sluice]", "[mcp_servers.sluice.",
                                         "[mcp_servers]", "mcp_servers" };
    while (*text) {
        _cleanup_(strbuf_finish) struct strbuf plain = STRBUF_INIT;
        for (; *text && *text != '\n'; text++)
            if (!strchr(" \t\"'", *text))
                strbuf_putc(&plain, *text);
        for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
            if (strncmp(strbuf_text(&plain), forms[i], strlen(forms[i])) == 0)
                return true;
        text += *text == '\n';
    }
    return false;
}

static int change_toml(const char *program, const struct strbuf *before, struct change *change,
                       struct error *err) {
    print_toml(&change->added, program);
    change->already = strstr(strbuf_text(before), strbuf_text(&change->added)) != NULL;
    if (!change->already && has_toml_entry(strbuf_text(before)))
        return error_set(err, -EEXIST, "'%s' has an entry that is not this one",
                         strbuf_text(&change->file));
    strbuf_add(&change->text, before->text, before->length);
    if (before->length > 0 && before->text[before->length - 1] != '\n')
        strbuf_putc(&change->text, '\n');
    strbuf_printf(&change->text, "%s%s", before->length > 0 ? "\n" : "",
                  strbuf_text(&change->added));
    return 0;
}

static void print_lines(struct strbuf *out, char mark, const char *text) {
    while (*text) {
        size_t size = strcspn(text, "\n");
        strbuf_putc(out, mark);
        strbuf_putc(out, ' ');
        strbuf_add(out, text, size);
        strbuf_putc(out, '\n');
        text += size + (text[size] == '\n');
    }
}

static void print_change(const struct cmd_call *call, const struct change *change, bool written) {
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    if (call->json) {
        (void)output_json(json_pack(
            "{s:o, s:b, s:b, s:o}", "file", json_text(strbuf_text(&change->file)), "already",
            change->already, "written", written, "adds", json_text(strbuf_text(&change->added))));
    } else if (change->already) {
        strbuf_printf(&out, "%s has it already\n", strbuf_text(&change->file));
    } else {
        strbuf_printf(&out, "%s:\n", strbuf_text(&change->file));
        print_lines(&out, '-', strbuf_text(&change->old));
        print_lines(&out, '+', strbuf_text(&change->added));
        strbuf_puts(&out, written ? "written\n" : "nothing is written yet; --yes does it\n");
    }
}

int mcp_install_run(const struct cmd_call *call) {
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT, before = STRBUF_INIT,
                                           program = STRBUF_INIT;
    _cleanup_(change_finish) struct change change = { 0 };
    struct error err = { 0 };
    const char *name = cmd_value(call, "agent");
    const struct agent_mcp *mcp = name ? find_mcp(name) : NULL;
    agent_print_names(AGENT_LIST_MCP, ", ", &known);
    if (!name)
        return cmd_usage_error(call->cmd, "'install' needs --agent: %s", strbuf_text(&known));
    if (!mcp)
        return cmd_usage_error(call->cmd, "option '--agent': expected %s, got '%s'",
                               strbuf_text(&known), name);
    int r = find_file(name, cmd_has(call, "project"), &change.file, &err);
    if (r >= 0)
        r = daemon_find_program("sluice", &program, &err);
    if (r >= 0)
        r = read_file(strbuf_text(&change.file), &before, &err);
    if (r < 0)
        return cmd_error(&err);
    r = mcp->member ? change_json(mcp, strbuf_text(&program), &before, &change, &err)
                    : change_toml(strbuf_text(&program), &before, &change, &err);
    if (r < 0) {
        cmd_warn("%s: nothing was changed; add this manually:\n%s", err.text,
                 strbuf_text(&change.added));
        return CMD_FAILED;
    }
    bool write = cmd_has(call, "yes") && !change.already;
    if (write)
        r = make_folder(strbuf_text(&change.file), &err);
    if (r >= 0 && write)
        r = file_write(strbuf_text(&change.file), change.text.text, change.text.length, &err);
    if (r < 0)
        return cmd_error(&err);
    print_change(call, &change, write);
    return CMD_OK;
}

int mcp_install_is_done(const char *name) {
    _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT, text = STRBUF_INIT;
    const struct agent_mcp *mcp = find_mcp(name);
    struct jsonc_span span;
    if (!mcp || find_file(name, false, &file, NULL) < 0
        || read_file(strbuf_text(&file), &text, NULL) < 0)
        return -1;
    if (text.length == 0)
        return 0;
    int r = mcp->member ? jsonc_find(&text, mcp->member, "sluice", &span, NULL)
                        : has_toml_entry(strbuf_text(&text));
    return r < 0 ? -1 : r > 0;
}
