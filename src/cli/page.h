/* page.h: writes a page as Markdown or HTML: headings, lines, lists, tables.
 *
 * Texts are always escaped: they cannot become markup or control a terminal.
 *
 *     struct page page = { .html = true, .out = &out };
 *     page_begin(&page, "title"); page_heading(&page, "Done", 3);
 *     page_item(&page, "web-1", "parser"); page_end(&page); */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

struct page {
    bool html;
    struct strbuf *out;
    bool in_list, in_table; /* private */
    size_t columns;
};

void page_begin(struct page *page, const char *title);
void page_end(struct page *page);
/* `count` below 0: not shown. */
void page_heading(struct page *page, const char *text, long count);
void page_line(struct page *page, const char *text);
/* A list entry: an emphasized name (or NULL) and a text. `code`: a command after it, or NULL. */
void page_item(struct page *page, const char *name, const char *text, const char *code);
/* Rows follow; the first `count` cells are the head. */
void page_table(struct page *page, const char *const *cells, size_t count);
void page_row(struct page *page, const char *const *cells);

/* Escapes a sanitized text for HTML or XML. */
void page_put_html(struct strbuf *out, const char *text);

/* cmd_digest.c. A past time: 12h (ago), yesterday, today, 18:30 (the last one), 2027-01-31 … */
int digest_since(const char *text, time_ms now, time_ms *ret_since, struct error *err);
