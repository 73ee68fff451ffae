#include "roofslate/bounds/transform.hpp"
#include <cfloat>

namespace roofslate
{
    Bounds Bounder::constant(double value)
    {
        const int node = number(value);
        const int clean = value >= 0 && !std::signbit(value) ? number(1) : -1;
        return {node, node, {value, value}, true, !std::signbit(value), clean};
    }
    Bounds Bounder::anything()
    {
        Bounds result = constant(NAN);
        result.exact = false;
        return result;
    }
    Bounds Bounder::hull(const Bounds& a, const Bounds& b)
    {
        return {
            least(a.low, b.low),
            most(a.high, b.high),
            roofslate::hull(a.range.low, b.range.low, a.range.high, b.range.high),
            a.exact && b.exact && a.low == b.low};
    }
    int Bounder::at_least(const Bounds& a, double limit)
    {
        if (a.range.low >= limit || a.range.high < limit)
            return number(a.range.low >= limit);
        return op(Op::less_equal, number(limit), a.low);
    }
    int Bounder::at_most(const Bounds& a, double limit)
    {
        if (a.range.high <= limit || a.range.low > limit)
            return number(a.range.high <= limit);
        return op(Op::less_equal, a.high, number(limit));
    }
    Bounds Bounder::of_enclosure(const Routine& routine, const std::array<Bounds, 3>& arguments)
    {
        std::array<Range, 3> all;
        std::array<int, 3> exactly{-1, -1, -1};
        bool exact = true;
        int numbers = number(1);
        for (std::size_t k = 0; k < std::size_t(routine.arity); ++k)
        {
            const Bounds& a = arguments[k];
            all[k] = a.range, exactly[k] = a.low, exact = exact && a.exact;
            if (!a.range.known())
                numbers = both(numbers, both(is_number(a.low), is_number(a.high)));
        }
        const Range range = range_of_routine(routine, all);
        if (exact)
        {
            const int value = op(Op::routine, exactly[0], exactly[1], exactly[2], &routine);
            return {value, value, range};
        }
        const Enclosure& enclosure = routine.enclosure();
        std::vector<int> nodes;
        const auto at = [&](int position) { return position < 0 ? -1 : nodes[std::size_t(position)]; };
        for (const Operation& o : enclosure.tape.operations)
        {
            const auto k = std::size_t(std::max(o.argument[0], 0));
            nodes.push_back(
                o.op == Op::input ? (k % 2 ? arguments[k / 2].high : arguments[k / 2].low)
                    : o.op == Op::constant
                    ? number(o.value)
                    : op(o.op, at(o.argument[0]), at(o.argument[1]), at(o.argument[2]), o.routine));
        }
        Ends e = widened({at(enclosure.low), at(enclosure.high)}, routine_share);
        e = {unless_end(at(enclosure.low), e.low), unless_end(at(enclosure.high), e.high)};
        const int low = is(numbers, 1) ? e.low : op(Op::select, numbers, e.low, number(NAN));
        // one end that is NaN makes both so
        return {op(Op::min, low, e.high), op(Op::max, e.high, low), range, false};
    }
    // In an enclosure, 0 and 1 are limits of the routine.
    int Bounder::unless_end(int x, int widened)
    {
        const int is_end = op(Op::either, op(Op::equal, x, number(0)), op(Op::equal, x, number(1)));
        return op(Op::select, is_end, x, widened);
    }
    Bounds Bounder::of_routine(const Routine& routine, const std::array<Bounds, 3>& arguments)
    {
        if (routine.enclosure)
            return of_enclosure(routine, arguments);
        std::array<int, 3> low{-1, -1, -1}, high{-1, -1, -1};
        std::array<Range, 3> all;
        bool exact = true;
        for (std::size_t k = 0; k < std::size_t(routine.arity); ++k)
        {
            const Bounds& a = arguments[k];
            if (routine.directions[k] == 0 && !a.exact)
                return anything();
            const bool rises = routine.directions[k] >= 0;
            low[k] = rises ? a.low : a.high, high[k] = rises ? a.high : a.low;
            all[k] = a.range, exact = exact && a.exact;
        }
        const auto value = [&](const std::array<int, 3>& x) {
            return g_.operation(Op::routine, x[0], x[1], x[2], &routine);
        };
        const Range range = range_of_routine(routine, all);
        if (exact)
            return {value(low), value(low), range};
        const int lowest = value(low), highest = value(high);
        Ends e = widened({lowest, highest}, routine_share);
        e.low = op(Op::max, e.low, op(Op::min, lowest, number(0)));
        e.high = op(Op::select, op(Op::equal, highest, number(0)), number(0), e.high);
        // one end that is NaN makes both so
        return {op(Op::min, e.low, e.high), op(Op::max, e.high, e.low), range, false};
    }
    Bounds Bounder::of_quotient(const Node& n, const std::array<Bounds, 3>& x)
    {
        constexpr int depth = 4;
        Bounds quotient = apply(Op::div, x[0], x[1]);
        if (quotient.exact)
            return quotient;
        const auto is_positive = [&](const Bounds& b) { return op(Op::less, number(0), b.low); };
        const auto reversed = [](Op o) { return o == Op::min ? Op::max : Op::min; };
        for (const std::size_t side : {0, 1}) // of the choice
            for (const std::size_t k : {0, 1})
            {
                const Node choice = from_[n.argument[side]];
                const int value = n.argument[1 - side];
                if ((choice.op != Op::min && choice.op != Op::max) || choice.argument[k] != value)
                    continue;
                const Bounds other = x[1 - side], z = known_[std::size_t(choice.argument[1 - k])];
                const Bounds ratio = side == 1 ? apply(Op::div, other, z) : apply(Op::div, z, other);
                const Bounds chosen = apply(side == 1 ? reversed(choice.op) : choice.op, ratio, constant(1));
                const int positive =
                    op(Op::both,
                       op(Op::both, is_positive(other), op(Op::less, other.high, number(HUGE_VAL))),
                       is_positive(z));
                quotient.low = op(Op::select, positive, chosen.low, quotient.low);
                quotient.high = op(Op::select, positive, chosen.high, quotient.high);
                return quotient;
            }
        // (x - c) / x is 1 - c / x but for three roundings
        if (const Node sum = from_[n.argument[0]]; sum.op == Op::add || sum.op == Op::sub)
            for (const std::size_t k : {0, 1})
                if (sum.argument[k] == n.argument[1])
                {
                    constexpr double roundings = 8 * DBL_EPSILON;
                    const Bounds part = apply(Op::div, known_[std::size_t(sum.argument[1 - k])], x[1]);
                    const Bounds all = k == 0 ? apply(sum.op, constant(1), part) : apply(sum.op, part, constant(1));
                    const auto moved = [&](int end, double by) {
                        const int size = op(Op::add, number(1), op(Op::max, end, op(Op::neg, end)));
                        return op(Op::add, end, op(Op::mul, size, number(by)));
                    };
                    const int normal = both(at_least(x[1], 1e-290), at_most(x[1], 1e290));
                    const int low = moved(all.low, -roundings), high = moved(all.high, roundings);
                    const auto is_tighter = [&](int inner, int outer) {
                        return both(normal, op(Op::less, inner, outer));
                    };
                    quotient.low = op(Op::select, is_tighter(quotient.low, low), low, quotient.low);
                    quotient.high = op(Op::select, is_tighter(high, quotient.high), high, quotient.high);
                    break;
                }
        // a divisor that is as large keeps it at one or below
        const int finite = both(at_least(x[0], 0), op(Op::less, x[1].high, number(HUGE_VAL)));
        const int at_most_one = both(finite, covers(n.argument[1], n.argument[0], depth));
        if (!is(at_most_one, 0))
            quotient.high = op(Op::select, at_most_one, op(Op::min, quotient.high, number(1)), quotient.high);
        return quotient;
    }
    // A truth: one value is at least the other, which is not negative. Rounding keeps the order.
    int Bounder::covers(int larger, int smaller, int depth)
    {
        if (larger == smaller)
            return number(1);
        const Node n = from_[larger];
        if (depth == 0 || n.is_constant() || n.is_leaf())
            return number(0);
        const auto part = [&](std::size_t k) { return covers(n.argument[k], smaller, depth - 1); };
        const auto bounds = [&](std::size_t k) { return known_[std::size_t(n.argument[k])]; };
        switch (n.op)
        {
        case Op::ceil: return part(0);
        case Op::max: return either(part(0), part(1));
        case Op::add: return either(both(part(0), at_least(bounds(1), 0)), both(part(1), at_least(bounds(0), 0)));
        case Op::mul: return either(both(part(0), at_least(bounds(1), 1)), both(part(1), at_least(bounds(0), 1)));
        default: return number(0);
        }
    }
    Bounds Bounder::apply(Op o, const Bounds& a, const Bounds& b, const Bounds& c)
    {
        const Range range = range_of(o, a.range, b.range, c.range);
        if (a.exact && b.exact && c.exact)
        {
            const int node = op(o, a.low, b.low, c.low),
                      nowhere = range.known() ? -1 : op(Op::sub, number(1), is_number(node));
            return {node, node, range, true, is_plus(o, a, b, c), is_clean(o, a, b, c), nowhere};
        }
        Ends e = ends(o, a, b, c, range.known());
        if (!range.known() && e.low != e.high) // one end that is NaN makes both so
            e = {op(Op::min, e.low, e.high), op(Op::max, e.high, e.low)};
        const bool plus = is_plus(o, a, b, c);
        int clean = is_clean(o, a, b, c);
        if (plus && (o == Op::add || o == Op::sub)) // no -0
            clean = either(clean < 0 ? number(0) : clean, op(Op::less_equal, number(0), e.low));
        return {e.low, e.high, range, false, plus, clean, range.known() ? -1 : is_nowhere(o, a, b, c)};
    }
    int Bounder::decided(const Bounds& condition, int first, int second)
    {
        const int x = first < 0 ? number(0) : first, z = second < 0 ? number(0) : second;
        if (!(condition.range.low >= 0))
            return both(x, z);
        return op(Op::select, condition.low, x, op(Op::select, condition.high, both(x, z), z));
    }
    int Bounder::is_nowhere(Op o, const Bounds& a, const Bounds& b, const Bounds& c)
    {
        const auto of_either = [&](int x, int z) { return x < 0 ? z : z < 0 ? x : either(x, z); };
        switch (o)
        {
        case Op::sqrt:
        case Op::log: return a.range.low >= 0 ? a.nowhere : of_either(a.nowhere, op(Op::less, a.high, number(0)));
        case Op::add:
        case Op::sub:
        case Op::mul:
        case Op::div: return of_either(is_nowhere_of_numbers(o, a, b), of_either(a.nowhere, b.nowhere));
        case Op::min:
        case Op::max: return of_either(a.nowhere, b.nowhere);
        case Op::neg:
        case Op::exp:
        case Op::ceil:
        case Op::floor: return a.nowhere;
        case Op::select: return b.nowhere < 0 && c.nowhere < 0 ? -1 : decided(a, b.nowhere, c.nowhere);
        default: return -1;
        }
    }
    // Infinities of both signs in a sum, zero by infinity, and the quotients of two of either; -1: there are none.
    int Bounder::is_nowhere_of_numbers(Op o, const Bounds& a, const Bounds& b)
    {
        const auto both_are = [&](const Bounds& x, double first, const Bounds& z, double second) {
            const auto may_be = [](const Range& r, double value) {
                return !r.known() || (r.low <= value && value <= r.high);
            };
            if (!may_be(x.range, first) || !may_be(z.range, second))
                return number(0);
            const auto is = [&](const Bounds& u, double value) {
                const int low = op(Op::equal, u.low, number(value));
                return u.exact ? low : op(Op::both, low, op(Op::equal, u.high, number(value)));
            };
            return op(Op::both, is(x, first), is(z, second));
        };
        constexpr double infinity = HUGE_VAL;
        int undefined = number(0);
        const auto add = [&](int truth) { undefined = either(undefined, truth); };
        const double opposite = o == Op::add ? -infinity : infinity;
        if (o == Op::add || o == Op::sub)
            add(both_are(a, infinity, b, opposite)), add(both_are(a, -infinity, b, -opposite));
        else
        {
            for (const double sign : {-1.0, 1.0})
                if (o == Op::mul)
                    add(both_are(a, 0, b, sign * infinity)), add(both_are(a, sign * infinity, b, 0));
                else
                    add(both_are(a, sign * infinity, b, infinity)), add(both_are(a, sign * infinity, b, -infinity));
            if (o == Op::div)
                add(both_are(a, 0, b, 0));
        }
        return is(undefined, 0) ? -1 : undefined;
    }
    // Whatever the ranges of inputs are.
    bool Bounder::is_plus(Op o, const Bounds& a, const Bounds& b, const Bounds& c) const
    {
        const auto positive = [&](const Bounds& x) {
            return x.plus && x.exact && g_[x.low].is_constant() && g_[x.low].value >= 0;
        };
        switch (o)
        {
        case Op::add: return a.plus || b.plus;
        case Op::sub:
        case Op::sqrt: return a.plus;
        case Op::mul: return (a.plus && positive(b)) || (positive(a) && b.plus);
        case Op::div: return a.plus && positive(b);
        case Op::min: return a.plus && b.plus;
        case Op::max: return (a.plus && b.plus) || positive(b); // of equal zeros the second
        case Op::select: return b.plus && c.plus;
        case Op::exp: return true;
        default: return false;
        }
    }

