// Proofs of monotonicity: along an axis of a grid, and while an input runs over a stretch of positive numbers.
#pragma once
#include "roofslate/bounds/direction.hpp"
#include "roofslate/bounds/transform.hpp"
#include <functional>
#include <optional>

namespace roofslate
{
    // Directions of nodes along an axis. Rounding is monotone, so a computed value is monotone like its formula.
    class Directions
    {
    public:
        Directions(
            const Graph& graph,
            const std::pmr::vector<Range>& ranges,
            int axis,
            std::pmr::memory_resource* memory)
            : graph_(graph), ranges_(ranges), axis_(axis), known_(std::size_t(graph.size()), std::nullopt, memory)
        {
        }

        Direction operator()(int node);
        Direction of_difference(int lhs, int rhs);

    private:
        Direction prove(int node);

        const Graph& graph_;
        const std::pmr::vector<Range>& ranges_;
        int axis_;
        std::pmr::vector<std::optional<Direction>> known_;
    };

    // Direction of a value along an axis by bounds of its elasticity, if only one input varies along the axis.
    // Computed values follow it up to a relative `direction_slack`, since each operation rounds. A constant value
    // counts as nondecreasing.
    Direction direction(const Graph& graph, const std::pmr::vector<Range>& ranges, int node, int axis);
    inline constexpr double direction_slack = 1e-12;

    // While an input runs over a stretch: bounds of the elasticity d ln y / d ln x, as operations. A sum of terms of
    // one sign has an elasticity between the terms', however wide the stretch, so one bound serves all terms of a
    // kind.
    class Trend
    {
    public:
        // Values of inputs are in of_leaf(i). Only the input varies in a stretch.
        Trend(Bounder& bounder, int input, std::function<Bounds(int)> of_leaf)
            : bounder_(bounder), g_(bounder.graph()), input_(input), of_leaf_(std::move(of_leaf))
        {
        }

        Bounds value(int node) { return bounder_(node, of_leaf_); }
        // Valid while the value keeps its sign. NaN if unknown, as at jumps. Step functions change abruptly.
        Bounds elasticity(int node);
        // ... of the ratio of two values: what both are proportional to cancels.
        Bounds elasticity_of_ratio(int over, int under);
        // Truth: neither steps nor jumps.
        int smooth(int node);
        bool is_monotone(const Node& routine);
        bool has_bounds(const Node& routine) const; // ... or it has bounds by each
        bool has_routine(int node); // that depends on the input, and has no bounds

        bool depends(int node) const { return depends_[std::size_t(node)] > 0; } // of those that have been asked for
        std::vector<int> ask(int node); // all that it is computed from

    private:
        // The elasticity of a product of powers: a sum with a term for each factor, an atom with a double times a
        // node.
        struct Term
        {
            int atom, factor; // -1: one
            double times;
            bool operator<(const Term& t) const { return atom != t.atom ? atom < t.atom : factor < t.factor; }
            bool operator==(const Term& t) const { return atom == t.atom && factor == t.factor && times == t.times; }
        };
        using Powers = std::vector<Term>; // sorted
        static Powers sum(const Powers& a, const Powers& b, double times_b);
        Powers powers_of(const Node& n, int i);
        int without_first_powers(const Node& n, int i);
        Powers raised(const Powers& base, int exponent);
        Bounds of_powers(const Powers& powers);
        bool is_atom(int i) const
        {
            const Powers& p = powers_[std::size_t(i)];
            return p.size() == 1 && p[0].atom == i;
        }
        Bounds known(int node) const { return known_[std::size_t(node)]; }
        Bounds derive(const Node& n, int i);
        Bounds of_sum(const Node& n, int i);
        Bounds of_power(const Node& n);
        Bounds of_extreme(const Node& n);
        Bounds of_steps(const Node& n, int i);
        int is_whole(const Node& n);
        Bounds weighted(const std::array<Bounds, 2>& e, const std::array<Bounds, 2>& v);
        // A value that is inverse / input + constant + slope * input: nodes that do not vary; -1: it is not.
        struct Line
        {
            int inverse = -1, constant = -1, slope = -1;
            bool is_line() const { return slope >= 0; }
        };
        Line line_of(const Node& n, int i);
        Line product(const Line& x, const Line& z);
        int sum_of(Op o, int x, int z); // zero where nothing but rounding is left
        int proportional(const Term& t, const Term& u);
        int proportional_by_input(const Term& t, const Term& u);
        Bounds of_geometric_sum(const Term& t, const Term& u);
        Line chosen_line(int first, const Line& x, int second, const Line& z);
        Bounds of_line(const Line& line, const Bounds& otherwise);
        Bounds of_choice(const Node& n);
        Bounds of_routine(const Node& n);
        Bounds direction_of_routine(const Node& n);
        int steepest(const Node& n, std::size_t argument);
        Bounds chosen(int condition, const Bounds& a, const Bounds& b);
        Bounds ratio(const Bounds& change, const Bounds& value);
        int op(Op o, int a, int b = -1, int c = -1) { return g_.operation(o, a, b, c); }
        int number(double x) { return g_.constant(x); }
        int same(const Bounds& a) { return op(Op::equal, a.low, a.high); }

        Bounder& bounder_;
        Graph& g_;
        int input_;
        std::function<Bounds(int)> of_leaf_;
        std::vector<signed char> depends_; // by node; -1: has not been asked for
        std::vector<Bounds> known_; // elasticities
        std::vector<Line> lines_;
        std::vector<Powers> powers_;
    };
}
