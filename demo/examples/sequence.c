/* Serial lanes over threads of the program's own: here the smallest possible event loop. */
#include <lanepool/lanepool.h>
#include <stdio.h>

static struct loop {
    lanepool_work *works[8]; /* a real loop needs a lock: execute() is called from any thread */
    int count;
} loop;

static lanepool_status execute(void *context, lanepool_work *work)
{
    struct loop *self = context;
    if (self->count == 8)
        return LANEPOOL_FULL; /* the submitter gets this status */
    self->works[self->count++] = work;
    return LANEPOOL_OK;
}

static void run(struct loop *self)
{
    while (self->count > 0)
        lanepool_work_run(self->works[--self->count]); /* in any order, on any thread */
}

static int print(lanepool_run *run, void *context)
{
    (void)run;
    printf("%s\n", (const char *)context);
    return 0;
}

static void print_cancelled(void *context, lanepool_status why)
{
    (void)why;
    printf("%s: cancelled\n", (const char *)context);
}

static int submit(lanepool_sequence *sequence, const char *text, int64_t delay_ns,
                  lanepool_future **future)
{
    return lanepool_sequence_submit_after(sequence,
                                          LANEPOOL_TASK(.function = print, .context = (void *)text,
                                                        .future = future,
                                                        .cancelled = print_cancelled),
                                          delay_ns);
}

int main(void)
{
    lanepool_executor *executor;
    lanepool_sequence *deposits, *letters;
    lanepool_future *reminder = NULL;
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;
    functions.execute = execute;
    if (lanepool_executor_create(&functions, &loop, &executor) ||
        lanepool_sequence_create(executor, &deposits) ||
        lanepool_sequence_create(executor, &letters))
        return 1;
    int failed = submit(deposits, "deposit 1", 0, NULL) || submit(deposits, "deposit 2", 0, NULL) ||
                 submit(letters, "statement", 0, NULL) ||
                 submit(letters, "reminder", INT64_MAX, &reminder); /* due in 292 years */
    run(&loop);
    failed |= lanepool_future_cancel(reminder) || submit(deposits, "deposit 3", 0, NULL);
    lanepool_sequence_destroy(deposits); /* cancels what has not started */
    lanepool_sequence_destroy(letters);
    lanepool_executor_destroy(executor);
    run(&loop); /* late work finds nothing to do */
    lanepool_future_release(reminder);
    return failed;
}
