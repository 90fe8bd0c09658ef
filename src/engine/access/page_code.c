/* page_code.c: one-time codes for pages; see access.h. */
#include "engine/access/access_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "engine/engine_internal.h"
#include "os/private_file.h"

#define CODES_MAX 16u
#define FOLDER    "dash"
#define NAME_SIZE 16u /* of the random part of a file's name */

struct code {
    uint8_t hash[SHA256_SIZE];
    enum access_scope scope; /* ACCESS_NONE: unused */
    time_ms until;           /* by access_now */
    char *path;              /* of its file; or NULL */
};

struct page_codes {
    struct engine *engine;
    struct code codes[CODES_MAX];
    struct loop_timer *timer; /* armed while there is a file */
};

PART_STATE(page_codes, struct page_codes, codes_of)

static char *folder_of(const struct engine *e) {
    return xasprintf("%s/" FOLDER, e->home);
}

static void end_code(const struct engine *e, struct code *code) {
    _cleanup_(freep) char *folder = folder_of(e);
    if (code->path)
        private_file_remove(folder, strrchr(code->path, '/') + 1);
    free(code->path);
    *code = (struct code){ 0 };
}

/* Removes the files of expired codes and sets the timer for the next. */
static void remove_expired(void *ctx) {
    struct page_codes *p = ctx;
    struct loop *loop = p->engine->loop;
    time_ms now = access_now(p->engine), next = TIME_NEVER;
    for (struct code *code = p->codes; code < p->codes + CODES_MAX; code++) {
        if (code->path && code->until <= now)
            end_code(p->engine, code);
        if (code->path)
            next = time_min(next, code->until);
    }
    loop_timer_set(loop, p->timer,
                   next == TIME_NEVER ? next : time_add(loop_now_steady(loop), next - now));
}

static void page_codes_init(struct engine *e) {
    struct page_codes *p = codes_of(e);
    p->engine = e;
    p->timer = loop_timer_new(e->loop, remove_expired, p);
}

/* Removes files that an earlier daemon left. */
static void page_codes_start(struct engine *e) {
    _cleanup_(freep) char *folder = folder_of(e);
    private_folder_clear(folder);
}

static void page_codes_free(struct engine *e) {
    struct page_codes *p = codes_of(e);
    for (struct code *code = p->codes; code < p->codes + CODES_MAX; code++)
        end_code(e, code);
    loop_timer_free(e->loop, p->timer);
    explicit_bzero(p->codes, sizeof(p->codes));
}

static struct code *find_code(struct engine *e, const char *text) {
    uint8_t hash[SHA256_SIZE];
    struct page_codes *p = codes_of(e);
    sha256_of(text, strlen(text), hash);
    for (struct code *code = p->codes; code < p->codes + CODES_MAX; code++)
        if (code->scope != ACCESS_NONE && sha256_same(code->hash, hash))
            return code;
    return NULL;
}

time_ms engine_make_code(struct engine *e, enum access_scope scope, char ret_code[PAGE_CODE_SIZE]) {
    struct page_codes *p = codes_of(e);
    struct code *code = p->codes;
    remove_expired(p);
    for (struct code *other = p->codes; other < p->codes + CODES_MAX; other++)
        if (other->until < code->until) /* an expired one, or else the oldest */
            code = other;
    end_code(e, code);
    access_make_secret(ret_code);
    sha256_of(ret_code, strlen(ret_code), code->hash);
    code->scope = scope;
    code->until = time_add(access_now(e), PAGE_CODE_LIFE);
    return code->until;
}

/* No script, and nothing is loaded: the browser follows the redirect, or a person the link. */
static void print_page(const char *link, struct strbuf *out) {
    strbuf_printf(out,
                  "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\">\n"
                  "<meta name=\"referrer\" content=\"no-referrer\">\n"
                  "<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n"
                  "<title>Sluice</title>\n"
                  "<p><a href=\"%s\">Open the dashboard</a></p>\n</html>\n",
                  link, link);
}

int engine_write_code_file(struct engine *e, const char *text, const char *link,
                           const char **ret_path, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf page = STRBUF_INIT;
    _cleanup_(freep) char *folder = folder_of(e);
    char secret[PAGE_CODE_SIZE];
    struct code *code = find_code(e, text);
    if (!code || strpbrk(link, "\"<>&' ;"))
        return error_set(err, -EINVAL, "this is no link of a page");
    access_make_secret(secret);
    _cleanup_(freep) char *path = xasprintf("%s/open-%.*s.html", folder, (int)NAME_SIZE, secret);
    print_page(link, &page);
    int r = private_file_make(folder, strrchr(path, '/') + 1, page.text, page.length, err);
    explicit_bzero(page.text, page.length);
    if (r < 0)
        return r;
    code->path = TAKE_PTR(path);
    *ret_path = code->path;
    remove_expired(codes_of(e));
    return 0;
}

struct page_code engine_take_code(struct engine *e, const char *text) {
    struct code *code = find_code(e, text);
    if (!code)
        return (struct page_code){ .scope = ACCESS_NONE };
    bool late = code->until <= access_now(e);
    struct page_code taken = { .scope = late ? ACCESS_NONE : code->scope,
                               .has_file = code->path != NULL };
    end_code(e, code);
    return taken;
}

const struct engine_part page_codes_part = {
    .state_size = sizeof(struct page_codes),
    .at = { [STEP_INIT] = page_codes_init,
            [STEP_START] = page_codes_start,
            [STEP_FREE] = page_codes_free },
};
