// Which way values go: along an axis of a grid, and while an input runs over a stretch of positive numbers. Proved, not
// tried.
#pragma once
#include "roofslate/bounds/transform.hpp"
#include <functional>

namespace roofslate
{
    // Along an axis: rounding goes with the arguments of an operation, so what is computed goes as its formula does.
    class Ways
    {
    public:
        static constexpr int neither = 2;
        Ways(const Graph& graph, const std::pmr::vector<Range>& ranges, int axis, std::pmr::memory_resource* memory)
            : graph_(graph), ranges_(ranges), axis_(axis), known_(std::size_t(graph.size()), unknown, memory)
        {
        }

        int operator()(int node); // 1: rises or stays, -1: falls or stays, 0: stays
        int of_difference(int left, int right);

    private:
        static constexpr int unknown = 3;
        int find(int node);

        const Graph& graph_;
        const std::pmr::vector<Range>& ranges_;
        int axis_;
        std::pmr::vector<int> known_;
    };

    // 1: the value does not fall from one position of the axis to a later one, -1: it does not rise; 0: neither is
    // proved. Bounds of the elasticity tell, where one input alone varies along the axis; computed values follow it up
    // to a share of themselves, since each operation rounds.
    int direction(const Graph& graph, const std::pmr::vector<Range>& ranges, int node, int axis);
    inline constexpr double direction_slack = 1e-12;

    // While an input runs over a stretch: bounds of the elasticity d ln y / d ln x, as operations.
    // A sum of terms of one sign has an elasticity between theirs, however wide the stretch; so a term of each sort
    // need not be told apart.
    class Trend
    {
    public:
        // Values of inputs lie in of_leaf(i); the input alone varies in a stretch.
        Trend(Bounder& bounder, int input, std::function<Bounds(int)> of_leaf)
            : bounder_(bounder), g_(bounder.graph()), input_(input), of_leaf_(std::move(of_leaf))
        {
        }

        Bounds value(int node) { return bounder_(node, of_leaf_); }
        // Where the value keeps its sign; NaN where nothing can be said, as where it jumps. What goes in steps goes all
        // of a sudden.
        Bounds elasticity(int node);
        // Truth: neither steps nor jumps.
        int smooth(int node);
        bool has_routine(int node); // that depends on the input

    private:
        bool depends(int node) const { return depends_[std::size_t(node)] > 0; } // of those that have been asked for
        std::vector<int> ask(int node);
        Bounds known(int node) const { return known_[std::size_t(node)]; }
        Bounds derive(const Node& n, int i);
        Bounds of_sum(const Node& n, int i);
        Bounds of_power(const Node& n);
        Bounds of_extreme(const Node& n);
        Bounds of_steps(const Node& n, int i);
        Bounds of_choice(const Node& n);
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
    };
}
