#include "roofslate/derivatives/saturation.hpp"

namespace roofslate
{
    namespace
    {
        constexpr int unknown = -3;
    }

    const Range& Saturation::range(int node)
    {
        if (std::size_t(node) >= ranges_.size())
            extend_ranges(ranges_, graph_, std::size_t(-1));
        return ranges_[std::size_t(node)];
    }
    int Saturation::negated(int condition)
    {
        if (condition == nowhere || condition == everywhere)
            return condition == nowhere ? everywhere : nowhere;
        return graph_.operation(Op::equal, condition, graph_.constant(0), -1);
    }
    int Saturation::both(int a, int b)
    {
        if (a == nowhere || b == nowhere)
            return nowhere;
        return a == everywhere || a == b ? b : b == everywhere ? a : graph_.operation(Op::both, a, b, -1);
    }
    int Saturation::either(int a, int b)
    {
        if (a == everywhere || b == everywhere)
            return everywhere;
        return a == nowhere || a == b ? b : b == nowhere ? a : graph_.operation(Op::either, a, b, -1);
    }
    int Saturation::is_zero(int node)
    {
        const Range r = range(node);
        if (!r.holds_zero())
            return nowhere;
        return r.low == 0 && r.high == 0 ? everywhere : graph_.operation(Op::equal, node, graph_.constant(0), -1);
    }
    int Saturation::is_infinite(int node)
    {
        const Range r = range(node);
        if (r.known() && !r.infinite())
            return nowhere;
        if (std::fabs(r.low) == HUGE_VAL && r.low == r.high)
            return everywhere;
        const auto equals = [&](double x) {
            return r.known() && (r.low > x || r.high < x)
                ? nowhere
                : graph_.operation(Op::equal, node, graph_.constant(x), -1);
        };
        return either(equals(HUGE_VAL), equals(-HUGE_VAL));
    }

    int Saturation::of(int node)
    {
        if (std::size_t(node) >= known_.size())
            known_.resize(std::size_t(node) + 1, unknown);
        if (const int known = known_[std::size_t(node)]; known != unknown)
            return known;
        const int condition = create(node);
        return known_[std::size_t(node)] = condition;
    }
    int Saturation::create(int node)
    {
        if (!depends_[std::size_t(node)])
            return negated(is_regular(node));
        const Node n = graph_[node];
        const auto [a, b, c] = n.argument;
        const auto at_infinity = [&](int argument) { return both(of(argument), is_infinite(argument)); };
        switch (n.op)
        {
        case Op::neg:
        case Op::sqrt:
        case Op::log: return of(a);
        case Op::exp: return either(at_infinity(a), by_itself(n, node));
        case Op::add:
        case Op::sub: return either(either(at_infinity(a), at_infinity(b)), by_itself(n, node));
        case Op::mul:
        case Op::div: return either(either(of(a), of(b)), by_itself(n, node));
        case Op::pow: // not 1
        {
            const int inherited = either(of(a), at_infinity(b));
            return either(
                inherited == nowhere ? nowhere : both(inherited, negated(is_regular(node))),
                by_itself(n, node));
        }
        case Op::max:
        case Op::min: return turned(n);
        case Op::select: return either(both(a, of(b)), both(negated(a), of(c)));
        default: return nowhere;
        }
    }
    int Saturation::by_itself(const Node& n, int node)
    {
        const auto [a, b, c] = n.argument;
        const int infinite = is_infinite(node), out_of_range = either(infinite, is_zero(node));
        if (out_of_range == nowhere)
            return nowhere;
        switch (n.op)
        {
        case Op::add:
        case Op::sub: return both(infinite, negated(either(is_infinite(a), is_infinite(b))));
        case Op::exp: return both(out_of_range, negated(is_infinite(a)));
        case Op::mul:
        case Op::div: return both(out_of_range, both(is_regular(a), is_regular(b)));
        case Op::pow: return both(out_of_range, both(is_regular(a), negated(is_infinite(b))));
        default: return nowhere;
        }
    }
    int Saturation::is_constant(int node, int position)
    {
        const Node n = graph_[node];
        const int x = n.argument[std::size_t(position)], other = n.argument[position == 0 ? 1 : 0];
        switch (n.op)
        {
        case Op::add:
        case Op::sub: return both(is_infinite(other), negated(is_infinite(x)));
        case Op::mul:
        case Op::div:
        {
            const int holds = negated(is_regular(other)); // two zeros may be one and move together
            return holds == nowhere ? nowhere : both(holds, is_regular(x));
        }
        case Op::pow:
        {
            const int holds = position == 0 ? is_zero(other) : negated(is_regular(other));
            return holds == nowhere ? nowhere : both(holds, is_regular(x));
        }
        default: return nowhere;
        }
    }
    int Saturation::turned(const Node& n)
    {
        const auto [a, b, c] = n.argument;
        const int first = of(a), second = of(b);
        if (first == second)
            return first;
        const int is_first =
            n.op == Op::max ? graph_.operation(Op::less, b, a, -1) : graph_.operation(Op::less, a, b, -1);
        return either(both(is_first, first), both(negated(is_first), second));
    }
}
