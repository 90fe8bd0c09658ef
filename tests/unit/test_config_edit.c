/* test_config_edit.c: `config set` changes the intended value and no other byte. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "config/config.h"
#include "config/config_edit.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/files.h"

static int edit(const char *before, const struct config_change *changes, size_t count,
                struct strbuf *out, struct error *err) {
    struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, before);
    int r = config_edit_text("test.yaml", &text, changes, count, out, err);
    strbuf_finish(&text);
    return r;
}

static void becomes(const char *before, const char *key, const char *value, const char *after) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct error err = { 0 };
    struct config_change change = { key, value };
    if (edit(before, &change, 1, &out, &err) < 0)
        fail_msg("%s %s of:\n%s\n%s", value ? "setting" : "removing", key, before, err.text);
    assert_string_equal(strbuf_text(&out), after);
}

static void sets(const char *before, const char *key, const char *value, const char *after) {
    becomes(before, key, value, after);
}

static void removes(const char *before, const char *key, const char *after) {
    becomes(before, key, NULL, after);
}

static void refused(const char *before, const char *key, const char *value, const char *message) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct error err = { 0 };
    struct config_change change = { key, value };
    assert_int_equal(edit(before, &change, 1, &out, &err), -EINVAL);
    assert_string_equal(err.text, message);
    assert_int_equal(out.length, 0);
}

/* --- existing values ------------------------------------------------------------------------- */

TEST(only_the_value_is_replaced) {
    sets("# top\nlimits:\n  runs: 4   # four\n  roots: 2\n# end\n", "limits.runs", "12",
         "# top\nlimits:\n  runs: 12   # four\n  roots: 2\n# end\n");
    sets("limits.runs: 4\n", "limits.runs", "unlimited", "limits.runs: unlimited\n");
    sets("lost: 'fail' # q\n", "lost", "requeue", "lost: requeue # q\n");
    sets("lost: \"fail\"\n", "lost", "requeue", "lost: requeue\n");
    sets("limits:\n  runs:\n    4\n", "limits.runs", "5", "limits:\n  runs:\n    5\n");
    sets("limits: {runs: 4, roots: 2} # c\n", "limits.runs", "5",
         "limits: {runs: 5, roots: 2} # c\n");
    sets("order: score,\n  seq\nlost: fail\n", "order", "seq", "order: seq\nlost: fail\n");
    sets("lost: fail\n", "lost", "fail", "lost: fail\n");
}

TEST(every_way_to_write_a_key_is_found) {
    sets("retry.failed:\n  max: 3\n", "retry.failed.max", "4", "retry.failed:\n  max: 4\n");
    sets("retry:\n  failed.max: 3\n", "retry.failed.max", "4", "retry:\n  failed.max: 4\n");
    sets("retry: {failed: {max: 3}}", "retry.failed.max", "4", "retry: {failed: {max: 4}}");
    sets("\"limits\":\n  'runs' : 3\n", "limits.runs", "4", "\"limits\":\n  'runs' : 4\n");
    sets("{\"limits\": {\"runs\": 3}}", "limits.runs", "4", "{\"limits\": {\"runs\": 4}}");
    sets("agents:\n  gpt-4.1: {slots: 1}\n", "agents.gpt-4.1.slots", "2",
         "agents:\n  gpt-4.1: {slots: 2}\n");
    sets("agents.gpt-4.1.slots: 1\n", "agents.gpt-4.1.slots", "2", "agents.gpt-4.1.slots: 2\n");
    sets("projects:\n  web: {weight: 1}\n  web2: {weight: 1}\n", "projects.web2.weight", "2",
         "projects:\n  web: {weight: 1}\n  web2: {weight: 2}\n");
    sets("? lost\n: fail\n", "lost", "requeue", "? lost\n: requeue\n");
}

