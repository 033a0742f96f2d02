// Counts what `new` has allocated and `delete` has not freed. In a file of its own, because GCC
// warns of such operators where it inlines only one of them.
#include <atomic>
#include <cstdlib>
#include <new>

extern std::atomic<long> allocated;
std::atomic<long> allocated{ 0 };

void *operator new(std::size_t size) {
    void *memory = std::malloc(size);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    ++allocated;
    return memory;
}

void operator delete(void *memory) noexcept {
    if (memory != nullptr) {
        --allocated;
    }
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept { operator delete(memory); }
