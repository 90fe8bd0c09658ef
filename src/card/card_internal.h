/* card_internal.h: shared by the files of this folder. */
#pragma once

#include "card/card.h"
#include "yaml/yaml.h"

/* Places in the text: the first fence, the second one, and what is behind it. */
struct card_front {
    size_t begin, close, body;
};

/* Behind the line that `at` is in, with its line end. */
size_t card_line_end(const char *text, size_t size, size_t at);
int card_find_front(const char *name, const char *text, size_t size, struct card_front *ret,
                    struct error *err);
/* The front matter as a tree; its places count from front.begin. */
int card_read_front(const char *name, const char *text, size_t size, struct card_front *front,
                    struct yaml *ret_yaml, struct error *err);
/* NULL: it is not said. */
int card_find_key(const char *name, const struct yaml *yaml, const char *key,
                  const struct yaml_node **ret_key, struct error *err);
