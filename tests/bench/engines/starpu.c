/* StarPU: each key is a piece of data that a task reads or changes; the runtime finds the
 * dependences. */
#define _XOPEN_SOURCE 700 /* nftw */
#include <ftw.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine.h"

static starpu_data_handle_t *handles;
static char *data;
static uint32_t handle_count;

/* Where StarPU stores its measurements of the machine when it starts, instead of in the user's
 * home. */
static char directory[4096];

static void run(void *buffers[], void *task)
{
    (void)buffers;
    bench_task_run(task);
}

static struct starpu_codelet codelet = { .cpu_funcs = { run },
                                         .nbuffers = STARPU_VARIABLE_NBUFFERS };

static void set(const char *name, const char *value)
{
    bench_require(setenv(name, value, 1) == 0, "a setting for StarPU");
}

static void make_directory(void)
{
    const char *parent = getenv("TMPDIR");
    int length = snprintf(directory, sizeof directory, "%s/bench_starpu.XXXXXX",
                          parent != NULL ? parent : "/tmp");
    bench_require(length > 0 && (size_t)length < sizeof directory && mkdtemp(directory) != NULL,
                  "a directory for StarPU");
    set("STARPU_HOME", directory);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static void start(const struct bench_setup *setup)
{
    struct starpu_conf conf;
    make_directory();
    set("STARPU_SILENT", "1");
    bench_require(starpu_conf_init(&conf) == 0, "StarPU's settings");
    conf.precedence_over_environment_variables = 1;
    conf.ncpus = (int)setup->workers;
    conf.ncuda = 0;
    conf.nopencl = 0;
    bench_require(starpu_init(&conf) == 0, "StarPU");
    nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    bench_require(starpu_cpu_worker_get_count() == setup->workers, "as many workers as asked for");
    handle_count = setup->key_count;
    handles = calloc(handle_count, sizeof *handles);
    data = calloc(handle_count, sizeof *data);
    bench_require(handles != NULL && data != NULL, "memory for data");
    for (uint32_t i = 0; i < handle_count; i++)
        starpu_variable_data_register(&handles[i], STARPU_MAIN_RAM, (uintptr_t)&data[i],
                                      sizeof data[i]);
}

static void submit(const struct bench_task *task)
{
    struct starpu_task *described = starpu_task_create();
    uint32_t count = bench_task_lanes(task);
    bench_require(described != NULL, "memory for a task");
    starpu_data_handle_t *its_handles = described->handles;
    enum starpu_data_access_mode *its_modes = described->modes;
    if (count > STARPU_NMAXBUFS) { /* the task has no room for this many */
        its_handles = described->dyn_handles = malloc(count * sizeof *its_handles);
        its_modes = described->dyn_modes = malloc(count * sizeof *its_modes);
        bench_require(its_handles != NULL && its_modes != NULL, "memory for a task's data");
    }
    for (uint32_t i = 0; i < count; i++) {
        its_handles[i] = handles[bench_task_key(task, i)];
        its_modes[i] = task->is_shared ? STARPU_R : STARPU_RW;
    }
    described->cl = &codelet;
    described->cl_arg = (void *)(uintptr_t)task; /* only read */
    described->nbuffers = (int)count;
    bench_require(starpu_task_submit(described) == 0, "a submit");
}

static void wait_for_all(void)
{
    bench_require(starpu_task_wait_for_all() == 0, "a wait");
}

static void stop(void)
{
    for (uint32_t i = 0; i < handle_count; i++)
        starpu_data_unregister(handles[i]);
    starpu_shutdown();
    free(handles);
    free(data);
}

const struct bench_hooks bench_engine = {
    .name = "starpu",
    .features = BENCH_SEVERAL_KEYS | BENCH_SHARED | BENCH_GATES | BENCH_SEVERAL_SUBMITTERS,
    .start = start,
    .submit = submit,
    .wait = wait_for_all,
    .stop = stop,
};
