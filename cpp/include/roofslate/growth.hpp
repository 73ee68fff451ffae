// Which way a value goes along an axis, where its formula proves it.
#pragma once
#include <roofslate/interval.hpp>

namespace roofslate
{
    // Computed values follow it up to this share of themselves: each operation rounds.
    inline constexpr double growth_slack = 1e-12;

    // 1: the value does not fall from one position of the axis to a later one, -1: it does not rise; 0: neither is proved.
    int direction(const Graph& graph, const std::pmr::vector<Range>& ranges, int node, int axis);
}