TEST(line_ends_marks_and_anchors_stay) {
    sets("limits:\r\n  runs: 4 # c\r\nlost: fail\r\n", "limits.runs", "5",
         "limits:\r\n  runs: 5 # c\r\nlost: fail\r\n");
    sets("\xef\xbb\xbflimits: {runs: 4}", "limits.runs", "5", "\xef\xbb\xbflimits: {runs: 5}");
    sets("limits:\n  runs: 4", "limits.runs", "5", "limits:\n  runs: 5");
    sets("limits: &l\n  runs: &r 4 # c\n", "limits.runs", "5", "limits: &l\n  runs: &r 5 # c\n");
    sets("---\nlimits: {runs: 4}\n...\n", "limits.runs", "5", "---\nlimits: {runs: 5}\n...\n");
    sets("---\nlost: fail\n...\n", "order", "seq", "---\nlost: fail\norder: seq\n...\n");
    sets("projects: {\xc3\xa9: {weight: 1}} # \xc3\xa9\nlost: fail\n", "lost", "requeue",
         "projects: {\xc3\xa9: {weight: 1}} # \xc3\xa9\nlost: requeue\n");
}

TEST(values_are_quoted_when_they_must_be) {
    sets("order: seq\n", "order", "score, seq", "order: \"score, seq\"\n");
    sets("agents: {a: {limiter: x}}\n", "agents.a.limiter", "a: b # c",
         "agents: {a: {limiter: \"a: b # c\"}}\n");
    sets("agents: {a: {limiter: x}}\n", "agents.a.limiter", "null",
         "agents: {a: {limiter: \"null\"}}\n");
    sets("agents: {a: {limiter: x}}\n", "agents.a.limiter", "~", "agents: {a: {limiter: \"~\"}}\n");
    sets("agents: {a: {limiter: x}}\n", "agents.a.limiter", "it's \"\xc3\xa9\" \\",
         "agents: {a: {limiter: \"it's \\\"\xc3\xa9\\\" \\\\\"}}\n");
    sets("store:\n  url: ''\n", "store.url", "", "store:\n  url: \"\"\n");
    sets("kinds: {plan: {base: 1}}\n", "kinds.plan.base", "-5", "kinds: {plan: {base: -5}}\n");
}

TEST(lists_are_written_in_brackets) {
    sets("agents:\n  a:\n    command: [x]\n", "agents.a.command",
         "claude -p 'two words' {prompt} --x=1",
         "agents:\n  a:\n    command: [claude, -p, \"two words\", \"{prompt}\", --x=1]\n");
    sets("agents:\n  a:\n    command: x # c\n", "agents.a.command", "[\"a\", \"b\\nc\"]",
         "agents:\n  a:\n    command: [a, \"b\\nc\"] # c\n");
    sets("tasks:\n  env: # which\n    # these\n    - PATH # first\n    - HOME\n  nice: 1\n",
         "tasks.env", "TERM", "tasks:\n  env: [TERM] # which\n    # these\n  nice: 1\n");
    sets("tasks:\n  env:\n  - PATH\n  - HOME\n  nice: 1\n", "tasks.env", "",
         "tasks:\n  env: []\n  nice: 1\n");
    sets("order:\n- score\n- seq", "order", "[\"priority\", \"seq\"]", "order: [priority, seq]\n");
}

TEST(block_texts_are_replaced_with_their_mark) {
    sets("agents:\n  a:\n    command: | # |\n      sh -c 'x'\n      y\n\n    slots: 1\n",
         "agents.a.command", "true", "agents:\n  a:\n    command: [true]\n\n    slots: 1\n");
    sets("agents:\n  a:\n    command: >-\n      sh\n", "agents.a.command", "true",
         "agents:\n  a:\n    command: [true]\n");
}

TEST(keys_without_a_value_get_one) {
    sets("limits:\n  runs: # how many\n  roots: 2\n", "limits.runs", "5",
         "limits:\n  runs: 5 # how many\n  roots: 2\n");
    sets("limits: {runs: , roots: 2}\n", "limits.runs", "5", "limits: {runs: 5 , roots: 2}\n");
    sets("limits: {runs, roots: 2}\n", "limits.runs", "5", "limits: {runs: 5, roots: 2}\n");
    sets("limits: {runs:}\n", "limits.runs", "5", "limits: {runs: 5}\n");
    sets("limits:\n  runs: &r\n", "limits.runs", "5", "limits:\n  runs: &r 5\n");
    sets("limits:\n  runs: ~\n", "limits.runs", "5", "limits:\n  runs: 5\n");
}

