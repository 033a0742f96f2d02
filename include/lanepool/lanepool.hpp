/**
 * @file
 * lanepool for C++17 and later: tasks are callables, results come by futures, errors are
 * exceptions. Header only; needs exceptions, not RTTI. docs/cpp.md explains it.
 */
#ifndef LANEPOOL_HPP
#define LANEPOOL_HPP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include "lanepool/lanepool.h"

namespace lanepool {

class lane;
class pool;

/** A call has failed, or a task has ended without a result. */
class error : public std::exception {
public:
    /** An error for a status that is not OK. */
    explicit error(lanepool_status status) noexcept : status_(status) {}
    /** Returns why. */
    lanepool_status status() const noexcept { return status_; }
    /** Returns lanepool_status_text(). */
    const char *what() const noexcept override { return lanepool_status_text(status_); }

private:
    lanepool_status status_;
};

/** Thrown by future::get() if the task has not run; the status is the reason. */
struct cancelled : error {
    using error::error;
};

/** Wait without a limit. */
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

/** The code of a task whose callable has thrown, in `on_error` and in lanepool_result. */
inline constexpr int exception_code = -1;

/**
 * Returns the key of an integer or enumerator, an object's address, a byte string, a text with a
 * zero at its end (not NULL), or a lane. Strings must outlive the call that takes the key.
 */
template <class I, std::enable_if_t<std::is_integral_v<I> || std::is_enum_v<I>, int> = 0>
lanepool_key key(I id) noexcept {
    return lanepool_key_id(static_cast<std::uint64_t>(id));
}
template <class T> lanepool_key key(const T *object) noexcept {
    return lanepool_key_pointer(object);
}
inline lanepool_key key(std::string_view bytes) noexcept {
    return lanepool_key_bytes(bytes.data(), bytes.size());
}
inline lanepool_key key(const char *text) noexcept { return lanepool_key_string(text); }
lanepool_key key(const lane &handle) noexcept;
inline lanepool_key key(const lanepool_key &made) noexcept { return made; }

/** Returns an exclusive claim of what key() takes. */
template <class K> lanepool_claim exclusive(const K &what) noexcept {
    return lanepool_claim_of(key(what), LANEPOOL_EXCLUSIVE);
}

/** Returns a shared claim of what key() takes. */
template <class K> lanepool_claim shared(const K &what) noexcept {
    return lanepool_claim_of(key(what), LANEPOOL_SHARED);
}

/** Returns a commuting claim of what key() takes. */
template <class K> lanepool_claim commuting(const K &what) noexcept {
    return lanepool_claim_of(key(what), LANEPOOL_COMMUTING);
}

/** Claims of a task, only as a parameter: `{exclusive(7), shared(9)}`, one claim, or a vector. */
class claims {
public:
    /** No claims. */
    claims() noexcept = default;
    /** One claim. */
    claims(const lanepool_claim &one) noexcept : data_(&one), size_(1) {}
    /** A list in braces. */
    claims(std::initializer_list<lanepool_claim> list) noexcept
        : data_(std::data(list)), size_(std::size(list)) {}
    /** A vector, an array or a span of claims. */
    template <class C, class = std::enable_if_t<std::is_convertible_v<
                           decltype(std::data(std::declval<const C &>())), const lanepool_claim *>>>
    claims(const C &container) noexcept
        : data_(std::data(container)), size_(std::size(container)) {}

private:
    friend class pool;
    const lanepool_claim *data_ = nullptr;
    std::size_t size_ = 0;
};

namespace detail {

inline void check(lanepool_status status) {
    if (status != LANEPOOL_OK) {
        throw error(status);
    }
}

/* Returns whether a wait has found what it waited for; false: the time was over first. */
inline bool in_time(lanepool_status status) {
    if (status != LANEPOOL_TIMED_OUT && status != LANEPOOL_FULL) {
        check(status);
    }
    return status == LANEPOOL_OK;
}

inline std::uint64_t wait_ns(std::chrono::nanoseconds wait) noexcept {
    return wait == forever ? LANEPOOL_FOREVER
                           : static_cast<std::uint64_t>(wait.count() > 0 ? wait.count() : 0);
}

/* A task's result. Its owners are the task, until `release`, and the future. The task writes before
 * its end; the future's owner reads after the end, and only if the task has run. */
template <class T> struct state {
    using stored = std::conditional_t<
        std::is_void_v<T>, std::monostate,
        std::conditional_t<std::is_reference_v<T>, std::add_pointer_t<std::remove_reference_t<T>>,
                           std::remove_cv_t<T>>>;
    std::atomic<unsigned> owners{ 1 };
    /* Atomic: a task that was handed back may be cancelled after its future has completed. */
    std::atomic<lanepool_status> why{ LANEPOOL_OK };
    std::exception_ptr exception;
    std::optional<stored> value;

    virtual ~state() = default;
    void drop() noexcept {
        if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            delete this;
        }
    }
};

template <class F> inline constexpr bool takes_run = std::is_invocable_v<F &, lanepool_run *>;

template <class F> decltype(auto) call(F &callable, [[maybe_unused]] lanepool_run *run) {
    if constexpr (takes_run<F>) {
        return std::invoke(callable, run);
    } else {
        return std::invoke(callable);
    }
}

template <class F>
using result_of = decltype(detail::call(std::declval<std::decay_t<F> &>(), nullptr));

/* A task's context: the callable, and its result. */
template <class F> struct job final : state<result_of<F>> {
    using T = result_of<F>;
    static_assert(!std::is_rvalue_reference_v<T>, "return a value, or an lvalue reference");
    std::optional<F> callable;

    template <class G> explicit job(G &&from) : callable(std::in_place, std::forward<G>(from)) {}
    static int run(lanepool_run *run, void *context) {
        auto *self = static_cast<job *>(context);
        self->exception = nullptr;
        try {
            if constexpr (std::is_void_v<T>) {
                detail::call(*self->callable, run);
                self->value.emplace();
            } else if constexpr (std::is_reference_v<T>) {
                self->value.emplace(std::addressof(detail::call(*self->callable, run)));
            } else {
                self->value.emplace(detail::call(*self->callable, run));
            }
        } catch (...) {
            self->exception = std::current_exception();
            if (!self->exception) {
                throw; // pthread_exit() unwinds the stack: the task ends as ABANDONED
            }
            return exception_code;
        }
        // A task that has its lanepool_run may be detached, fail later, and be called again.
        if constexpr (!takes_run<F>) {
            self->callable.reset();
        }
        return 0;
    }
    static void cancelled(void *context, lanepool_status why) noexcept {
        auto *self = static_cast<job *>(context);
        self->callable.reset();
        self->why.store(why, std::memory_order_relaxed);
    }
    static void release(void *context) noexcept {
        auto *self = static_cast<job *>(context);
        self->callable.reset();
        self->drop();
    }
};

struct deleter {
    void operator()(lanepool_pool *pool) const noexcept {
        lanepool_status status;
        while ((status = lanepool_pool_destroy_now(pool)) == LANEPOOL_NO_RESOURCE) {
            std::this_thread::yield();
        }
        if (status != LANEPOOL_OK && status != LANEPOOL_UNWRITTEN) {
            std::terminate(); // a task destroys its own pool
        }
    }
    void operator()(lanepool_lane *lane) const noexcept { lanepool_lane_release(lane); }
    void operator()(lanepool_group *group) const noexcept { lanepool_group_destroy(group); }
    void operator()(lanepool_future *future) const noexcept { lanepool_future_release(future); }
    template <class T> void operator()(state<T> *result) const noexcept { result->drop(); }
};

template <class H> using owned = std::unique_ptr<H, deleter>;

} // namespace detail

