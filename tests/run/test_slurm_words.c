/* test_slurm_words.c: the arguments of Slurm's programs, and what their output means. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "executor/slurm_words.h"
#include "harness/test.h"

static const char *const argv[] = { "true", NULL };

static struct run_spec plain_spec(void) {
    return (struct run_spec){ .run = "web-17.2",
                              .command = { .argv = argv },
                              .cwd = "/",
                              .grace = SECONDS(10),
                              .name = "web-17" };
}

/* All words of the order with a blank behind each. */
static const char *words_of(const struct run_spec *spec) {
    static struct strbuf text;
    _cleanup_(slurm_order_finish) struct slurm_order order = { 0 };
    struct error err = { 0 };
    if (slurm_order_make(spec, "sluice:s:17:2", &order, &err) < 0)
        fail_msg("no order: %s", err.text);
    strbuf_clear(&text);
    for (char **word = order.words; *word; word++)
        strbuf_printf(&text, "%s ", *word);
    return strbuf_text(&text);
}

/* --- to submit ------------------------------------------------------------------------------- */

TEST(a_run_is_named_and_marked) {
    struct run_spec spec = plain_spec();
    assert_string_equal(words_of(&spec), "--job-name=web-17 --comment=sluice:s:17:2 ");
}

TEST(everything_a_task_asks_for_is_asked_of_slurm) {
    struct run_spec spec = plain_spec();
    spec.place = (struct run_place){ .partition = "gpu",
                                     .account = "lab",
                                     .qos = "low",
                                     .gres = "gpu:2",
                                     .constraint = "a100",
                                     .cpus = 4,
                                     .memory_bytes = (int64_t)3 * 1024 * 1024 + 1,
                                     .extra = "  --exclusive --nice=5 " };
    spec.command.timeout = MINUTES(89);
    assert_string_equal(
        words_of(&spec),
        "--partition=gpu --account=lab --qos=low --gres=gpu:2 --constraint=a100 --cpus-per-task=4 "
        "--mem=4M --time=91 --exclusive --nice=5 --job-name=web-17 --comment=sluice:s:17:2 ");
}

/* The shim keeps the time-outs; Slurm must not be earlier. */
TEST(the_time_limit_is_longer_than_all_time_outs) {
    struct run_spec spec = plain_spec();
    struct run_command checks[] = { { argv, MINUTES(5) }, { argv, MINUTES(1) } };
    spec.command.timeout = MINUTES(10);
    spec.checks = checks;
    spec.check_count = 2;
    assert_non_null(strstr(words_of(&spec), "--time=18 ")); /* 10 + 5 + 1, 3 graces, a minute */
    spec.prepare = (struct run_command){ argv, MINUTES(2) };
    assert_non_null(strstr(words_of(&spec), "--time=20 "));
    checks[1].timeout = 0;
    assert_null(strstr(words_of(&spec), "--time")); /* its duration is unlimited */
}

TEST(a_name_with_a_new_line_is_refused) {
    struct run_spec spec = plain_spec();
    struct slurm_order order = { 0 };
    struct error err = { 0 };
    spec.place.partition = "a\nb";
    assert_int_equal(slurm_order_make(&spec, "t", &order, &err), -EINVAL);
    assert_non_null(strstr(err.text, "partition"));
    assert_null(order.words);
}

TEST(too_many_words_are_refused) {
    struct run_spec spec = plain_spec();
    struct slurm_order order = { 0 };
    struct error err = { 0 };
    char extra[1024];
    memset(extra, ' ', sizeof(extra));
    for (size_t i = 0; i < sizeof(extra) - 1; i += 2)
        extra[i] = 'x';
    extra[sizeof(extra) - 1] = '\0';
    spec.place.extra = extra;
    assert_int_equal(slurm_order_make(&spec, "t", &order, &err), -E2BIG);
}

