/* settings_value.c: from text to the stored number and back.
 *
 * Both directions are here, so that `config show` prints only what a file can contain. Numbers are
 * exact: decimals are counted in thousandths, never as floating point. */
#include "config/settings.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/macros.h"
#include "base/money.h"
#include "base/number.h"
#include "base/utf8.h"
#include "config/words.h"
#include "core/policy.h"

/* In bit order, which is the order of comparison. */
static const char *const order_parts[] = {
    "guarantee", "deficit", "position", "overdue", "priority", "score", "enqueued_at", "created_at",
};
_Static_assert(1u << (ARRAY_SIZE(order_parts) - 1) == ORDER_BY_CREATED,
               "an order part has no name");

#define ORDER_LAST "seq" /* always compared, so it has no bit */

static const char *top_word(const struct setting *setting) {
    if (setting->type == SETTING_CAP || setting->type == SETTING_MONEY)
        return "unlimited";
    return setting->flags & SETTING_OR_NEVER ? "never" : NULL;
}

static bool is_word(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static int order_part_of(const char *text, size_t length) {
    for (size_t i = 0; i < ARRAY_SIZE(order_parts); i++)
        if (is_word(text, length, order_parts[i]))
            return (int)i;
    return is_word(text, length, ORDER_LAST) ? (int)ARRAY_SIZE(order_parts) : -1;
}

/* State of parsing an order: the bits so far, and the last component. */
struct order_parse {
    int64_t bits;
    int last;
};

/* The core compares in one fixed order, so a list in another order is refused. */
static bool order_add(struct order_parse *order, const char *text, size_t length) {
    int part = order_part_of(text, length);
    if (part <= order->last) /* also: unknown */
        return false;
    if (part < (int)ARRAY_SIZE(order_parts))
        order->bits |= INT64_C(1) << part;
    order->last = part;
    return true;
}

/* A JSON array, as in a snapshot. */
static bool parse_order_list(const char *text, struct order_parse *order) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    struct words words = { 0 };
    bool good = words_split(text, &arena, &words);
    for (size_t i = 0; good && i < words.count; i++)
        good = order_add(order, words.items[i], strlen(words.items[i]));
    return good;
}

/* Words separated by commas or blanks. */
static bool parse_order(const char *text, int64_t *ret_value) {
    struct order_parse order = { .last = -1 };
    bool good = true;
    if (*text == '[')
        good = parse_order_list(text, &order);
    else
        while (good && *(text += strspn(text, ", \t"))) {
            size_t length = strcspn(text, ", \t");
            good = order_add(&order, text, length);
            text += length;
        }
    if (!good || order.last < 0)
        return false;
    *ret_value = order.bits;
    return true;
}

static bool parse_choice(const struct setting *setting, const char *text, int64_t *ret_value) {
    for (int i = 0; setting->choices[i]; i++)
        if (strcmp(setting->choices[i], text) == 0) {
            *ret_value = i;
            return true;
        }
    return false;
}

/* "90s", "1.5GB": the written unit overrides that of the key. */
static bool has_unit(const struct setting *setting, const char *text) {
    size_t length = strlen(text);
    const char *units = setting->type == SETTING_SPAN   ? "smhd"
                        : setting->type == SETTING_SIZE ? "KMGTB"
                                                        : "";
    return length > 1 && strchr(units, text[length - 1]);
}

/* A key in GB counts 1000 MB each, so that 5GB is 5. */
static bool parse_with_unit(const struct setting *setting, const char *text, int64_t *ret_value) {
    if (setting->type == SETTING_SPAN)
        return number_parse_span(text, ret_value, NULL) == 0;
    if (number_parse_size(text, ret_value, NULL) < 0)
        return false;
    if (setting->unit)
        *ret_value = (int64_t)((__int128)*ret_value * setting->unit / 1024);
    return true;
}