TEST(json_stays_json) {
    sets("{\"lost\": \"fail\", \"limits\": {\"runs\": 4}}", "lost", "requeue",
         "{\"lost\": \"requeue\", \"limits\": {\"runs\": 4}}");
    sets("{\"limits\": {\"runs\": 4}}", "limits.runs", "unlimited",
         "{\"limits\": {\"runs\": \"unlimited\"}}");
    sets("{\n  \"limits\": {\n    \"runs\": 4\n  }\n}\n", "limits.roots", "2",
         "{\n  \"limits\": {\n    \"runs\": 4,\n    \"roots\": 2\n  }\n}\n");
    sets("{\n  \"limits\": {\n    \"runs\": 4\n  }\n}\n", "agents.a.command", "x y",
         "{\n  \"limits\": {\n    \"runs\": 4\n  },\n  \"agents\": {\"a\": {\"command\": "
         "[\"x\", \"y\"]}}\n}\n");
}

/* --- new values ------------------------------------------------------------------------------ */

TEST(a_new_key_goes_into_its_mapping) {
    sets("limits:\n  runs: 4 # c\n\n# next\nlost: fail\n", "limits.roots", "2",
         "limits:\n  runs: 4 # c\n  roots: 2\n\n# next\nlost: fail\n");
    sets("limits:\n    runs: 4", "limits.roots", "2", "limits:\n    runs: 4\n    roots: 2");
    sets("limits:\r\n  runs: 4\r\n", "limits.roots", "2", "limits:\r\n  runs: 4\r\n  roots: 2\r\n");
    sets("limits: {runs: 4} # c\n", "limits.roots", "2", "limits: {runs: 4, roots: 2} # c\n");
    sets("limits: {} # c\n", "limits.roots", "2", "limits: {roots: 2} # c\n");
    sets("projects: {web: }\n", "projects.web.weight", "2", "projects: {web: {weight: 2} }\n");
    sets("projects: {web}\n", "projects.web.weight", "2", "projects: {web: {weight: 2}}\n");
    sets("projects: {web: }\n", "projects.api.weight", "2",
         "projects: {web:, api: {weight: 2} }\n");
    sets("projects:\n  web:   # the shop\n  api:\n", "projects.web.weight", "2",
         "projects:\n  web:   # the shop\n    weight: 2\n  api:\n");
    sets("projects:\n  web: ~ # x\n", "projects.web.weight", "2",
         "projects:\n  web: {weight: 2} # x\n");
    sets("retry.failed:\n  max: 3\nlost: fail\n", "retry.failed.delay_s", "4",
         "retry.failed:\n  max: 3\n  delay_s: 4\nlost: fail\n");
    sets("agents:\n  a:\n    command: |\n      x\n      y\nlost: fail\n", "agents.a.slots", "1",
         "agents:\n  a:\n    command: |\n      x\n      y\n    slots: 1\nlost: fail\n");
}

TEST(levels_that_are_missing_are_made) {
    sets("", "limits.runs", "4", "limits:\n  runs: 4\n");
    sets("# mine\n", "limits.runs", "4", "# mine\nlimits:\n  runs: 4\n");
    sets("# mine", "limits.runs", "4", "# mine\nlimits:\n  runs: 4");
    sets("", "preset", "loopr", "preset: loopr\n");
    sets("---\n", "limits.resource.gpu", "1", "---\nlimits:\n  resource:\n    gpu: 1\n");
    sets("{}", "limits.runs", "4", "{limits: {runs: 4}}");
    sets("lost: fail\n", "projects.example.com.weight", "2",
         "lost: fail\nprojects:\n  example.com:\n    weight: 2\n");
    sets("limits:\n    runs: 4\n", "retry.failed.max", "1",
         "limits:\n    runs: 4\nretry:\n    failed:\n        max: 1\n");
    sets("limits:\n  runs: 4\n", "limits.resource.a b", "1",
         "limits:\n  runs: 4\n  resource:\n    \"a b\": 1\n");
    sets("projects:\n  example: {weight: 1}\n", "projects.example.com.weight", "2",
         "projects:\n  example: {weight: 1}\n  example.com:\n    weight: 2\n");
}

/* --- removing -------------------------------------------------------------------------------- */

