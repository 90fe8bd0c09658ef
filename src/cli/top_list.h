/* top_list.h: a list of any length of which only what is seen is kept.
 *
 * The daemon gives pages. The list remembers where each one began and how many rows it had, and
 * keeps the rows of those around the place that is looked at: 100,000 tasks cost some hundred
 * places and a few pages.
 *
 *     top_list_height(&list, lines of the screen);
 *     while (top_list_wants(&list))
 *         if (top_list_load(&list, fetch, ctx, &err) < 0) …
 *     top_list_move(&list, +1); … top_list_row(&list, list.top + i) …
 *     top_list_stale(&list)     // something happened: what is seen is asked for again
 *     top_list_reset(&list)     // another filter or order: from the beginning
 *
 * The selection stays with its task while that is in the list, and else with its line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "cli/top_model.h"

struct top_list_page {
    char *cursor; /* where it begins; NULL: at the beginning */
    size_t count; /* rows, when it was loaded last */
    bool loaded, stale;
    struct top_page page;
};

struct top_list {
    size_t top, selected; /* rows */
    bool to_end;          /* goes on until the last row is known */

    /* Its own. */
    size_t height; /* rows that are seen */
    struct top_list_page *pages;
    size_t page_count, page_capacity;
    bool complete; /* nothing follows the last page */
    char *next;    /* where the page behind the last known one begins */
    char *id;      /* of the selected task */
};

/* Fills `page` (which is empty) with what follows `cursor` (NULL: from the beginning); *ret_next: where
 * the next page begins, for the caller to free, or NULL at the end. */
typedef int (*top_list_fetch)(void *ctx, const char *cursor, struct top_page *page, char **ret_next,
                              struct error *err);

void top_list_finish(struct top_list *list); /* safe on a zeroed one */
void top_list_reset(struct top_list *list);
void top_list_stale(struct top_list *list);

/* Is a page missing, or old, of those that are seen? */
bool top_list_wants(const struct top_list *list);
/* Loads one page. On failure everything stays, and it is wanted still. */
int top_list_load(struct top_list *list, top_list_fetch fetch, void *ctx, struct error *err);

/* The daemon refuses it: nothing more is wanted until the list is stale or reset. */
void top_list_refuse(struct top_list *list);

/* Rows that are known so far; `complete`: there are no others. */
size_t top_list_known(const struct top_list *list);
/* NULL: no such row, or it is not loaded. */
const struct top_task *top_list_row(const struct top_list *list, size_t row);
const struct top_task *top_list_selected(const struct top_list *list);
/* So many rows are seen from now on; the selection stays among them. */
void top_list_height(struct top_list *list, size_t height);
/* Moves the selection by so many rows; what is seen follows. */
void top_list_move(struct top_list *list, long by);
void top_list_first(struct top_list *list);
void top_list_last(struct top_list *list);
