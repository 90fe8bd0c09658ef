/* config_edit.c: changes single keys of a file, or nothing.
 *
 * The bytes are cut in edit_write.c; here is what makes that safe. Each change starts from a fresh
 * tree of the text. At the end the new text is read like any configuration, and everything it says
 * besides the changed keys must be what the old one said, in the same order: whatever strange file
 * was cut in the wrong place is found before it is written. */
#include "config/config_edit.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "config/config_edit_internal.h"
#include "config/config_internal.h"
#include "config/config_secret.h"
#include "os/files.h"

DEFINE_FREEP(struct config, config_free);

/* --- what is asked for ----------------------------------------------------------------------- */

/* The dots that part levels: not those inside the name. */
static void find_levels(struct edit_target *target) {
    const struct setting_key *match = &target->match;
    for (const char *dot = strchr(target->key, '.'); dot; dot = strchr(dot + 1, '.'))
        if (match->name_length == 0 || dot < match->name || dot >= match->name + match->name_length)
            target->levels.at[target->levels.count++] = (size_t)(dot - target->key);
}

/* A section is written as a level of its own: the first dot joins it to what is above. */
static struct setting_key match_of(const struct config_change *change) {
    const char *dot = strchr(change->key, '.');
    struct setting_joints joints = { .count = 0 };
    if (!change->is_section || !dot)
        return settings_match(change->key, NULL);
    joints.at[joints.count++] = (size_t)(dot - change->key);
    return settings_match(change->key, &joints);
}

static bool same_key(const struct setting_key *a, const struct setting_key *b) {
    return a->match == b->match && a->setting == b->setting && a->section == b->section
           && a->name_length == b->name_length
           && (a->name_length == 0 || memcmp(a->name, b->name, a->name_length) == 0);
}

/* Which of the changes is about this key? NULL: none. */
static const struct config_change *change_of(const struct setting_key *key,
                                             const struct config_change *changes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct setting_key other = match_of(&changes[i]);
        if (same_key(&other, key))
            return &changes[i];
    }
    return NULL;
}

/* A change alone: is there such a key, can it have that value? `scratch` has the right preset. */
static int check_change(struct config *scratch, const struct config_change *change,
                        struct error *err) {
    const char *value = change->value ? change->value : "";
    if (!words_is_text(change->key, strlen(change->key), false)
        || !words_is_text(value, strlen(value), true))
        return error_set(err, -EINVAL, "key '%s': the key or its value is not UTF-8 text",
                         config_quote(change->key).text);
    struct setting_key match = match_of(change);
    if (change->is_section && match.match == MATCH_NAME)
        return 0;
    bool is_key = match.match == MATCH_SETTING
                  && (match.section == SECTION_ROOT || utf8_is_name(match.name, match.name_length));
    if (!is_key || change->value)
        return config_set(scratch, change->key, value, "set", err);
    return 0;
}

static int check_changes(struct config_file *old, const char *name,
                         const struct config_change *changes, size_t count, struct error *err) {
    _cleanup_(config_freep) struct config *scratch = config_new();
    (void)config_file_apply(old, name, scratch, NULL); /* what is wrong there may be what changes */
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            bool is_preset = strcmp(changes[i].key, "preset") == 0;
            int r = is_preset == (pass == 0) ? check_change(scratch, &changes[i], err) : 0;
            if (r < 0)
                return r;
            struct setting_key key = match_of(&changes[i]);
            if (change_of(&key, changes, count) != &changes[i])
                return error_set(err, -EINVAL, "key '%s' is changed twice",
                                 config_quote(changes[i].key).text);
        }
    return 0;
}

/* --- one change ------------------------------------------------------------------------------ */

static int refuse(const char *name, const struct edit_target *target, const struct yaml_node *where,
                  struct error *err) {
    return error_set(err, -EINVAL,
                     "%.160s:%u: '%s' is written in a way that cannot be changed here; edit the "
                     "file by hand",
                     name, where ? where->line : 1, config_quote(target->key).text);
}

/* 1: `out` has the new text; 0: there is nothing to do. */
static int change_once(const char *name, const struct strbuf *text,
                       const struct config_change *change, struct strbuf *out, struct error *err) {
    _cleanup_(yaml_finish) struct yaml yaml = { .root = NULL };
    int r = yaml_parse(name, strbuf_text(text), text->length, &config_limits, &yaml, err);
    if (r < 0)
        return r;
    struct edit_target target = { .key = change->key, .match = match_of(change) };
    struct edit_place place;
    find_levels(&target);
    edit_find(&target, yaml.root, &place);
    if (!place.key && !change->value)
        return 0;
    struct edit_file file = { .text = text, .root = yaml.root, .out = out };
    bool done;
    if (!place.key)
        done = edit_add(&file, &target, &place, change->value);
    else if (change->value)
        done = edit_replace(&file, &target, &place, change->value);
    else
        done = edit_remove(&file, &place);
    return done ? 1 : refuse(name, &target, place.key ? place.key : place.holder, err);
}