TEST(a_removed_key_takes_its_line) {
    removes("# a\nlimits:\n  runs: 4 # c\n  # b\n  roots: 2\n", "limits.runs",
            "# a\nlimits:\n  # b\n  roots: 2\n");
    removes("limits:\n  runs: 4\nlost: fail\n", "limits.runs", "limits:\nlost: fail\n");
    removes("tasks:\n  env:\n    - A\n    - B # c\n  nice: 1\n", "tasks.env",
            "tasks:\n  nice: 1\n");
    removes("lost: fail\nlimits.runs: 3", "limits.runs", "lost: fail\n");
    removes("\xef\xbb\xbflost: fail\norder: seq\n", "lost", "\xef\xbb\xbforder: seq\n");
    removes("lost: fail\n", "limits.runs", "lost: fail\n");
    removes("", "limits.runs", "");
    removes("projects.web:\n  # c\n  weight: 1\nlost: fail\n", "projects.web.weight",
            "lost: fail\n");
    removes("projects:\n  web:\n    weight: 1\nlost: fail\n", "projects.web.weight",
            "projects:\n  web:\nlost: fail\n");
    removes("lost: fail\nlost: fail\norder: seq\n", "lost", "order: seq\n");
}

/* Its keys are removed first, then the name; its neighbors stay. */
TEST(a_section_goes_with_its_name) {
    static const struct config_change changes[] = {
        { .key = "projects.web.weight" },
        { .key = "projects.web", .is_section = true },
    };
    static const char *const pairs[][2] = {
        { "projects:\n  web:\n    weight: 1 # c\n  api:\nlost: fail\n",
          "projects:\n  api:\nlost: fail\n" },
        { "projects: {api: {weight: 2}, web: {weight: 1}}\n", "projects: {api: {weight: 2}}\n" },
        { "projects.web.weight: 1\nlost: fail\n", "lost: fail\n" },
        { "kinds:\n  web:\nprojects:\n  web:\n  api:\n", "kinds:\n  web:\nprojects:\n  api:\n" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        struct error err = { 0 };
        if (edit(pairs[i][0], changes, ARRAY_SIZE(changes), &out, &err) < 0)
            fail_msg("%s: %s", pairs[i][0], err.text);
        assert_string_equal(strbuf_text(&out), pairs[i][1]);
    }
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct error err = { 0 };
    assert_int_equal(edit("projects:\n  web:\n    weight: 1\n", &changes[1], 1, &out, &err),
                     -EINVAL); /* it is not empty */
}

TEST(in_brackets_it_takes_its_comma) {
    removes("limits: {runs: 4, roots: 2}\n", "limits.runs", "limits: {roots: 2}\n");
    removes("limits: {runs: 4, roots: 2}\n", "limits.roots", "limits: {runs: 4}\n");
    removes("limits: {runs: 4}\n", "limits.runs", "limits: {}\n");
    removes("limits: {runs: 4,}\n", "limits.runs", "limits: {}\n");
    removes("limits: {runs: 4, # a, b\n  roots: 2}\n", "limits.runs",
            "limits: { # a, b\n  roots: 2}\n");
    removes("limits: {runs: 4, # a, b\n  roots: 2}\n", "limits.roots",
            "limits: {runs: 4 # a, b\n  }\n");
    removes("{\"limits\": {\"runs\": 4, \"roots\": 2}}", "limits.roots",
            "{\"limits\": {\"runs\": 4}}");
}

/* --- refusing -------------------------------------------------------------------------------- */

TEST(an_unknown_setting_is_refused) {
    refused("lost: fail\n", "limits.rnus", "4",
            "unknown key 'limits.rnus'; did you mean 'limits.runs'?");
    refused("lost: fail\n", "limits.rnus", NULL,
            "unknown key 'limits.rnus'; did you mean 'limits.runs'?");
    refused("lost: fail\n", "limits", "4", "key 'limits': expected keys below it, got '4'");
    refused("lost: fail\n", "lost", "maybe",
            "key 'lost': expected one of fail, requeue, got 'maybe'");
    refused("lost: fail\n", "kinds..base", "1",
            "key 'kinds..base': expected a name of 1 to 128 bytes without control characters");
    refused("lost: fail\n", "agents.a.limiter", "\xff",
            "key 'agents.a.limiter': the key or its value is not UTF-8 text");
}

TEST(the_preset_of_the_file_decides_what_a_number_means) {
    sets("preset: conductor\nlimits: {runs: 4}\n", "limits.runs", "-1",
         "preset: conductor\nlimits: {runs: -1}\n");
    refused("limits: {runs: 4}\n", "limits.runs", "-1",
            "key 'limits.runs': expected a whole number from 0 to 1000000000 or unlimited, got "
            "'-1'");
    refused("preset: conductor\nlimits: {runs: -1}\n", "preset", "sluice",
            "test.yaml:2: key 'limits.runs': expected a whole number from 0 to 1000000000 or "
            "unlimited, got '-1'");
}

TEST(files_that_are_wrong_elsewhere_are_refused) {
    refused("colour: red\n", "lost", "fail",
            "test.yaml:1: unknown key 'colour'; 'sluice config keys' lists them");
    refused("limits: {runs: 4\n", "lost", "fail",
            "test.yaml:2: not valid YAML: missing comma in flow mapping");
    refused("limits: &x {runs: 3}\nlimits.runs: *x\n", "limits.runs", "4",
            "test.yaml:2: aliases (*name) are not supported; write the value out");
    refused("lost: fail\nlost: fail\n", "lost", "requeue",
            "test.yaml:2: key 'lost' is set twice, first in line 1");
    refused("---\n...\n", "order", "seq", "test.yaml:3: expected one document, got a second one");
}

TEST(what_was_wrong_can_be_put_right) {
    sets("lost: maybe # ?\n", "lost", "fail", "lost: fail # ?\n");
    removes("lost: maybe\norder: seq\n", "lost", "order: seq\n");
}

TEST(ways_of_writing_that_cannot_be_cut_are_refused) {
    refused("? lost\n: fail\norder: seq\n", "lost", NULL,
            "test.yaml:1: 'lost' is written in a way that cannot be changed here; edit the file "
            "manually");
    refused("? lost\norder: seq\n", "lost", "fail",
            "test.yaml:1: 'lost' is written in a way that cannot be changed here; edit the file "
            "manually");
    refused("&a lost: fail\norder: seq\n", "lost", NULL,
            "test.yaml:1: 'lost' is written in a way that cannot be changed here; edit the file "
            "manually");
}

/* --- several changes, and files -------------------------------------------------------------- */

TEST(all_changes_or_none) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct error err = { 0 };
    const struct config_change changes[] = {
        { "limits.runs", "3" }, { "lost", NULL }, { "preset", "loopr" }, { "limits.roots", "1" }
    };
    assert_int_equal(edit("lost: fail\n", changes, ARRAY_SIZE(changes), &out, &err), 0);
    assert_string_equal(strbuf_text(&out), "limits:\n  runs: 3\n  roots: 1\npreset: loopr\n");
    strbuf_clear(&out);
    const struct config_change bad[] = { { "limits.runs", "3" }, { "limits.roots", "x" } };
    assert_int_equal(edit("lost: fail\n", bad, ARRAY_SIZE(bad), &out, &err), -EINVAL);
    assert_int_equal(out.length, 0);
    const struct config_change twice[] = { { "limits.runs", "3" }, { "limits.runs", "4" } };
    assert_int_equal(edit("lost: fail\n", twice, ARRAY_SIZE(twice), &out, &err), -EINVAL);
    assert_string_equal(err.text, "key 'limits.runs' is changed twice");
}

