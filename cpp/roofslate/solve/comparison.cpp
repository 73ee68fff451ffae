#include "roofslate/language/error.hpp"
#include "roofslate/solve/load_trends.hpp"
#include "roofslate/solve/roots.hpp"

namespace roofslate
{
    namespace
    {
        Relation relation_of(Condition::Kind kind)
        {
            switch (kind)
            {
            case Condition::Kind::equal: return Relation::equal;
            case Condition::Kind::less: return Relation::less;
            default: return Relation::less_equal;
            }
        }
        bool is_declared(const Formula& side, std::string_view unknown)
        {
            return side.tape.operations.size() == 1 && side.needs.size() == 1
                && quantities::goes_one_way(side.needs[0], unknown);
        }
    }
    Comparison comparison_of(
        const Condition& condition,
        int unknown,
        const std::vector<Supplied>& supplied,
        const Registry& registry,
        Graph& graph,
        Closure& closure)
    {
        const Entry& e = registry[unknown];
        const int lhs = node_of(condition.lhs, registry, graph, closure),
                  rhs = node_of(condition.rhs, registry, graph, closure);
        Comparison comparison{graph, lhs, rhs, relation_of(condition.kind), {}};
        Unknown& u = comparison.unknown;
        u.leaf = closure.node(unknown), u.low = e.spec->low, u.high = e.spec->high, u.above_low = e.spec->above_low;
        for (const Supplied& s : supplied)
        {
            if (registry[s.quantity].bound == unknown)
                u.above.push_back(closure.node(s.quantity));
            if (s.quantity == e.bound)
                u.below.push_back(closure.node(s.quantity));
        }
        const auto varies = [&](int side) { return (graph[side].axes & graph[u.leaf].axes) != 0; };
        comparison.goes_one_way = (is_declared(condition.lhs, e.name) && !varies(rhs))
            || (is_declared(condition.rhs, e.name) && !varies(lhs));
        if (!((graph[lhs].axes | graph[rhs].axes) & graph[u.leaf].axes))
            throw Error("IneffectiveInput", "the condition does not depend on '" + std::string(e.name) + "'");
        return comparison;
    }
}
