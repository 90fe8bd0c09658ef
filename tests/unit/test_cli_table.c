/* test_cli_table.c: every command follows the recipe in CONTRIBUTING.md. */
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "cli/cmd.h"
#include "harness/test.h"

/* Required parts of its page in docs/reference/cli; scripts/embed-commands refuses a page without them, too. */
static const char *part_of(const struct cmd *cmd, enum cmd_part part, const char *what) {
    const char *text = cmd_part(cmd, part);
    if (!*text)
        fail_msg("'%s' has no %s in docs/reference/cli", cmd->words, what);
    return text;
}

/* "plan [--all] FILE" begins with "plan". */
static void check_entry(const struct cmd *cmd) {
    size_t length = strlen(cmd->words);
    const char *usage = part_of(cmd, CMD_PART_USAGE, "usage");
    const char *summary = part_of(cmd, CMD_PART_SUMMARY, "summary");
    const char *exits = part_of(cmd, CMD_PART_EXITS, "exit codes");
    (void)part_of(cmd, CMD_PART_EXAMPLES, "examples");
    if (strncmp(usage, cmd->words, length) != 0 || (usage[length] && usage[length] != ' '))
        fail_msg("the usage of '%s' begins with '%s'", cmd->words, usage);
    if (summary[strlen(summary) - 1] == '.')
        fail_msg("the summary of '%s' ends in a full stop", cmd->words);
    if (!strstr(exits, "2    "))
        fail_msg("the exit codes of '%s' do not name that of a usage error", cmd->words);
    if (!cmd->run == !cmd->subs)
        fail_msg("'%s' needs a run function or subcommands, not both", cmd->words);
    for (const struct cmd_option *o = cmd->options; o && o->name; o++) {
        if (!o->text || !*o->text)
            fail_msg("'%s' has no text for its option --%s", cmd->words, o->name);
        EACH_OPTION(other, cmd) {
            if (other != o
                && (strcmp(o->name, other->name) == 0 || (o->letter && o->letter == other->letter)))
                fail_msg("'%s' has two options like --%s", cmd->words, o->name);
        }
    }
}

/* Every command and subcommand has a section, and every section belongs to one. */
TEST(every_entry_is_complete) {
    size_t commands = 0, sections = 0;
    for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
        check_entry(*cmd);
        commands++;
        for (const struct cmd *const *sub = (*cmd)->subs; sub && *sub; sub++, commands++) {
            size_t length = strlen((*cmd)->words);
            if (strncmp((*sub)->words, (*cmd)->words, length) != 0 || (*sub)->words[length] != ' ')
                fail_msg("'%s' is no subcommand of '%s'", (*sub)->words, (*cmd)->words);
            check_entry(*sub);
        }
    }
    while (cmd_texts[sections])
        sections++;
    assert_int_equal(sections, commands);
}

/* Help and man pages refer to each other. */
TEST(related_commands_exist) {
    for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
        for (const char *at = cmd_part(*cmd, CMD_PART_SEE); *at;) {
            char name[32];
            int length = (int)strcspn(at, ",");
            (void)snprintf(name, sizeof(name), "%.*s", length, at);
            if (!cmd_find(cmd_table, name))
                fail_msg("'%s' is related to '%s', which is no command", (*cmd)->words, name);
            at += length + strspn(at + length, ", ");
        }
    }
}

TEST(commands_are_in_alphabetical_order) {
    for (const struct cmd *const *cmd = cmd_table; cmd[0] && cmd[1]; cmd++)
        if (strcmp(cmd[0]->words, cmd[1]->words) >= 0)
            fail_msg("'%s' stands before '%s' in src/cli/meson.build", cmd[0]->words,
                     cmd[1]->words);
}

/* Each name of a list of words; `seen` counts those of each command. */
static void count_words(const char *words, unsigned char seen[]) {
    while (*words) {
        char name[32];
        int length = (int)strcspn(words, " ");
        (void)snprintf(name, sizeof(name), "%.*s", length, words);
        size_t at = 0;
        while (cmd_table[at] && strcmp(cmd_table[at]->words, name) != 0)
            at++;
        if (!cmd_table[at])
            fail_msg("a group of commands names '%s', which is no command", name);
        seen[at]++;
        words += length + (words[length] == ' ');
    }
}

