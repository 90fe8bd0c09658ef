/* test_foreign_names.c: names from other programs never hide a name of Sluice. */
#include "base/foreign_names.h"

#include "cli/cmd.h"
#include "config/settings.h"
#include "harness/test.h"
#include "taskfile/task_member.h"

TEST(own_names_are_not_foreign) {
    for (const struct cmd *const *cmd = cmd_table; *cmd; cmd++)
        assert_null(foreign_name(FOREIGN_COMMAND, cmd_name(*cmd)));
    EACH_OPTION(option, cmd_find(cmd_table, "add")) {
        assert_null(foreign_name(FOREIGN_OPTION, option->name));
    }
    for (size_t i = 0; i < task_member_count; i++) {
        assert_null(foreign_name(FOREIGN_MEMBER, task_members[i].name));
        for (const char *const *alias = task_members[i].aliases; *alias; alias++)
            assert_null(foreign_name(FOREIGN_MEMBER, *alias));
    }
    for (size_t i = 0; i < settings_count; i++)
        assert_null(foreign_name(FOREIGN_SETTING, settings[i].key));
}

TEST(case_and_underscores_do_not_matter) {
    assert_string_equal(foreign_name(FOREIGN_MEMBER, "Max-Retries"), "retries");
    assert_string_equal(foreign_name(FOREIGN_OPTION, "depends_on"), "--after");
    assert_null(foreign_name(FOREIGN_MEMBER, "retries_max"));
    assert_null(foreign_name(FOREIGN_COMMAND, ""));
}
