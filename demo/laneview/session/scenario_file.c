/* Owns where scenarios are, and what is printed about them. */
#include "session/scenario_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/units.h"
#include "session/scenario.h"

#define ENDING ".scenario"

static bool has_ending(const char *name)
{
    size_t size = strlen(name), ending = strlen(ENDING);
    return size > ending && strcmp(name + size - ending, ENDING) == 0;
}

/* Adds the folder of the scenarios that come with laneview. It is found from the program's own
 * place, so that an installed tree can be moved. */
static void add_folder(struct text *path)
{
    char program[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof(program));
    while (size > 0 && program[size - 1] != '/') {
        size--;
    }
    text_add(path, "%.*s../share/lanepool/scenarios", size > 0 ? (int)size : 0, program);
}

void scenario_find(struct text *file, const char *name)
{
    bool is_file = strchr(name, '/') || has_ending(name) || strcmp(name, "-") == 0;
    if (!is_file) {
        add_folder(file);
    }
    text_add(file, "%s%s%s", is_file ? "" : "/", name, is_file ? "" : ENDING);
}

bool scenario_load(struct text *text, const char *name, const char *file, struct problem *problem)
{
    if (strcmp(name, file) != 0 && access(file, F_OK) != 0) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "there is no scenario %s; laneview scenario prints those there are",
                           name);
    }
    return file_read(file, text, problem);
}

/* --- the list --- */

static int is_scenario(const struct dirent *entry)
{
    return has_ending(entry->d_name);
}

/* Adds a scenario's name, and the comment in the first line of its file. */
static bool add_listed_scenario(struct text *list, const char *folder, const char *file_name,
                                struct problem *problem)
{
    struct text path = { 0 }, text = { 0 };
    size_t size = strlen(file_name) - strlen(ENDING);
    text_add(&path, "%s/%s", folder, file_name);
    bool read = file_read(path.data, &text, problem);
    if (read) {
        size_t begin = strspn(text.data, "# "), end = strcspn(text.data, "\n");
        text_add(list, "%-16.*s ", (int)size, file_name);
        text_add_clean(list, text.data + begin, end > begin ? end - begin : 0);
        text_add(list, "\n");
    }
    text_fini(&path);
    text_fini(&text);
    return read;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

bool scenario_list(struct text *text, struct problem *problem)
{
    struct text folder = { 0 };
    struct dirent **entries = NULL;
    add_folder(&folder);
    int count = scandir(folder.data, &entries, is_scenario, compare_names);
    bool done = count >= 0 || problem_set(problem, EXIT_CODE_IO, "%s cannot be read: %s",
                                          folder.data, strerror(errno));
    for (int i = 0; i < count; i++) {
        done = done && add_listed_scenario(text, folder.data, entries[i]->d_name, problem);
        free(entries[i]);
    }
    free(entries);
    text_fini(&folder);
    return done;
}

/* --- one scenario --- */

static void describe_failure(struct text *text, const struct scenario_step *step)
{
    const struct scenario_failure *failure = &step->failure;
    char number[UNITS_TEXT_SIZE];
    if (failure->fails > 0) {
        text_add(text, " fails %u", failure->fails);
    }
    if (failure->retries > 0) {
        text_add(text, " retries %u", failure->retries);
    }
    if (failure->delay_ns > 0) {
        text_add(text, " delay %s", units_format(number, failure->delay_ns));
    }
    if (failure->is_parked) {
        text_add(text, " then poison");
    }
    if (step->at_poison != LANEPOOL_AT_POISON_WAIT) {
        text_add(text, " at-poison %s", scenario_at_poison[step->at_poison]);
    }
}

static const char *const mode_suffixes[] = {
    [LANEPOOL_EXCLUSIVE] = "", [LANEPOOL_SHARED] = ":shared", [LANEPOOL_COMMUTING] = ":commuting"
};

static void describe_step(struct text *text, const struct scenario *scenario,
                          const struct scenario_step *step)
{
    char number[UNITS_TEXT_SIZE];
    if (step->kind == SCENARIO_PAUSE) {
        text_add(text, "after %s\n", units_format(number, step->duration_ns));
        return;
    }
    if (step->kind == SCENARIO_RESOLVE) {
        const char *key = scenario->keys[step->key];
        text_add(text, "resolve ");
        text_add_clean(text, key, strlen(key));
        text_add(text, " %s\n", scenario_resolutions[step->resolution]);
        return;
    }
    text_add(text, "%s", step->is_cut ? "cut" : step->claim_count > 1 ? "rollup" : "task");
    for (size_t i = 0; i < step->claim_count; i++) {
        const struct scenario_claim *claim = &scenario->claims[step->first_claim + i];
        const char *key = scenario->keys[claim->key];
        text_add(text, "%s", i > 0 ? "," : " ");
        text_add_clean(text, key, strlen(key));
        text_add(text, "%s", mode_suffixes[claim->mode]);
    }
    if (step->is_cut) {
        text_add(text, " visit %s", units_format(number, step->visit_ns));
    }
    text_add(text, " for %s", units_format(number, step->duration_ns));
    describe_failure(text, step);
    if (step->tag > 0) {
        text_add(text, " label ");
        text_add_clean(text, scenario->tags[step->tag], strlen(scenario->tags[step->tag]));
    }
    text_add(text, "\n");
}

void scenario_describe(struct text *text, const struct scenario *scenario)
{
    size_t tasks = 0;
    for (size_t i = 0; i < scenario->step_count; i++) {
        tasks += scenario->steps[i].kind == SCENARIO_SUBMIT;
    }
    text_add(text, "%u workers, lanes per %s, %zu clients, %zu tasks\n", scenario->worker_count,
             scenario->layout == LANEPOOL_PER_WORKER ? "worker" : "key", scenario->key_count,
             tasks);
    for (size_t i = 0; i < scenario->step_count; i++) {
        describe_step(text, scenario, &scenario->steps[i]);
    }
}
