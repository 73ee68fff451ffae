#include "roofslate/memory/pool.hpp"
#include <algorithm>
#include <mutex>
#include <new>
#include <vector>
#if defined(__linux__)
#include <sys/mman.h>
#endif
#include <pthread.h>
#include <unistd.h>

namespace roofslate
{
    namespace
    {
        constexpr std::size_t cache_line = 64, page = 4096, huge_page = std::size_t(2) << 20;
        constexpr std::size_t smallest_pooled = std::size_t(64) << 10;
        constexpr std::size_t most_pooled = std::size_t(2) << 30;

        std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }
        [[maybe_unused]] bool is_mapped(std::size_t bytes) { return bytes >= 2 * huge_page; }

        void* allocate(std::size_t bytes)
        {
#if defined(__linux__)
            if (is_mapped(bytes)) // aligned to huge pages: map more and give the ends back
            {
                void* const mapped =
                    mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (mapped == MAP_FAILED)
                    throw std::bad_alloc();
                char* const from = static_cast<char*>(mapped);
                const std::size_t before =
                    rounded(reinterpret_cast<std::size_t>(from), huge_page) - reinterpret_cast<std::size_t>(from);
                if (before)
                    munmap(from, before);
                if (before < huge_page)
                    munmap(from + before + bytes, huge_page - before);
                madvise(from + before, bytes, MADV_HUGEPAGE);
                return from + before;
            }
#endif
            return ::operator new(bytes, std::align_val_t(cache_line));
        }
        void release(void* data, std::size_t bytes) noexcept
        {
#if defined(__linux__)
            if (is_mapped(bytes))
            {
                munmap(data, bytes);
                return;
            }
#endif
            (void)bytes;
            ::operator delete(data, std::align_val_t(cache_line));
        }

        struct Pool
        {
            std::mutex mutex;
            std::vector<Block> blocks; // oldest first
            std::size_t bytes = 0;
            const std::size_t limit =
                std::min(most_pooled, std::size_t(sysconf(_SC_PHYS_PAGES)) * std::size_t(sysconf(_SC_PAGE_SIZE)) / 8);
        };
        Pool& pool() // never destroyed: results may outlive it at exit
        {
            static Pool* const p = new Pool;
            return *p;
        }

        // A child has none of the threads that could give back a mutex, so the one that forks holds it.
        const int fork_handlers =
            pthread_atfork([] { pool().mutex.lock(); }, [] { pool().mutex.unlock(); }, [] { pool().mutex.unlock(); });

        // Small blocks that a thread takes again and again.
        class SmallBlocks
        {
        public:
            ~SmallBlocks()
            {
                for (double* p : free_)
                    release(p);
            }
            double* take()
            {
                if (free_.empty())
                    return allocate(size);
                double* const p = free_.back();
                free_.pop_back();
                return p;
            }
            void give(double* p)
            {
                if (free_.size() < most)
                    free_.push_back(p);
                else
                    release(p);
            }
            static double* allocate(std::size_t n)
            { return static_cast<double*>(::operator new(n * sizeof(double), std::align_val_t(cache_line))); }
            static void release(double* p) { ::operator delete(p, std::align_val_t(cache_line)); }
            static constexpr std::size_t size = 4096, most = 32; // doubles of a block, blocks

        private:
            std::vector<double*> free_;
        };
        thread_local SmallBlocks small_blocks;
    }

    Block take_block(std::size_t requested)
    {
        if (requested < smallest_pooled)
            return {
                allocate(std::max(rounded(requested, cache_line), cache_line)),
                std::max(rounded(requested, cache_line), cache_line),
                false};
        const std::size_t bytes = rounded(requested, requested >= 2 * huge_page ? huge_page : page);
        {
            Pool& p = pool();
            const std::lock_guard lock(p.mutex);
            auto best = p.blocks.end();
            for (auto b = p.blocks.begin(); b != p.blocks.end(); ++b)
                if (b->bytes >= bytes && b->bytes <= bytes + bytes / 8
                    && (best == p.blocks.end() || b->bytes < best->bytes))
                    best = b;
            if (best != p.blocks.end())
            {
                const Block block = *best;
                p.blocks.erase(best);
                p.bytes -= block.bytes;
                return block;
            }
        }
        return {allocate(bytes), bytes, false};
    }
    void give_block(const Block& block) noexcept
    {
        Pool& p = pool();
        const std::lock_guard lock(p.mutex);
        if (block.bytes < smallest_pooled || block.bytes > p.limit)
        {
            release(block.data, block.bytes);
            return;
        }
        while (p.bytes + block.bytes > p.limit)
        {
            release(p.blocks.front().data, p.blocks.front().bytes);
            p.bytes -= p.blocks.front().bytes;
            p.blocks.erase(p.blocks.begin());
        }
        p.blocks.push_back({block.data, block.bytes, true});
        p.bytes += block.bytes;
    }
    void clear_pool() noexcept
    {
        Pool& p = pool();
        const std::lock_guard lock(p.mutex);
        for (const Block& b : p.blocks)
            release(b.data, b.bytes);
        p.blocks.clear();
        p.bytes = 0;
    }
    std::size_t pool_bytes() noexcept
    {
        Pool& p = pool();
        const std::lock_guard lock(p.mutex);
        return p.bytes;
    }

    void GiveBack::operator()(double* p) const { small ? small_blocks.give(p) : SmallBlocks::release(p); }
    Doubles aligned_doubles(std::size_t n)
    {
        const bool small = n <= SmallBlocks::size;
        return {small ? small_blocks.take() : SmallBlocks::allocate(n), GiveBack{small}};
    }
}
