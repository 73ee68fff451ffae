// Threads that share the chunks of a call, and the progress report to the caller.
#pragma once
#include "roofslate/language/error.hpp"
#include "roofslate/run/options.hpp"
#include "roofslate/run/threads.hpp"
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

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

    // Stops the other threads where this one leaves by an exception.
    struct Leaving
    {
        Progress& progress;
        bool done = false;
        ~Leaving()
        {
            if (!done)
                progress.stop();
        }
    };

    // Each thread first takes its own chunks, which are neighbors, then chunks of other threads. In the next call it
    // writes to the same memory, and the CPU cache of its core still has that.
    class Shares
    {
    public:
        Shares(std::size_t threads, std::size_t chunks) : shares_(threads)
        {
            for (std::size_t k = 0; k < threads; ++k)
                shares_[k].next = chunks * k / threads, shares_[k].end = chunks * (k + 1) / threads;
        }
        // Until `chunk` returns false.
        template <class Chunk> void each(std::size_t thread, const Chunk& chunk)
        {
            for (std::size_t k = 0; k < shares_.size(); ++k)
            {
                Share& share = shares_[(thread + k) % shares_.size()];
                for (std::size_t c; (c = share.next++) < share.end;)
                    if (!chunk(c))
                        return;
            }
        }

    private:
        struct alignas(64) Share // a cache line
        {
            std::atomic<std::size_t> next;
            std::size_t end;
        };
        std::vector<Share> shares_;
    };

    // Each thread makes a separate state and does chunks with it: work(state, number of the chunk) gives the points
    // done. Throws the error of one of them, or Interrupted. For short work no thread is woken.
    template <class MakeState, class Work> void in_parallel(
        int threads,
        std::size_t chunks,
        Progress& progress,
        const MakeState& make_state,
        const Work& work,
        bool is_long = true)
    {
        const auto run = [&](const auto& each_chunk) {
            auto state = make_state();
            each_chunk([&](std::size_t c) {
                if (progress.stopped())
                    return false;
                progress.add(work(state, c));
                progress.tell();
                return true;
            });
        };
        if (threads <= 1)
            run([&](const auto& chunk) {
                for (std::size_t c = 0; c < chunks && chunk(c);)
                    ++c;
            });
        else
        {
            Shares shares{std::size_t(threads), chunks};
            const auto run_share = [&](std::size_t thread) {
                run([&](const auto& chunk) { shares.each(thread, chunk); });
            };
            std::atomic<std::size_t> begun{1}; // this one is the first
            std::mutex mutex;
            std::exception_ptr thrown;
            const std::function<void()> guarded = [&] {
                try
                {
                    run_share(begun++);
                }
                catch (...)
                {
                    progress.stop();
                    const std::lock_guard<std::mutex> lock(mutex);
                    thrown = std::current_exception();
                }
            };
            {
                Helpers helpers(threads - 1, is_long, guarded);
                Leaving leaving{progress};
                run_share(0);
                while (!helpers.end_within(std::chrono::milliseconds(20)))
                    progress.tell();
                if (helpers.lost())
                    progress.stop();
                leaving.done = true;
            }
            if (thrown)
                std::rethrow_exception(thrown);
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
