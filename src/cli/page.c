/* page.c: see page.h. The HTML has no script and loads nothing, and a CSP enforces that: even a
 * missing escape here could not make a title active. */
#include "cli/page.h"

#include <string.h>

#include "base/safe_text.h"

static const char style[] =
    ":root{color-scheme:light "
    "dark;--ink:#1d2330;--paper:#fff;--dim:#5a6372;--line:#d9dde4;--code:#f2f4f7}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e5e8ee;--paper:#15171c;--dim:#98a1b0;--line:#"
    "343944;"
    "--code:#22262e}}"
    "body{font:15px/1.5 "
    "system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;"
    "margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin:1.8rem 0 .5rem}"
    "ul{padding-left:1.2rem}li{margin:.25rem 0;overflow-wrap:anywhere}"
    "code{background:var(--code);border-radius:4px;padding:.1rem .3rem}"
    "table{border-collapse:collapse;display:block;overflow-x:auto}"
    "th,td{border-bottom:1px solid var(--line);padding:.25rem .8rem .25rem 0;text-align:left}"
    "th{color:var(--dim);font-weight:600}td{font-variant-numeric:tabular-nums}";

/* --- texts ----------------------------------------------------------------------------------- */

void page_put_html(struct strbuf *out, const char *text) {
    static const char marks[] = "&<>\"'";
    static const char *const entities[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
    for (; *text; text++) {
        const char *mark = strchr(marks, *text);
        if (mark)
            strbuf_puts(out, entities[mark - marks]);
        else
            strbuf_putc(out, *text);
    }
}

/* Escapes only what could start markup: prose stays readable. */
static void put_markdown(struct strbuf *out, const char *text) {
    for (const char *c = text; *c; c++) {
        bool number = c > text && (*c == '.' || *c == ')') && (c[1] == ' ' || !c[1]);
        bool begins = c == text && strchr("#+-=>", *c);
        bool list = number && strspn(text, "0123456789") == (size_t)(c - text);
        if (strchr("\\`*_[]<>|~&!", *c) || begins || list)
            strbuf_putc(out, '\\');
        strbuf_putc(out, *c);
    }
}

static void put(struct page *page, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    sanitize_line(text ? text : "", &safe);
    if (page->html)
        page_put_html(page->out, strbuf_text(&safe));
    else
        put_markdown(page->out, strbuf_text(&safe));
}

/* Code cannot be escaped in Markdown: a backtick would end it. */
static void put_code(struct page *page, const char *text) {
    if (page->html) {
        strbuf_puts(page->out, " <code>");
        put(page, text);
        strbuf_puts(page->out, "</code>");
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    sanitize_line(text, &safe);
    strbuf_puts(page->out, " `");
    for (const char *c = strbuf_text(&safe); *c; c++)
        strbuf_putc(page->out, *c == '`' ? '\'' : *c);
    strbuf_puts(page->out, "`");
}

/* --- elements -------------------------------------------------------------------------------- */

static void leave(struct page *page) {
    if (page->html && page->in_list)
        strbuf_puts(page->out, "</ul>\n");
    if (page->html && page->in_table)
        strbuf_puts(page->out, "</tbody></table>\n");
    if (!page->html && (page->in_list || page->in_table))
        strbuf_putc(page->out, '\n');
    page->in_list = page->in_table = false;
}

void page_begin(struct page *page, const char *title) {
    if (page->html) {
        strbuf_puts(page->out,
                    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                    "'none'; style-src 'unsafe-inline'\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                    "<title>");
        put(page, title);
        strbuf_printf(page->out, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", style);
        put(page, title);
        strbuf_puts(page->out, "</h1>\n");
        return;
    }
    strbuf_puts(page->out, "# ");
    put(page, title);
    strbuf_puts(page->out, "\n\n");
}

void page_end(struct page *page) {
    leave(page);
    if (page->html)
        strbuf_puts(page->out, "</body>\n</html>\n");
}

void page_heading(struct page *page, const char *text, long count) {
    leave(page);
    strbuf_puts(page->out, page->html ? "<h2>" : "## ");
    put(page, text);
    if (count >= 0)
        strbuf_printf(page->out, " (%ld)", count);
    strbuf_puts(page->out, page->html ? "</h2>\n" : "\n\n");
}

void page_line(struct page *page, const char *text) {
    leave(page);
    strbuf_puts(page->out, page->html ? "<p>" : "");
    put(page, text);
    strbuf_puts(page->out, page->html ? "</p>\n" : "\n\n");
}

void page_item(struct page *page, const char *name, const char *text, const char *code) {
    if (!page->in_list) {
        leave(page);
        strbuf_puts(page->out, page->html ? "<ul>\n" : "");
        page->in_list = true;
    }
    strbuf_puts(page->out, page->html ? "<li>" : "- ");
    if (name) {
        strbuf_puts(page->out, page->html ? "<b>" : "**");
        put(page, name);
        strbuf_puts(page->out, page->html ? "</b> " : "** ");
    }
    put(page, text);
    if (code)
        put_code(page, code);
    strbuf_puts(page->out, page->html ? "</li>\n" : "\n");
}

static void put_cells(struct page *page, const char *const *cells, const char *begin,
                      const char *end) {
    strbuf_puts(page->out, page->html ? "<tr>" : "|");
    for (size_t i = 0; i < page->columns; i++) {
        strbuf_puts(page->out, page->html ? begin : " ");
        put(page, cells[i]);
        strbuf_puts(page->out, page->html ? end : " |");
    }
    strbuf_puts(page->out, page->html ? "</tr>\n" : "\n");
}

void page_table(struct page *page, const char *const *cells, size_t count) {
    leave(page);
    page->columns = count;
    page->in_table = true;
    strbuf_puts(page->out, page->html ? "<table><thead>" : "");
    put_cells(page, cells, "<th>", "</th>");
    if (page->html) {
        strbuf_puts(page->out, "</thead><tbody>\n");
        return;
    }
    strbuf_putc(page->out, '|');
    strbuf_repeat(page->out, "---|", count);
    strbuf_putc(page->out, '\n');
}

void page_row(struct page *page, const char *const *cells) {
    put_cells(page, cells, "<td>", "</td>");
}
