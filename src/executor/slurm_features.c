/* slurm_features.c: which of Slurm's programs are there?
 *
 * Looked up as a shell would, without running any: what the controller answers is asked when there is a
 * run for it, and by the doctor. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "executor/slurm_internal.h"

#define FIX_CLIENT                                                                                 \
    "install Slurm's commands on this host (Debian: slurm-client), or name their folder"

static const char *path_of(const char *const *env) {
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

static bool is_there(const char *program, const char *path) {
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, ":");
        _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT;
        strbuf_printf(&file, "%.*s/%s", (int)length, at, program);
        if (length > 0 && access(file.text, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

size_t slurm_features(const struct executor_slurm_options *options,
                      struct executor_feature ret[EXECUTOR_FEATURES_MAX]) {
    const struct {
        const char *given, *name, *instead, *fix;
    } all[] = {
        { options->sbatch, "sbatch", "nothing: no run can be handed over to Slurm", FIX_CLIENT },
        { options->squeue, "squeue", "nothing: no run can be followed", FIX_CLIENT },
        { options->scancel, "scancel", "nothing: runs end when they like", FIX_CLIENT },
        { options->scontrol, "scontrol", "Slurm's usual time between TERM and KILL is assumed",
          FIX_CLIENT },
        { options->sacct, "sacct",
          "a job that the controller has forgotten and that has recorded no end is lost",
          FIX_CLIENT },
        { options->sinfo, "sinfo", "no limit can follow the size of a partition", FIX_CLIENT },
    };
    const char *path = path_of(options->env ? options->env : (const char *const *)environ);
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        ret[count++] = (struct executor_feature){
            .name = all[i].name,
            .there = is_there(all[i].given ? all[i].given : all[i].name, path),
            .instead = all[i].instead,
            .fix = all[i].fix,
        };
    return count;
}

size_t executor_slurm_probe(const struct executor_slurm_options *options,
                            const struct executor_feature **ret) {
    static struct executor_feature items[EXECUTOR_FEATURES_MAX];
    *ret = items;
    return slurm_features(options, items);
}
