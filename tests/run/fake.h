/* fake.h: a stage on a fake Slurm (fake-slurm), whose every answer a test can spoil. */
#pragma once

#include "run/stage.h"

struct fake {
    char dir[STAGE_PATH];
    struct stage *stage;
};

/* Quick: asks again every few ms, and gives up runs that were never listed after FAKE_PATIENCE. */
#define FAKE_PATIENCE 300
struct fake *fake_new(void);
struct fake *fake_new_accounting(void); /* sacct answers, too */
void fake_free(struct fake *fake);
/* The same around a test, for cmocka: its state is the fake, which goes also when the test fails. */
int fake_open(void **state);
int fake_open_accounting(void **state);
int fake_close(void **state);

/* A file of the fake Slurm: what goes wrong, see fake-slurm. */
void fake_set(const struct fake *fake, const char *file, const char *text);
void fake_clear(const struct fake *fake, const char *file);
/* A file of a job: "state" "comment" "words" "code". Static memory, until the next call. */
const char *fake_job(const struct fake *fake, unsigned job, const char *file);
void fake_put(const struct fake *fake, unsigned job, const char *file, const char *text);
unsigned fake_jobs(const struct fake *fake); /* ever made */
unsigned fake_calls(const struct fake *fake, const char *begins);
/* As a person would: "scancel", "1". */
void fake_call(const struct fake *fake, const char *program, const char *arguments);

/* Until the file of the job has this text. */
void fake_await_job(struct fake *fake, unsigned job, const char *file, const char *text);
/* Until `count` calls that begin like this were made. */
void fake_await_calls(struct fake *fake, const char *begins, unsigned count);
/* Until executor_describe_run says something with this text. */
void fake_await_doing(struct fake *fake, task_id task, const char *text);
/* Starts it, and waits until its job waits in the queue, from which nothing comes out ("hold"). */
void fake_start_pending(struct fake *fake, task_id task, const struct run_spec *spec);
enum adopted fake_adopt(struct fake *fake, task_id task);
