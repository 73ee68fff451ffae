// What the system still gives.
#pragma once
#include <cstddef>

namespace roofslate
{
    // Bytes that this process may still take without swapping, as the kernel and a container's limit say.
    std::size_t available_memory();
}
