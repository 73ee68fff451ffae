// What this machine can do at best: the yardstick of the benchmarks.
#pragma once
#include <cstddef>

namespace roofslate
{
    // Seconds in which `threads` threads fill an array, each its part. `stream`: with stores that bypass the CPU
    // cache.
    double fill_seconds(double* data, std::size_t n, int threads, bool stream);
}
