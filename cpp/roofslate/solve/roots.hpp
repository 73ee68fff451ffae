// Values of one input that make a comparison of two nodes true, for each point of the grid of the others.
#pragma once
#include "roofslate/bounds/interval.hpp"
#include "roofslate/graph/formula.hpp"
#include "roofslate/run/options.hpp"

namespace roofslate
{
    // Magnitudes between which roots are sought where the range of the input is unbounded.
    inline constexpr double least_magnitude = 1e-75, greatest_magnitude = 1e75;

    struct Unknown
    {
        int leaf;                        // its node, on a separate axis
        double low, high;                // the range that it may have
        bool above_low = false;          // the lower end itself is excluded
        std::vector<int> above, below;   // nodes that it must not fall below, or exceed
        bool whole_numbers = false;              // of its solutions the whole numbers are asked for
    };
    enum class Relation : std::uint8_t
    {
        equal,
        less,
        less_equal,
    };
    enum class Which : std::uint8_t
    {
        smallest,
        largest,
        all,
    };
    enum class Outcome : std::uint8_t
    {
        found,
        never,
        always,
        undefined,
        undecided, // the search gave up
        many,      // ... after it had found more solutions than anybody wants to read: all were asked for
    };
    struct Comparison
    {
        Graph& graph;
        int lhs, rhs;
        Relation relation;
        Unknown unknown;
        bool goes_one_way = false; // declared: it turns once at most, perhaps by a jump

        AxisSet axes() const; // that its solution varies along
    };

    // The comparison of two formulas by a quantity that is supplied on a separate axis, within its bounds;
    // throws if it does not depend on that.
    Comparison comparison_of(
        const Condition& condition,
        int unknown,
        const std::vector<Supplied>& supplied,
        const Registry& registry,
        Graph& graph,
        Closure& closure);

    // Of an equality the roots: values at which both sides agree within rounding; of a stretch where they do, its ends.
    // Of an inequality the ends of the stretches that satisfy it: of the two values next to an end the one that does
    // so. In the order of the grid, the last axis fastest; `each` for a point, NaN after the last one.
    //
    // One search of which the smallest, the largest and all roots are views. Bounds and trends prove of every stretch
    // of the range that it contains no turn, or one root. Stretches without a proof after some thousand are left, and
    // the outcome is undecided, unless a root is wanted that is nearer to the end; or many, if hundreds of them were
    // found until then. Two roots that are nearer to each other than a share of 2^-26 may be taken for one or for none.
    struct Roots
    {
        std::size_t each, size;
        Doubles values;
        std::vector<Outcome> outcomes;
        std::vector<Range> unsearched; // by point, of those that are undecided: contains everything unsearched
    };
    Roots solve(const Comparison& comparison, Which which, const Options& options);
}
