/* edit_find.c: where is a key in a file, and if it is not there: where does it belong?
 *
 * The same key can be written in many ways (limits: {runs: 4}, limits.runs: 4), and a name may
 * contain dots. settings_match decides what a path means, as it does for the reader; here is only
 * the walk. */
#include <string.h>

#include "config/config_edit_internal.h"

struct walk {
    const struct edit_target *target;
    struct edit_place *place;
    struct strbuf path;
    struct setting_joints joints;
    /* The pair whose value is being walked over, if it must not be left empty; or NULL. */
    const struct yaml_node *outer_mapping, *outer_key;
};

static bool means_target(const struct walk *w, const char *path,
                         const struct setting_joints *joints) {
    struct setting_key found = settings_match(path, joints);
    const struct setting_key *wanted = &w->target->match;
    return found.match == wanted->match && found.setting == wanted->setting
           && found.section == wanted->section && found.name_length == wanted->name_length
           && (found.name_length == 0 || memcmp(found.name, wanted->name, found.name_length) == 0);
}

/* Would the rest of the key, one level for each part, mean the target below this path? */
static bool could_hold(const struct walk *w) {
    const char *key = w->target->key;
    size_t length = w->path.length;
    if (strncmp(key, strbuf_text(&w->path), length) != 0 || key[length] != '.')
        return false;
    struct setting_joints joints = w->joints;
    bool is_level = false;
    for (size_t i = 0; i < w->target->levels.count; i++) {
        size_t at = w->target->levels.at[i];
        is_level = is_level || at == length;
        if (at >= length && joints.count < sizeof(joints.at) / sizeof(joints.at[0]))
            joints.at[joints.count++] = at;
    }
    return is_level && means_target(w, key, &joints);
}

static void look_at(struct walk *w, const struct yaml_node *mapping, const struct yaml_node *key) {
    bool nothing = key->value->kind == YAML_SCALAR && yaml_type(key->value) == YAML_NULL;
    if (means_target(w, strbuf_text(&w->path), &w->joints)) {
        bool with_outer = w->outer_key && mapping->count == 1;
        if (!w->place->key)
            *w->place = (struct edit_place){
                .mapping = mapping,
                .key = key,
                .gone_mapping = with_outer ? w->outer_mapping : mapping,
                .gone_key = with_outer ? w->outer_key : key,
            };
    } else if ((nothing || key->value->kind == YAML_MAPPING) && w->path.length >= w->place->depth
               && could_hold(w)) {
        w->place->holder = nothing ? mapping : key->value;
        w->place->holder_key = nothing ? key : NULL;
        w->place->depth = w->path.length + 1;
    }
}

/* May the file have this key without anything below it? "projects.web:" could be a misspelt
 * "projects.web.weight:", so it may not. */
static bool may_be_empty(const struct walk *w) {
    enum setting_match match = settings_match(strbuf_text(&w->path), &w->joints).match;
    return match == MATCH_ABOVE || match == MATCH_NAME;
}

static void walk_mapping(struct walk *w, const struct yaml_node *mapping);

static void walk_value(struct walk *w, const struct yaml_node *mapping,
                       const struct yaml_node *key) {
    bool empty = may_be_empty(w);
    w->outer_mapping = empty ? NULL : mapping;
    w->outer_key = empty ? NULL : key;
    walk_mapping(w, key->value);
}

static void walk_mapping(struct walk *w, const struct yaml_node *mapping) {
    const struct walk before = *w;
    size_t length = w->path.length;
    for (const struct yaml_node *key = mapping->first; key; key = key->next) {
        if (length > 0) {
            w->joints.at[w->joints.count++] = length;
            strbuf_putc(&w->path, '.');
        }
        strbuf_puts(&w->path, key->text);
        look_at(w, mapping, key);
        if (key->value->kind == YAML_MAPPING)
            walk_value(w, mapping, key);
        w->joints = before.joints;
        w->outer_mapping = before.outer_mapping;
        w->outer_key = before.outer_key;
        w->path.length = length;
        w->path.text[length] = '\0';
    }
}

void edit_find(const struct edit_target *target, const struct yaml_node *root,
               struct edit_place *ret_place) {
    struct walk w = { .target = target, .place = ret_place };
    *ret_place = (struct edit_place){ .key = NULL };
    if (!root || root->kind != YAML_MAPPING)
        return;
    ret_place->holder = root;
    walk_mapping(&w, root);
    strbuf_finish(&w.path);
}
