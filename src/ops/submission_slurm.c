/* submission_slurm.c: does this task run here or in Slurm, and what is Slurm asked for?
 *
 * That is decided when the task comes, because a partition is a key with places, and which keys a
 * task needs is part of the task. So a changed setting counts for tasks that come after it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/run_settings.h"
#include "engine/executors.h"
#include "ops/batch.h"
#include "ops/op_internal.h"

/* One of its values as a text, which is what sbatch gets; numbers may be written as numbers. */
static const char *text_of(const json_t *value, char buf[32]) {
    if (!json_is_integer(value))
        return json_string_value(value);
    (void)snprintf(buf, 32, "%" PRId64, (int64_t)json_integer_value(value));
    return buf;
}

int submission_check_slurm(const json_t *value, struct error *err) {
    const char *key;
    json_t *one;
    json_object_foreach((json_t *)value, key, one) {
        char buf[32];
        const char *text = text_of(one, buf);
        if (json_is_null(one))
            continue;
        int r = place_check(key, text, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Whoever names what belongs to Slurm means to run there. */
static int check_wish(const struct submission *s, bool in_slurm, struct error *err) {
    if (!in_slurm && json_object_size(s->slurm) > 0)
        return error_set(
            err, -EINVAL,
            "'slurm' is for tasks that run in Slurm, and this one runs on this machine; "
            "say 'executor': slurm");
    for (size_t i = 0; i < s->resource_names.count; i++)
        if (strncmp(s->resource_names.items[i], SLURM_KEY, strlen(SLURM_KEY)) == 0)
            return error_set(err, -EINVAL,
                             "'resources': '%s' is of those that run in that partition; say "
                             "'executor': slurm and 'slurm': {\"partition\": …}",
                             op_quote(s->resource_names.items[i]).text);
    if (in_slurm && s->resource_names.count >= SUBMISSION_RESOURCES_MAX)
        return error_set(err, -E2BIG, "'resources': a task that runs in Slurm may name %u",
                         SUBMISSION_RESOURCES_MAX - 1);
    return 0;
}

int submission_place(const struct batch *batch, const struct submission *s,
                     struct engine_draft *draft, struct error *err) {
    const struct config *config = engine_config(batch->engine);
    const char *executor =
        s->executor ? s->executor : config_executor(config, draft->project, s->agent);
    bool in_slurm = strcmp(executor, "slurm") == 0;
    int r = check_wish(s, in_slurm, err);
    if (r < 0 || !in_slurm)
        return r;
    const char *partition = json_string_value(json_object_get(s->slurm, "partition"));
    if (!partition)
        partition = config_place(config, "partition", draft->project, s->agent);
    const char **keys =
        arena_alloc(batch->arena, (draft->resource_count + 1) * sizeof(*draft->resources));
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_printf(&key, SLURM_KEY "%s", partition ? partition : SLURM_NO_PARTITION);
    if (draft->resource_count > 0)
        memcpy(keys, draft->resources, draft->resource_count * sizeof(*keys));
    keys[draft->resource_count++] = arena_strdup(batch->arena, strbuf_text(&key));
    draft->resources = keys;
    return 0;
}
