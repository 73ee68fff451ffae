// The question as a graph of single operations: from the wanted quantities down to what was supplied.
#pragma once
#include "roofslate/language/expr.hpp"
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace roofslate
{
    inline constexpr std::size_t most_axes = 16;
    using AxisSet = std::uint32_t; // bit k: varies along axis k of the grid

    struct View // doubles over some axes of the grid; strides count doubles and are 0 where it does not vary
    {
        const double* data = nullptr;
        AxisSet axes = 0;
        std::array<std::ptrdiff_t, most_axes> stride{};
    };

    struct Node
    {
        Op op;
        std::array<int, 3> argument{-1, -1, -1};
        AxisSet axes = 0;
        double value = 0;                 // of a constant, as it would be computed
        int leaf = -1;                    // of an input: its view
        const Routine* routine = nullptr;
        int next = -1;                    // in the chain of equal hashes

        int arity() const { return argument[2] >= 0 ? 3 : argument[1] >= 0 ? 2 : argument[0] >= 0 ? 1 : 0; }
        bool is_constant() const { return !axes; }            // its value is known
        bool is_literal() const { return op == Op::constant; } // and all that is known of it
        bool is_leaf() const { return op == Op::input; }
    };

    // Nodes in an order in which they can be computed. Equal operations are shared, constants folded, decided choices
    // made: none of this changes a bit of a result.
    class Graph
    {
    public:
        explicit Graph(std::vector<std::size_t> shape);

        int constant(double value);
        int leaf(const View& view); // a view without axes is a literal
        int variable(double value); // a constant separate from all others, like all results computed from it
        int operation(Op op, int a, int b = -1, int c = -1, const Routine* routine = nullptr);

        const std::vector<std::size_t>& shape() const { return shape_; }
        const Node& operator[](int i) const { return nodes_[std::size_t(i)]; }
        int size() const { return int(nodes_.size()); }
        const View& view(const Node& n) const { return leaves_[std::size_t(n.leaf)]; }
        std::size_t points(AxisSet axes) const;

    private:
        int shared(const Node& node);
        int& chain_of(const Node& node);
        void lengthen_chains();

        std::vector<std::size_t> shape_;
        std::vector<Node> nodes_;
        std::vector<View> leaves_;
        std::vector<int> chains_; // of nodes whose hashes begin alike, their number a power of two
    };

    // The nodes that these are computed from, themselves among them, in order of computation; of one that `known` holds
    // for no more is asked. Long formulas are chains: what goes through a graph goes through such a list, not from node
    // to argument.
    template <class Known> std::vector<int> in_order(
        const Graph& graph,
        const std::vector<int>& roots,
        const Known& known)
    {
        std::vector<char> needed(std::size_t(graph.size()), 0);
        for (const int root : roots)
            needed[std::size_t(root)] = 1;
        std::vector<int> result;
        for (int i = graph.size(); i-- > 0;)
            if (needed[std::size_t(i)] && !known(i))
            {
                result.push_back(i);
                for (std::size_t k = 0; k < std::size_t(graph[i].arity()); ++k)
                    needed[std::size_t(graph[i].argument[k])] = 1;
            }
        return {result.rbegin(), result.rend()};
    }
}
