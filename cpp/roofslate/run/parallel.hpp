// Threads that share out the chunks of a call, and what tells the caller how far it is.
#pragma once
#include "roofslate/language/error.hpp"
#include "roofslate/run/options.hpp"
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>
#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace roofslate
{
    class Progress
    {
    public:
        Progress(const Options& options, std::size_t total) : options_(options), total_(total) {}
        void add(std::size_t points) { done_ += points; }
        bool stopped() const { return stop_; }
        void stop() { stop_ = true; }
        void tell() // does nothing but on the calling thread
        {
            if (!options_.report || std::this_thread::get_id() != caller_)
                return;
            const auto now = std::chrono::steady_clock::now();
            if (now - last_ < std::chrono::milliseconds(20))
                return;
            last_ = now;
            if (!options_.report(done_, total_))
                stop_ = true;
        }

    private:
        const Options& options_;
        std::size_t total_;
        std::atomic<std::size_t> done_{0};
        std::atomic<bool> stop_{false};
        std::chrono::steady_clock::time_point last_{}; // so that the first chunk asks
        std::thread::id caller_ = std::this_thread::get_id();
    };

    // A new thread starts on its maker's processor as a rule and waits there for milliseconds, as long as a call takes.
    // So it is sent to the others, and free to move once it runs.
    class Placement
    {
    public:
#if defined(__linux__)
        explicit Placement(bool wanted)
        {
            wanted_ = wanted && sched_getaffinity(0, sizeof all_, &all_) == 0 && CPU_COUNT(&all_) > 1;
            others_ = all_;
            if (wanted_)
                CPU_CLR(sched_getcpu(), &others_);
        }
        void elsewhere(std::thread& thread) const
        {
            if (wanted_)
                pthread_setaffinity_np(thread.native_handle(), sizeof others_, &others_);
        }
        void anywhere() const
        {
            if (wanted_)
                sched_setaffinity(0, sizeof all_, &all_);
        }

    private:
        bool wanted_ = false;
        cpu_set_t all_{}, others_{};
#else
        explicit Placement(bool) {}
        void elsewhere(std::thread&) const {}
        void anywhere() const {}
#endif
    };

    // Each thread makes a state of its own and does chunks with it: work(state, number of the chunk) gives the points
    // done. Throws what one of them threw, or Interrupted.
    template <class MakeState, class Work> void in_parallel(
        int threads,
        std::size_t chunks,
        Progress& progress,
        const MakeState& make_state,
        const Work& work)
    {
        std::atomic<std::size_t> next{0};
        const auto run = [&] {
            auto state = make_state();
            for (std::size_t c; (c = next++) < chunks && !progress.stopped();)
            {
                progress.add(work(state, c));
                progress.tell();
            }
        };
        if (threads <= 1)
            run();
        else
        {
            std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(threads));
            const auto guarded = [&](int thread) {
                try
                {
                    run();
                }
                catch (...)
                {
                    thrown[std::size_t(thread)] = std::current_exception();
                    progress.stop();
                }
            };
            std::vector<std::thread> others;
            const Placement placement(true);
            std::atomic<int> placed{0};
            for (int t = 1; t < threads; ++t)
            {
                others.emplace_back([&, t] {
                    placement.anywhere();
                    guarded(t);
                    while (placed < t) // a thread that has ended can't be sent: the system takes its maker for it
                        std::this_thread::yield();
                });
                placement.elsewhere(others.back());
                placed = t;
            }
            guarded(0);
            for (std::thread& t : others)
                t.join();
            for (const std::exception_ptr& e : thrown)
                if (e)
                    std::rethrow_exception(e);
        }
        if (progress.stopped())
            throw Interrupted{};
    }

    // Runs a pass that writes.
    void run_pass(
        Pass& pass,
        const Graph& graph,
        const InstructionSet& set,
        const Options& options,
        Progress& progress);
}