TEST(every_command_is_in_one_group) {
    unsigned char seen[256] = { 0 };
    for (const struct cmd_group *group = cmd_groups; group->title; group++) {
        count_words(group->first, seen);
        count_words(group->more, seen);
    }
    for (size_t i = 0; cmd_table[i]; i++)
        if (seen[i] != 1)
            fail_msg("'%s' is in %d groups of cmd_help.c", cmd_table[i]->words, seen[i]);
}

static void check_file(const char *format_before, const char *name, const char *after) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, SOURCE_ROOT "/%s%s%s", format_before, name, after);
    if (access(strbuf_text(&path), R_OK) != 0)
        fail_msg("command '%s' needs the file %s", name, strbuf_text(&path));
}

TEST(every_command_has_its_page_and_test) {
    for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++) {
        check_file("docs/reference/cli/", (*cmd)->words, ".md");
        check_file("tests/cli/test_", (*cmd)->words, ".sh");
    }
}

TEST(a_near_name_is_offered) {
    assert_ptr_equal(cmd_find(cmd_table, "pla"), NULL);
    assert_string_equal(cmd_nearest(cmd_table, "pla"), "plan");
    assert_string_equal(cmd_nearest(cmd_table, "plann"), "plan");
    assert_string_equal(cmd_nearest(cmd_table, "lpan"), "plan");
    assert_string_equal(cmd_nearest(cmd_table, "hlep"), "help");
    assert_null(cmd_nearest(cmd_table, "nonsense"));
    assert_null(cmd_nearest(cmd_table, ""));
}

/* --- options --------------------------------------------------------------------------------- */

static const struct cmd_option test_options[] = {
    { "all", 'a', NULL, "all" },
    { "brief", 'b', NULL, "brief" },
    { "set", 's', "KEY=VALUE", "set" },
    { NULL },
};
static const struct cmd test_cmd = { "test", .options = test_options };

static int parse(struct cmd_call *call, struct error *err, const char *const *words) {
    int count = 0;
    while (words[count])
        count++;
    return options_parse(&test_cmd, count, (char **)(uintptr_t)words, call, err);
}

TEST(options_and_arguments_may_be_mixed) {
    struct cmd_call call;
    const char *words[] = { "one",   "-ab", "--set=k=1", "two",   "-s", "k=2",
                            "-sk=3", "-",   "--",        "--all", "-x", NULL };
    assert_int_equal(parse(&call, NULL, words), 0);
    assert_int_equal(call.arg_count, 5);
    static const char *const args[] = { "one", "two", "-", "--all", "-x" };
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(call.args[i], args[i]);
    assert_true(cmd_has(&call, "all") && cmd_has(&call, "brief") && !cmd_has(&call, "json"));
    assert_string_equal(cmd_value(&call, "set"), "k=3");
    assert_string_equal(cmd_value_at(&call, "set", 0), "k=1");
    assert_string_equal(cmd_value_at(&call, "set", 2), "k=3");
    assert_null(cmd_value_at(&call, "set", 3));
    assert_null(cmd_value(&call, "nothing"));
    options_finish(&call);
}

TEST(wrong_options_are_named) {
    static const struct {
        const char *words[3];
        const char *message;
    } rows[] = {
        { { "--al", NULL }, "unknown option '--al'; did you mean '--all'?" },
        { { "--", "x", NULL }, NULL },
        { { "--zzz=1", NULL }, "unknown option '--zzz'" },
        { { "-az", NULL }, "unknown option '-z'" },
        { { "--set", NULL }, "option '--set' needs a value: KEY=VALUE" },
        { { "-s", NULL }, "option '--set' needs a value: KEY=VALUE" },
        { { "--all=1", NULL }, "option '--all' takes no value" },
        { { "--set", "--all", NULL }, NULL },
        { { "--set=", NULL }, NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct cmd_call call = { 0 };
        struct error err = { 0 };
        int r = parse(&call, &err, rows[i].words);
        assert_int_equal(r < 0, rows[i].message != NULL);
        if (rows[i].message)
            assert_string_equal(err.text, rows[i].message);
        options_finish(&call);
    }
}
