/* test_part_access.c: API tokens, without the rest of the engine. */
#include <errno.h>
#include <string.h>

#include "engine/access.h"
#include "harness/test.h"
#include "part_kit.h"

static int add(struct part_kit *kit, const char *name, char token[ACCESS_TOKEN_SIZE]) {
    char id[ACCESS_ID_SIZE];
    struct engine_access draft = { .name = (char *)(uintptr_t)name,
                                   .scope = ACCESS_SUBMIT,
                                   .expires_at = TIME_NEVER };
    return engine_add_access(&kit->engine, &draft, token, id, NULL);
}

TEST(a_token_opens_what_it_was_made_for) {
    struct part_kit kit;
    char token[ACCESS_TOKEN_SIZE];
    part_kit_new(&kit, &access_part, PART_access);
    assert_int_equal(add(&kit, "ci", token), 0);
    assert_string_equal(part_log.event_kind, "token.added");
    assert_int_equal(engine_find_access(&kit.engine, token)->scope, ACCESS_SUBMIT);
    token[ACCESS_TOKEN_SIZE - 2] ^= 1;
    assert_null(engine_find_access(&kit.engine, token));
    assert_null(engine_find_access(&kit.engine, "sl_"));
    part_kit_free(&kit);
}

TEST(a_name_is_taken_until_its_token_is_revoked) {
    struct part_kit kit;
    char token[ACCESS_TOKEN_SIZE], other[ACCESS_TOKEN_SIZE];
    part_kit_new(&kit, &access_part, PART_access);
    assert_int_equal(add(&kit, "ci", token), 0);
    assert_int_equal(add(&kit, "ci", other), -EEXIST);
    engine_end_access(&kit.engine, engine_access_at(&kit.engine, 0)->id, "me");
    assert_string_equal(part_log.event_kind, "token.ended");
    assert_null(engine_find_access(&kit.engine, token));
    assert_int_equal(add(&kit, "ci", other), 0);
    part_kit_free(&kit);
}

TEST(the_note_holds_no_secret_and_brings_the_token_back) {
    struct part_kit kit;
    char token[ACCESS_TOKEN_SIZE];
    part_kit_new(&kit, &access_part, PART_access);
    assert_int_equal(add(&kit, "ci", token), 0);
    assert_null(strstr(part_log.note_text, token + strlen("sl_") + ACCESS_ID_SIZE));
    part_kit_step(&kit, STEP_UNLOAD);
    assert_null(engine_find_access(&kit.engine, token));
    part_kit_load_note(&kit);
    assert_string_equal(engine_find_access(&kit.engine, token)->name, "ci");
    part_kit_free(&kit);
}

TEST(a_note_that_cannot_be_read_is_no_token) {
    struct part_kit kit;
    char token[ACCESS_TOKEN_SIZE];
    part_kit_new(&kit, &access_part, PART_access);
    assert_int_equal(add(&kit, "ci", token), 0);
    part_kit_step(&kit, STEP_UNLOAD);
    memcpy(part_log.note_text, "admim", 5);
    part_kit_load_note(&kit);
    assert_int_equal(engine_access_count(&kit.engine), 0);
    part_kit_free(&kit);
}

TEST(a_session_with_a_key_has_no_token_and_comes_back) {
    struct part_kit kit;
    char token[ACCESS_TOKEN_SIZE], id[ACCESS_ID_SIZE];
    struct engine_access draft = { .name = (char *)(uintptr_t) "dashboard",
                                   .scope = ACCESS_SUBMIT,
                                   .session = true,
                                   .has_key = true,
                                   .key = { 4, 1, 2, 255 },
                                   .expires_at = TIME_NEVER };
    part_kit_new(&kit, &access_part, PART_access);
    assert_int_equal(engine_add_access(&kit.engine, &draft, token, id, NULL), 0);
    assert_string_equal(token, "");
    part_kit_step(&kit, STEP_UNLOAD);
    assert_null(engine_find_page(&kit.engine, id));
    part_kit_load_note(&kit);
    const struct engine_access *page = engine_find_page(&kit.engine, id);
    assert_non_null(page);
    assert_true(page->session);
    assert_memory_equal(page->key, draft.key, sizeof(draft.key));
    engine_end_access(&kit.engine, id, "me");
    assert_null(engine_find_page(&kit.engine, id));
    part_kit_free(&kit);
}
