/* cmd_config.c: looks at the configuration. What is shown is made in config/; here is only which
 * file is meant.
 *
 * Without --file it is the user's own, which need not exist. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/output.h"
#include "config/config_show.h"

DEFINE_FREEP(struct config, config_free);

/* $SLUICE_HOME/sluice.yaml, else sluice/sluice.yaml in the user's configuration folder. Empty when
 * there is no home either. */
static void find_file(struct strbuf *out) {
    const char *own = getenv("SLUICE_HOME"), *folder = getenv("XDG_CONFIG_HOME"),
               *home = getenv("HOME");
    if (own && *own)
        strbuf_printf(out, "%s/sluice.yaml", own);
    else if (folder && *folder == '/')
        strbuf_printf(out, "%s/sluice/sluice.yaml", folder);
    else if (home && *home)
        strbuf_printf(out, "%s/.config/sluice/sluice.yaml", home);
}

static int read_file(const struct cmd_call *call, struct config *config, struct error *err) {
    const char *named = cmd_value(call, "file");
    if (named)
        return config_read_file(config, named, err);
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    find_file(&path);
    if (path.length == 0)
        return 0;
    int r = config_read_file(config, strbuf_text(&path), err);
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

static int show_run(const struct cmd_call *call) {
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

static const struct cmd config_explain_cmd = {
    .name = "explain",
    .usage = "config explain [--file FILE] [--set KEY=VALUE]... KEY",
    .summary = "tell everything about one key",
    .text =
        "What it does, what may be written, its default, its value now and in each preset. KEY\n"
        "may have a name in it (kinds.plan.base) or a capital for any name (kinds.K.base).\n",
    .examples = "sluice config explain limits.runs\n"
                "sluice config explain kinds.K.base\n",
    .options = file_options,
    .min_args = 1,
    .max_args = 1,
    .run = explain_run,
};

static const struct cmd config_keys_cmd = {
    .name = "keys",
    .usage = "config keys",
    .summary = "list every key with its meaning",
    .examples = "sluice config keys\n",
    .run = keys_run,
};

static const struct cmd config_reference_cmd = {
    .name = "reference",
    .usage = "config reference",
    .summary = "print the reference of all settings as Markdown",
    .text = "With --json: the keys as `config keys` has them.\n",
    .examples = "sluice config reference > docs/config.md\n",
    .run = reference_run,
};

static const struct cmd config_show_cmd = {
    .name = "show",
    .usage = "config show [--file FILE] [--set KEY=VALUE]...",
    .summary = "print every value in force and where it came from",
    .text =
        "Reads $SLUICE_HOME/sluice.yaml, or ~/.config/sluice/sluice.yaml when SLUICE_HOME is not\n"
        "set. A file that is not there is the same as an empty one, unless --file names it.\n",
    .examples = "sluice config show\n"
                "sluice config show --set preset=loopr\n"
                "sluice config show --json --file sluice.yaml\n",
    .options = file_options,
    .run = show_run,
};

static const struct cmd *const config_subs[] = {
    &config_explain_cmd, &config_keys_cmd, &config_reference_cmd, &config_show_cmd, NULL,
};

const struct cmd cmd_config = {
    .name = "config",
    .usage = "config explain|keys|reference|show ...",
    .summary = "look at the configuration",
    .examples = "sluice config show\n"
                "sluice config explain limits.runs\n",
    .subs = config_subs,
};
