/* config.h: what the user chose, as values.
 *
 * Life:      config_new → config_set / config_read_* (preset first) → config_apply → config_free
 * A config starts as the preset `sluice`. Setting the key `preset` puts every value of that preset
 * in place, so it comes before the others: the readers see to that whatever the order in the file.
 * Every value remembers where it came from (`config show`).
 * Keys are dotted paths; a part in capitals in the table stands for a name: kinds.K.max_running. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "core/core.h"

struct config;

struct config *config_new(void);
struct config *config_free(struct config *config); /* returns NULL */

/* Text as in a file or on the command line: "8", "unlimited", "true", "score, created_at", "1.5".
 * `origin` is shown by `config show` and copied: "preset loopr", "--set", "sluice.yaml:12".
 * Errors name the key and what was expected; the nearest known key is offered for a typo. */
int config_set(struct config *config, const char *key, const char *value, const char *origin,
               struct error *err);

#define CONFIG_FILE_MAX (1u << 20) /* bytes */

/* A YAML file, or YAML text with the name to show in errors. Errors: file, line, key, expected.
 * What is no YAML changes nothing; after another error the values before it may be set. */
int config_read_file(struct config *config, const char *path, struct error *err);
int config_read_text(struct config *config, const char *name, const char *text, size_t size,
                     struct error *err);

/* Texts that a system has words of its own for. */
enum preset_text {
    PRESET_TEXT_SELECTED,
    PRESET_TEXT_TASK, /* the names of two figures in that line */
    PRESET_TEXT_KIND,
    PRESET_TEXT_NOT_SELECTING,
    PRESET_TEXT_LOW_DISK,
    PRESET_TEXT_QUEUE_LONG,
    PRESET_TEXT_MAX,
};

const char *config_preset(const struct config *config);
/* The text of the preset, or of the default one. */
const char *config_preset_text(const struct config *config, enum preset_text text);
bool config_snapshot_lists_all_workspaces(const struct config *config);
const struct policy *config_policy(const struct config *config);
/* `max_wait_s` was set and does nothing: so was `order`, without `overdue` in it. */
bool config_max_wait_has_no_effect(const struct config *config);
/* The same of `pace.tick_s`: a tick limits nothing while `pace.batch` is unlimited. */
bool config_tick_has_no_effect(const struct config *config);

/* --- one value -------------------------------------------------------------------------------- */

/* What holds for one row of the settings table. `pattern`: its key as in the table
 * ("agents.A.timeout_s"); `name`: what the capital stands for, or NULL for a row without one. A
 * name that the configuration does not know gets the defaults. A pattern that is no row, or a row
 * of another type, is a mistake of the caller: asserted.
 *
 * Spans are in ms whatever unit ends their key (_s, _h, days); INT64_MAX is never or unlimited.
 * Choices are their position, booleans 0 or 1; everything else as it is written (_mb:
 * megabytes). */
int64_t config_number(const struct config *config, const char *pattern, const char *name);
/* Texts, names, and choices as their word. "" when nothing is set. Lives as long as the config. */
const char *config_text(const struct config *config, const char *pattern, const char *name);
/* A list of words; how many. Ends with a NULL; both live as long as the config. */
size_t config_words(const struct config *config, const char *pattern, const char *name,
                    const char *const **ret_words);

/* Is it written somewhere, and not only a default? */
bool config_is_set(const struct config *config, const char *pattern, const char *name);

/* Has a user set it, so that it is neither a default nor from the preset? For a row without a
 * name. */
bool config_is_chosen(const struct config *config, const char *key);

/* --- names ------------------------------------------------------------------------------------ */

/* Is there anything in the configuration (preset included) of this name? An agent may also be one
 * that needs no configuration (agent_has_builtin). */
bool config_has_agent(const struct config *config, const char *name);
bool config_has_kind(const struct config *config, const char *name);
bool config_has_limiter(const struct config *config, const char *name);
bool config_has_project(const struct config *config, const char *name);

/* Such an agent and its account are among the names from now on; of others nothing happens. */
void config_add_builtin_agent(struct config *config, const char *name);

/* What `data.folder` means in this home: absolute, the caller's. */
char *config_data_folder(const struct config *config, const char *home);

/* In the order in which they were first named. */
size_t config_agent_count(const struct config *config);
const char *config_agent_name(const struct config *config, size_t index);
size_t config_kind_count(const struct config *config);
const char *config_kind_name(const struct config *config, size_t index);
size_t config_limiter_count(const struct config *config);
const char *config_limiter_name(const struct config *config, size_t index);
size_t config_resource_count(const struct config *config);
const char *config_resource_name(const struct config *config, size_t index);
size_t config_project_count(const struct config *config);
const char *config_project_name(const struct config *config, size_t index);

/* --- for the core ----------------------------------------------------------------------------- */

/* What the configuration says of one name; a name it does not know gets the defaults. The symbols
 * are those of `core`, and what a limiter or an agent has lived through there stays. */
void config_project_spec(const struct config *config, struct core *core, const char *name,
                         struct project_spec *ret);
void config_kind_spec(const struct config *config, struct core *core, const char *name,
                      struct kind_spec *ret);
void config_limiter_spec(const struct config *config, struct core *core, const char *name,
                         struct limiter_spec *ret);
void config_agent_spec(const struct config *config, struct core *core, const char *name,
                       struct agent_spec *ret);
/* How tasks of this kind finish. */
enum until config_until(const struct config *config, const char *kind);
amount config_budget(const struct config *config); /* global; UNLIMITED */

/* Applies everything configured to a core, at its beginning or again: policy, budget, resources,
 * and each kind, limiter, agent and project that has a name in the configuration. */
int config_apply(const struct config *config, struct core *core, struct error *err);
