// Threads that are kept: they share out every chunk once, whatever ends a call, and are gone where a process forks.
#include "roofslate/run/parallel.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <chrono>
#include <set>
#include <stdexcept>
#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace
{
    using namespace support;

    std::size_t sum_of_chunks(int threads, std::size_t chunks, bool is_long = true)
    {
        const Options options;
        Progress progress(options, chunks);
        std::atomic<std::size_t> sum{0};
        in_parallel(
            threads,
            chunks,
            progress,
            [] { return 0; },
            [&](int, std::size_t c) { return sum += c + 1, std::size_t(1); },
            is_long);
        return sum;
    }
    TEST(Threads, DoEachChunkOnce)
    {
        for (int round = 0; round < 2000; ++round)
            ASSERT_EQ(sum_of_chunks(1 + round % 5, 10, round % 2 == 0), 55u);
    }
    TEST(Threads, BeginWithNeighborsOfTheirOwn)
    {
        Shares shares(3, 10);
        std::vector<std::size_t> order;
        const auto take = [&](std::size_t c) { return order.push_back(c), order.size() != 2; };
        shares.each(1, take);
        EXPECT_EQ(order, (std::vector<std::size_t>{3, 4})); // until it returns false
        shares.each(2, take);
        EXPECT_EQ(order, (std::vector<std::size_t>{3, 4, 6, 7, 8, 9, 0, 1, 2, 5})); // then chunks of others
        shares.each(0, take);
        EXPECT_EQ(order.size(), 10u);
    }
    TEST(Threads, AreTheSameFromCallToCall)
    {
        std::mutex mutex;
        std::set<std::thread::id> seen;
        for (int round = 0; round < 50; ++round)
        {
            const Options options;
            Progress progress(options, 8);
            in_parallel(
                2,
                8,
                progress,
                [] { return 0; },
                [&](int, std::size_t) {
                    std::this_thread::sleep_for(std::chrono::microseconds(100)); // for both to come
                    const std::lock_guard<std::mutex> lock(mutex);
                    seen.insert(std::this_thread::get_id());
                    return std::size_t(1);
                });
        }
        EXPECT_GE(seen.size(), 2u);
        EXPECT_LE(seen.size(), 2 + std::max(4u, std::thread::hardware_concurrency())); // of 51 if each call had its own
    }
    TEST(Threads, WorkWithinOneAnother)
    {
        const Options options;
        Progress progress(options, 6);
        std::atomic<std::size_t> sum{0};
        in_parallel(
            3,
            6,
            progress,
            [] { return 0; },
            [&](int, std::size_t) {
                sum += sum_of_chunks(3, 20);
                return std::size_t(1);
            });
        EXPECT_EQ(sum, 6u * 210);
    }
    TEST(Threads, GoOnAfterAnException)
    {
        const std::thread::id caller = std::this_thread::get_id();
        for (int round = 0; round < 60; ++round)
        {
            const Options options;
            Progress progress(options, 8);
            const auto fails = [&](bool on_caller) {
                in_parallel(
                    2,
                    8,
                    progress,
                    [] { return 0; },
                    [&](int, std::size_t) {
                        if ((std::this_thread::get_id() == caller) == on_caller)
                            throw std::runtime_error("from a chunk");
                        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // for the other one to come
                        return std::size_t(1);
                    });
            };
            if (round % 2)
                EXPECT_THROW(fails(true), std::runtime_error);
            else
                try // the other thread may come too late to fail
                {
                    fails(false);
                }
                catch (const std::runtime_error&)
                {
                }
            ASSERT_EQ(sum_of_chunks(2, 10), 55u);
        }
    }
#if defined(__unix__)
    TEST(Threads, AreNewAfterAFork)
    {
        if (sanitized)
            return; // which watch their threads themselves
        for (int round = 0; round < 20; ++round)
        {
            sum_of_chunks(2, 10);
            const pid_t child = fork();
            if (child == 0)
            {
                alarm(20);
                bool right = true;
                for (int k = 0; k < 20; ++k)
                    right = right && sum_of_chunks(2, 100) == 5050;
                _exit(right ? 0 : 1);
            }
            int status = 0;
            ASSERT_EQ(waitpid(child, &status, 0), child);
            ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
    }
    TEST(Threads, OfACallThatForksAreNotWaitedFor)
    {
        if (sanitized)
            return;
        const pid_t parent = getpid();
        const std::thread::id caller = std::this_thread::get_id();
        Options options;
        Progress progress(options, 1000);
        pid_t child = -1;
        bool stopped = false;
        try
        {
            in_parallel(
                2,
                40,
                progress,
                [] { return 0; },
                [&](int, std::size_t c) {
                    std::this_thread::sleep_for(std::chrono::microseconds(200));
                    if (std::this_thread::get_id() == caller && child < 0 && c > 4)
                    {
                        child = fork();
                        if (child == 0)
                            alarm(20);
                    }
                    return std::size_t(1);
                });
        }
        catch (const Interrupted&)
        {
            stopped = true;
        }
        if (getpid() != parent)
            _exit(stopped ? 0 : 1); // what the other thread had begun is lost
        EXPECT_FALSE(stopped);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
#endif
}
