/* test_base_money.c: amounts in dollars are parsed and printed exactly. */
#include <errno.h>

#include "base/macros.h"
#include "base/money.h"
#include "harness/test.h"

TEST(amounts_are_stored_in_millionths) {
    static const struct {
        const char *text;
        int64_t micro;
    } cases[] = {
        { "0", 0 },
        { "12", 12000000 },
        { "2.50", 2500000 },
        { "0.000001", 1 },
        { "1000000000", MONEY_MAX },
        { "007.1", 7100000 },
        { "$2.50", 2500000 },
        { "$0", 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t micro = -1;
        assert_int_equal(money_parse(cases[i].text, &micro, NULL), 0);
        assert_int_equal(micro, cases[i].micro);
    }
}

TEST(an_invalid_amount_is_refused_and_changes_nothing) {
    static const char *const bad[] = { "",
                                       ".",
                                       ".5",
                                       "1.",
                                       "-1",
                                       "$",
                                       "$-5",
                                       "$$5",
                                       "1,5",
                                       "1e3",
                                       "1.2.3",
                                       " 1",
                                       "1 ",
                                       "0.0000001",
                                       "1000000000.000001",
                                       "99999999999999999999999" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        int64_t micro = 42;
        assert_true(money_parse(bad[i], &micro, NULL) < 0);
        assert_int_equal(micro, 42);
    }
}

TEST(amounts_are_written_with_cents_or_as_many_places_as_it_takes) {
    static const struct {
        int64_t micro;
        const char *text, *number;
    } cases[] = {
        { 0, "$0.00", "0" },
        { 12400000, "$12.40", "12.4" },
        { 12500, "$0.0125", "0.0125" },
        { 1, "$0.000001", "0.000001" },
        { -3250000, "-$3.25", "-3.25" },
        { INT64_MIN, "-$9223372036854.775808", "-9223372036854.775808" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, number = STRBUF_INIT;
        money_put(&text, cases[i].micro);
        money_put_number(&number, cases[i].micro);
        assert_string_equal(strbuf_text(&text), cases[i].text);
        assert_string_equal(strbuf_text(&number), cases[i].number);
    }
}
