/* Owns the decision whether a day is new. */
#include "run/day.h"

#include "base/syntax.h"

/* Sets a problem about a day; `after` follows its date. */
static bool refuse(struct problem *problem, const char *before, uint32_t date, const char *after)
{
    char text[DATE_SIZE];
    date_write(text, date);
    return problem_set(problem, EXIT_CODE_INPUT, "%s %.*s %s", before, DATE_SIZE, text, after);
}

static bool check_order(const struct store_facts *last, uint32_t date, struct problem *problem)
{
    if (last->state == STORE_UNFINISHED) {
        return refuse(problem, last->is_day ? "the day" : "the run until", last->date,
                      "is not finished: first repeat its command, or retry what is held");
    }
    return date > last->date ||
           refuse(problem, "the day", last->date, "is closed: --date takes a later one");
}

/* Lets a new day follow the last batch. */
static bool follow(struct opening *opening, struct store *store, const struct store_facts *last,
                   struct problem *problem)
{
    opening->is_new = true;
    opening->number = last->number + 1;
    opening->last_day = last->date;
    return check_order(last, opening->day, problem) &&
           store_read_last_seq(store, &opening->base_seq, problem);
}

/* Goes on with the last day of the store. */
static bool go_on(struct opening *opening, struct store *store, const struct store_facts *last,
                  struct problem *problem)
{
    opening->number = last->number;
    opening->base_seq = last->base_seq;
    return store_read_earlier_date(store, &opening->last_day, problem);
}

/* Checks the requests of a first day, which has no earlier one. */
static bool check_requests(const struct opening_requests *requests, struct problem *problem)
{
    return requests->skip_count + requests->reversal_count + requests->month_count == 0 ||
           problem_set(problem, EXIT_CODE_INPUT,
                       "--skip, --reverse and --backdated are about earlier days, and there are "
                       "none");
}

bool day_open(struct opening *opening, struct store *store, const struct store_facts *last,
              uint32_t date, struct opening_requests *requests, struct problem *problem)
{
    opening->day = date;
    if (!store || last->state == STORE_EMPTY) {
        opening->number = 1;
        opening->is_new = true;
        return check_requests(requests, problem);
    }
    bool is_last = last->is_day && last->date == date;
    if (!(is_last ? go_on : follow)(opening, store, last, problem)) {
        return false;
    }
    struct store_facts window = { .base_seq = opening->base_seq, .number = opening->number };
    store_set_window(store, &window);
    return opening_load(opening, store, requests, problem);
}
