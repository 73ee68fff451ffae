// Sinks that fold: what remains of a grid that is never kept. Indices count points of the folded axes in the order of the grid, the last
// axis fastest.
#pragma once
#include <roofslate/sinks.hpp>

namespace roofslate
{
    inline constexpr std::int64_t nowhere = -1;

    // The question of a fold. It may add nodes to the graph.
    struct Question
    {
        Graph& graph;
        std::vector<int> values; // nodes
        std::vector<Requirement> requirements;
        AxisSet folded;

        AxisSet axes() const; // that a value or a requirement varies along
        AxisSet kept() const { return axes() & ~folded; }
    };

    // Where the only value is smallest, for each point of the kept axes; NaN is skipped, of equals the first point is taken.
    std::vector<std::int64_t> best(const Question& question, const Options& options, bool prune);

    // Points of a grid, all axes folded, that are smaller in one value than every other point that is as small in the others; of equal
    // points the first. In order of the first value.
    struct Front
    {
        std::vector<std::int64_t> where;
    };
    Front pareto(const Question& question, const Options& options, bool prune);

    // How many points meet the requirements, for each point of the kept axes.
    std::vector<double> count(const Question& question, const Options& options, bool prune);

    // Sorted edges: bin k holds edge[k] <= value < edge[k + 1], the last one its upper edge too.
    struct Histogram
    {
        std::vector<double> counts; // below, the bins, above, NaN
    };
}
