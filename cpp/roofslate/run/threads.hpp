// Threads that are kept from call to call: to start one takes as long as many a call.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

namespace roofslate
{
    // While it lives, other threads run a job in parallel with the creating thread.
    class Helpers
    {
    public:
        // Offers `job` to so many threads, kept ones first, or to fewer if the system gives no more. Each runs
        // it once. It must not throw. A short one is not worth waking threads for, unless it comes right after another.
        Helpers(int threads, bool is_long, const std::function<void()>& job);
        Helpers(const Helpers&) = delete;
        Helpers& operator=(const Helpers&) = delete;
        ~Helpers(); // waits for those that have begun; the others need not
        bool end_within(std::chrono::milliseconds limit);

        // Has this process forked since? Then the threads are in the other one, with what they were to do.
        bool lost() const;
        static void forget(); // the threads of the process that this one was forked from

    private:
        struct Crew;
        struct Task;
        static void work(Crew& all);
        static std::atomic<Crew*> crew;

        Crew& crew_;
        std::unique_ptr<Task> task_;
        bool ended_ = false;
    };
}
