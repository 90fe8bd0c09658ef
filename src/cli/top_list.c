/* top_list.c: which pages are needed, and where is the selection?
 *
 * A page that is read again may have other rows and end elsewhere: then the pages behind it are
 * forgotten and read anew when somebody goes there. Pages before it keep their place, so the
 * screen does not jump when something happens far above. */
#include "cli/top_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define NO_PAGE SIZE_MAX

static void drop_rows(struct top_list_page *page) {
    top_page_finish(&page->page);
    page->loaded = page->stale = false;
}

/* Forgets the pages from this one on. */
static void forget_from(struct top_list *list, size_t first) {
    while (list->page_count > first) {
        struct top_list_page *page = &list->pages[--list->page_count];
        drop_rows(page);
        free(page->cursor);
    }
}

void top_list_finish(struct top_list *list) {
    forget_from(list, 0);
    free(list->pages);
    free(list->next);
    free(list->id);
    *list = (struct top_list){ 0 };
}

void top_list_reset(struct top_list *list) {
    size_t height = list->height;
    top_list_finish(list);
    list->height = height;
}

void top_list_stale(struct top_list *list) {
    for (size_t i = 0; i < list->page_count; i++)
        list->pages[i].stale = true;
    if (list->page_count == 0)
        list->complete = false;
}

void top_list_refuse(struct top_list *list) {
    forget_from(list, 0);
    free(TAKE_PTR(list->next));
    list->complete = true;
    list->to_end = false;
    list->top = list->selected = 0;
}

size_t top_list_known(const struct top_list *list) {
    size_t known = 0;
    for (size_t i = 0; i < list->page_count; i++)
        known += list->pages[i].count;
    return known;
}

/* --- loading --------------------------------------------------------------------------------- */

/* The first page that must be asked for; page_count: the one behind the last known one. */
static size_t wanted_page(const struct top_list *list) {
    size_t begin = 0, end = list->top + (list->height > 0 ? list->height : 1);
    for (size_t i = 0; i < list->page_count; i++) {
        const struct top_list_page *page = &list->pages[i];
        bool seen = begin < end && begin + page->count >= list->top;
        if (seen && (!page->loaded || page->stale))
            return i;
        begin += page->count;
    }
    /* One screen ahead, so that there is something to go down to. */
    bool near = begin < end + list->height;
    return !list->complete && (near || list->to_end) ? list->page_count : NO_PAGE;
}

bool top_list_wants(const struct top_list *list) {
    return wanted_page(list) != NO_PAGE;
}

/* Rows far from the place that is looked at are not kept. */
static void drop_far(struct top_list *list) {
    size_t begin = 0, end = list->top + list->height;
    for (size_t i = 0; i < list->page_count; i++) {
        struct top_list_page *page = &list->pages[i];
        size_t far = 2 * page->count + list->height;
        if (page->loaded && (begin + page->count + far < list->top || begin > end + far))
            drop_rows(page);
        begin += page->count;
    }
}

static void keep_inside(struct top_list *list) {
    size_t known = top_list_known(list);
    if (list->selected >= known)
        list->selected = known > 0 ? known - 1 : 0;
    if (list->selected < list->top)
        list->top = list->selected;
    if (list->height > 0 && list->selected >= list->top + list->height)
        list->top = list->selected - list->height + 1;
    /* No empty lines at the end while there are rows above. */
    if (list->height > 0 && list->top + list->height > known)
        list->top = known > list->height ? known - list->height : 0;
}

/* Where the selected task is now; else the selection stays on its line. */
static void follow_id(struct top_list *list) {
    size_t row = 0;
    for (size_t i = 0; list->id && i < list->page_count; i++) {
        const struct top_list_page *page = &list->pages[i];
        for (size_t k = 0; page->loaded && k < page->page.count; k++)
            if (strcmp(page->page.tasks[k].id, list->id) == 0) {
                list->selected = row + k;
                return;
            }
        row += page->count;
    }
}

static void remember_id(struct top_list *list) {
    const struct top_task *task = top_list_row(list, list->selected);
    free(list->id);
    list->id = task ? xstrdup(task->id) : NULL;
}

static bool same_place(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The page ends where the next one begins; else what was known behind it is not true any more. */
static void set_next(struct top_list *list, size_t at, char *next) {
    bool last = at + 1 == list->page_count;
    if (!last && same_place(list->pages[at + 1].cursor, next)) {
        free(next);
        return;
    }
    forget_from(list, at + 1);
    free(list->next);
    list->next = next;
    list->complete = !next;
}

int top_list_load(struct top_list *list, top_list_fetch fetch, void *ctx, struct error *err) {
    size_t at = wanted_page(list);
    if (at == NO_PAGE)
        return 0;
    bool added = at == list->page_count;
    const char *cursor = added ? list->next : list->pages[at].cursor;
    struct top_page fresh = { 0 };
    char *next = NULL;
    int r = fetch(ctx, cursor, &fresh, &next, err);
    if (r < 0) {
        top_page_finish(&fresh);
        return r;
    }
    if (added) {
        list->pages = xgrow(list->pages, &list->page_capacity, at + 1, sizeof(*list->pages));
        char *begins = TAKE_PTR(list->next);
        list->pages[at] = (struct top_list_page){ .cursor = begins };
        list->page_count++;
    }
    struct top_list_page *page = &list->pages[at];
    drop_rows(page);
    page->page = fresh;
    page->count = fresh.count;
    page->loaded = true;
    set_next(list, at, next);
    if (list->to_end) {
        list->selected = SIZE_MAX;
        list->to_end = !list->complete;
    } else {
        follow_id(list);
    }
    keep_inside(list);
    remember_id(list);
    drop_far(list);
    return 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

const struct top_task *top_list_row(const struct top_list *list, size_t row) {
    for (size_t i = 0; i < list->page_count; i++) {
        const struct top_list_page *page = &list->pages[i];
        if (row < page->count)
            return page->loaded ? &page->page.tasks[row] : NULL;
        row -= page->count;
    }
    return NULL;
}

const struct top_task *top_list_selected(const struct top_list *list) {
    return top_list_row(list, list->selected);
}

void top_list_height(struct top_list *list, size_t height) {
    list->height = height;
    keep_inside(list);
}

void top_list_move(struct top_list *list, long by) {
    list->to_end = false;
    size_t up = by < 0 ? (size_t)-by : 0;
    list->selected = by < 0 ? list->selected - (up < list->selected ? up : list->selected)
                            : list->selected + (size_t)by;
    keep_inside(list);
    remember_id(list);
}

void top_list_first(struct top_list *list) {
    list->to_end = false;
    list->selected = 0;
    keep_inside(list);
    remember_id(list);
}

void top_list_last(struct top_list *list) {
    list->to_end = !list->complete;
    list->selected = SIZE_MAX;
    keep_inside(list);
    remember_id(list);
}
