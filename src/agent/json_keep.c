/* json_keep.c: which values are wanted, and what is kept of them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/json_scan_internal.h"
#include "base/alloc.h"

#define NODES_MAX (JSON_SCAN_WANTS * JSON_SCAN_DEPTH + 1)

/* --- paths ---------------------------------------------------------------------------------------- */

static uint16_t node_add(struct json_scan *s, uint16_t parent, const char *key, size_t length) {
    bool any = length == 1 && key[0] == '*';
    struct scan_node *up = &s->nodes[parent];
    if (any && up->any)
        return up->any;
    for (uint16_t n = any ? 0 : up->child; n; n = s->nodes[n].next)
        if (s->nodes[n].length == length && memcmp(s->nodes[n].key, key, length) == 0)
            return n;
    uint16_t n = (uint16_t)s->node_count++;
    s->nodes[n] = (struct scan_node){ .key = key, .length = length, .want = -1 };
    if (any) {
        up->any = n;
    } else {
        s->nodes[n].next = up->child;
        up->child = n;
    }
    assert(!up->any || !up->child);
    return n;
}

static void path_add(struct json_scan *s, const char *path, int16_t want) {
    uint16_t n = 0;
    size_t depth = 0;
    for (const char *at = path; at; depth++) {
        const char *slash = strchr(at, '/');
        size_t length = slash ? (size_t)(slash - at) : strlen(at);
        assert(length > 0 && length < SCAN_KEY_SIZE);
        n = node_add(s, n, at, length);
        at = slash ? slash + 1 : NULL;
    }
    assert(depth <= JSON_SCAN_DEPTH && s->nodes[n].want == -1);
    s->nodes[n].want = want;
}

struct json_scan *json_scan_new(const struct json_want *wants, size_t count,
                                const struct json_scan_calls *calls) {
    assert(count <= JSON_SCAN_WANTS);
    struct json_scan *s = xcalloc(1, sizeof(*s));
    s->calls = *calls;
    s->wants = wants;
    s->want_count = count;
    struct scan_node *nodes = s->nodes = xcalloc(NODES_MAX, sizeof(*s->nodes));
    s->nodes[0] = (struct scan_node){ .key = "", .want = -1 };
    s->node_count = 1;
    size_t room = 0;
    for (size_t i = 0; i < count; i++) {
        assert(wants[i].size >= 2);
        path_add(s, wants[i].path, (int16_t)i);
        room += wants[i].size;
    }
    s->nodes = xrealloc(nodes, s->node_count * sizeof(*nodes));
    s->room_of_all = xcalloc(room + 1, 1);
    char *at = s->room_of_all;
    for (size_t i = 0; i < count; i++) {
        s->texts[i] = at;
        s->values[i].text = at;
        at += wants[i].size;
    }
    return s;
}

struct json_scan *json_scan_free(struct json_scan *s) {
    if (!s)
        return NULL;
    free(s->nodes);
    free(s->room_of_all);
    free(s);
    return NULL;
}

uint16_t json_keep_find(const struct json_scan *s, uint16_t parent, const char *key,
                        size_t length) {
    const struct scan_node *up = &s->nodes[parent];
    for (uint16_t n = up->child; n; n = s->nodes[n].next)
        if (s->nodes[n].length == length && s->nodes[n].key[0] == key[0]
            && memcmp(s->nodes[n].key, key, length) == 0)
            return n;
    return up->any;
}

/* --- values --------------------------------------------------------------------------------------- */

void json_keep_forget(struct json_scan *s) {
    for (uint64_t left = s->touched; left; left &= left - 1) {
        int i = __builtin_ctzll(left);
        s->texts[i][0] = '\0';
        s->values[i] = (struct json_value){ .text = s->texts[i] };
    }
    s->touched = 0;
}

struct json_value *json_keep_value(struct json_scan *s, uint16_t node, enum json_kind kind) {
    int want = s->nodes[node].want;
    if (node == 0 || want < 0)
        return NULL;
    s->touched |= UINT64_C(1) << want;
    struct json_value *value = &s->values[want];
    value->kind = kind;
    value->is_cut = false;
    value->length = 0;
    s->texts[want][0] = '\0';
    return value;
}

void json_keep_number(struct json_value *value, int64_t micro) {
    if (micro < 0)
        return;
    value->sum_count++;
    if (__builtin_add_overflow(value->sum_micro, micro, &value->sum_micro))
        value->sum_micro = INT64_MAX;
}

/* How much of `text` is whole characters: a cut may have gone through the last one. */
static size_t whole_characters(const char *text, size_t length) {
    size_t back = 0;
    while (back < 3 && back < length && ((unsigned char)text[length - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back == length)
        return length;
    size_t start = length - 1 - back;
    unsigned char lead = (unsigned char)text[start];
    size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return need > back + 1 ? start : length;
}

void json_keep_begin(struct json_scan *s, char *to, size_t size) {
    s->to = to;
    s->room = size - 1;
    s->length = 0;
    s->is_cut = false;
    s->high = 0;
}

void json_keep_add(struct json_scan *s, const char *bytes, size_t size) {
    size_t fits = s->room - s->length;
    if (size > fits) {
        size = fits;
        s->is_cut = true;
    }
    memcpy(s->to + s->length, bytes, size);
    s->length += size;
    if (s->is_cut) /* nothing small goes behind a cut */
        s->room = s->length = whole_characters(s->to, s->length);
}

size_t json_keep_end(struct json_scan *s) {
    s->to[s->length] = '\0';
    return s->length;
}

void json_keep_add_character(struct json_scan *s, uint32_t c) {
    char bytes[4];
    size_t size;
    if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    if (c < 0x80) {
        bytes[0] = (char)c;
        size = 1;
    } else if (c < 0x800) {
        bytes[0] = (char)(0xc0 | c >> 6);
        bytes[1] = (char)(0x80 | (c & 0x3f));
        size = 2;
    } else if (c < 0x10000) {
        bytes[0] = (char)(0xe0 | c >> 12);
        bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (c & 0x3f));
        size = 3;
    } else {
        bytes[0] = (char)(0xf0 | c >> 18);
        bytes[1] = (char)(0x80 | (c >> 12 & 0x3f));
        bytes[2] = (char)(0x80 | (c >> 6 & 0x3f));
        bytes[3] = (char)(0x80 | (c & 0x3f));
        size = 4;
    }
    json_keep_add(s, bytes, size);
}