/**
 * The result of a task, moved but not copied. Its destructor neither waits nor cancels. A future
 * may outlive its pool. One thread at a time; cancel() also beside a wait().
 */
template <class T> class [[nodiscard]] future {
public:
    /** No task. */
    future() noexcept = default;

    /** Returns whether there is a task, and its result has not been taken. */
    bool valid() const noexcept { return handle_ != nullptr; }
    /** Waits until the task has ended, and returns whether it has. Throws error. */
    bool wait(std::chrono::nanoseconds wait_max = forever) const {
        return detail::in_time(lanepool_future_wait(handle(), detail::wait_ns(wait_max), nullptr));
    }
    /** Waits, and takes the result; then the future is not valid. Throws what the task has thrown,
     * `cancelled` if it has not run, or error. If the wait itself fails, the future stays valid. */
    T get() {
        lanepool_result result = {};
        detail::check(lanepool_future_wait(handle(), LANEPOOL_FOREVER, &result));
        future taken(std::move(*this));
        detail::state<T> &state = *taken.state_;
        bool has_run = result.status == LANEPOOL_OK || result.status == LANEPOOL_FAILED ||
                       result.status == LANEPOOL_ABANDONED || result.status == LANEPOOL_UNWRITTEN;
        if (!has_run) {
            lanepool_status why = state.why.load(std::memory_order_relaxed);
            throw cancelled(why == LANEPOOL_OK ? result.status : why);
        }
        if (state.exception) {
            std::rethrow_exception(std::exchange(state.exception, nullptr));
        }
        if (result.status != LANEPOOL_OK || !state.value) {
            throw error(result.status == LANEPOOL_OK ? LANEPOOL_ABANDONED : result.status);
        }
        if constexpr (std::is_reference_v<T>) {
            return **state.value;
        } else if constexpr (!std::is_void_v<T>) {
            return std::move(*state.value);
        }
    }
    /** Cancels the task unless it has started; see lanepool_future_cancel() for the answers. */
    lanepool_status cancel() const noexcept { return lanepool_future_cancel(handle()); }
    /** Returns the C handle, which stays the future's; NULL if not valid. */
    lanepool_future *handle() const noexcept { return handle_.get(); }

private:
    friend class pool;
    detail::owned<detail::state<T>> state_;
    detail::owned<lanepool_future> handle_;
};

