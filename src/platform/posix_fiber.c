/* Owns fibers: their stacks, and ThreadSanitizer's states for them; see fiber.h. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* dl_iterate_phdr */
#endif
#include "platform/fiber.h"

#include "platform/notes.h"
#include "platform/platform.h"

#if defined(__GLIBC__) && !defined(LANEPOOL_I_INSTRUMENTED)

#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

/* ThreadSanitizer's, in the program; NULL without it. */
extern void *__tsan_get_current_fiber(void) __attribute__((weak));
extern void *__tsan_create_fiber(unsigned flags) __attribute__((weak));
extern void __tsan_destroy_fiber(void *fiber) __attribute__((weak));
extern void __tsan_switch_to_fiber(void *fiber, unsigned flags) __attribute__((weak));
extern void AnnotateBenignRaceSized(const char *file, int line, const volatile void *memory,
                                    size_t size, const char *description) __attribute__((weak));
/* The program's. */
extern const char *__tsan_default_suppressions(void) __attribute__((weak));

enum {
    WITH_ORDER = 0, /* flags of a switch */
    WITHOUT_ORDER = 1
};

#define STACK_SIZE_LEAST ((size_t)1 << 20)

struct lanepool_i_fiber {
    ucontext_t context;
    ucontext_t caller;
    void *state;        /* ThreadSanitizer's, of the fiber */
    void *caller_state; /* and of the thread that calls */
    char *stack;        /* its lowest page is a guard */
    size_t stack_size;
    void (*function)(void *);
    void *argument;
};

/* --- whether there are fibers --- */

/* Looks for an address in the program itself, which is the first of the objects. */
static int find_in_program(struct dl_phdr_info *object, size_t size, void *address)
{
    uintptr_t offset = (uintptr_t) * (void **)address - object->dlpi_addr;
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && offset - part->p_vaddr < part->p_memsz)
            return 1;
    }
    return -1;
}

static bool is_linked_statically(void)
{
    void *here = (void *)(uintptr_t)lanepool_i_fibers_missing;
    return dl_iterate_phdr(find_in_program, &here) == 1;
}

/* A file of suppressions, named by the user, may have the line; that is the user's affair. */
static bool is_library_ignored(void)
{
    const char *options = getenv("TSAN_OPTIONS");
    if (options != NULL && strstr(options, "suppressions=") != NULL)
        return true;
    return __tsan_default_suppressions != NULL &&
           strstr(__tsan_default_suppressions(), "called_from_lib:liblanepool") != NULL;
}

const char *lanepool_i_fibers_missing(void)
{
    if (__tsan_create_fiber == NULL || __tsan_get_current_fiber == NULL ||
        __tsan_switch_to_fiber == NULL || __tsan_destroy_fiber == NULL || __tsan_acquire == NULL)
        return "the program is not built with -fsanitize=thread";
    if (is_linked_statically())
        return "the library is linked statically, so ThreadSanitizer cannot ignore its calls";
    if (!is_library_ignored())
        return "ThreadSanitizer has no suppression \"called_from_lib:liblanepool\"";
    return NULL;
}

/* --- making and calling --- */

/* Runs on the fiber's stack, one call after the other. A context's function takes numbers only, so
 * the fiber comes in two halves. */
static void run_calls(unsigned low, unsigned high)
{
    lanepool_i_fiber *fiber = (lanepool_i_fiber *)((uintptr_t)high << 32 | low);
    for (;;) {
        fiber->function(fiber->argument);
        __tsan_switch_to_fiber(fiber->caller_state, WITH_ORDER);
        (void)swapcontext(&fiber->context, &fiber->caller);
    }
}

static char *make_stack(size_t size)
{
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return NULL;
    if (mprotect(stack, LANEPOOL_I_PAGE_SIZE, PROT_NONE) == 0)
        return stack;
    (void)munmap(stack, size);
    return NULL;
}

static void *create_state(const lanepool_i_fiber *mother)
{
    if (mother == NULL)
        return __tsan_create_fiber(0);
    void *here = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(mother->state, WITHOUT_ORDER);
    void *state = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(here, WITHOUT_ORDER);
    return state;
}

lanepool_i_fiber *lanepool_i_fiber_create(const lanepool_i_fiber *mother, size_t stack_size)
{
    lanepool_i_fiber *fiber = lanepool_i_memory_alloc(sizeof *fiber);
    if (fiber == NULL)
        return NULL;
    size_t pages = (stack_size + LANEPOOL_I_PAGE_SIZE - 1) / LANEPOOL_I_PAGE_SIZE + 1;
    fiber->stack_size = pages * LANEPOOL_I_PAGE_SIZE;
    if (fiber->stack_size < STACK_SIZE_LEAST)
        fiber->stack_size = STACK_SIZE_LEAST;
    fiber->stack = make_stack(fiber->stack_size);
    if (fiber->stack == NULL || getcontext(&fiber->context) != 0) {
        if (fiber->stack != NULL)
            (void)munmap(fiber->stack, fiber->stack_size);
        lanepool_i_memory_free(fiber);
        return NULL;
    }
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = fiber->stack_size;
    fiber->context.uc_link = NULL;
    fiber->state = create_state(mother);
    uintptr_t address = (uintptr_t)fiber;
    makecontext(&fiber->context, (void (*)(void))run_calls, 2, (unsigned)address,
                (unsigned)(address >> 32));
    return fiber;
}

void lanepool_i_fiber_destroy(lanepool_i_fiber *fiber)
{
    __tsan_destroy_fiber(fiber->state);
    (void)munmap(fiber->stack, fiber->stack_size);
    lanepool_i_memory_free(fiber);
}

void lanepool_i_fiber_call(lanepool_i_fiber *fiber, void (*function)(void *), void *argument)
{
    fiber->function = function;
    fiber->argument = argument;
    fiber->caller_state = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber->state, WITHOUT_ORDER);
    (void)swapcontext(&fiber->caller, &fiber->context);
}

/* --- thread-locals --- */

static int share_object(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)unused;
    if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof object->dlpi_tls_data ||
        object->dlpi_tls_data == NULL)
        return 0;
    for (size_t i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_TLS)
            AnnotateBenignRaceSized(__FILE__, __LINE__, object->dlpi_tls_data,
                                    object->dlpi_phdr[i].p_memsz, "thread-local");
    return 0;
}

void lanepool_i_fibers_share_thread_locals(void)
{
    if (AnnotateBenignRaceSized != NULL)
        (void)dl_iterate_phdr(share_object, NULL);
}

#else

const char *lanepool_i_fibers_missing(void)
{
#if defined(LANEPOOL_I_INSTRUMENTED)
    return "the library itself is built with -fsanitize=thread";
#else
    return "the C library has no makecontext()";
#endif
}

/* No fiber is made where fibers are missing. */
lanepool_i_fiber *lanepool_i_fiber_create(const lanepool_i_fiber *mother, size_t stack_size)
{
    (void)mother;
    (void)stack_size;
    return NULL;
}

void lanepool_i_fiber_destroy(lanepool_i_fiber *fiber)
{
    (void)fiber;
}

void lanepool_i_fiber_call(lanepool_i_fiber *fiber, void (*function)(void *), void *argument)
{
    (void)fiber;
    function(argument);
}

void lanepool_i_fibers_share_thread_locals(void)
{
}

#endif
