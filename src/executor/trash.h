/* trash.h: folders that go away without anybody waiting for it. Private to executor/. */
#pragma once

#include <stdint.h>

struct loop;
struct trash;

/* `live`: how many runs there are; while there are some it goes slowly. */
struct trash *trash_new(struct loop *loop, int root, const uint32_t *live);
/* What is not deleted yet is found by the next one. */
struct trash *trash_free(struct trash *trash);
/* Moves it aside at once, so that the name is free; deletes it later. */
int trash_throw(struct trash *trash, const char *name);
