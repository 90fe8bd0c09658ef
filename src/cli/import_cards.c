/* import_cards.c: imports a folder of cards.
 *
 * DIR/phase-…/{in-progress,backlog}/NAME.md; cards in done/ have ended. A card's external id is
 * phase and file name, so moving it to another column does not start a second run. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "card/card.h"
#include "cli/import.h"
#include "cli/request.h"
#include "os/files.h"

struct cards {
    struct import *import;
    char *root;   /* absolute; contains the phases */
    char **paths; /* relative to root: phase/column/file */
    size_t count, capacity;
};

static void cards_finish(struct cards *c) {
    for (size_t i = 0; i < c->count; i++)
        free(c->paths[i]);
    free(c->paths);
    free(c->root);
}

static void free_list(struct dirent **entries, int count) {
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

/* Columns are optional; but one that cannot be read is an error. */
static int take_column(struct cards *c, const char *phase, const char *column) {
    struct dirent **entries = NULL;
    _cleanup_(freep) char *folder = xasprintf("%s/%s/%s", c->root, phase, column);
    int count = scandir(folder, &entries, NULL, versionsort);
    if (count < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t length = strlen(name);
        if (length <= 3 || name[0] == '.' || strcmp(name + length - 3, ".md") != 0)
            continue;
        c->paths = xgrow(c->paths, &c->capacity, c->count + 1, sizeof(*c->paths));
        c->paths[c->count++] = xasprintf("%s/%s/%s", phase, column, name);
    }
    free_list(entries, count);
    return 0;
}

/* Returns the number of phases, or <0: an errno. */
static int take_phases(struct cards *c) {
    struct dirent **entries = NULL;
    int count = scandir(c->root, &entries, NULL, versionsort); /* phase-2 before phase-10 */
    int phases = 0, r = count < 0 ? -errno : 0;
    for (int i = 0; i < count && r == 0; i++) {
        if (strncmp(entries[i]->d_name, "phase-", 6) != 0)
            continue;
        phases++;
        r = take_column(c, entries[i]->d_name, "in-progress");
        if (r == 0)
            r = take_column(c, entries[i]->d_name, "backlog");
    }
    free_list(entries, count);
    return r < 0 ? r : phases;
}

static int find_cards(struct cards *c, const char *folder, struct error *err) {
    c->root = realpath(folder, NULL);
    int phases = c->root ? take_phases(c) : -errno;
    if (phases < 0)
        return error_set(err, phases, "cannot read '%s': %s", folder, strerror(-phases));
    if (phases > 0)
        return 0;
    char *board = xasprintf("%s/project", c->root); /* a repository with its board in project/ */
    free(c->root);
    c->root = board;
    return take_phases(c) > 0
               ? 0
               : error_set(err, -EINVAL, "there is no directory phase-* in '%s'", folder);
}

static int make_task(const struct cards *c, const char *path, const struct card *card,
                     const struct strbuf *text, json_t **ret_task, struct error *err) {
    _cleanup_(freep) char *id =
        xasprintf("%.*s%s", (int)strcspn(path, "/"), path, strrchr(path, '/'));
    const char *prompt = text->text + card->body;
    _cleanup_(freep) char *full = xasprintf("%s/%s", c->root, path);
    prompt += strspn(prompt, " \t\r\n");
    json_auto_t *body = json_string(prompt), *file = json_string(full);
    json_auto_t *serial = json_stringn(path, strcspn(path, "/"));
    if (!*prompt || !body || !file || !serial)
        return error_set(err, -EINVAL, "%.160s: %s", path,
                         *prompt ? "it is not UTF-8, which tasks must be"
                                 : "there is no text after the front matter");
    json_t *meta = json_pack("{s:O}", "card", file);
    if (cmd_has(c->import->call, "mirror"))
        json_object_set_new(meta, "mirror", json_true());
    *ret_task = json_pack("{s:o, s:O, s:O, s:o}", "external_id", json_text(id), "prompt", body,
                          "serial", serial, "meta", meta);
    set_text(*ret_task, "kind", card->flow);
    if (card->title) {
        _cleanup_(strbuf_finish) struct strbuf title = STRBUF_INIT;
        sanitize_line(card->title, &title);
        set_text(*ret_task, "title", strbuf_text(&title));
    }
    set_text(*ret_task, "base_branch", card->branch);
    if (card->parallelizable != CARD_UNSET)
        json_object_set_new(*ret_task, "parallelizable",
                            json_boolean(card->parallelizable == CARD_TRUE));
    if (!cmd_has(c->import->call, "project"))
        json_object_set_new(*ret_task, "cwd", json_text(c->root));
    return 0;
}

static int take_card(const struct cards *c, const char *path) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(card_finish) struct card card = { 0 };
    struct error err = { 0 };
    json_t *task = NULL;
    _cleanup_(freep) char *full = xasprintf("%s/%s", c->root, path);
    int r = file_read(full, CARD_BYTES_MAX, &text, &err);
    if (r == 0)
        r = card_parse(path, strbuf_text(&text), text.length, &card, &err);
    if (r == 0)
        r = make_task(c, path, &card, &text, &task, &err);
    if (r < 0)
        return import_refuse(c->import, path, &err);
    if (card.status == CARD_SUCCEEDED && !cmd_has(c->import->call, "force")) {
        json_decref(task);
        import_skip(c->import, path, "its agent_status is succeeded");
        return CMD_OK;
    }
    import_add(c->import, path, task);
    return CMD_OK;
}

static int cards_run(const struct cmd_call *call) {
    _cleanup_(import_finish) struct import im = { 0 };
    _cleanup_(cards_finish) struct cards c = { .import = &im };
    struct error err = { 0 };
    if (!cmd_has(call, "agent"))
        return cmd_usage_error(call->cmd, "--agent is required");
    if (find_cards(&c, call->args[0], &err) < 0)
        return cmd_error(&err);
    import_init(&im, call);
    int code = CMD_OK;
    for (size_t i = 0; code == CMD_OK && i < c.count; i++) {
        code = take_card(&c, c.paths[i]);
        import_progress(i + 1, c.count);
    }
    return code == CMD_OK ? import_send(&im) : code;
}

const struct cmd import_cards = {
    "import cards", cards_run, 1, 1,
    CMD_OPTIONS(IMPORT_OPTIONS,
                { "mirror", 'm', NULL, "write the state of each task back to its card" })
};
