/* access_internal.h: secrets and time of tokens and codes. Private to engine/access. */
#pragma once

#include "engine/access.h"
#include "engine/engine_internal.h"

/* The engine clock read now, not the time of the last turn. */
time_ms access_now(const struct engine *e);
/* 32 random bytes, base64url. */
void access_make_secret(char ret[ACCESS_SECRET_SIZE]);
