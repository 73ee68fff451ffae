// Derivatives with respect to one input, as more nodes of the graph.
#pragma once
#include "roofslate/graph/graph.hpp"

namespace roofslate
{
    // Max and min take the derivative of the selected side. Step functions have derivative 0, routines without one
    // NaN.
    class Tangents
    {
    public:
        Tangents(Graph& graph, int input) : g_(graph), input_(input) {}
        int operator()(int node); // -1: it is zero, as a rule because the node does not depend on the input

    private:
        int derive(const Node& n, int i);
        int of_routine(const Node& n, const std::array<int, 3>& slopes);
        int op(Op o, int a, int b = -1, int c = -1) { return g_.operation(o, a, b, c); }
        int sum(int a, int b) { return a < 0 ? b : b < 0 ? a : op(Op::add, a, b); }
        int times(int a, int factor) { return a < 0 ? a : op(Op::mul, a, factor); }
        int over(int a, int divisor) { return a < 0 ? a : op(Op::div, a, divisor); }
        int minus(int a) { return a < 0 ? a : op(Op::neg, a); }
        int chosen(int condition, int a, int b);

        static constexpr int not_yet = -2;
        Graph& g_;
        int input_;
        std::vector<int> known_; // by node
    };
}
