// Trends of linear functions of the input, and of sums of terms of one sign: intervals lose their cancellations.
#include "roofslate/bounds/monotonicity.hpp"
#include <cfloat>

namespace roofslate
{
    int Trend::sum_of(Op o, int x, int z)
    {
        constexpr double rounded = 64 * DBL_EPSILON;
        if (bounder_.is(z, 0))
            return x;
        if (bounder_.is(x, 0))
            return o == Op::sub ? op(Op::neg, z) : z;
        const int all = op(o, x, z);
        const auto size = [&](int i) { return op(Op::max, i, op(Op::neg, i)); };
        return op(Op::select, op(Op::less_equal, size(all), op(Op::mul, size(x), number(rounded))), number(0), all);
    }
    // One or the other, or none.
    Trend::Line Trend::chosen_line(int first, const Line& x, int second, const Line& z)
    {
        if (!x.is_line() && !z.is_line())
            return {};
        const auto part = [&](int a, int b) {
            return op(
                Op::select,
                first,
                a < 0 ? number(NAN) : a,
                op(Op::select, second, b < 0 ? number(NAN) : b, number(NAN)));
        };
        return {part(x.inverse, z.inverse), part(x.constant, z.constant), part(x.slope, z.slope)};
    }
    // If it has no other powers than these.
    Trend::Line Trend::product(const Line& x, const Line& z)
    {
        const auto is_zero = [&](int i) { return bounder_.is(i, 0); };
        if (!(is_zero(x.slope) || is_zero(z.slope)) || !(is_zero(x.inverse) || is_zero(z.inverse)))
            return {};
        const auto times = [&](int a, int b) { return is_zero(a) || is_zero(b) ? number(0) : op(Op::mul, a, b); };
        const auto sum = [&](int a, int b) { return sum_of(Op::add, a, b); };
        return {
            sum(times(x.inverse, z.constant), times(x.constant, z.inverse)),
            sum(times(x.constant, z.constant), sum(times(x.inverse, z.slope), times(x.slope, z.inverse))),
            sum(times(x.slope, z.constant), times(x.constant, z.slope))};
    }
    Trend::Line Trend::line_of(const Node& n, int i)
    {
        const int none = number(0), one = number(1);
        if (!depends(i))
            return {none, i, none};
        if (i == input_)
            return {none, none, one};
        std::array<Line, 3> x;
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
            x[k] = lines_[std::size_t(n.argument[k])];
        const auto each = [&](const Line& l, const auto& f) { return Line{f(l.inverse), f(l.constant), f(l.slope)}; };
        const auto is_zero = [&](int k) { return bounder_.is(k, 0); };
        switch (n.op)
        {
        case Op::neg:
            if (x[0].is_line())
                return each(x[0], [&](int k) { return is_zero(k) ? k : op(Op::neg, k); });
            break;
        case Op::add:
        case Op::sub:
            if (x[0].is_line() && x[1].is_line())
                return {
                    sum_of(n.op, x[0].inverse, x[1].inverse),
                    sum_of(n.op, x[0].constant, x[1].constant),
                    sum_of(n.op, x[0].slope, x[1].slope)};
            break;
        case Op::mul:
            if (x[0].is_line() && x[1].is_line())
                return product(x[0], x[1]);
            break;
        case Op::div:
            if (x[0].is_line() && !depends(n.argument[1]))
                return each(x[0], [&](int k) { return is_zero(k) ? k : op(Op::div, k, n.argument[1]); });
            if (x[0].is_line() && x[1].is_line() && is_zero(x[1].inverse) && is_zero(x[1].constant))
                return product(x[0], {op(Op::div, one, x[1].slope), none, none});
            break;
        case Op::pow: // a first power
            if (x[0].is_line() && !depends(n.argument[1]))
            {
                const int first = op(Op::equal, n.argument[1], one);
                return each(x[0], [&](int k) { return op(Op::select, first, k, number(NAN)); });
            }
            break;
        case Op::select:
            if (depends(n.argument[0]))
            {
                const Bounds condition = value(n.argument[0]);
                return chosen_line(op(Op::equal, condition.low, one), x[1], op(Op::equal, condition.high, none), x[2]);
            }
            if (x[1].is_line() && x[2].is_line())
                return {
                    op(Op::select, n.argument[0], x[1].inverse, x[2].inverse),
                    op(Op::select, n.argument[0], x[1].constant, x[2].constant),
                    op(Op::select, n.argument[0], x[1].slope, x[2].slope)};
            break;
        case Op::max:
        case Op::min:
        {
            const Bounds u = value(n.argument[0]), v = value(n.argument[1]);
            const int above = op(Op::less_equal, v.high, u.low), below = op(Op::less_equal, u.high, v.low);
            return chosen_line(n.op == Op::max ? above : below, x[0], n.op == Op::max ? below : above, x[1]);
        }
        case Op::ceil:
        case Op::floor: return chosen_line(same(value(i)), {none, value(i).low, none}, is_whole(n), x[0]);
        default: break;
        }
        return {};
    }
    // An elasticity, of what keeps its sign, goes one way unless it has three powers.
    Bounds Trend::of_line(const Line& line, const Bounds& otherwise)
    {
        if (!line.is_line())
            return otherwise;
        constexpr double slack = 4 * DBL_EPSILON;
        const Bounds y = value(input_);
        const auto size = [&](int x) { return op(Op::max, x, op(Op::neg, x)); };
        const auto is_zero = [&](int x) { return op(Op::equal, x, number(0)); };
        const auto inverse_at = [&](int x) { return op(Op::div, line.inverse, x); };
        const auto part_at = [&](int x) { return op(Op::mul, line.slope, x); };
        const auto whole = [&](int x) { return op(Op::add, op(Op::add, inverse_at(x), line.constant), part_at(x)); };
        const auto at = [&](int x) { return op(Op::div, op(Op::sub, part_at(x), inverse_at(x)), whole(x)); };
        const int one = at(y.low), other = at(y.high),
                  one_way = op(Op::either, is_zero(line.inverse), is_zero(line.slope)),
                  one_sign = op(Op::less, number(0), op(Op::mul, whole(y.low), whole(y.high))),
                  proved = op(Op::both, one_way, one_sign);
        const auto widened = [&](int x, double by) { return op(Op::add, x, op(Op::mul, size(x), number(by))); };
        const auto tighter = [&](Op o, double by, int outer) {
            const int inner = widened(op(o, one, other), by);
            const int better = o == Op::min ? op(Op::less, outer, inner) : op(Op::less, inner, outer);
            return op(Op::select, op(Op::both, proved, better), inner, outer);
        };
        // a single power
        const int single =
            op(Op::both,
               op(Op::either, is_zero(line.constant), op(Op::both, is_zero(line.slope), is_zero(line.inverse))),
               proved);
        const int power = op(
            Op::select,
            is_zero(line.constant),
            op(Op::select, is_zero(line.slope), number(-1), number(1)),
            number(0));
        Bounds result = otherwise;
        result.low = op(Op::select, single, power, tighter(Op::min, -slack, otherwise.low));
        result.high = op(Op::select, single, power, tighter(Op::max, slack, otherwise.high));
        result.exact = false;
        return result;
    }
    // A truth: two atoms are lines whose ratio is constant but for rounding.
    int Trend::proportional(const Term& t, const Term& u)
    {
        constexpr double rounded = 16 * DBL_EPSILON;
        const Line x = lines_[std::size_t(t.atom)], z = lines_[std::size_t(u.atom)];
        if (!x.is_line() || !z.is_line() || t.factor >= 0 || u.factor >= 0 || t.times + u.times != 0)
            return number(0);
        const auto size = [&](int i) { return op(Op::max, i, op(Op::neg, i)); };
        const auto crossed = [&](int a, int b, int c, int d) {
            const int one = op(Op::mul, a, d), other = op(Op::mul, b, c);
            return op(Op::less_equal, size(op(Op::sub, one, other)), op(Op::mul, size(one), number(rounded)));
        };
        return bounder_.both(
            crossed(x.constant, x.slope, z.constant, z.slope),
            bounder_.both(
                crossed(x.inverse, x.slope, z.inverse, z.slope),
                crossed(x.inverse, x.constant, z.inverse, z.constant)));
    }
    // A truth: the first of two such atoms is the second times the input.
    int Trend::proportional_by_input(const Term& t, const Term& u)
    {
        const Line x = lines_[std::size_t(t.atom)], z = lines_[std::size_t(u.atom)];
        if (!x.is_line() || !z.is_line() || t.factor >= 0 || u.factor >= 0 || t.times + u.times != 0)
            return number(0);
        if (!bounder_.is(x.inverse, 0) || !bounder_.is(z.slope, 0) || bounder_.is(z.inverse, 0))
            return number(0);
        constexpr double rounded = 16 * DBL_EPSILON;
        const int one = op(Op::mul, x.constant, z.constant), other = op(Op::mul, x.slope, z.inverse);
        const auto size = [&](int i) { return op(Op::max, i, op(Op::neg, i)); };
        return op(Op::less_equal, size(op(Op::sub, one, other)), op(Op::mul, size(one), number(rounded)));
    }
    // 1 - x^p over 1 - x, by x from 0 to 1: its elasticity runs from 0 to (p - 1) / 2.
    Bounds Trend::of_geometric_sum(const Term& t, const Term& u)
    {
        const auto is_one_less = [&](int i) { return g_[i].op == Op::sub && bounder_.is(g_[i].argument[0], 1); };
        if (t.factor >= 0 || u.factor >= 0 || t.times + u.times != 0 || !is_one_less(t.atom) || !is_one_less(u.atom))
            return {};
        const int power = g_[t.atom].argument[1], x = g_[u.atom].argument[1];
        if (g_[power].op != Op::pow || g_[power].argument[0] != x || depends(g_[power].argument[1]))
            return {};
        const Bounds base = value(x);
        const int exponent = g_[power].argument[1], end = op(Op::mul, op(Op::sub, exponent, number(1)), number(0.5));
        const int inside =
            op(Op::both,
               op(Op::both, op(Op::less_equal, number(0), base.low), op(Op::less_equal, base.high, number(1))),
               op(Op::less, number(0), exponent));
        const Bounds by_base{
            op(Op::select, inside, op(Op::min, end, number(0)), number(NAN)),
            op(Op::select, inside, op(Op::max, end, number(0)), number(NAN)),
            {},
            false};
        return bounder_.apply(Op::mul, by_base, known(x));
    }
    // Of a sum of terms of one sign: by the share that the second one has of it.
    Bounds Trend::weighted(const std::array<Bounds, 2>& e, const std::array<Bounds, 2>& v)
    {
        constexpr double slack = 4 * DBL_EPSILON;
        Bounds result = bounder_.hull(e[0], e[1]);
        if (e[0].low == e[1].low && e[0].high == e[1].high)
            return result;
        const auto size = [&](int x) { return op(Op::max, x, op(Op::neg, x)); };
        const auto nearest = [&](const Bounds& x) { return op(Op::min, size(x.low), size(x.high)); };
        const auto farthest = [&](const Bounds& x) { return op(Op::max, size(x.low), size(x.high)); };
        const auto share = [&](int part, int other, double by) {
            return op(Op::mul, op(Op::div, part, op(Op::add, part, other)), number(by));
        };
        const int least = share(nearest(v[1]), farthest(v[0]), 1 - slack),
                  most = op(Op::min, number(1), share(farthest(v[1]), nearest(v[0]), 1 + slack));
        const auto at = [&](int x, int z, int w) { return op(Op::add, x, op(Op::mul, w, op(Op::sub, z, x))); };
        // a NaN decides nothing
        const auto within = [&](Op o, int outer, int x, int z) {
            const int first = at(x, z, least), second = at(x, z, most);
            const auto inside = [&](int inner) {
                return o == Op::min ? op(Op::less, outer, inner) : op(Op::less, inner, outer);
            };
            return op(Op::select, op(Op::both, inside(first), inside(second)), op(o, first, second), outer);
        };
        result.low = within(Op::min, result.low, e[0].low, e[1].low);
        result.high = within(Op::max, result.high, e[0].high, e[1].high);
        result.exact = false;
        return result;
    }
}