static bool parse_number(const struct setting *setting, const char *text, int64_t *ret_value) {
    const char *top = top_word(setting);
    int64_t value;
    if (top && strcmp(text, top) == 0) {
        *ret_value = INT64_MAX;
        return true;
    }
    if (setting->flags & SETTING_OR_AUTO && strcmp(text, "auto") == 0) {
        *ret_value = SETTING_AUTO;
        return true;
    }
    if (setting->flags & SETTING_DOLLARS && *text == '$' && text[1] != '-' && text[1] != '+')
        text++;
    if (setting->type == SETTING_MONEY) {
        if (money_parse(text, &value, NULL) < 0)
            return false;
    } else if (has_unit(setting, text)) {
        if (!parse_with_unit(setting, text, &value))
            return false;
    } else if (setting->unit == 0) {
        if (number_parse_int(text, &value, NULL) < 0)
            return false;
    } else if (number_parse_milli(text, &value, NULL) < 0
               || __builtin_mul_overflow(value, setting->unit, &value)) {
        return false;
    } else {
        value /= 1000;
    }
    if (value < setting->min || value > setting->max)
        return false;
    *ret_value = value;
    return true;
}

bool setting_is_number(const struct setting *setting) {
    return setting->type <= SETTING_MONEY;
}

bool setting_is_symbol(const struct setting *setting) {
    return setting->type == SETTING_NAME || setting->type == SETTING_TEXT
           || setting->type == SETTING_WORDS;
}

bool setting_takes_text(const struct setting *setting, const char *text) {
    size_t length = strlen(text);
    if (setting->type == SETTING_NAME)
        return utf8_is_name(text, length);
    assert(setting->type == SETTING_TEXT);
    return length <= SETTING_TEXT_MAX && words_is_text(text, length, false)
           && (!setting->form || (setting->form->or_empty && length == 0)
               || setting->form->fits(text));
}

bool setting_takes_word(const struct setting *setting, const char *word) {
    assert(setting->type == SETTING_WORDS);
    return !setting->form || setting->form->fits(word);
}

bool setting_parse(const struct setting *setting, const char *text, int64_t *ret_value) {
    assert(!setting_is_symbol(setting));
    if (setting_is_number(setting))
        return parse_number(setting, text, ret_value);
    if (setting->type == SETTING_CHOICE)
        return parse_choice(setting, text, ret_value);
    if (setting->type == SETTING_ORDER)
        return parse_order(text, ret_value);
    *ret_value = strcmp(text, "true") == 0;
    return *ret_value || strcmp(text, "false") == 0;
}

/* Thousandths without trailing zeros: 1500 is "1.5". */
static void print_milli(int64_t milli, struct strbuf *out) {
    uint64_t rest = milli < 0 ? -(uint64_t)milli : (uint64_t)milli;
    strbuf_printf(out, "%s%" PRIu64, milli < 0 ? "-" : "", rest / 1000);
    rest %= 1000;
    if (rest == 0)
        return;
    int places = rest % 100 == 0 ? 1 : rest % 10 == 0 ? 2 : 3;
    for (int i = places; i < 3; i++)
        rest /= 10;
    strbuf_printf(out, ".%0*" PRIu64, places, rest);
}

/* Rounded: a thousandth of an hour is 3.6 s. */
static int64_t to_milli(int64_t value, int64_t unit) {
    __int128 half = value < 0 ? -(unit / 2) : unit / 2;
    return (int64_t)(((__int128)value * 1000 + half) / unit);
}

static void print_number(const struct setting *setting, int64_t value, struct strbuf *out) {
    const char *top = top_word(setting);
    if (top && value == INT64_MAX)
        strbuf_puts(out, top);
    else if (setting->flags & SETTING_OR_AUTO && value == SETTING_AUTO)
        strbuf_puts(out, "auto");
    else if (setting->type == SETTING_MONEY)
        money_put_number(out, value);
    else if (setting->unit == 0)
        strbuf_printf(out, "%" PRId64, value);
    else
        print_milli(to_milli(value, setting->unit), out);
}

static void print_order(int64_t bits, struct strbuf *out) {
    for (size_t i = 0; i < ARRAY_SIZE(order_parts); i++)
        if (bits & (INT64_C(1) << i))
            strbuf_printf(out, "%s, ", order_parts[i]);
    strbuf_puts(out, ORDER_LAST);
}

