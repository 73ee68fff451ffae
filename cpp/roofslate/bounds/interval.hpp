// Range: bounds of the values that an operation computes. Rounding to nearest is monotone, so running the ends
// through the engine's operations is exact for + - * / min max sqrt ceil floor. Other results are widened. NaN ends:
// anything, perhaps NaN.
#pragma once
#include "roofslate/graph/graph.hpp"
#include <algorithm>
#include <cmath>
#include <memory_resource>

namespace roofslate
{
    struct Range
    {
        double low = NAN, high = NAN;
        bool known() const { return low == low && high == high; } // then no value in it is NaN
        bool holds_zero() const { return !(low > 0 || high < 0); }
        bool infinite() const { return !(std::fabs(low) < HUGE_VAL && std::fabs(high) < HUGE_VAL); }
    };

    inline Range hull(double a, double b, double c, double d)
    {
        if (a != a || b != b || c != c || d != d)
            return {};
        return {std::min(std::min(a, b), std::min(c, d)), std::max(std::max(a, b), std::max(c, d))};
    }
    // Our own exp, log and pow are good to little more than a unit in the last place, and do not rise with every step
    // of their arguments.
    inline constexpr double widening_share = 1e-15, widening_least = 5e-324;
    inline constexpr double routine_share = 1e-11; // routines are good to 1e-12
    inline double widened(double x, int direction, double share = widening_share)
    { return std::isinf(x) ? x : x + direction * (std::fabs(x) * share + widening_least); }
    // ... of exp and pow, which are never negative, and stay on their side of one, as their arguments imply.
    inline Range widened_power(const Range& r, bool at_least_one, bool at_most_one)
    {
        return {
            std::max(widened(r.low, -1), at_least_one ? 1.0 : 0.0),
            at_most_one ? std::min(widened(r.high, 1), 1.0) : widened(r.high, 1)};
    }
    // ... of log, which stays on its side of zero.
    inline Range widened_log(const Range& r, bool at_least_zero, bool at_most_zero)
    {
        return {
            at_least_zero ? std::max(widened(r.low, -1), 0.0) : widened(r.low, -1),
            at_most_zero ? std::min(widened(r.high, 1), 0.0) : widened(r.high, 1)};
    }
    // Infinities of both signs can meet: their sum is NaN, though no sum of ends shows it.
    inline bool opposite(const Range& a, const Range& b)
    { return (a.low == -HUGE_VAL && b.high == HUGE_VAL) || (a.high == HUGE_VAL && b.low == -HUGE_VAL); }
    // Of a value by itself.
    inline Range square_of(const Range& a)
    {
        if (!a.known())
            return {};
        const double low = a.low * a.low, high = a.high * a.high;
        return {a.holds_zero() ? 0 : std::min(low, high), std::max(low, high)};
    }
    // A finite value divided by itself, or less itself; unknown if it may be anything.
    inline Range range_of_itself(Op op, const Range& a)
    {
        const double result = op == Op::div;
        return !a.known() || a.infinite() || (op == Op::div && a.holds_zero()) ? Range{} : Range{result, result};
    }
    inline bool is_zero(const Range& a) { return a.low == 0 && a.high == 0; }
    inline Range range_of_power(const Range& a, const Range& b)
    {
        if (!(a.low > 0) || !a.known() || !b.known() || a.infinite() || b.infinite())
            return {};
        const Range corners = hull(
            math::pow(a.low, b.low),
            math::pow(a.low, b.high),
            math::pow(a.high, b.low),
            math::pow(a.high, b.high));
        return corners.known()
            ? widened_power(
                  corners,
                  (a.low >= 1 && b.low >= 0) || (a.high <= 1 && b.high <= 0),
                  (a.high <= 1 && b.low >= 0) || (a.low >= 1 && b.high <= 0))
            : Range{};
    }
    inline Range range_of(Op op, const Range& a, const Range& b, const Range& c)
    {
        if (a.low >= 0 && b.low >= 0 && a.high < HUGE_VAL && b.high < HUGE_VAL) // as a rule
            switch (op)
            {
            case Op::add: return {a.low + b.low, a.high + b.high};
            case Op::mul: return {a.low * b.low, a.high * b.high};
            case Op::div:
                if (b.low > 0)
                    return {a.low / b.high, a.high / b.low};
                break;
            default: break;
            }
        const auto monotone = [&](auto f) { return hull(f(a.low), f(a.high), f(a.low), f(a.high)); };
        switch (op)
        {
        case Op::add:
            return opposite(a, b) ? Range{} : hull(a.low + b.low, a.high + b.high, a.low + b.low, a.high + b.high);
        case Op::sub:
            return opposite(a, {-b.high, -b.low})
                ? Range{}
                : hull(a.low - b.high, a.high - b.low, a.low - b.high, a.high - b.low);
        case Op::mul:
            if (a.known() && b.known() && !(a.holds_zero() && b.infinite()) && !(b.holds_zero() && a.infinite()))
                return hull(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high);
            return {};
        case Op::div:
            if (!a.known() || !b.known() || (a.holds_zero() && b.holds_zero()) || (a.infinite() && b.infinite()))
                return {};
            if (b.holds_zero())
                return {-HUGE_VAL, HUGE_VAL};
            return hull(a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high);
        case Op::neg: return hull(-a.high, -a.low, -a.high, -a.low);
        case Op::min: return a.known() && b.known() ? Range{std::min(a.low, b.low), std::min(a.high, b.high)} : Range{};
        case Op::max: return a.known() && b.known() ? Range{std::max(a.low, b.low), std::max(a.high, b.high)} : Range{};
        case Op::sqrt: return a.low >= 0 ? monotone([](double x) { return std::sqrt(x); }) : Range{};
        case Op::ceil: return monotone([](double x) { return std::ceil(x); });
        case Op::floor: return monotone([](double x) { return std::floor(x); });
        // a truth that the ends decide, by which a select is one of its sides
        case Op::less:
            return a.known() && b.known() ? Range{double(a.high < b.low), double(a.low < b.high)} : Range{0, 1};
        case Op::less_equal:
            return a.known() && b.known() ? Range{double(a.high <= b.low), double(a.low <= b.high)} : Range{0, 1};
        case Op::equal:
            if (!a.known() || !b.known())
                return {0, 1};
            return {
                double(a.low == a.high && b.low == b.high && a.low == b.low),
                double(a.low <= b.high && b.low <= a.high)};
        case Op::both:
            return {
                double(a.known() && b.known() && !a.holds_zero() && !b.holds_zero()),
                double(!is_zero(a) && !is_zero(b))};
        case Op::either:
            return {
                double((a.known() && !a.holds_zero()) || (b.known() && !b.holds_zero())),
                double(!(is_zero(a) && is_zero(b)))};
        case Op::select:
            if (a.known() && !a.holds_zero())
                return b;
            return a.low == 0 && a.high == 0 ? c : hull(b.low, b.high, c.low, c.high);
        case Op::exp: // not monotone in its last place: widened
            return a.known() ? widened_power({math::exp(a.low), math::exp(a.high)}, a.low >= 0, a.high <= 0) : Range{};
        case Op::log:
            return a.low > 0 && a.known()
                ? widened_log({math::log(a.low), math::log(a.high)}, a.low >= 1, a.high <= 1)
                : Range{};
        case Op::pow: return range_of_power(a, b);
        default: return {}; // of routines: range_of_routine
        }
    }

    // unknown where one of the values is NaN
    // By the directions in which it goes with what varies; unknown where nothing is known of one.
    Range range_of_routine(const Routine& routine, const std::array<Range, 3>& x);
    Range range_of_view(const View& view, const std::vector<std::size_t>& shape);
    // Ranges of all nodes on the whole grid. Leaves of more values than `most_values` are not searched, so they are
    // unbounded.
    inline constexpr std::size_t most_searched_values = 65536;
    // to nodes that have none yet
    void extend_ranges(
        std::pmr::vector<Range>& ranges,
        const Graph& graph,
        std::size_t most_values = most_searched_values);
    std::pmr::vector<Range> ranges(
        const Graph& graph,
        std::pmr::memory_resource* arena = std::pmr::get_default_resource(),
        std::size_t most_values = most_searched_values);
}
