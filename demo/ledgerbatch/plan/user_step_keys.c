/* Owns the keys of user's steps in a rules file. */
#include "plan/user_step_keys.h"

#include "plan/step_keys.h"

struct user_target {
    struct rules *rules;
    struct user_step *user;
};

static void read_object(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct user_target *at = target;
    struct slice text;
    if (yaml_text(reader, value, "the path of a shared object", &text)) {
        user_step_set_path(at->user, text);
    }
}

static void read_house(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct user_target *at = target;
    step_keys_read_patterns(reader, value, at->rules, &at->user->house);
}

/* Reads a mapping of names to texts, whatever the names are. */
static void read_parameters(struct yaml_reader *reader, const yaml_node_t *value, void *target)
{
    const struct user_target *at = target;
    if (value->type != YAML_MAPPING_NODE) {
        yaml_fault(reader, value, "write names with values here, such as currency: USD");
        return;
    }
    for (const yaml_node_pair_t *pair = value->data.mapping.pairs.start;
         pair < value->data.mapping.pairs.top && !reader->has_stopped; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
        const yaml_node_t *item = yaml_document_get_node(&reader->document, pair->value);
        struct slice name;
        struct slice text;
        if (yaml_text(reader, key, "the name of a parameter", &name) &&
            yaml_text(reader, item, "the value of a parameter, in quotes if it is empty", &text) &&
            !user_step_add_parameter(at->user, name, text)) {
            yaml_fault(reader, key, "the parameter '%.*s' is given twice", SLICE_ARGUMENTS(name));
        }
    }
}

static const struct yaml_key keys[] = {
    { "step", NULL },          { "groups", NULL },      { "name", NULL },
    { "object", read_object }, { "house", read_house }, { "parameters", read_parameters }
};

/* Checks that the name can be part of a code and of a file's name, and is the only one. */
static void check_name(struct yaml_reader *reader, const yaml_node_t *node,
                       const struct rules *rules, const struct user_step *user)
{
    if (!user_step_is_name(user->name)) {
        yaml_fault(reader, node,
                   "'%s' is no name of a step; write a key 'name' with letters, digits, '-' and "
                   "'_', at most 40",
                   user->name);
    }
    for (size_t i = 0; i < rules->steps.count; i++) {
        const struct user_step *other = rules->steps.items[i].user;
        if (other && other != user && other->name && strcmp(other->name, user->name) == 0) {
            yaml_fault(reader, node,
                       "there is a step '%s' in line %u; write a key 'name' with another name",
                       user->name, rules->steps.items[i].line);
        }
    }
}

void user_step_keys_read(struct yaml_reader *reader, const yaml_node_t *node, struct rules *rules,
                         struct user_step *user)
{
    struct user_target target = { rules, user };
    const yaml_node_t *name = yaml_find(reader, node, "name");
    struct slice text;
    if (name && yaml_text(reader, name, "the name of the step", &text)) {
        user_step_set_name(user, text);
    }
    yaml_read_mapping(reader, node, "the step user", keys, sizeof keys / sizeof *keys, &target);
    if (user->name) {
        check_name(reader, name ? name : node, rules, user);
    }
}
