// Between values by point of a block and by lane; as a rule all points are there, in their order.
#pragma once
#include <algorithm>
#include <cstdint>

namespace roofslate
{
    using Point = std::uint16_t; // of a block

    // A point may come more than once.
    inline bool are_all(const Point* points, std::size_t n)
    {
        if (n > 0 && points[n - 1] + std::size_t(1) != n)
            return false;
        std::uint16_t different = 0;
        for (std::uint16_t i = 0; i < std::uint16_t(n); ++i)
            different = std::uint16_t(different | (points[i] ^ i));
        return different == 0;
    }
    inline void gather(const double* from, const Point* points, std::size_t n, double* to)
    {
        if (are_all(points, n))
            std::copy_n(from, n, to);
        else
            for (std::size_t i = 0; i < n; ++i)
                to[i] = from[points[i]];
    }
    inline void scatter(const double* from, const Point* points, std::size_t n, double* to)
    {
        if (are_all(points, n))
            std::copy_n(from, n, to);
        else
            for (std::size_t i = 0; i < n; ++i)
                to[points[i]] = from[i];
    }
}
