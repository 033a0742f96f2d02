/*
 * Any bytes as a journal: they are read, checked, planned and posted in memory, one task after the
 * other, and what was posted must be a journal again. A first line such as
 *
 *     ;! monthly overdraft commutative depth2 rejects codes
 *
 * chooses the rules of the run. In place of depth2 there can be by-file, by-payee or by-tag.
 */
#include <stdlib.h>

#include "base/syntax.h"
#include "input_files.h"
#include "plan/plan.h"
#include "posted_book.h"
#include "steps.h"

/* Month-ends follow every month from the first to the last, for every group. */
#define MONTH_COUNT     ((9999 - 1400 + 1) * 12)
#define GROUP_COUNT_MAX 3
#define STEPS_A_ROLLUP  40

/* The input is read once more for each transaction that is rejected, at most. */
#define REJECT_COUNT_MAX 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_word(struct slice line, const char *word)
{
    return memmem(line.data, line.size, word, strlen(word)) != NULL;
}

static size_t count_groups(struct slice text)
{
    static const char tag[] = "group:";
    size_t count = 1; /* "all" */
    const char *end = text.data + text.size;
    const char *at = text.data;
    while ((at = memmem(at, (size_t)(end - at), tag, sizeof tag - 1)) != NULL) {
        at += sizeof tag - 1;
        count++;
    }
    return count;
}

/* The first line, if it chooses rules; else an empty one. */
static struct slice first_line(struct slice text)
{
    const char *newline = text.size ? memchr(text.data, '\n', text.size) : NULL;
    bool chooses = newline && text.size >= 2 && memcmp(text.data, ";!", 2) == 0;
    return chooses ? slice_between(text.data, newline) : (struct slice){ text.data, 0 };
}

/* The steps that the month-ends may take besides those for the input's bytes. */
static uint64_t choose_rules(struct rules *rules, struct slice text)
{
    uint64_t steps = 0;
    struct slice line = first_line(text);
    if (line.size == 0) {
        return 0;
    }
    if (has_word(line, "overdraft")) {
        patterns_add(&rules->no_overdraft, "*:Cash");
    }
    if (has_word(line, "commutative")) {
        patterns_add(&rules->commutative, "Bank*");
    }
    rules->unique_codes = has_word(line, "codes");
    rules->client_depth = has_word(line, "depth2") ? 2 : 1;
    if (has_word(line, "by-")) {
        rules->client_depth = 1;
        rules_read_client_by(rules, has_word(line, "by-file")    ? "file"
                                    : has_word(line, "by-payee") ? "payee"
                                                                 : "tag:t");
    }
    /* Many groups over many centuries make more tasks than there is time for. */
    if (has_word(line, "monthly") && count_groups(text) <= GROUP_COUNT_MAX) {
        month_end_steps_read_list(&rules->steps, "statement,accrual=0.125,close");
        steps = (uint64_t)3 * MONTH_COUNT * GROUP_COUNT_MAX * STEPS_A_ROLLUP;
    }
    return steps;
}

/* Whatever was wrong with the input is told in plain words, with nothing that steers a terminal. */
static void check_problem(const struct problem *problem)
{
    bool good = problem->text[0] != 0 && problem->code == EXIT_CODE_INPUT;
    for (const char *at = problem->text; *at; at++) {
        good = good && (unsigned char)*at >= 0x20 && *at != 0x7f;
    }
    /* A file that cannot be read is the one exception, and only where it is named first. */
    good = good || (problem->code == EXIT_CODE_IO && !problem->has_place);
    if (!good) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = { (const char *)data, size };
    const char *const files[] = { INPUT_FILE_NAME };
    struct problem problem = { .text = "" };
    struct plan plan;
    plan_init(&plan);
    plan.book.rejects.is_on = has_word(first_line(text), "rejects");
    plan.book.rejects.limit = REJECT_COUNT_MAX;
    size_t readings = plan.book.rejects.is_on ? REJECT_COUNT_MAX + 2 : 1;
    steps_begin(STEPS_BASE + choose_rules(&plan.rules, text), size * readings);
    input_files_set(text);
    if (plan_make(&plan, files, 1, &problem)) {
        posted_book_check(&plan);
    } else {
        check_problem(&problem);
    }
    steps_end();
    plan_fini(&plan);
    return 0;
}
