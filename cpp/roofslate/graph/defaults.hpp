// What a built-in quantity is when nothing is supplied, and what would change that if it were.
#pragma once
#include <cstdint>
#include <vector>

namespace roofslate
{
    using QuantitySet = std::vector<std::uint64_t>; // a bit for each quantity of a registry
    inline void insert(QuantitySet& set, int quantity)
    { set[std::size_t(quantity) / 64] |= std::uint64_t(1) << (quantity % 64); }
    inline bool contains(const QuantitySet& set, int quantity)
    { return (set[std::size_t(quantity) / 64] >> (quantity % 64) & 1) != 0; }

    struct ByDefault
    {
        double value = 0;
        QuantitySet depends_on; // quantities that are visited, or that imply a default which is
        bool holds_beside(const QuantitySet& supplied) const
        {
            for (std::size_t k = 0; k < depends_on.size(); ++k)
                if (depends_on[k] & supplied[k])
                    return false;
            return true;
        }
    };
    // nullptr: it needs an input. Worked out when it is first asked for.
    const ByDefault* by_default(int quantity);
}
