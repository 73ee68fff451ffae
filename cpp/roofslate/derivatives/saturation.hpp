// Saturation: a value overflowed or underflowed, or is 0 or infinite because of one that did. It is unchanged by
// small changes of its arguments, so no derivative passes through it.
#pragma once
#include "roofslate/bounds/interval.hpp"

namespace roofslate
{
    class Saturation
    {
    public:
        // A condition: a node that is 1 or 0, or what holds at all points or at none.
        static constexpr int nowhere = -1, everywhere = -2;

        explicit Saturation(Graph& graph) : graph_(graph) {}
        // By node: whether it depends on an input that varies; what does not stays at 0 or infinity.
        void vary(std::vector<char> depends) { depends_ = std::move(depends); }
        int of(int node); // the condition that it is saturated
        // The condition that another argument keeps a value at 0 or infinity, whatever this one is: a factor of 0.
        int is_constant(int node, int position);
        const Range& range(int node);
        bool finite(int node) { return range(node).known() && !range(node).infinite(); }
        bool not_zero(int node) { return !range(node).holds_zero(); }
        int negated(int condition);
        int both(int a, int b);
        int either(int a, int b);

    private:
        int create(int node);
        int by_itself(const Node& n, int node); // though its arguments are not
        int turned(const Node& n); // of a max or min
        int is_zero(int node);
        int is_infinite(int node);
        int is_regular(int node) { return negated(either(is_zero(node), is_infinite(node))); }

        Graph& graph_;
        std::pmr::vector<Range> ranges_;
        std::vector<char> depends_;
        std::vector<int> known_;
    };
}