TEST(an_order_is_read_as_it_was_written_or_not_at_all) {
    struct run_spec spec = plain_spec();
    _cleanup_(slurm_order_finish) struct slurm_order order = { 0 }, read = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    spec.place.extra = "--exclusive";
    assert_int_equal(slurm_order_make(&spec, "sluice:s:1:1", &order, NULL), 0);
    slurm_order_format(&order, &text);
    assert_int_equal(slurm_order_parse(text.text, text.length, &read), 0);
    assert_string_equal(read.token, "sluice:s:1:1");
    assert_int_equal(read.grace, SECONDS(10));
    for (size_t i = 0; order.words[i] || read.words[i]; i++)
        assert_string_equal(read.words[i], order.words[i]);
    for (size_t size = 0; size < text.length; size++) {
        struct slurm_order part = { 0 };
        assert_int_equal(slurm_order_parse(text.text, size, &part), -EPROTO);
    }
}

TEST(a_script_survives_any_folder_name) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    slurm_script(&text, "/opt/a b/sluice-shim", "/runs/it's $(here)/1", SECONDS(30));
    assert_string_equal(text.text,
                        "exec '/opt/a b/sluice-shim' --in '/runs/it'\\''s $(here)/1' 25000");
}

/* A shim that Slurm asks to end must be done before Slurm kills it. */
TEST(some_of_a_short_kill_wait_is_left_for_the_record) {
    const struct {
        time_ms kill_wait;
        const char *end;
    } all[] = {
        { SECONDS(60), " 55000" }, { SECONDS(10), " 5000" }, { SECONDS(2), " 1000" }, { 0, " 1" }
    };
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        slurm_script(&text, "s", "f", all[i].kill_wait);
        assert_string_equal(strrchr(text.text, ' '), all[i].end);
    }
}

/* --- what sbatch answers --------------------------------------------------------------------- */

