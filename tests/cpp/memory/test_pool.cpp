// The pool that results come from and return to.
#include "roofslate/memory/available.hpp"
#include "roofslate/memory/pool.hpp"
#include <gtest/gtest.h>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{
    using namespace roofslate;
    constexpr std::size_t mega = std::size_t(1) << 20;

    class Pool : public testing::Test
    {
    protected:
        void SetUp() override { clear_pool(); }
        void TearDown() override { clear_pool(); }
    };

    TEST_F(Pool, BlocksLieOnCacheLinesAndLargeOnesOnHugePages)
    {
        for (const std::size_t bytes :
             {std::size_t(0),
              std::size_t(1),
              std::size_t(8),
              std::size_t(4096),
              100 * std::size_t(1024),
              3 * mega,
              4 * mega,
              9 * mega + 8,
              64 * mega})
        {
            const Block b = take_block(bytes);
            EXPECT_GE(b.bytes, bytes);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data) % 64, 0u) << bytes;
            if (bytes >= 4 * mega)
            {
                EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.data) % (2 * mega), 0u) << bytes;
            }
            EXPECT_FALSE(b.used_before);
            std::memset(b.data, 1, bytes); // all of it is there
            give_block(b);
            clear_pool();
        }
    }
    TEST_F(Pool, AFreedBlockComesBack)
    {
        const Block first = take_block(8 * mega);
        give_block(first);
        EXPECT_EQ(pool_bytes(), first.bytes);
        const Block second = take_block(8 * mega - 100); // a little smaller is served too
        EXPECT_EQ(second.data, first.data);
        EXPECT_TRUE(second.used_before);
        EXPECT_EQ(pool_bytes(), 0u);
        const Block other = take_block(8 * mega);
        EXPECT_NE(other.data, first.data);
        give_block(second);
        give_block(other);
        const Block much_smaller = take_block(2 * mega);
        EXPECT_FALSE(much_smaller.used_before); // a large block is not spent on a small result
        give_block(much_smaller);
    }
    TEST_F(Pool, TheSmallestThatFitsIsTaken)
    {
        const Block large = take_block(82 * mega), small = take_block(80 * mega);
        give_block(large);
        give_block(small);
        const Block b = take_block(80 * mega);
        EXPECT_EQ(b.data, small.data);
        give_block(b);
    }
    TEST_F(Pool, SmallBlocksAreNotKept)
    {
        give_block(take_block(1000));
        EXPECT_EQ(pool_bytes(), 0u);
    }
    TEST_F(Pool, IsBoundedOldestOutFirst)
    {
        constexpr std::size_t piece = 256 * mega, most = 2048 * mega; // never touched: addresses only
        std::vector<Block> blocks;
        for (int k = 0; k < 12; ++k)
            blocks.push_back(take_block(piece));
        for (const Block& b : blocks)
        {
            give_block(b);
            EXPECT_LE(pool_bytes(), most);
        }
        EXPECT_GT(pool_bytes(), 0u);
        clear_pool();
        EXPECT_EQ(pool_bytes(), 0u);
    }
    TEST_F(Pool, ManyThreads)
    {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([t] {
                for (int k = 0; k < 200; ++k)
                {
                    const Block b = take_block(std::size_t(70000 + 10000 * ((k + t) % 5)));
                    std::memset(b.data, t, 70000);
                    EXPECT_EQ(static_cast<unsigned char*>(b.data)[69999], t);
                    give_block(b);
                }
            });
        for (std::thread& t : threads)
            t.join();
        EXPECT_GT(pool_bytes(), 0u);
    }
    TEST_F(Pool, IsFreeInAForkedChild)
    {
        std::atomic<bool> stop{false};
        std::vector<std::thread> threads;
        for (int t = 0; t < 2; ++t)
            threads.emplace_back([&] {
                while (!stop)
                    give_block(take_block(100000));
            });
        int status = 0;
        for (int k = 0; k < 200 && status == 0; ++k)
        {
            const pid_t child = fork();
            if (child == 0)
            {
                alarm(2); // ends it if it waits for a thread that it does not have
                give_block(take_block(100000));
                _exit(0);
            }
            EXPECT_EQ(waitpid(child, &status, 0), child);
        }
        EXPECT_EQ(status, 0);
        stop = true;
        for (std::thread& t : threads)
            t.join();
    }
    TEST(Memory, AvailableIsPlausible)
    {
        EXPECT_GT(available_memory(), mega);
        EXPECT_LT(std::uint64_t(available_memory()), std::uint64_t(1) << 50);
    }
}
