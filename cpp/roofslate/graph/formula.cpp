#include "roofslate/graph/formula.hpp"

namespace roofslate
{
    std::string text_of(const Formula& formula, const Registry& registry)
    {
        Inscription inputs;
        for (const std::string& need : formula.needs)
        {
            const Spec& spec = *registry[registry.at(need)].spec;
            inputs.symbols.push_back(need), inputs.words.push_back(spec.is_choice() ? &spec.choices : nullptr);
        }
        return print(formula.tape, int(formula.tape.operations.size()) - 1, inputs, Notation::text);
    }
    int node_of(const Formula& formula, const Registry& registry, Graph& graph, Closure& closure)
    {
        std::vector<int> nodes;
        const auto at = [&](int position) { return position < 0 ? -1 : nodes[std::size_t(position)]; };
        for (const Operation& o : formula.tape.operations)
            if (o.op == Op::input)
                nodes.push_back(closure.node(registry.at(formula.needs[std::size_t(o.argument[0])])));
            else if (o.op == Op::constant)
                nodes.push_back(graph.constant(o.value));
            else
                nodes.push_back(
                    graph.operation(o.op, at(o.argument[0]), at(o.argument[1]), at(o.argument[2]), o.routine));
        return nodes.back();
    }
}