TEST(f126_config_set_writes_the_file_whole_or_not_at_all) {
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16], link[SCRATCH_PATH + 16];
    scratch_make(folder, "edit");
    (void)snprintf(path, sizeof(path), "%s/sluice.yaml", folder);
    (void)snprintf(link, sizeof(link), "%s/link.yaml", folder);
    struct error err = { 0 };
    struct config_change change = { "limits.runs", "3" };
    assert_int_equal(config_edit(path, &change, 1, &err), 0); /* created */
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(symlink("sluice.yaml", link), 0);
    change.value = "4";
    assert_int_equal(config_edit(link, &change, 1, &err), 0);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    assert_int_equal(file_read(path, 1000, &text, &err), 0);
    assert_string_equal(strbuf_text(&text), "limits:\n  runs: 4\n");
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    change.value = "many";
    assert_int_equal(config_edit(path, &change, 1, &err), -EINVAL);
    strbuf_clear(&text);
    assert_int_equal(file_read(path, 1000, &text, &err), 0);
    assert_string_equal(strbuf_text(&text), "limits:\n  runs: 4\n");
    change.value = "5";
    scratch_remove(folder);
    assert_int_equal(config_edit(path, &change, 1, &err), -ENOENT); /* the folder does not exist */
    assert_int_equal(config_edit("/", &change, 1, &err), -EISDIR);
}
