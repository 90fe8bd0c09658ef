/* fuzz_card.c: arbitrary bytes as a card.
 *
 * Beyond not crashing: an error has a message with the file name. A card that was read can be edited, or the edit is
 * refused; the result can be read again and has the written values, and a second edit changes nothing. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "card/card.h"

#define NAME "fuzz.md"
#define LINE "2027-01-31: agent queued (web-1 #4)"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct card card = { 0 };
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, out = STRBUF_INIT,
                                           more = STRBUF_INIT;
    strbuf_add(&text, (const char *)data, size);
    int r = card_parse(NAME, strbuf_text(&text), text.length, &card, &err);
    if (r < 0) {
        assert(err.code == r && strncmp(err.text, NAME ":", strlen(NAME ":")) == 0);
        return 0;
    }
    assert(card.body <= size);
    card_finish(&card);
    r = card_edit(NAME, &text, CARD_QUEUED, LINE, &out, &err);
    if (r < 0)
        assert(out.length == 0 && strncmp(err.text, NAME ":", strlen(NAME ":")) == 0);
    if (r != 0)
        return 0;
    card = (struct card){ 0 };
    assert(card_parse(NAME, strbuf_text(&out), out.length, &card, &err) == 0);
    assert(card.status == CARD_QUEUED);
    card_finish(&card);
    assert(strstr(strbuf_text(&out), "- " LINE));
    assert(card_edit(NAME, &out, CARD_QUEUED, LINE, &more, &err) == 1);
    return 0;
}
