#include "benchmarks/limits.hpp"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace roofslate
{
    namespace
    {
        constexpr double value = 1.5;
        constexpr std::size_t line = 8; // doubles of a cache line

        void fill_streamed(double* from, double* to)
        {
#if defined(__SSE2__)
            const __m128d two = _mm_set1_pd(value);
            for (; from != to && reinterpret_cast<std::uintptr_t>(from) % 16 != 0; ++from)
                *from = value;
            for (; to - from >= std::ptrdiff_t(line); from += line)
                for (std::size_t k = 0; k < line; k += 2)
                    _mm_stream_pd(from + k, two);
            std::fill(from, to, value);
            _mm_sfence();
#else
            std::fill(from, to, value); // the base instruction set has no such stores
#endif
        }

        // Pins the calling thread to a processor: new threads often start on their parent's, and a fill ends before
        // the system moves them.
        class Pinned
        {
        public:
#if defined(__linux__)
            explicit Pinned(int number)
            {
                if (sched_getaffinity(0, sizeof before_, &before_) != 0 || CPU_COUNT(&before_) < 2)
                    return;
                number %= CPU_COUNT(&before_);
                int processor = 0;
                while (!CPU_ISSET(processor, &before_) || number-- > 0)
                    ++processor;
                cpu_set_t one;
                CPU_ZERO(&one);
                CPU_SET(processor, &one);
                pinned_ = sched_setaffinity(0, sizeof one, &one) == 0;
            }
            ~Pinned()
            {
                if (pinned_)
                    sched_setaffinity(0, sizeof before_, &before_);
            }

        private:
            cpu_set_t before_;
            bool pinned_ = false;
#else
            explicit Pinned(int) {}
            ~Pinned() {}

        public:
#endif
            Pinned(const Pinned&) = delete;
            Pinned& operator=(const Pinned&) = delete;
        };
    }

    double fill_seconds(double* data, std::size_t n, int threads, bool stream)
    {
        using Clock = std::chrono::steady_clock;
        std::atomic<int> waiting{threads};
        const auto part = [&](std::size_t k) { return std::min(n, (n / std::size_t(threads) / line + 1) * line * k); };
        const auto work = [&](int k) {
            const Pinned pinned(k);
            --waiting;
            while (waiting.load() > 0)
                std::this_thread::yield();
            double* const from = data + part(std::size_t(k));
            double* const to = data + part(std::size_t(k) + 1);
            stream ? fill_streamed(from, to) : std::fill(from, to, value);
        };
        std::vector<std::thread> helpers;
        for (int k = 1; k < threads; ++k)
            helpers.emplace_back(work, k); // before the caller is pinned: they inherit its processors
        while (waiting.load() > 1) // the clock runs once all are there
            std::this_thread::yield();
        const auto start = Clock::now();
        work(0);
        for (std::thread& other : helpers)
            other.join();
        return std::chrono::duration<double>(Clock::now() - start).count();
    }
}
