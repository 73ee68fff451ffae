// Counts values outside of their ranges in the columns of a table, stretch by stretch.
#pragma once
#include "roofslate/graph/closure.hpp"
#include <atomic>
#include <utility>

namespace roofslate
{
    class Inspector
    {
    public:
        // `columns`: names of supplied quantities, each on the one axis of the grid, contiguous; throws otherwise.
        Inspector(
            const Registry& registry,
            const std::vector<Supplied>& supplied,
            const std::vector<std::size_t>& shape,
            const std::vector<std::string>& columns);
        void operator()(std::size_t begin, std::size_t end);
        std::size_t outside() const { return outside_; }

    private:
        std::vector<std::pair<const Spec*, const double*>> columns_;
        std::vector<std::pair<const double*, const double*>> bounds_; // a column and the one that it must not exceed
        std::atomic<std::size_t> outside_{0};
    };
}
