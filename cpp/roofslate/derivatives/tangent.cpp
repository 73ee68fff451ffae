#include "roofslate/derivatives/tangent.hpp"
#include <cmath>

namespace roofslate
{
    int Tangents::operator()(int node)
    {
        known_.resize(std::size_t(g_.size()), not_yet);
        for (const int i : in_order(g_, {node}, [&](int k) { return known_[std::size_t(k)] != not_yet; }))
        {
            const Node n = g_[i]; // a copy: the graph grows
            known_[std::size_t(i)] = i == input_ ? g_.constant(1) : n.is_constant() || n.is_leaf() ? -1 : derive(n, i);
        }
        return known_[std::size_t(node)];
    }
    int Tangents::chosen(int condition, int a, int b)
    {
        if (a < 0 && b < 0)
            return -1;
        return op(Op::select, condition, a < 0 ? g_.constant(0) : a, b < 0 ? g_.constant(0) : b);
    }
    int Tangents::derive(const Node& n, int i)
    {
        std::array<int, 3> d{-1, -1, -1};
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
            d[k] = known_[std::size_t(n.argument[k])];
        const auto& [a, b, c] = n.argument;
        switch (n.op)
        {
        case Op::add: return sum(d[0], d[1]);
        case Op::sub: return d[0] < 0 ? minus(d[1]) : d[1] < 0 ? d[0] : op(Op::sub, d[0], d[1]);
        case Op::mul: return sum(times(d[0], b), times(d[1], a));
        case Op::div:
            return over(d[0] < 0 ? minus(times(d[1], i)) : d[1] < 0 ? d[0] : op(Op::sub, d[0], times(d[1], i)), b);
        case Op::neg: return minus(d[0]);
        case Op::max: return chosen(op(Op::less, b, a), d[0], d[1]); // of equals the second, as the value is
        case Op::min: return chosen(op(Op::less, a, b), d[0], d[1]);
        case Op::select: return chosen(a, d[1], d[2]);
        case Op::sqrt: return over(d[0], op(Op::add, i, i));
        case Op::exp: return times(d[0], i);
        case Op::log: return over(d[0], a);
        case Op::pow: return times(sum(over(times(d[0], b), a), d[1] < 0 ? -1 : times(d[1], op(Op::log, a))), i);
        case Op::routine: return of_routine(n, d);
        default: return -1;
        }
    }
    int Tangents::of_routine(const Node& n, const std::array<int, 3>& slopes)
    {
        int total = -1;
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
            if (slopes[k] >= 0)
            {
                const Routine* const partial = n.routine->partials[k];
                if (!partial)
                    return g_.constant(NAN);
                const int by = g_.operation(Op::routine, n.argument[0], n.argument[1], n.argument[2], partial);
                total = sum(total, times(slopes[k], by));
            }
        return total;
    }
}
