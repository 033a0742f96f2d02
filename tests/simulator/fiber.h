/* Stacks that one thread switches between. */
#ifndef TESTS_SIMULATOR_FIBER_H
#define TESTS_SIMULATOR_FIBER_H

#include <stdbool.h>
#include <stddef.h>

/* One flow of control. Zeroed: the thread's own stack. */
struct fiber {
    void *stack_pointer;
    char *stack;
    size_t stack_size;
    void (*entry)(void *argument);
    void *argument;
    void *sanitizer_fiber; /* ThreadSanitizer's */
    void *fake_stack;      /* AddressSanitizer's */
};

/* Prepares a fiber, with a stack if it has none, to call entry(argument) when it is first switched
 * to. The entry must not return. Ends the program when there is no memory. */
void fiber_prepare(struct fiber *fiber, void (*entry)(void *argument), void *argument);
/* The fiber will not be switched to again; its stack stays for the next fiber_prepare(). */
void fiber_retire(struct fiber *fiber);
/* The thread's own flow, before the first switch away from it. */
void fiber_of_thread(struct fiber *fiber);
/* From the fiber that runs to another. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