/* A key that is there twice is removed twice; setting it leaves an error for the reader. */
static int change_text(const char *name, struct strbuf *text, const struct config_change *change,
                       struct error *err) {
    int r;
    do {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        r = change_once(name, text, change, &out, err);
        if (r > 0) {
            struct strbuf old = *text;
            *text = out;
            out = old;
        }
    } while (r > 0 && !change->value);
    return r < 0 ? r : 0;
}

/* --- the proof ------------------------------------------------------------------------------- */

/* The next thing that a file says about a key that was not to be changed; NULL: no more. */
static const struct assignment *next_kept(const struct config_file *file, size_t *at,
                                          const struct config_change *changes, size_t count) {
    while (*at < file->count) {
        const struct assignment *a = &file->items[(*at)++];
        struct setting_key key = settings_match(a->key, a->joints);
        bool says_nothing = !a->value && key.match != MATCH_SETTING;
        if (!says_nothing && (key.match != MATCH_SETTING || !change_of(&key, changes, count)))
            return a;
    }
    return NULL;
}

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool kept_everything(const struct config_file *old, const struct config_file *new,
                            const struct config_change *changes, size_t count) {
    size_t old_at = 0, new_at = 0;
    for (;;) {
        const struct assignment *a = next_kept(old, &old_at, changes, count);
        const struct assignment *b = next_kept(new, &new_at, changes, count);
        if (!a || !b)
            return a == b;
        if (strcmp(a->key, b->key) != 0 || !same_text(a->value, b->value))
            return false;
    }
}

/* Does it say of each key what was asked for? */
static bool made_changes(const struct config_file *new, const struct config *config,
                         const struct config_change *changes, size_t count) {
    _cleanup_(config_freep) struct config *asked = config_new();
    (void)config_set(asked, "preset", config_preset(config), "set", NULL);
    size_t found = 0, wanted = 0;
    for (size_t i = 0; i < new->count; i++) {
        struct setting_key key = settings_match(new->items[i].key, new->items[i].joints);
        found += key.match == MATCH_SETTING && change_of(&key, changes, count);
    }
    for (size_t i = 0; i < count; i++) {
        struct setting_key key = match_of(&changes[i]);
        if (!changes[i].value)
            continue;
        wanted++;
        _cleanup_(strbuf_finish) struct strbuf is = STRBUF_INIT, should = STRBUF_INIT;
        _cleanup_(freep) char *name = xstrndup(key.name ? key.name : "", key.name_length);
        if (config_set(asked, changes[i].key, changes[i].value, "set", NULL) < 0)
            return false;
        config_print(config, key.setting, config_effective(config, key.setting, name, NULL), &is);
        config_print(asked, key.setting, config_effective(asked, key.setting, name, NULL), &should);
        if (strcmp(strbuf_text(&is), strbuf_text(&should)) != 0)
            return false;
    }
    return found == wanted;
}

static int check_result(const char *name, const struct config_file *old, const struct strbuf *text,
                        const struct config_change *changes, size_t count, struct error *err) {
    _cleanup_(config_freep) struct config *config = config_new();
    _cleanup_(config_file_finish) struct config_file new = { .count = 0 };
    int r = config_file_parse(&new, name, text, err);
    if (r >= 0)
        r = config_file_apply(&new, name, config, err);
    if (r < 0)
        return r;
    if (kept_everything(old, &new, changes, count) && made_changes(&new, config, changes, count))
        return 0;
    return error_set(err, -EINVAL,
                     "%.160s: '%s' cannot be changed without touching something else; edit the "
                     "file by hand",
                     name, config_quote(changes[0].key).text);
}

/* --- the whole ------------------------------------------------------------------------------- */

int config_edit_text(const char *name, const struct strbuf *text,
                     const struct config_change *changes, size_t count, struct strbuf *out,
                     struct error *err) {
    struct error unread = { 0 };
    err = err ? err : &unread;
    _cleanup_(config_file_finish) struct config_file old = { .count = 0 };
    _cleanup_(strbuf_finish) struct strbuf new = STRBUF_INIT;
    int r = config_file_parse(&old, name, text, err);
    if (r >= 0)
        r = check_changes(&old, name, changes, count, err);
    strbuf_add(&new, strbuf_text(text), text->length);
    for (size_t i = 0; r >= 0 && i < count; i++)
        r = change_text(name, &new, &changes[i], err);
    if (r >= 0)
        r = check_result(name, &old, &new, changes, count, err);
    if (r < 0)
        return r;
    strbuf_add(out, strbuf_text(&new), new.length);
    return 0;
}

int config_edit(const char *path, const struct config_change *changes, size_t count,
                struct error *err) {
    struct error local = { 0 };
    _cleanup_(strbuf_finish) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT;
    int r = file_read(path, CONFIG_FILE_MAX, &old, &local);
    bool is_new = r == -ENOENT;
    if (r < 0 && !is_new)
        return error_set(err, r, "%s", local.text);
    r = config_edit_text(path, &old, changes, count, &new, err);
    bool is_same =
        r >= 0
        && old.length == new.length &&memcmp(strbuf_text(&old), strbuf_text(&new), new.length) == 0;
    if (r < 0 || is_same)
        return r;
    _cleanup_(config_freep) struct config *config = config_new();
    r = config_read_text(config, path, strbuf_text(&new), new.length, err);
    return r < 0 ? r : config_write_file(path, &new, config, err);
}