/** A set of tasks; give it to submit() as the task's options. Destroy it after its last submit. */
class group {
public:
    /** Creates a group, or throws error. */
    group() {
        lanepool_group *made;
        detail::check(lanepool_group_create(nullptr, &made));
        handle_.reset(made);
    }
    /** Waits until all members have ended. Returns false if the time was over first. */
    bool wait(std::chrono::nanoseconds wait_max = forever) const {
        return detail::in_time(lanepool_group_wait(handle(), detail::wait_ns(wait_max)));
    }
    /** Cancels the members that have not started. Returns how many. */
    std::size_t cancel() const {
        std::size_t count = 0;
        detail::check(lanepool_group_cancel(handle(), &count));
        return count;
    }
    /** Returns the C handle, which stays the group's. */
    lanepool_group *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<lanepool_group> handle_;
};

/** Options of a pool: lanepool_options, with everything else at its default. */
struct options : lanepool_options {
    explicit options(unsigned workers_max = 0) noexcept : lanepool_options() {
        struct_size = sizeof(lanepool_options);
        workers = workers_max;
    }
};

/** Options of a task: what lanepool_task has, and submit() does not set. */
struct task_options : lanepool_task {
    task_options() noexcept : lanepool_task() { struct_size = sizeof(lanepool_task); }
    /** A member of a group. */
    task_options(const lanepool::group &of) noexcept : task_options() { group = of.handle(); }
};

/**
 * A pool, moved but not copied. Any thread may submit and wait, also inside tasks. Moving,
 * close() and the destructor need the pool for themselves.
 *
 * A callable is called as `f()`, or as `f(lanepool_run *)` if it can be. It may be move-only, and
 * is freed exactly once. If it takes no lanepool_run, it is destroyed in its lanes as soon as it
 * has returned, before its future completes; else, or if it throws, when the task is released. An
 * exception goes to the future, and the task ends as FAILED with exception_code.
 */
class pool {
public:
    /** Creates a pool with so many workers, or as many as CPUs; or throws error. */
    explicit pool(unsigned workers = 0) : pool(options(workers)) {}
    /** Creates a pool, or throws error; see lanepool_pool_create(). */
    explicit pool(const lanepool_options &with) {
        lanepool_pool *made;
        detail::check(lanepool_pool_create(&with, &made));
        handle_.reset(made);
    }

