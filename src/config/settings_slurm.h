/* settings_slurm.h: the rows of the table of settings that are about Slurm. Private to config/.
 *
 * Part of settings.c, whose short forms they use. */
#pragma once

#include <stddef.h>

static const char *const executors[] = { "local", "slurm", NULL };
static const char *const slurm_follow[] = { "off", "cpus", "nodes", NULL };

/* clang-format off */
#define SETTINGS_SLURM                                                                             \
    { .key = "tasks.executor", CHOICE(executors), .standard = "local",                             \
      .text = "Where runs happen whose task, project and agent say nothing else: on this machine, or as " \
              "jobs of Slurm. What a task has got when it is added stays." },                      \
    { .key = "tasks.slurm", WORDS(&place_form), .standard = "",                                    \
      .text = "What Slurm is asked for, when task, project and agent say nothing else: words "     \
              "KEY=VALUE with partition, account, qos, gres, constraint, cpus, or options (more for sbatch)." }, \
    { .key = "slurm.programs", TEXT(&secret_file_form), .standard = "",                            \
      .text = "The folder with sbatch, squeue, sacct, scancel, scontrol and sinfo; nothing: they are looked for " \
              "in PATH. As `shim`, `submits`, `accounting` and the polls, it counts from the next start of the daemon." }, \
    { .key = "slurm.shim", TEXT(&secret_file_form), .standard = "",                                \
      .text = "Where sluice-shim is on the nodes; nothing: where it is here." },                   \
    { .key = "slurm.address", WORDS(&daemon_address_form), .standard = "",                                \
      .text = "Where runs in Slurm reach this daemon, https://HOST:PORT of `http.listen`, and those that may take over " \
              "from it: their SLUICE_SOCKET; nothing: the socket of the runs, which only processes of this machine " \
              "reach." },                                                                          \
    { .key = "slurm.submits", WHOLE(1, 256), .standard = "8",                                      \
      .text = "How many jobs are submitted at once." },                                            \
    { .key = "slurm.poll_s", SPAN_S(100), .standard = "1",                                         \
      .text = "How often Slurm is asked, by one call for all jobs, while some begin or end." },    \
    { .key = "slurm.poll_idle_s", SPAN_S(100), .standard = "15",                                   \
      .text = "The same while nothing changes." },                                                 \
    { .key = "slurm.accounting", BOOLEAN, .standard = "true",                                      \
      .text = "Whether sacct is asked about jobs that squeue does not know any more, where Slurm keeps accounts." }, \
    { .key = "slurm.follow", CHOICE(slurm_follow), .standard = "off",                              \
      .text = "Whether no more runs are handed to a partition than it has room for: as many as its CPUs, each " \
              "divided by the `cpus` of `tasks.slurm`, or as its nodes. What is down or drained does not count; " \
              "a smaller partition stops nobody. `limits.resource.slurm:PARTITION` may say less." }, \
    { .key = "slurm.follow_s", SPAN_S(SECONDS(1)), .standard = "30",                               \
      .text = "How often sinfo is asked for that." },

#define SETTINGS_SLURM_AGENT                                                                       \
    { .key = "agents.A.executor", .section = SECTION_AGENTS, CHOICE(executors),                    \
      .inherits = "tasks.executor",                                                                \
      .text = "Where runs of agent A happen, whose task and project say nothing else." },          \
    { .key = "agents.A.slurm", .section = SECTION_AGENTS, WORDS(&place_form), .standard = "",      \
      .text = "What Slurm is asked for when agent A runs, as `tasks.slurm`." },

#define SETTINGS_SLURM_PROJECT                                                                     \
    { .key = "projects.P.executor", .section = SECTION_PROJECTS, CHOICE(executors),                \
      .inherits = "tasks.executor",                                                                \
      .text = "Where runs of project P happen, whose task says nothing else." },                   \
    { .key = "projects.P.slurm", .section = SECTION_PROJECTS, WORDS(&place_form), .standard = "",  \
      .text = "What Slurm is asked for in project P, as `tasks.slurm`." },
/* clang-format on */
