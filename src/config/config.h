/* config.h: the user's configuration, as values.
 *
 * Life:      config_new → config_set / config_read_* (preset first) → config_apply → config_free
 * A config starts as the preset `sluice`. Setting the key `preset` resets every value to that
 * preset, so it comes first: the readers ensure that whatever the order in the file. Every value
 * records its origin (`config show`). Keys are dotted paths; an upper-case part in the table stands
 * for a name: kinds.K.max_running. */
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
 * `origin` is shown by `config show` and copied: "preset loopr", "--set", "sluice.yaml:12". Errors
 * name the key and what was expected, and suggest the nearest known key. */
int config_set(struct config *config, const char *key, const char *value, const char *origin,
               struct error *err);

#define CONFIG_FILE_MAX (1u << 20) /* bytes */

/* A YAML file, or YAML text with the name to show in errors. Errors: file, line, key, expected.
 * Invalid YAML changes nothing; after another error the values before it may be set. */
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
/* `max_wait_s` was set without effect: `order` was set, too, without `overdue`. */
bool config_max_wait_has_no_effect(const struct config *config);
/* Same for `pace.tick_s`: a tick limits nothing while `pace.batch` is unlimited. */
bool config_tick_has_no_effect(const struct config *config);

/* --- one value -------------------------------------------------------------------------------- */

/* The effective value of one row of the settings table. `pattern`: its key as in the table
 * ("agents.A.timeout_s"); `name`: the value of the upper-case part, or NULL for a row without one.
 * An unknown name gets the defaults. An unknown pattern, or a row of another type, is a bug of the
 * caller: asserted.
 *
 * Durations are in ms whatever the unit in their key (_s, _h, days); INT64_MAX is never or
 * unlimited. Choices are their index, booleans 0 or 1; everything else is as written (_mb:
 * megabytes). */
int64_t config_number(const struct config *config, const char *pattern, const char *name);
/* Texts, names, and choices as their word; "" if not set. Valid as long as the config. */
const char *config_text(const struct config *config, const char *pattern, const char *name);
/* A list of words; returns their number. NULL-terminated; valid as long as the config. */
size_t config_words(const struct config *config, const char *pattern, const char *name,
                    const char *const **ret_words);

/* Is it set explicitly, not only a default? */
bool config_is_set(const struct config *config, const char *pattern, const char *name);

/* Has a user set it, so that it is neither a default nor from the preset? For rows without a
 * name. */
bool config_is_chosen(const struct config *config, const char *key);

/* --- names ------------------------------------------------------------------------------------ */

/* Does the configuration (preset included) have this name? A built-in agent may be usable without
 * (agent_has_builtin). */
bool config_has_agent(const struct config *config, const char *name);
bool config_has_kind(const struct config *config, const char *name);
bool config_has_limiter(const struct config *config, const char *name);
bool config_has_project(const struct config *config, const char *name);
bool config_has_schedule(const struct config *config, const char *name);

/* Adds a built-in agent and its account to the names; no effect for others. */
void config_add_builtin_agent(struct config *config, const char *name);

/* The absolute path of `data.folder` in this home; the caller frees it. */
char *config_data_folder(const struct config *config, const char *home);

/* In order of first appearance. */
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
size_t config_schedule_count(const struct config *config);
const char *config_schedule_name(const struct config *config, size_t index);

/* --- for the core ----------------------------------------------------------------------------- */

/* The configuration of one name; an unknown name gets the defaults. Symbols are those of `core`;
 * the runtime state of a limiter or an agent there is kept. */
void config_project_spec(const struct config *config, struct core *core, const char *name,
                         struct project_spec *ret);
void config_kind_spec(const struct config *config, struct core *core, const char *name,
                      struct kind_spec *ret);
void config_limiter_spec(const struct config *config, struct core *core, const char *name,
                         struct limiter_spec *ret);
void config_agent_spec(const struct config *config, struct core *core, const char *name,
                       struct agent_spec *ret);
/* Applies them to the core. `kind`: FACT_RESOURCE, _KIND, _LIMITER, _AGENT or _PROJECT. */
int config_apply_name(const struct config *config, struct core *core, enum fact_kind kind,
                      const char *name, struct error *err);
/* The same for all names of `old` except projects: removed ones get the defaults. */
int config_apply_removed(const struct config *config, const struct config *old, struct core *core,
                         struct error *err);
/* One step to a stronger agent: "AGENT", "AGENT:MODEL" or ":MODEL". */
struct escalation_step {
    size_t agent_length; /* at the beginning of the text; 0: the agent of the step before */
    const char *model;   /* NULL: that of the agent */
};
struct escalation_step escalation_step_read(const char *text);
/* Its form, and that its agent exists. */
int config_check_step(const struct config *config, const char *step, struct error *err);
/* Can it be the name of a model, and no option of a program? */
int config_check_model(const char *model, struct error *err);
/* How tasks of this kind finish. */
enum until config_until(const struct config *config, const char *kind);
amount config_budget(const struct config *config); /* global; UNLIMITED */

/* Applies the configuration to a core, initially or again: policy, budget, resources, and each
 * kind, limiter, agent and project that has a name in the configuration. */
int config_apply(const struct config *config, struct core *core, struct error *err);
