/* card.h: reads and edits board cards, which are Markdown files with YAML front matter.
 *
 *   ---
 *   agent_flow: implement          the kind of the task
 *   agent_status: idle             idle queued running succeeded failed canceled
 *   branch: implement/login        the branch that its work starts from
 *   parallelizable: true
 *   ---
 *   # Make the login work          the title: the first heading
 *   …                              the body: the prompt
 *   History:
 *   - 2027-01-31: …
 *
 * Other keys are ignored and kept. card_edit sets agent_status, appends a line to the section
 * History (created if missing) and changes no other byte. Line endings follow the first one. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"

#define CARD_BYTES_MAX (1u << 20)

enum card_status {
    CARD_IDLE,
    CARD_QUEUED,
    CARD_RUNNING,
    CARD_SUCCEEDED,
    CARD_FAILED,
    CARD_CANCELED,
    CARD_STATUS_MAX,
};
const char *card_status_name(enum card_status status);

enum card_switch { CARD_UNSET, CARD_FALSE, CARD_TRUE };

struct card {
    char *flow, *branch, *title; /* NULL: not set */
    enum card_status status;     /* idle when not set */
    enum card_switch parallelizable;
    size_t body; /* offset */
};

/* -EINVAL, "NAME:LINE: …": no front matter, invalid YAML, or an invalid value. */
int card_parse(const char *name, const char *text, size_t size, struct card *ret,
               struct error *err);
void card_finish(struct card *card); /* safe on a zeroed struct; usable with _cleanup_ */

/* Appends the card with this status and history line ("2027-01-31: …", without the dash) to `out`.
 * An existing line is not added again. Returns 1 and leaves `out` unchanged if nothing changes. */
int card_edit(const char *name, const struct strbuf *text, enum card_status status,
              const char *line, struct strbuf *out, struct error *err);

/* card_edit on a file, atomically (temporary file, fsync, rename); keeps its mode. Starts over if
 * the card changes meanwhile. -ENOENT: no such file. */
int card_write(const char *path, enum card_status status, const char *line, struct error *err);
