// Bounds that follow from several arguments together: of squares, and of a branch under its condition.
#include "roofslate/bounds/transform.hpp"

namespace roofslate
{
    Bounds Bounder::of_operation(const Node& n, const std::array<Bounds, 3>& x)
    {
        switch (n.op)
        {
        case Op::routine: return of_routine(*n.routine, x);
        case Op::div: return n.argument[0] == n.argument[1] ? of_itself(n.op, x[0]) : of_quotient(n, x);
        case Op::sub: return n.argument[0] == n.argument[1] ? of_itself(n.op, x[0]) : apply(n.op, x[0], x[1]);
        case Op::mul: return n.argument[0] == n.argument[1] && !x[0].exact ? of_square(x[0]) : apply(n.op, x[0], x[1]);
        case Op::select: return of_choice(n, x);
        case Op::less:
        case Op::less_equal: return of_comparison(n.op, n.argument[0], n.argument[1]);
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
    // A value divided by itself is 1, and less itself 0, if it is finite and the divisor is not 0.
    Bounds Bounder::of_itself(Op o, const Bounds& x)
    {
        const double result = o == Op::div;
        const Range range = range_of_itself(o, x.range);
        Bounds all = apply(o, x, x);
        if (x.exact)
            return all;
        if (range.known()) // with the properties that it has in any lane
            return {number(result), number(result), range, false, all.plus, all.clean};
        const int finite = op(Op::both, op(Op::less, number(-HUGE_VAL), x.low), op(Op::less, x.high, number(HUGE_VAL)));
        const int proved = o == Op::sub ? finite : op(Op::both, finite, op(Op::sub, number(1), holds_zero(x)));
        all.low = op(Op::select, proved, number(result), all.low);
        all.high = op(Op::select, proved, number(result), all.high);
        return all;
    }
    Bounds Bounder::of_comparison(Op o, int u, int v)
    {
        Bounds result = of_comparison_with_itself(o, u, v);
        const auto decided = [&] { return result.exact || (result.range.low == result.range.high); };
        const std::array<int, 2> sides{u, v};
        for (const std::size_t k : {0, 1})
        {
            const Node choice = from_[sides[k]];
            if (decided() || (choice.op != Op::min && choice.op != Op::max))
                continue;
            std::array<Bounds, 2> of_part;
            int numbers = number(1);
            for (const std::size_t part : {0, 1})
            {
                const Bounds& x = known_[std::size_t(choice.argument[part])];
                if (!x.range.known())
                    numbers = both(numbers, both(is_number(x.low), is_number(x.high)));
                of_part[part] = k == 0
                    ? of_comparison_with_itself(o, choice.argument[part], v)
                    : of_comparison_with_itself(o, u, choice.argument[part]);
            }
            // the smaller one decides on the left of "less", the larger one on its right
            const Op all = (choice.op == Op::min) == (k == 0) ? Op::either : Op::both;
            const int low = op(all, of_part[0].low, of_part[1].low), high = op(all, of_part[0].high, of_part[1].high);
            result.low = op(Op::max, result.low, both(numbers, low));
            result.high = op(Op::min, result.high, op(Op::max, high, op(Op::sub, number(1), numbers)));
        }
        return result;
    }
    Bounds Bounder::of_comparison_with_itself(Op o, int u, int v)
    {
        constexpr double least_normal = 1e-290, greatest_normal = 1e290, distance = 1e-12;
        const Bounds x = known_[std::size_t(u)], z = known_[std::size_t(v)];
        Bounds result = apply(o, x, z);
        if (result.exact)
            return result;
        const bool strict = o == Op::less;
        const auto refine = [&](int proved, int disproved) {
            result.low = op(Op::max, result.low, proved);
            result.high = op(Op::min, result.high, op(Op::sub, number(1), disproved));
        };
        const auto factor_of = [&](int product, int value) {
            const Node& n = from_[product];
            return n.op != Op::mul       ? -1
                : n.argument[0] == value ? n.argument[1]
                : n.argument[1] == value
                ? n.argument[0]
                : -1;
        };
        for (const bool multiple_is_right : {true, false})
        {
            const int value = multiple_is_right ? u : v, factor = factor_of(multiple_is_right ? v : u, value);
            if (factor < 0)
                continue;
            const Bounds s = known_[std::size_t(value)], f = known_[std::size_t(factor)];
            const int normal = both(at_least(s, least_normal), at_most(s, greatest_normal)),
                      finite = both(at_least(s, 0), both(at_most(s, greatest_normal), at_most(f, greatest_normal)));
            const int larger = both(normal, both(at_least(f, 1 + distance), at_most(f, 2))),
                      smaller = both(normal, both(at_most(f, 1 - distance), at_least(f, 0.5)));
            const int not_smaller = both(finite, at_least(f, 1)),
                      not_larger = both(finite, both(at_most(f, 1), at_least(f, 0)));
            const int above = multiple_is_right ? larger : smaller, below = multiple_is_right ? smaller : larger,
                      not_below = multiple_is_right ? not_smaller : not_larger,
                      not_above = multiple_is_right ? not_larger : not_smaller;
            refine(strict ? above : not_below, strict ? not_above : below);
        }
        return result;
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