    int Bounder::is_clean(Op o, const Bounds& a, const Bounds& b, const Bounds& c)
    {
        const auto of_both = [&](int x, int z) { return x < 0 || z < 0 ? -1 : both(x, z); };
        switch (o)
        {
        case Op::add:
        case Op::mul:
        case Op::div:
        case Op::min: return of_both(a.clean, b.clean);
        case Op::max: return b.clean; // of equal zeros the second
        case Op::select: return b.clean < 0 && c.clean < 0 ? -1 : decided(a, b.clean, c.clean);
        case Op::sqrt:
        case Op::ceil:
        case Op::floor: return a.clean;
        case Op::exp:
        case Op::pow: return number(1);
        default: return -1;
        }
    }

    Bounder::Ends Bounder::corners(Op o, const Bounds& a, const Bounds& b)
    {
        const int ll = op(o, a.low, b.low), lh = op(o, a.low, b.high), hl = op(o, a.high, b.low),
                  hh = op(o, a.high, b.high);
        return {least(least(ll, lh), least(hl, hh)), most(most(ll, lh), most(hl, hh))};
    }
    Bounder::Ends Bounder::widened(const Ends& e, double share)
    {
        const auto by = [&](int x) {
            return op(
                Op::add,
                op(Op::mul, op(Op::min, op(Op::max, x, op(Op::neg, x)), number(DBL_MAX)), number(share)),
                number(widening_least));
        };
        return {op(Op::sub, e.low, by(e.low)), op(Op::add, e.high, by(e.high))};
    }
    Bounder::Ends Bounder::widened_power(const Ends& e, int at_least_one, int at_most_one)
    {
        const int little = number(widening_least);
        const int low = op(Op::sub, op(Op::mul, e.low, number(1 - widening_share)), little),
                  high = op(Op::add, op(Op::mul, e.high, number(1 + widening_share)), little);
        return {op(Op::max, low, at_least_one), op(Op::select, at_most_one, op(Op::min, high, number(1)), high)};
    }
    Bounder::Ends Bounder::widened_log(const Ends& e, int at_least_one, int at_most_one)
    {
        const Ends wide = widened(e, widening_share);
        return {
            op(Op::select, at_least_one, op(Op::max, wide.low, number(0)), wide.low),
            op(Op::select, at_most_one, op(Op::min, wide.high, number(0)), wide.high)};
    }
    // e to a power that is so low that nothing is left of it.
    Bounder::Ends Bounder::vanishing(const Ends& e, const Bounds& exponent, double lowest)
    {
        constexpr double vanished = -745.2;
        if (lowest > vanished)
            return e;
        const int gone = op(Op::less, exponent.high, number(vanished));
        return {op(Op::select, gone, number(0), e.low), op(Op::select, gone, number(0), e.high)};
    }
    // e to a power so low that little is left of it: as a larger number, that is scaled last, it takes one rounding.
    Bounder::Ends Bounder::near_nothing(const Ends& e, const Bounds& exponent)
    {
        constexpr double low = -700, scale = 0x1p-512, logarithm = 354.89135644669199842, share = 1e-12;
        if (exponent.range.low > low)
            return e;
        const int is_low = op(Op::less, exponent.high, number(low));
        const auto scaled = [&](int x, double by) {
            const int larger = op(Op::exp, op(Op::add, x, number(logarithm)));
            return op(Op::mul, op(Op::mul, larger, number(by)), number(scale));
        };
        return {
            op(Op::select, is_low, op(Op::max, e.low, scaled(exponent.low, 1 - share)), e.low),
            op(Op::select, is_low, op(Op::min, e.high, scaled(exponent.high, 1 + share)), e.high)};
    }
    // e to a power near zero: rounding is a share of how far that is from one, and then one of the sum.
    Bounder::Ends Bounder::near_one(const Ends& e, const Bounds& exponent)
    {
        constexpr double near = 0x1p-10;
        if (exponent.range.low > near || exponent.range.high < -near)
            return e;
        const int is_near =
            op(Op::both,
               op(Op::less_equal, number(-near), exponent.low),
               op(Op::less_equal, exponent.high, number(near)));
        const auto stretched = [&](int x, double by) {
            return op(Op::add, x, op(Op::mul, op(Op::max, x, op(Op::neg, x)), number(by)));
        };
        const int least_power = stretched(exponent.low, -widening_share),
                  most = op(Op::add, exponent.high, op(Op::mul, exponent.high, exponent.high)),
                  most_power = stretched(most, widening_share);
        return {
            op(Op::select, is_near, op(Op::max, e.low, op(Op::add, number(1), least_power)), e.low),
            op(Op::select, is_near, op(Op::min, e.high, op(Op::add, number(1), most_power)), e.high)};
    }
    // Infinities of both signs may meet.
    Bounder::Ends Bounder::sum(Op o, int a_low, int b_low, int a_high, int b_high, bool proved)
    {
        const int low = op(o, a_low, b_low), high = op(o, a_high, b_high);
        if (proved)
            return {low, high};
        const int met = op(Op::min, op(o, a_low, b_high), op(o, a_high, b_low));
        return {op(Op::select, is_number(met), low, number(NAN)), high};
    }
    // An infinity may meet a zero, which no product of ends shows where the zero is inside.
    Bounder::Ends Bounder::product(const Bounds& a, const Bounds& b, bool proved)
    {
        if (proved && a.range.low >= 0 && b.range.low >= 0)
            return {op(Op::mul, a.low, b.low), op(Op::mul, a.high, b.high)};
        const Ends all = corners(Op::mul, a, b);
        if (proved)
            return all;
        const int a_zero = nearest_to_zero(a), b_zero = nearest_to_zero(b);
        const int met = least(
            least(op(Op::mul, a_zero, b.low), op(Op::mul, a_zero, b.high)),
            least(op(Op::mul, b_zero, a.low), op(Op::mul, b_zero, a.high)));
        return {op(Op::select, is_number(met), all.low, number(NAN)), all.high};
    }
    Bounder::Ends Bounder::quotient(const Bounds& a, const Bounds& b, bool proved)
    {
        if (proved && a.range.low >= 0 && b.range.low > 0)
            return {op(Op::div, a.low, b.high), op(Op::div, a.high, b.low)};
        const Ends all = corners(Op::div, a, b); // NaN where ends are both zero or both infinite
        if (!b.range.holds_zero())
            return all;
        if (b.plus)
        {
            const int met = op(Op::both, holds_zero(a), holds_zero(b)), negative = op(Op::less, b.low, number(0));
            const int any = op(Op::both, negative, holds_zero(b));
            const int low = op(Op::select, any, number(-HUGE_VAL), all.low);
            return {op(Op::select, met, number(NAN), low), op(Op::select, any, number(HUGE_VAL), all.high)};
        }
        const int divides = holds_zero(b), undefined = op(Op::select, holds_zero(a), number(NAN), number(-HUGE_VAL));
        const Ends either{
            op(Op::min, all.low, op(Op::select, divides, undefined, number(HUGE_VAL))),
            op(Op::max, all.high, op(Op::select, divides, number(HUGE_VAL), number(-HUGE_VAL)))};
        if (b.clean < 0)
            return either;
        const int met = op(Op::both, divides, holds_zero(a));
        return {
            op(Op::select, b.clean, op(Op::select, met, number(NAN), all.low), either.low),
            op(Op::select, b.clean, all.high, either.high)};
    }
    Bounder::Ends Bounder::ends(Op o, const Bounds& a, const Bounds& b, const Bounds& c, bool proved)
    {
        const bool numbers = a.range.known() && b.range.known();
        // a comparison with NaN is not refuted, unless it is NaN everywhere, which makes every comparison false
        const auto possible = [&](int refuted) {
            for (const int nowhere : {a.nowhere, b.nowhere})
                refuted = nowhere < 0 ? refuted : either(refuted, nowhere);
            return op(Op::sub, number(1), refuted);
        };
        switch (o)
        {
        case Op::add: return sum(o, a.low, b.low, a.high, b.high, proved);
        case Op::sub: return sum(o, a.low, b.high, a.high, b.low, proved);
        case Op::mul: return product(a, b, proved);
        case Op::div: return quotient(a, b, proved);
        case Op::neg: return {op(o, a.high), op(o, a.low)};
        case Op::min:
        case Op::max: return {op(o, a.low, b.low), op(o, a.high, b.high)};
        case Op::sqrt:
        case Op::ceil:
        case Op::floor: return {op(o, a.low), op(o, a.high)};
        case Op::exp:
            return near_one(
                near_nothing(
                    vanishing(
                        widened_power({op(o, a.low), op(o, a.high)}, at_least(a, 0), at_most(a, 0)),
                        a,
                        a.range.low),
                    a),
                a);
        case Op::log: return widened_log({op(o, a.low), op(o, a.high)}, at_least(a, 1), at_most(a, 1));
        case Op::pow:
        {
            const Ends e = widened_power(
                corners(o, a, b),
                either(both(at_least(a, 1), at_least(b, 0)), both(at_most(a, 1), at_most(b, 0))),
                either(both(at_most(a, 1), at_least(b, 0)), both(at_least(a, 1), at_most(b, 0))));
            const Range least = range_of(Op::pow, a.range, b.range, {});
            const Bounds exponent = apply(Op::mul, apply(Op::log, a), b);
            const bool vanishes = !(least.known() && least.low > 0);
            return near_one(vanishes ? near_nothing(vanishing(e, exponent, -HUGE_VAL), exponent) : e, exponent);
        }
        case Op::less:
            return {op(o, a.high, b.low), numbers ? op(o, a.low, b.high) : possible(op(Op::less_equal, b.high, a.low))};
        case Op::less_equal:
            return {op(o, a.high, b.low), numbers ? op(o, a.low, b.high) : possible(op(Op::less, b.high, a.low))};
        case Op::equal:
            return {
                op(Op::both, op(o, a.low, b.high), op(o, a.high, b.low)),
                numbers ? op(Op::both, op(Op::less_equal, a.low, b.high), op(Op::less_equal, b.low, a.high))
                        : possible(op(Op::either, op(Op::less, b.high, a.low), op(Op::less, a.high, b.low)))};
        case Op::both:
        case Op::either:
            if (a.range.low >= 0 && b.range.low >= 0)
                return {op(o, a.low, b.low), op(o, a.high, b.high)};
            return {number(0), number(1)};
        case Op::select:
        {
            // decided, as range_of has it
            if (a.range.known() && (!a.range.holds_zero() || (a.range.low == 0 && a.range.high == 0)))
                return a.range.holds_zero() ? Ends{c.low, c.high} : Ends{b.low, b.high};
            const Ends either{least(b.low, c.low), most(b.high, c.high)};
            if (!(a.range.low >= 0)) // no truth, which is 0 or 1
                return either;
            return {
                op(Op::select, a.low, b.low, op(Op::select, a.high, either.low, c.low)),
                op(Op::select, a.low, b.high, op(Op::select, a.high, either.high, c.high))};
        }
        default: return {number(NAN), number(NAN)};
        }
    }
}
