/*
 * Owns the switch between stacks: in assembler on x86-64, which takes some nanoseconds; by ucontext
 * elsewhere. Each switch is announced to the sanitizers.
 *
 * ThreadSanitizer does not instrument the simulator itself, because it would take the simulator's
 * data for shared data. The build then defines SIM_THREAD_SANITIZER.
 */
#include "simulator/fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(SIM_THREAD_SANITIZER) && defined(SIM_WEAK)
#undef SIM_THREAD_SANITIZER /* the library in ThreadSanitizer's place needs no fibers */
#endif
#if defined(SIM_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

enum { STACK_SIZE = 256 * 1024, GUARD_SIZE = 4096 };

static struct fiber *entering;

static void get_stack(struct fiber *fiber)
{
    fiber->stack_size = STACK_SIZE;
    fiber->stack =
        mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fiber->stack == MAP_FAILED || mprotect(fiber->stack, GUARD_SIZE, PROT_NONE) != 0) {
        fprintf(stderr, "no memory for a fiber's stack\n");
        exit(EXIT_FAILURE);
    }
}

/* --- what the sanitizers must know --- */

static void leaving(struct fiber *from, const struct fiber *to)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_size);
#endif
#if defined(SIM_THREAD_SANITIZER)
    __tsan_switch_to_fiber(to->sanitizer_fiber, __tsan_switch_to_fiber_no_sync);
#endif
    (void)from;
    (void)to;
}

static void arrived(struct fiber *fiber)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fiber->fake_stack, NULL, NULL);
#endif
    (void)fiber;
}

static void enter(void)
{
    struct fiber *self = entering;

    arrived(self);
#if defined(SIM_THREAD_SANITIZER)
    __tsan_acquire(self);
#endif
    self->entry(self->argument);
    abort();
}

/* --- the switch --- */

#if defined(__x86_64__)

/* Saves the registers that a call must preserve on the old stack, and restores them from the new
 * one. */
void fiber_exchange_stacks(void **save, void *load);
__asm__(".text\n"
        ".globl fiber_exchange_stacks\n"
        ".type fiber_exchange_stacks, @function\n"
        "fiber_exchange_stacks:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fiber_exchange_stacks, .-fiber_exchange_stacks\n");

static void start_stack(struct fiber *fiber)
{
    /* Seven words that the switch pops, and one more so that the entry function finds its stack
     * aligned. */
    void **top = (void **)(void *)(fiber->stack + fiber->stack_size);

    memset(top - 8, 0, 8 * sizeof *top);
    top[-2] = (void *)(uintptr_t)enter;
    fiber->stack_pointer = top - 8;
}

static void exchange(struct fiber *from, struct fiber *to)
{
    fiber_exchange_stacks(&from->stack_pointer, to->stack_pointer);
}

#else

#include <ucontext.h>

static ucontext_t *context_of(struct fiber *fiber)
{
    if (fiber->stack_pointer == NULL)
        fiber->stack_pointer = calloc(1, sizeof(ucontext_t));
    if (fiber->stack_pointer == NULL)
        abort();
    return fiber->stack_pointer;
}

static void start_stack(struct fiber *fiber)
{
    ucontext_t *context = context_of(fiber);

    getcontext(context);
    context->uc_stack.ss_sp = fiber->stack;
    context->uc_stack.ss_size = fiber->stack_size;
    makecontext(context, enter, 0);
}

static void exchange(struct fiber *from, struct fiber *to)
{
    swapcontext(context_of(from), context_of(to));
}

#endif

void fiber_prepare(struct fiber *fiber, void (*entry)(void *argument), void *argument)
{
    if (fiber->stack == NULL)
        get_stack(fiber);
#if defined(__SANITIZE_ADDRESS__)
    ASAN_UNPOISON_MEMORY_REGION(fiber->stack + GUARD_SIZE, fiber->stack_size - GUARD_SIZE);
    fiber->fake_stack = NULL;
#endif
#if defined(SIM_THREAD_SANITIZER)
    /* Making one costs as much as the rest of a run. So the next user of the stack gets it. What
     * it has seen of earlier runs says nothing about this one. */
    if (fiber->sanitizer_fiber == NULL)
        fiber->sanitizer_fiber = __tsan_create_fiber(0);
    __tsan_release(fiber);
#endif
    fiber->entry = entry;
    fiber->argument = argument;
    start_stack(fiber);
}

void fiber_retire(struct fiber *fiber)
{
#if defined(SIM_THREAD_SANITIZER)
    __tsan_destroy_fiber(fiber->sanitizer_fiber);
#endif
    fiber->sanitizer_fiber = NULL;
}

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#endif

void fiber_of_thread(struct fiber *fiber)
{
#if defined(SIM_THREAD_SANITIZER)
    fiber->sanitizer_fiber = __tsan_get_current_fiber();
#endif
#if defined(__SANITIZE_ADDRESS__)
    pthread_attr_t attributes;
    void *lowest = NULL;

    if (fiber->stack != NULL)
        return; /* known from an earlier run; asking the system costs as much as many steps */
    if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
        pthread_attr_getstack(&attributes, &lowest, &fiber->stack_size) != 0)
        abort();
    fiber->stack = lowest;
    pthread_attr_destroy(&attributes);
#endif
    (void)fiber;
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    entering = to;
    leaving(from, to);
    exchange(from, to);
    arrived(from);
}
