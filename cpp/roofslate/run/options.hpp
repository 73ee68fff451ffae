// Destinations of tiles: `store` writes them to memory, sinks that fold them run on the same passes.
#pragma once
#include "roofslate/plan/plan.hpp"
#include <functional>

namespace roofslate
{
    struct Options
    {
        int threads = 1;
        // Called by the calling thread between tiles, with points done and points in all; false: stop.
        std::function<bool(std::size_t, std::size_t)> report;
        // Of a grid with one axis: called on stretches of it, by the thread that is about to compute them, while they
        // are near.
        std::function<void(std::size_t, std::size_t)> inspect;
    };
    void store(const Graph& graph, const std::vector<Output>& outputs, const Options& options);
}