void setting_print(const struct setting *setting, int64_t value, struct strbuf *out) {
    assert(!setting_is_symbol(setting));
    if (setting_is_number(setting))
        print_number(setting, value, out);
    else if (setting->type == SETTING_ORDER)
        print_order(value, out);
    else if (setting->type == SETTING_CHOICE)
        strbuf_puts(out, setting->choices[value]);
    else
        strbuf_puts(out, value ? "true" : "false");
}

static void print_range(const struct setting *setting, const char *what, struct strbuf *out) {
    strbuf_printf(out, "%s from ", what);
    print_number(setting, setting->min, out);
    strbuf_puts(out, " to ");
    print_number(setting, setting->max, out);
    if (setting->type == SETTING_MONEY)
        strbuf_puts(out, " (up to six decimals)");
    else if (setting->unit != 0)
        strbuf_puts(out, " (up to three decimals)");
    bool or_auto = setting->flags & SETTING_OR_AUTO;
    if (top_word(setting))
        strbuf_printf(out, "%s%s", or_auto ? ", " : " or ", top_word(setting));
    if (or_auto)
        strbuf_puts(out, " or auto");
}

static const char *number_noun(const struct setting *setting) {
    if (setting->type == SETTING_SPAN)
        return setting->unit == SECONDS(1) ? "seconds"
               : setting->unit == HOURS(1) ? "hours"
                                           : "days";
    if (setting->type == SETTING_SIZE)
        return setting->unit ? "GB" : "MB";
    return setting->type == SETTING_MONEY     ? "dollars"
           : setting->type == SETTING_DECIMAL ? "a number"
                                              : "a whole number";
}

void setting_expected(const struct setting *setting, struct strbuf *out) {
    const char *form = setting->form ? setting->form->what : NULL;
    if (setting_is_number(setting)) {
        print_range(setting, number_noun(setting), out);
    } else if (setting->type == SETTING_BOOLEAN) {
        strbuf_puts(out, "true or false");
    } else if (setting->type == SETTING_CHOICE) {
        strbuf_puts(out, "one of ");
        for (int i = 0; setting->choices[i]; i++)
            strbuf_printf(out, "%s%s", i ? ", " : "", setting->choices[i]);
    } else if (setting->type == SETTING_ORDER) {
        strbuf_puts(out, "some of ");
        print_order(INT64_MAX, out);
        strbuf_puts(out, " in this order");
    } else if (setting->type == SETTING_WORDS) {
        strbuf_printf(out, "%s (a list, or one text as for a shell)", form ? form : "words");
    } else if (setting->type == SETTING_TEXT && form) {
        strbuf_puts(out, form);
    } else {
        bool name = setting->type == SETTING_NAME;
        strbuf_printf(out, "a %s to %d bytes without control characters",
                      name ? "name of 1" : "text of up", name ? NAME_BYTES_MAX : SETTING_TEXT_MAX);
    }
}

int64_t setting_load(const struct setting *setting, const void *target) {
    const char *field = (const char *)target + setting->offset;
    int64_t value = 0;
    if (setting->size == sizeof(bool)) {
        bool flag;
        memcpy(&flag, field, sizeof(flag));
        value = flag;
    } else if (setting->size == sizeof(unsigned)) {
        unsigned small;
        memcpy(&small, field, sizeof(small));
        value = small;
    } else {
        assert(setting->size == sizeof(value));
        memcpy(&value, field, sizeof(value));
    }
    return setting->flags & SETTING_INVERTED ? !value : value;
}

void setting_store(const struct setting *setting, int64_t value, void *target) {
    char *field = (char *)target + setting->offset;
    if (setting->flags & SETTING_INVERTED)
        value = !value;
    switch (setting->size) {
    case 0:
        break;
    case sizeof(bool): {
        bool flag = value != 0;
        memcpy(field, &flag, sizeof(flag));
        break;
    }
    case sizeof(unsigned): { /* an enum or the bits of the order */
        unsigned small = (unsigned)value;
        memcpy(field, &small, sizeof(small));
        break;
    }
    case sizeof(int64_t):
        memcpy(field, &value, sizeof(value));
        break;
    default:
        assert(!"a field of this size is not known");
    }
}