    /** Submits a task without claims; waits while the pool is full. Throws error. */
    template <class F> future<detail::result_of<F>> submit(F &&f) {
        return submit(claims(), std::forward<F>(f));
    }
    /** Submits a task; waits while the pool is full. Throws error, or what moving `f` throws. */
    template <class F>
    future<detail::result_of<F>> submit(claims on, F &&f, const task_options &with = {}) {
        future<detail::result_of<F>> made;
        detail::check(send(on, std::forward<F>(f), with, forever, &made));
        return made;
    }
    /** Submits as submit() does, but waits at most `wait_max` while the pool is full. Then it
     * returns nothing; `f` is gone if it was moved in. */
    template <class F>
    [[nodiscard]] std::optional<future<detail::result_of<F>>>
    try_submit(claims on, F &&f, const task_options &with = {},
               std::chrono::nanoseconds wait_max = std::chrono::nanoseconds::zero()) {
        future<detail::result_of<F>> made;
        if (!detail::in_time(send(on, std::forward<F>(f), with, wait_max, &made))) {
            return std::nullopt;
        }
        return made;
    }
    /** Submits a task without a future, as submit() does. Only `on_error` sees that it failed. */
    template <class F> void post(claims on, F &&f, const task_options &with = {}) {
        detail::check(send<F>(on, std::forward<F>(f), with, forever, nullptr));
    }

    /** Waits until all accepted tasks have ended; see lanepool_pool_quiesce() for the answers. */
    lanepool_status quiesce(std::chrono::nanoseconds wait_max = forever) const noexcept {
        return lanepool_pool_quiesce(handle(), detail::wait_ns(wait_max));
    }
    /** Gives memory that is free back to the system; see lanepool_pool_trim(). */
    lanepool_status trim() const noexcept { return lanepool_pool_trim(handle()); }
    /** Shuts down, and waits until the last task has ended; see lanepool_pool_await(). */
    lanepool_status drain(std::chrono::nanoseconds wait_max = forever) const noexcept {
        lanepool_status status = lanepool_pool_shutdown(handle());
        return status == LANEPOOL_OK ? lanepool_pool_await(handle(), detail::wait_ns(wait_max))
                                     : status;
    }
    /** Drains and ends the pool; see lanepool_pool_destroy(). If neither OK nor UNWRITTEN, there is
     * still a pool. The destructor does not report UNWRITTEN. */
    [[nodiscard]] lanepool_status close() noexcept {
        lanepool_status status = lanepool_pool_destroy(handle());
        if (status == LANEPOOL_OK || status == LANEPOOL_UNWRITTEN) {
            handle_.release();
        }
        return status;
    }
    /** Returns the C handle, for all other calls; NULL once closed or moved from. */
    lanepool_pool *handle() const noexcept { return handle_.get(); }

private:
    template <class F>
    lanepool_status send(claims on, F &&f, const task_options &with,
                         std::chrono::nanoseconds wait_max, future<detail::result_of<F>> *made) {
        using job = detail::job<std::decay_t<F>>;
        std::unique_ptr<job> owner(new job(std::forward<F>(f)));
        lanepool_future *handle = nullptr;
        lanepool_task task = with;
        task.function = job::run;
        task.cancelled = job::cancelled;
        task.release = job::release;
        task.context = owner.get();
        task.claims = on.data_;
        task.claim_count = on.size_;
        task.future = made == nullptr ? nullptr : &handle;
        owner->owners.store(made == nullptr ? 1 : 2, std::memory_order_relaxed);
        lanepool_status status =
            lanepool_pool_submit_within(handle_.get(), &task, detail::wait_ns(wait_max));
        job *accepted = status == LANEPOOL_OK ? owner.release() : nullptr; // perhaps freed by now
        if (accepted != nullptr && made != nullptr) {
            made->state_.reset(accepted);
            made->handle_.reset(handle);
        }
        return status;
    }
    detail::owned<lanepool_pool> handle_;
};

/** A handle of a key's lane, for claims without a look-up. Destroy it before its pool. */
class lane {
public:
    /** Acquires the lane of what key() takes, or throws error. */
    template <class K> lane(const pool &of, const K &what) {
        lanepool_lane *made;
        detail::check(lanepool_lane_acquire(of.handle(), key(what), &made));
        handle_.reset(made);
    }
    /** Returns the C handle, which stays the lane's. */
    lanepool_lane *handle() const noexcept { return handle_.get(); }

private:
    detail::owned<lanepool_lane> handle_;
};

inline lanepool_key key(const lane &handle) noexcept { return lanepool_key_lane(handle.handle()); }

} // namespace lanepool

#endif
