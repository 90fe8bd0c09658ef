/* own_secrets.h: inside a run, the secrets that it has are not written to files that others read.
 *
 * SLUICE_SECRETS has the names of the variables that are secrets. Outside of a run nothing is replaced. */
#pragma once

/* The text with `[redacted NAME]` for each of them; frees `text`, which may be NULL. */
char *own_secrets_take(char *text);
