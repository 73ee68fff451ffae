#include "roofslate/graph/graph.hpp"

namespace roofslate
{
    namespace
    {
        constexpr std::size_t fewest_chains = 256, most_nodes_of_chain = 4;

        std::uint64_t hash(const Node& node)
        {
            const std::uint64_t value = math::bits(node.value);
            std::uint64_t h = std::uint64_t(node.op) + 31u * (value ^ value >> 32); // of round numbers 32 bits are 0
            for (const int a : node.argument)
                h = (h ^ std::uint64_t(a + 1)) * 0x9e3779b97f4a7c15u;
            return h * 0x9e3779b97f4a7c15u >> 32;
        }
    }

    Graph::Graph(std::vector<std::size_t> shape) : shape_(std::move(shape)), chains_(fewest_chains, -1)
    {
        nodes_.reserve(512);
        leaves_.reserve(32);
    }
    std::size_t Graph::points(AxisSet axes) const
    {
        std::size_t n = 1;
        for (std::size_t k = 0; k < shape_.size(); ++k)
            if (axes >> k & 1)
                n *= shape_[k];
        return n;
    }
    int Graph::shared(const Node& node)
    {
        if (nodes_.size() > most_nodes_of_chain * chains_.size())
            lengthen_chains();
        int& chain = chain_of(node);
        for (int i = chain; i >= 0; i = nodes_[std::size_t(i)].next)
        {
            const Node& other = nodes_[std::size_t(i)];
            // values differ most often; three comparisons in place take less than a call
            if (math::bits(other.value) == math::bits(node.value) && other.op == node.op
                && other.argument[0] == node.argument[0] && other.argument[1] == node.argument[1]
                && other.argument[2] == node.argument[2] && other.routine == node.routine)
                return i;
        }
        nodes_.push_back(node);
        nodes_.back().next = chain;
        return chain = size() - 1;
    }
    int& Graph::chain_of(const Node& node) { return chains_[hash(node) & (chains_.size() - 1)]; }
    // Bounds of long formulas take 10^5 nodes.
    void Graph::lengthen_chains()
    {
        chains_.assign(4 * chains_.size(), -1);
        for (int i = 0; i < size(); ++i)
            if (Node& n = nodes_[std::size_t(i)]; n.op != Op::input)
            {
                int& chain = chain_of(n);
                n.next = chain, chain = i;
            }
    }
    int Graph::constant(double value)
    {
        Node n{Op::constant};
        n.value = value;
        return shared(n);
    }
    int Graph::leaf(const View& view)
    {
        if (!view.axes)
            return constant(*view.data);
        Node n{Op::input};
        n.axes = view.axes, n.leaf = int(leaves_.size());
        leaves_.push_back(view);
        nodes_.push_back(n);
        return size() - 1;
    }
    int Graph::variable(double value)
    {
        Node n{Op::input};
        n.value = value;
        nodes_.push_back(n);
        return size() - 1;
    }
    int Graph::operation(Op op, int a, int b, int c, const Routine* routine)
    {
        Node n{op};
        n.argument = {a, b, c}, n.routine = routine;
        double values[3] = {};
        bool literal_arguments = true;
        for (int k = 0; k < n.arity(); ++k)
        {
            const Node& argument = (*this)[n.argument[std::size_t(k)]];
            n.axes |= argument.axes;
            values[k] = argument.value;
            literal_arguments = literal_arguments && argument.is_literal();
        }
        if (n.is_constant())
            n.value = evaluate(op, routine, values);
        if (literal_arguments)
            return constant(n.value);
        if (op == Op::select && (*this)[a].is_constant())
            return (*this)[a].value != 0 ? b : c;
        if (op == Op::select && b == c)
            return b;
        // A factor or divisor of one changes no bit: that is what efficiencies and stages are unless somebody says
        // otherwise.
        const auto is_one = [&](int i) { return (*this)[i].is_literal() && (*this)[i].value == 1; };
        if ((op == Op::mul || op == Op::div) && is_one(b))
            return a;
        if (op == Op::mul && is_one(a))
            return b;
        return shared(n);
    }
}
