/* test_part_page_codes.c: one-time codes of the dashboard, without the rest of the engine. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/access.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "part_kit.h"

TEST(a_code_is_valid_once_and_for_its_scope) {
    struct part_kit kit;
    char code[PAGE_CODE_SIZE], other[PAGE_CODE_SIZE];
    part_kit_new(&kit, &page_codes_part, PART_page_codes);
    time_ms until = engine_make_code(&kit.engine, ACCESS_READ, code);
    (void)engine_make_code(&kit.engine, ACCESS_ADMIN, other);
    assert_true(until > kit.engine.now);
    assert_int_equal(engine_take_code(&kit.engine, "guess").scope, ACCESS_NONE);
    assert_int_equal(engine_take_code(&kit.engine, code).scope, ACCESS_READ);
    assert_int_equal(engine_take_code(&kit.engine, code).scope, ACCESS_NONE);
    assert_int_equal(engine_take_code(&kit.engine, other).scope, ACCESS_ADMIN);
    part_kit_free(&kit);
}

TEST(its_file_is_private_and_is_removed_with_it) {
    struct part_kit kit;
    struct stat st;
    char home[SCRATCH_PATH], code[PAGE_CODE_SIZE];
    const char *path = NULL;
    scratch_make(home, "codes");
    part_kit_new(&kit, &page_codes_part, PART_page_codes);
    kit.engine.home = home;
    (void)engine_make_code(&kit.engine, ACCESS_READ, code);
    assert_true(engine_write_code_file(&kit.engine, "guess", "http://x/", &path, NULL) < 0);
    assert_true(engine_write_code_file(&kit.engine, code, "http://x/\"><b>", &path, NULL) < 0);
    assert_int_equal(engine_write_code_file(&kit.engine, code, "http://x/", &path, NULL), 0);
    char *copy = strdup(path);
    assert_int_equal(stat(copy, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(engine_take_code(&kit.engine, code).has_file);
    assert_int_equal(stat(copy, &st), -1);
    free(copy);
    part_kit_free(&kit);
    scratch_remove(home);
}
