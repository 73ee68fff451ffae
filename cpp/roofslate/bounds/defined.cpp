// Bounds of values as far as they are numbers.
#include "roofslate/bounds/transform.hpp"

namespace roofslate
{
    Bounds Bounder::of_numbers(int node)
    {
        numbers_.resize(std::size_t(from_.size()));
        for (const int i : in_order(from_, {node}, [&](int k) { return numbers_[std::size_t(k)].low >= 0; }))
        {
            const Node n = from_[i];
            const Bounds all = known_[std::size_t(i)];
            std::array<Bounds, 3> x;
            for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
                x[k] = numbers_[std::size_t(n.argument[k])];
            numbers_[std::size_t(i)] = all.range.known() || n.is_constant() ? all : of_operation_on_numbers(n, all, x);
        }
        return numbers_[std::size_t(node)];
    }
    // A NaN argument gives NaN, except in comparisons, powers and routines. These keep the bounds of all values.
    Bounds Bounder::of_operation_on_numbers(const Node& n, const Bounds& all, const std::array<Bounds, 3>& x)
    {
        const auto or_else = [&](int end, double otherwise) {
            return op(Op::select, is_number(end), end, number(otherwise));
        };
        const auto bounded = [&](const Ends& e) {
            const Ends outer{or_else(all.low, -HUGE_VAL), or_else(all.high, HUGE_VAL)};
            return Bounds{
                op(Op::max, or_else(e.low, -HUGE_VAL), outer.low),
                op(Op::min, or_else(e.high, HUGE_VAL), outer.high),
                {-HUGE_VAL, HUGE_VAL},
                false,
                all.plus,
                all.clean};
        };
        const auto from_zero = [&](int end) { return op(Op::max, end, number(0)); };
        const Ends unknown{number(-HUGE_VAL), number(HUGE_VAL)};
        if (n.is_leaf())
            return bounded(unknown);
        switch (n.op)
        {
        case Op::add:
        case Op::sub:
        case Op::neg:
        case Op::min:
        case Op::max:
        case Op::ceil:
        case Op::floor:
        case Op::exp: return bounded(ends(n.op, x[0], x[1], x[2], true));
        case Op::mul:
        {
            if (n.argument[0] == n.argument[1])
            {
                const Bounds square = of_square(x[0]);
                return bounded({square.low, square.high});
            }
            const auto corner = [&](int a, int b) { return or_else(op(Op::mul, a, b), 0); };
            const int ll = corner(x[0].low, x[1].low), lh = corner(x[0].low, x[1].high),
                      hl = corner(x[0].high, x[1].low), hh = corner(x[0].high, x[1].high);
            return bounded({least(least(ll, lh), least(hl, hh)), most(most(ll, lh), most(hl, hh))});
        }
        case Op::div:
        {
            const auto corner = [&](int a, int b) { return or_else(op(Op::div, a, b), 0); };
            const int ll = corner(x[0].low, x[1].low), lh = corner(x[0].low, x[1].high),
                      hl = corner(x[0].high, x[1].low), hh = corner(x[0].high, x[1].high);
            const int divides = holds_zero(x[1]);
            const int clean = x[1].clean >= 0 ? x[1].clean : number(0);
            const int up = op(Op::both, clean, op(Op::less_equal, number(0), x[0].low)); // nothing negative
            const int low = op(Op::select, up, lh, number(-HUGE_VAL));
            return bounded(
                {op(Op::select, divides, low, least(least(ll, lh), least(hl, hh))),
                 op(Op::select, divides, number(HUGE_VAL), most(most(ll, lh), most(hl, hh)))});
        }
        case Op::sqrt: return bounded({op(n.op, from_zero(x[0].low)), op(n.op, from_zero(x[0].high))});
        case Op::log:
            return bounded(widened_log(
                {op(n.op, from_zero(x[0].low)), op(n.op, from_zero(x[0].high))},
                at_least(x[0], 1),
                at_most(x[0], 1)));
        case Op::select: return bounded(ends(n.op, known_[std::size_t(n.argument[0])], x[1], x[2], true));
        default: return bounded(unknown);
        }
    }
}
