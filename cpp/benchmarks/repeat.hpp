// The engine's own call, over and over: what a C++ caller waits for, plan included.
#pragma once
#include "roofslate/graph/closure.hpp"

namespace roofslate
{
    // One quantity that varies along all axes, into an array with these strides in doubles.
    void repeat_engine(
        const Registry& registry,
        int quantity,
        const std::vector<std::size_t>& shape,
        const std::vector<Supplied>& supplied,
        double* out,
        const std::array<std::ptrdiff_t, most_axes>& stride,
        int calls,
        int threads);
}