TEST(the_output_of_sbatch_is_understood) {
#define FAILED_WITH "sbatch: error: Batch job submission failed: "
    static const struct {
        const char *output;
        bool good;
        enum slurm_answer answer;
        uint64_t job;
    } all[] = {
        { "17\n", true, ANSWER_ACCEPTED, 17 },
        { "17;cluster\n", true, ANSWER_ACCEPTED, 17 },
        { "sbatch: your project has 3 hours left\n1234567\n", true, ANSWER_ACCEPTED, 1234567 },
        { "", true, ANSWER_UNCLEAR, 0 },
        { "", false, ANSWER_UNCLEAR, 0 },
        { "sbatch: error: Ba", false, ANSWER_UNCLEAR, 0 },
        { FAILED_WITH "Invalid partition name specified\n", false, ANSWER_REFUSED, 0 },
        { FAILED_WITH "Requested node configuration is not available\n", false, ANSWER_REFUSED, 0 },
        { "sbatch: unrecognized option '--bogus'\nTry \"sbatch --help\" for more information\n",
          false, ANSWER_REFUSED, 0 },
        { FAILED_WITH "Unable to contact slurm controller (connect failure)\n", false,
          ANSWER_UNREACHABLE, 0 },
        { "sbatch: error: If munged is up, restart with --num-threads=10\n", false,
          ANSWER_UNREACHABLE, 0 },
        { FAILED_WITH "Slurm backup controller in standby mode\n", false, ANSWER_UNREACHABLE, 0 },
        { FAILED_WITH "Socket timed out on send/recv operation\n", false, ANSWER_UNCLEAR, 0 },
        { FAILED_WITH "Unable to contact slurm controller\n", false, ANSWER_UNCLEAR, 0 },
        { FAILED_WITH "Zero Bytes were transmitted or received\n", false, ANSWER_UNCLEAR, 0 },
        { "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n", false,
          ANSWER_UNCLEAR, 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        uint64_t job = 0;
        char why[160];
        enum slurm_answer answer =
            slurm_answer_read(all[i].output, all[i].good, &job, why, sizeof(why));
        if (answer != all[i].answer || job != all[i].job)
            fail_msg("'%s' was understood as %d, job %d", all[i].output, (int)answer, (int)job);
    }
}

TEST(the_message_of_sbatch_is_reported_without_its_prefix) {
    uint64_t job;
    char why[160], small[8];
    (void)slurm_answer_read("sbatch: error: x\n" FAILED_WITH "Invalid qos specification\n", false,
                            &job, why, sizeof(why));
    assert_string_equal(why, "x; Invalid qos specification");
    (void)slurm_answer_read(
        "sbatch: unrecognized option '--bogus'\nTry \"sbatch --help\" for more\n", false, &job, why,
        sizeof(why));
    assert_string_equal(why, "unrecognized option '--bogus'");
    (void)slurm_answer_read(FAILED_WITH "Invalid qos specification\n", false, &job, small,
                            sizeof(small));
    assert_string_equal(small, "Invalid");
}

/* --- what is listed -------------------------------------------------------------------------- */

TEST(jobs_are_read_from_both_lists) {
    char text[] = "17|RUNNING|0|n3|None|sluice:s:1:1|web-1|\n"
                  "slurm_load_jobs error: junk\n"
                  "18|PENDING|0||Resources|sluice:s:2:1|\n"
                  "19|CANCELLED by 1000|0:15|n[1-2]|None|\n"
                  "20|FAILED|16896|n1|NonZeroExitCode|(null)|\n"
                  "21|NEW_STATE|0|n1|None|x|";
    char *list = text;
    struct slurm_job job;
    const char *token;
    assert_true(slurm_job_read(&list, &job, &token));
    assert_int_equal(job.id, 17);
    assert_int_equal(job.state, JOB_RUNNING);
    assert_string_equal(job.node, "n3");
    assert_string_equal(job.reason, "");
    assert_string_equal(token, "sluice:s:1:1");
    assert_string_equal(job.name, "web-1");
    assert_true(slurm_job_read(&list, &job, &token));
    assert_int_equal(job.state, JOB_PENDING);
    assert_string_equal(job.reason, "Resources");
    assert_string_equal(job.node, "");
    assert_true(slurm_job_read(&list, &job, &token));
    assert_int_equal(job.state, JOB_CANCELED);
    assert_int_equal(job.canceled_by, 1000);
    assert_string_equal(job.name, "");
    assert_int_equal(job.signal, 15);
    assert_true(slurm_job_read(&list, &job, &token));
    assert_int_equal(job.code, 66);
    assert_int_equal(job.canceled_by, -1);
    assert_true(slurm_job_read(&list, &job, &token));
    assert_int_equal(job.state, JOB_UNKNOWN); /* no reason to believe that it is over */
    assert_false(slurm_job_is_over(job.state));
    assert_false(slurm_job_read(&list, &job, &token));
}

TEST(every_word_of_slurm_is_a_state) {
    static const char *const over[] = { "BOOT_FAIL", "CANCELLED", "COMPLETED",     "DEADLINE",
                                        "FAILED",    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
                                        "REVOKED",   "TIMEOUT",   "CANCELLED+" };
    static const char *const live[] = { "CONFIGURING", "COMPLETING", "PENDING",   "RUNNING",
                                        "RESIZING",    "REQUEUED",   "SIGNALING", "SPECIAL_EXIT",
                                        "STAGE_OUT",   "STOPPED",    "SUSPENDED", "REQUEUE_HOLD" };
    for (size_t i = 0; i < ARRAY_SIZE(over); i++)
        assert_true(slurm_job_is_over(slurm_job_state_parse(over[i])));
    for (size_t i = 0; i < ARRAY_SIZE(live); i++) {
        assert_int_not_equal(slurm_job_state_parse(live[i]), JOB_UNKNOWN);
        assert_false(slurm_job_is_over(slurm_job_state_parse(live[i])));
    }
}

TEST(the_configuration_is_read) {
    struct slurm_config config = { .kill_wait = SECONDS(30) };
    slurm_config_read("Configuration data as of 2030-01-01\nKillWaits = 3\n", &config);
    assert_int_equal(config.kill_wait, SECONDS(30)); /* a missing value is unchanged */
    slurm_config_read("AccountingStorageType   = accounting_storage/slurmdbd\n"
                      "ClusterName             = lab\nKillWait                = 45 sec\n",
                      &config);
    assert_int_equal(config.kill_wait, SECONDS(45));
    assert_string_equal(config.cluster, "lab");
    assert_true(config.accounting);
    slurm_config_read("AccountingStorageType   = accounting_storage/none\n", &config);
    assert_false(config.accounting);
}
