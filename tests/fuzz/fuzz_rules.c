/* Any bytes as a rules file: rules that hold together, or faults with their places. */
#include <stdlib.h>

#include "input_files.h"
#include "plan/rules_file.h"
#include "steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void check_amounts(const struct step_amounts *amounts)
{
    for (size_t i = 0; i < amounts->count; i++) {
        must(amounts->items[i].amount.units >= 0 && amounts->items[i].symbol[0] != 0);
    }
}

static void check_step(const struct month_end_step *step)
{
    bool has_accounts = step->kind == MONTH_END_ACCRUAL || step->kind == MONTH_END_FEES;
    must(step->line > 0 && has_accounts == (step->accounts.count > 0));
    must((step->kind == MONTH_END_ACCRUAL) == (step->rate_count > 0));
    must((step->kind == MONTH_END_FEES) == (step->fees.count > 0));
    must(step->kind != MONTH_END_FEES || step->house);
    for (size_t i = 1; i < step->rate_count; i++) {
        must(step->rates[i].from > step->rates[i - 1].from);
    }
    check_amounts(&step->minimum_balance);
    check_amounts(&step->minimum_interest);
    check_amounts(&step->fees);
    check_amounts(&step->waived_from);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rules rules;
    struct faults faults = { 0 };
    struct problem problem;
    struct sha256 hash;
    rules_init(&rules);
    sha256_init(&hash);
    /* Two groups are compared with each other, for statements of the same one. */
    steps_begin(20 * (STEPS_BASE + STEPS_A_BYTE * (uint64_t)size) + (uint64_t)size * size, size);
    rules_file_read_text(&rules, INPUT_FILE_NAME, (struct slice){ (const char *)data, size },
                         &faults);
    must(rules.steps.count <= MONTH_END_STEPS_MAX && faults.count <= FAULTS_MAX);
    if (faults_none(&faults, &problem)) {
        must(rules.client_depth > 0);
        for (size_t i = 0; i < rules.steps.count; i++) {
            check_step(&rules.steps.items[i]);
        }
        month_end_steps_hash(&rules.steps, &hash);
    } else {
        must(problem.code == EXIT_CODE_INPUT && problem.has_place);
    }
    steps_end();
    rules_fini(&rules);
    faults_fini(&faults);
    return 0;
}
