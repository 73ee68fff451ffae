// What this machine can do at best: the yardstick of the benchmarks.
#pragma once
#include <cstddef>

namespace roofslate
{
    // Seconds in which `threads` threads fill an array, each its own part; `stream`: with stores that go around the
    // cache.
    double fill_seconds(double* data, std::size_t n, int threads, bool stream);
}
