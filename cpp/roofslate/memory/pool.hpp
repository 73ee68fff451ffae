// Memory on cache lines: for results, in huge pages, from a small pool that reuses freed ones, and for intermediate
// values.
#pragma once
#include <cstddef>
#include <memory>

namespace roofslate
{
    struct Block
    {
        void* data = nullptr;
        std::size_t bytes = 0;
        bool used_before = false; // it has been touched: no page faults, so that streaming stores pay
    };
    Block take_block(std::size_t bytes);
    void give_block(const Block& block) noexcept;
    void clear_pool() noexcept;
    std::size_t pool_bytes() noexcept;

    struct GiveBack
    {
        bool small = false;
        void operator()(double* p) const;
    };
    using Doubles = std::unique_ptr<double[], GiveBack>;
    Doubles aligned_doubles(std::size_t n); // small ones from those that this thread has freed
}
