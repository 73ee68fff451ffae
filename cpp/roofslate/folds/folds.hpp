// Sinks that fold: what remains of a grid that is never kept. Indices count points of the folded axes in the order of
// the grid, the last axis fastest.
#pragma once
#include "roofslate/bounds/interval.hpp"
#include "roofslate/run/options.hpp"

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
        // along folded axes that nothing varies along
        std::int64_t repeats() const { return std::int64_t(graph.points(folded & ~axes())); }
    };

    // The smallest of the only value and where it is, for each point of the kept axes; NaN is skipped, of equals the
    // first point is taken.
    struct Optima
    {
        std::vector<double> values; // NaN if nowhere
        std::vector<std::int64_t> where;
    };
    Optima best(const Question& question, const Options& options, bool prune);
    // False for so few points that their values take less time than bounds of them.
    bool is_worth_bounds(const Question& question);

    // Points that no other point beats, all axes folded: another one is as small in all values, and smaller in one or,
    // of equals, earlier. In the order of the first value, then of the next.
    inline constexpr std::size_t most_objectives = 4;
    std::vector<std::int64_t> pareto(const Question& question, const Options& options, bool prune);

    // How many points meet the requirements, for each point of the kept axes.
    std::vector<std::int64_t> count(const Question& question, const Options& options, bool prune);

    // How many of the only value are below the first of the sorted edges; in each bin from an edge to before the next,
    // the last one with its upper edge; above; NaN. One such list for each point of the kept axes, one after the other.
    std::vector<std::int64_t> histogram(
        const Question& question,
        const std::vector<double>& edges,
        const Options& options,
        bool prune);
    // The least and the largest finite number of the only value on the whole grid, inf and -inf if there is none.
    Range finite_extent(const Question& question, const Options& options);

    // Order statistics of the only value without NaN: at the position q (n - 1) among the n sorted values, the value
    // before it, the one after it, and how far between; three numbers for each q, for each point of the kept axes. NaN
    // where there is no value.
    std::vector<double> quantiles(const Question& question, const std::vector<double>& q, const Options& options);
}
