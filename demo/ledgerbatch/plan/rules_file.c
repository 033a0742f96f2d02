/* Owns the keys of a rules file, except those of its steps. */
#include "plan/rules_file.h"

#include <string.h>

#include "book/sources.h"
#include "plan/step_keys.h"

/* The client depths that the option takes. */
#define CLIENT_DEPTH_MAX 1000

/* Returns false, with a fault, if an option has given the same rule. */
static bool is_said_once(struct yaml_reader *reader, const yaml_node_t *value,
                         const struct rules *rules, enum rules_given rule, const char *option)
{
    if (rules->given & rule) {
        yaml_fault(reader, value, "%s is given, too; say it in one place only", option);
    }
    return !(rules->given & rule);
}

static void read_client_depth(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    struct rules *rules = target;
    struct slice text;
    if (!is_said_once(reader, value, rules, RULES_CLIENT_DEPTH, "--client-depth") ||
        !yaml_text(reader, value, "a number of components, such as 1", &text)) {
        return;
    }
    unsigned depth = 0;
    bool is_number = text.size <= 4;
    for (size_t i = 0; i < text.size && is_number; i++) {
        is_number = text.data[i] >= '0' && text.data[i] <= '9';
        depth = depth * 10 + (unsigned)(text.data[i] - '0');
    }
    if (!is_number || depth < 1 || depth > CLIENT_DEPTH_MAX) {
        yaml_fault(reader, value, "'%.*s' is no number from 1 to %u", SLICE_ARGUMENTS(text),
                   CLIENT_DEPTH_MAX);
        return;
    }
    rules->client_depth = depth;
}

static void read_client_by(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    struct rules *rules = target;
    struct slice text;
    if (is_said_once(reader, value, rules, RULES_CLIENT_BY, "--client-by") &&
        yaml_text(reader, value, "depth, file, payee or tag:NAME", &text) &&
        !rules_read_client_by(rules, rules_keep_text(rules, text))) {
        yaml_fault(reader, value, "'%.*s' is not depth, file, payee or tag:NAME",
                   SLICE_ARGUMENTS(text));
    }
}

static void read_commutative(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    struct rules *rules = target;
    if (is_said_once(reader, value, rules, RULES_COMMUTATIVE, "--commutative")) {
        rules->commutative_line = yaml_line(value);
        step_keys_read_patterns(reader, value, rules, &rules->commutative);
    }
}

static void read_no_overdraft(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    struct rules *rules = target;
    if (is_said_once(reader, value, rules, RULES_NO_OVERDRAFT, "--no-overdraft")) {
        rules->no_overdraft_line = yaml_line(value);
        step_keys_read_patterns(reader, value, rules, &rules->no_overdraft);
    }
}

static void read_month_end(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    struct rules *rules = target;
    if (is_said_once(reader, value, rules, RULES_MONTH_END, "--monthly or --accrual-accounts")) {
        step_keys_read_steps(reader, value, rules);
    }
}

static const struct yaml_key keys[] = { { "client-depth", read_client_depth },
                                        { "client-by", read_client_by },
                                        { "commutative", read_commutative },
                                        { "no-overdraft", read_no_overdraft },
                                        { "month-end", read_month_end } };

void rules_file_read_text(struct rules *rules, const char *name, struct slice text,
                          struct faults *faults)
{
    struct yaml_reader reader;
    yaml_reader_open(&reader, name, text, faults);
    const yaml_node_t *root = yaml_reader_root(&reader);
    rules->file = name;
    if (root) {
        yaml_read_mapping(&reader, root, "the rules", keys, sizeof keys / sizeof *keys, rules);
    } else if (faults->count == 0) {
        struct problem problem;
        (void)problem_set_place(&problem, "%s:1: the file has no rules", name);
        (void)faults_take(faults, &problem);
    }
    yaml_reader_close(&reader);
}

bool rules_file_read(struct rules *rules, const char *name, struct faults *faults,
                     struct problem *problem)
{
    struct sources sources = { 0 };
    const struct source *source = sources_read(&sources, name, SOURCE_OF_USER, problem);
    if (source) {
        rules_file_read_text(rules, name, (struct slice){ source->data, source->size }, faults);
    }
    bool is_good = source && faults_none(faults, problem);
    sources_fini(&sources);
    return is_good;
}
