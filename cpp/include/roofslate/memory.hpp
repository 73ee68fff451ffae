// Memory for results: on cache lines, in huge pages, from a small pool that takes freed results back.
#pragma once
#include <cstddef>

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

    // Bytes that this process may still take without swapping, as the kernel and a container's limit say.
    std::size_t available_memory();
}
