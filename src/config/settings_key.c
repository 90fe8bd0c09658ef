/* settings_key.c: finds the row of a key, and suggests one for a misspelt key.
 *
 * Names may contain dots ("gpt-4.1", "me@example.com"): the literal parts around them delimit them.
 * In a file the levels are known, so a name must be one level: projects: {web: {limits:
 * {max_running: 2}}} is an unknown key, not a project "web.limits". */
#include "config/settings.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <threads.h>

#include "base/arena.h"
#include "base/foreign_names.h"
#include "base/hash.h"
#include "base/macros.h"
#include "base/nearest.h"

/* A pattern split at its upper-case part: "kinds." and ".base". */
struct pattern {
    const char *head, *tail; /* tail NULL: no name */
    size_t head_length;
};

static struct pattern pattern_of(const struct setting *setting) {
    struct pattern p = { .head = setting->key, .head_length = strlen(setting->key) };
    for (const char *c = setting->key; *c; c++)
        if (isupper((unsigned char)*c)) {
            p.head_length = (size_t)(c - setting->key);
            p.tail = c + 1;
            break;
        }
    return p;
}

/* No joint inside key[from .. to). */
static bool name_is_one_level(const struct setting_joints *joints, size_t from, size_t to) {
    for (size_t i = 0; joints && i < joints->count; i++)
        if (joints->at[i] >= from && joints->at[i] < to)
            return false;
    return true;
}

static bool joint_before(const struct setting_joints *joints, size_t at) {
    for (size_t i = 0; joints && i < joints->count; i++)
        if (joints->at[i] + 1 == at)
            return true;
    return false;
}

static bool ends_with(const char *text, size_t length, const char *tail) {
    size_t tail_length = strlen(tail);
    return length >= tail_length && memcmp(text + length - tail_length, tail, tail_length) == 0;
}

static struct setting_key match_row(const struct setting *setting, const char *key,
                                    const struct setting_joints *joints) {
    struct setting_key ret = { .match = MATCH_NOTHING };
    struct pattern p = pattern_of(setting);
    size_t length = strlen(key);
    if (length < p.head_length) {
        bool above = length > 0 && strncmp(p.head, key, length) == 0 && p.head[length] == '.';
        ret.match = above ? MATCH_ABOVE : MATCH_NOTHING;
        return ret;
    }
    if (strncmp(key, p.head, p.head_length) != 0)
        return ret;
    ret.setting = setting;
    ret.section = setting->section;
    if (!p.tail) {
        ret.match = length == p.head_length ? MATCH_SETTING : MATCH_NOTHING;
        return ret;
    }
    ret.name = key + p.head_length;
    ret.name_length = length - p.head_length;
    if (ends_with(ret.name, ret.name_length, p.tail)
        && name_is_one_level(joints, p.head_length, length - strlen(p.tail))) {
        ret.match = MATCH_SETTING;
        ret.name_length -= strlen(p.tail);
    } else if (joint_before(joints, p.head_length)
               && name_is_one_level(joints, p.head_length, length)) {
        ret.match = MATCH_NAME;
    }
    return ret;
}

struct setting_key settings_match(const char *key, const struct setting_joints *joints) {
    struct setting_key best = { .match = MATCH_NOTHING };
    for (size_t i = 0; i < settings_count && best.match != MATCH_SETTING; i++) {
        if (settings[i].key[0] != key[0]) /* no pattern begins with a name */
            continue;
        struct setting_key m = match_row(&settings[i], key, joints);
        if (m.match > best.match)
            best = m;
    }
    return best;
}

void setting_print_key(const struct setting *setting, const char *name, struct strbuf *out) {
    for (const char *c = setting->key; *c; c++)
        if (isupper((unsigned char)*c) && name)
            strbuf_puts(out, name);
        else
            strbuf_putc(out, *c);
}

/* --- suggestions ------------------------------------------------------------------------------ */

/* Where the name would begin in the typed key: at the same level as in the pattern. */
static const char *name_in(const struct pattern *p, const char *key) {
    for (size_t i = 0; i < p->head_length && key; i++)
        if (p->head[i] == '.') {
            key = strchr(key, '.');
            key = key ? key + 1 : NULL;
        }
    return key;
}

/* Suggests the pattern with `name` in it. */
static void offer_with(struct nearest *nearest, const struct pattern *p, const char *name,
                       const char *end, struct arena *arena) {
    if (!end || end == name)
        return;
    _cleanup_(strbuf_finish) struct strbuf whole = STRBUF_INIT;
    strbuf_add(&whole, p->head, p->head_length);
    strbuf_add(&whole, name, (size_t)(end - name));
    strbuf_puts(&whole, p->tail);
    nearest_offer(nearest, arena_strdup(arena, strbuf_text(&whole)));
}

/* `too_deep`: the key would be right if a name had no levels. */
static void offer_row(struct nearest *nearest, const struct setting *setting, bool too_deep,
                      struct arena *arena) {
    struct pattern p = pattern_of(setting);
    if (!p.tail) {
        nearest_offer(nearest, setting->key);
        return;
    }
    const char *name = name_in(&p, nearest->typed);
    if (!name)
        return;
    if (*p.tail == '\0') {
        offer_with(nearest, &p, name, name + strlen(name), arena);
        return;
    }
    offer_with(nearest, &p, name, too_deep ? strchr(name, '.') : strrchr(name, '.'), arena);
}

/* `runs` alone: only the section is missing. */
static const struct setting *row_ending_in(const char *part) {
    for (size_t i = 0; i < settings_count; i++) {
        const char *dot = strrchr(settings[i].key, '.');
        if (settings[i].section == SECTION_ROOT && dot && strcmp(dot + 1, part) == 0)
            return &settings[i];
    }
    return NULL;
}

bool settings_suggest(const char *key, struct strbuf *out) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    struct nearest nearest = nearest_to(key);
    const struct setting *row = row_ending_in(key);
    nearest.best = row ? row->key : foreign_name(FOREIGN_SETTING, key);
    if (nearest.best)
        nearest.distance = 0;
    bool too_deep = settings_match(key, NULL).match == MATCH_SETTING;
    for (size_t i = 0; !row && i < settings_count; i++)
        offer_row(&nearest, &settings[i], too_deep, &arena);
    if (nearest.best)
        strbuf_puts(out, nearest.best);
    return nearest.best != NULL;
}

size_t settings_of(enum setting_section section, size_t *ret_first) {
    size_t first = 0;
    while (first < settings_count && settings[first].section != section)
        first++;
    size_t count = 0;
    while (first + count < settings_count && settings[first + count].section == section)
        count++;
    *ret_first = first;
    return count;
}

/* Hash table of rows by key: every submitted task looks up a dozen. */
#define SLOTS 1024u
static uint16_t slots[SLOTS]; /* 0: free; else the row + 1 */
static once_flag slots_made = ONCE_FLAG_INIT;

static uint16_t *slot_of(const char *key) {
    uint64_t at = hash_bytes(key, strlen(key)) % SLOTS;
    while (slots[at] && strcmp(settings[slots[at] - 1].key, key) != 0)
        at = (at + 1) % SLOTS;
    return &slots[at];
}

static void make_slots(void) {
    assert(settings_count <= SLOTS / 2);
    for (size_t i = settings_count; i-- > 0;) /* of duplicates the first one wins */
        *slot_of(settings[i].key) = (uint16_t)(i + 1);
}

const struct setting *settings_row(const char *pattern) {
    call_once(&slots_made, make_slots);
    uint16_t slot = *slot_of(pattern);
    return slot ? &settings[slot - 1] : NULL;
}
