/* Fibers: stacks that one thread switches between. */
#ifndef TESTS_SIMULATOR_FIBER_H
#define TESTS_SIMULATOR_FIBER_H

#include <stdbool.h>
#include <stddef.h>

/* One fiber. A zeroed one stands for the thread's own stack. */
struct fiber {
    void *stack_pointer;
    char *stack;
    size_t stack_size;
    void (*entry)(void *argument);
    void *argument;
    void *sanitizer_fiber; /* of ThreadSanitizer */
    void *fake_stack;      /* of AddressSanitizer */
};

/* Prepares a fiber to call entry(argument) at the first switch to it. Allocates a stack if the
 * fiber has none. The entry must not return. Ends the program if memory cannot be allocated. */
void fiber_prepare(struct fiber *fiber, void (*entry)(void *argument), void *argument);
/* Declares that the fiber will not be switched to again, although it has calls left. Its stack is
 * reused by the next fiber_prepare(), as after an ordinary end. */
void fiber_retire(struct fiber *fiber);
/* Makes a fiber of the thread's own stack. Must be called before the first switch away from it. */
void fiber_of_thread(struct fiber *fiber);
/* Switches from the running fiber to another one. */
void fiber_switch(struct fiber *from, struct fiber *to);

#endif
