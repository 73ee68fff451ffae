// Bounder: for each operation of a graph, the operations that give its bounds, lane by lane. The rules equal
// interval.hpp.
#pragma once
#include "roofslate/bounds/interval.hpp"
#include <optional>
#include <vector>

namespace roofslate
{
    // Nodes that bound a value, both NaN if it may be anything or NaN, and properties common to all lanes.
    struct Bounds
    {
        int low = -1, high = -1;
        Range range;
        bool exact = true; // both are the value itself
        bool plus = false; // never -0: a quotient by it keeps its sign
        int clean = -1;    // a truth: neither negative nor -0 in a lane. -1: unknown
        int nowhere = -1;  // a truth: no number in a lane. -1: unknown
    };

    // A value proved to be a number in all lanes needs no checks: no infinity meets its opposite or a zero there.
    // Elsewhere a lane with unknown bounds has none, whatever the other lanes contain. So the bounds of a lane do not
    // depend on its neighbors.
    class Bounder
    {
    public:
        // `to` may be the same graph.
        Bounder(const Graph& from, Graph& to) : from_(from), g_(to) {}

        // Of a node. of_leaf(i) gives the bounds of inputs.
        template <class OfLeaf> Bounds operator()(int node, const OfLeaf& of_leaf)
        {
            known_.resize(std::size_t(from_.size()));
            if (known_[std::size_t(node)].low >= 0)
                return known_[std::size_t(node)];
            for (const int i : in_order(from_, {node}, [&](int k) { return known_[std::size_t(k)].low >= 0; }))
            {
                const Node n = from_[i]; // a copy: the graph may be the one that grows
                std::array<Bounds, 3> x;
                for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
                    x[k] = known_[std::size_t(n.argument[k])];
                known_[std::size_t(i)] = n.is_constant() ? constant(n.value)
                    : n.is_leaf()
                    ? of_leaf(i)
                    : of_operation(n, x);
            }
            return known_[std::size_t(node)];
        }
        // Of the values of a node that are numbers; others may be NaN. Ask for the bounds of all values first.
        Bounds of_numbers(int node);
        Bounds apply(Op op, const Bounds& a, const Bounds& b = {}, const Bounds& c = {});

        // x / min(x, z) is max(x / z, 1), and min(x, z) / x is min(1, z / x), to the bit, if both are positive; so with
        // the maximum. x / ceil(x) is at most 1.
        Bounds of_quotient(const Node& n, const std::array<Bounds, 3>& x);
        int covers(int larger, int smaller, int depth);
        // By its enclosure, or by its directions if known.
        Bounds of_routine(const Routine& routine, const std::array<Bounds, 3>& arguments);
        Bounds of_enclosure(const Routine& routine, const std::array<Bounds, 3>& arguments);

        Bounds constant(double value);
        Bounds anything();
        Bounds hull(const Bounds& a, const Bounds& b);
        // Truths, 1 or 0: does the value of a lane stay on this side of zero?
        int at_least_zero(const Bounds& a) { return at_least(a, 0); }
        int at_most_zero(const Bounds& a) { return at_most(a, 0); }
        // ... and of any other number?
        int at_least(const Bounds& a, double limit);
        int at_most(const Bounds& a, double limit);
        int both(int a, int b) { return is(a, 0) || is(b, 1) ? a : is(b, 0) || is(a, 1) ? b : op(Op::mul, a, b); }
        int either(int a, int b) { return is(a, 1) || is(b, 0) ? a : is(b, 1) || is(a, 0) ? b : op(Op::max, a, b); }
        // Of two truths, the truth of a choice's selected side, or both. -1 counts as 0.
        int decided(const Bounds& condition, int first, int second);
        bool is(int node, double value) const { return g_[node].is_constant() && g_[node].value == value; }
        int op(Op o, int a, int b = -1, int c = -1, const Routine* routine = nullptr)
        { return g_.operation(o, a, b, c, routine); }
        Graph& graph() { return g_; }

    private:
        struct Ends
        { int low, high; };
        Bounds of_operation(const Node& n, const std::array<Bounds, 3>& x);
        // x x is never negative.
        Bounds of_square(const Bounds& x);
        // x / x and x - x.
        Bounds of_itself(Op o, const Bounds& x);
        // Of u < v or u <= v: of the parts of a minimum or maximum, and of a value and a multiple of it.
        Bounds of_comparison(Op o, int u, int v);
        Bounds of_comparison_with_itself(Op o, int u, int v);
        // In the branch selected by a comparison with zero, the compared value is positive.
        Bounds of_choice(const Node& n, const std::array<Bounds, 3>& x);
        Bounds positive(const Bounds& x, bool is_number);
        Bounds nonzero(const Bounds& x);
        std::optional<Bounds> with(int part, const Bounds& of_part, int node, int depth);
        Bounds of_operation_on_numbers(const Node& n, const Bounds& all, const std::array<Bounds, 3>& x);
        Ends ends(Op op, const Bounds& a, const Bounds& b, const Bounds& c, bool proved);
        Ends sum(Op o, int a_low, int b_low, int a_high, int b_high, bool proved);
        Ends product(const Bounds& a, const Bounds& b, bool proved);
        Ends quotient(const Bounds& a, const Bounds& b, bool proved);
        Ends corners(Op o, const Bounds& a, const Bounds& b);
        Ends widened(const Ends& e, double share);
        Ends vanishing(const Ends& e, const Bounds& exponent, double lowest);
        Ends near_nothing(const Ends& e, const Bounds& exponent);
        Ends widened_log(const Ends& e, int at_least_one, int at_most_one);
        Ends near_one(const Ends& e, const Bounds& exponent);
        Ends widened_power(const Ends& e, int at_least_one, int at_most_one);
        int least(int a, int b) { return a == b ? a : op(Op::min, a, b); }
        int most(int a, int b) { return a == b ? a : op(Op::max, a, b); }
        int number(double x) { return g_.constant(x); }
        int is_number(int x) { return op(Op::equal, x, x); }
        int holds_zero(const Bounds& a)
        { return op(Op::both, op(Op::less_equal, a.low, number(0)), op(Op::less_equal, number(0), a.high)); }
        bool is_plus(Op op, const Bounds& a, const Bounds& b, const Bounds& c) const;
        int is_clean(Op op, const Bounds& a, const Bounds& b, const Bounds& c);
        int is_nowhere(Op op, const Bounds& a, const Bounds& b, const Bounds& c);
        int is_nowhere_of_numbers(Op op, const Bounds& a, const Bounds& b);
        int unless_end(int x, int widened);
        int nearest_to_zero(const Bounds& a) { return op(Op::max, a.low, op(Op::min, a.high, number(0))); }

        const Graph& from_;
        Graph& g_;
        std::vector<Bounds> known_, numbers_;
    };
}
