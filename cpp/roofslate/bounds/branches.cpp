// Bounds that follow from several arguments together: of squares, and of a branch under its condition.
#include "roofslate/bounds/transform.hpp"

namespace roofslate
{
    Bounds Bounder::of_operation(const Node& n, const std::array<Bounds, 3>& x)
    {
        switch (n.op)
        {
        case Op::routine: return of_routine(*n.routine, x);
        case Op::div: return of_quotient(n, x);
        case Op::mul: return n.argument[0] == n.argument[1] && !x[0].exact ? of_square(x[0]) : apply(n.op, x[0], x[1]);
        case Op::select: return of_choice(n, x);
        default: return apply(n.op, x[0], x[1], x[2]);
        }
    }
    Bounds Bounder::of_square(const Bounds& x)
    {
        const int low = op(Op::mul, x.low, x.low), high = op(Op::mul, x.high, x.high);
        const Range range = square_of(x.range);
        const int clean = number(1);
        if (x.range.low >= 0)
            return {low, high, range, false, true, clean, x.nowhere};
        return {
            op(Op::select, holds_zero(x), number(0), least(low, high)),
            most(low, high),
            range,
            false,
            true,
            clean,
            x.nowhere};
    }
    Bounds Bounder::of_choice(const Node& n, const std::array<Bounds, 3>& x)
    {
        constexpr int depth = 6;
        const Node condition = from_[n.argument[0]];
        const bool decided = x[0].range.known() && !(x[0].range.low == 0 && x[0].range.high == 1);
        const auto is_zero = [&](int i) { return i >= 0 && from_[i].is_constant() && from_[i].value == 0; };
        int part = -1;
        std::size_t side = 1;
        if (condition.op == Op::less && is_zero(condition.argument[0]))
            part = condition.argument[1];
        else if (condition.op == Op::less_equal && is_zero(condition.argument[1]))
            part = condition.argument[0], side = 2;
        else if (condition.op == Op::equal && (is_zero(condition.argument[0]) || is_zero(condition.argument[1])))
            part = condition.argument[is_zero(condition.argument[0])], side = 2;
        if (decided || x[0].exact || part < 0)
            return apply(n.op, x[0], x[1], x[2]);
        const Bounds of_part = known_[std::size_t(part)];
        const bool is_positive = of_part.range.low > 0;
        if (of_part.exact || is_positive)
            return apply(n.op, x[0], x[1], x[2]);
        std::array<Bounds, 3> better = x;
        const Bounds narrower = condition.op == Op::equal ? nonzero(of_part) : positive(of_part, side == 1);
        if (const std::optional<Bounds> branch = with(part, narrower, n.argument[side], depth))
            better[side] = *branch;
        return apply(n.op, better[0], better[1], better[2]);
    }
    Bounds Bounder::positive(const Bounds& x, bool is_a_number)
    {
        constexpr double first = 5e-324;
        const auto at_least_first = [&](int end, double otherwise) {
            const int bounded = op(Op::max, end, number(first));
            return x.range.known() || !is_a_number
                ? bounded
                : op(Op::select, is_number(end), bounded, number(otherwise));
        };
        const Range range = x.range.known() ? Range{std::max(x.range.low, first), std::max(x.range.high, first)}
            : is_a_number
            ? Range{first, HUGE_VAL}
            : Range{};
        return {at_least_first(x.low, first), at_least_first(x.high, HUGE_VAL), range, false, true, number(1)};
    }
    Bounds Bounder::nonzero(const Bounds& x)
    {
        constexpr double first = 5e-324;
        Bounds narrower = x;
        narrower.low = op(Op::select, op(Op::equal, x.low, number(0)), number(first), x.low);
        narrower.high = op(Op::max, x.high, narrower.low);
        if (x.range.low == 0)
            narrower.range = {first, std::max(x.range.high, first)};
        return narrower;
    }
    // Of a node the bounds that it has with others of a part; none where the part is not near it.
    std::optional<Bounds> Bounder::with(int part, const Bounds& of_part, int node, int depth)
    {
        if (node == part)
            return of_part;
        const Node n = from_[node];
        if (depth == 0 || n.is_constant() || n.is_leaf())
            return {};
        std::array<Bounds, 3> x;
        bool changed = false;
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
        {
            const std::optional<Bounds> narrowed = with(part, of_part, n.argument[k], depth - 1);
            x[k] = narrowed ? *narrowed : known_[std::size_t(n.argument[k])];
            changed = changed || narrowed;
        }
        if (!changed)
            return {};
        return of_operation(n, x);
    }
}
