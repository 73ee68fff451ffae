#include "roofslate/bounds/rounding.hpp"
#include <cfloat>

namespace roofslate
{
    namespace
    {
        constexpr double least_normal = 1e-290, greatest_normal = 1e290;
        // what underflows is tiny, also after a factor or two, and drowns in a sum
        constexpr double tiny_size = 1e-200, little_factor = 1e50, large_sum = 1e-80;
        constexpr double of_function = 3, of_routine = 4096; // units in the last place
        constexpr double lost_divisor = 4 * DBL_EPSILON;     // a divisor that may be zero bounds nothing
        constexpr double most_share = 32;                    // of a power, more is bounded number by number
        constexpr double of_given = 2;                       // precomputed values
    }

    int Rounding::size(int x)
    {
        const Range r = trend_.value(x).range;
        return r.low >= 0 ? x : op(Op::max, x, op(Op::neg, x));
    }
    int Rounding::plus_share(int error, double share, int value)
    {
        const int part = op(Op::mul, size(value), number(share));
        return error < 0 ? part : op(Op::add, error, part);
    }
    int Rounding::absolute(const Error& error, int node)
    { return error.is_share() ? op(Op::mul, size(node), number(error.share)) : error.node; }
    Rounding::Error Rounding::error(int node)
    {
        const std::vector<int> all = trend_.ask(node);
        errors_.resize(std::size_t(g_.size())), has_error_.resize(std::size_t(g_.size()), 0);
        for (const int i : all)
            if (!has_error_[std::size_t(i)])
            {
                const Node n = g_[i]; // a copy: the graph grows
                const Error e = n.is_constant() ? Error{} : n.is_leaf() ? Error{of_given} : derive(n, i);
                errors_[std::size_t(i)] = e, has_error_[std::size_t(i)] = 1;
            }
        return known(node);
    }
    Rounding::Error Rounding::derive(const Node& n, int i)
    {
        const int a = n.argument[0], b = n.argument[1];
        const Error ea = known(a), eb = n.arity() > 1 ? known(b) : Error{};
        const bool shares = ea.is_share() && eb.is_share();
        const auto node = [](int e) { return Error{0, e}; };
        switch (n.op)
        {
        case Op::neg: return ea;
        case Op::add:
        case Op::sub: return of_sum(n, i);
        case Op::mul:
            if (shares)
                return {ea.share + eb.share + 1};
            return node(plus_share(
                op(Op::add, op(Op::mul, absolute(ea, a), size(b)), op(Op::mul, absolute(eb, b), size(a))),
                1,
                i));
        case Op::div:
            if (shares)
                return {ea.share + eb.share + 1};
            {
                const int divisor = absolute(eb, b),
                          known_divisor = op(Op::less, op(Op::mul, divisor, number(lost_divisor)), size(b));
                const int e =
                    plus_share(op(Op::div, op(Op::add, absolute(ea, a), op(Op::mul, divisor, size(i))), size(b)), 1, i);
                return node(op(Op::select, known_divisor, e, number(HUGE_VAL)));
            }
        case Op::sqrt:
            if (shares)
                return {ea.share / 2 + 1};
            return node(plus_share(op(Op::div, absolute(ea, a), op(Op::add, i, i)), 1, i));
        case Op::min:
        case Op::max:
        {
            if (shares)
                return {std::max(ea.share, eb.share)};
            const int first = n.op == Op::max ? op(Op::less, b, a) : op(Op::less, a, b);
            return node(op(Op::select, first, absolute(ea, a), absolute(eb, b)));
        }
        case Op::select:
        {
            const int c = n.argument[2];
            const Error ec = known(c);
            if (eb.is_share() && ec.is_share())
                return {std::max(eb.share, ec.share)};
            return node(op(Op::select, a, absolute(eb, b), absolute(ec, c)));
        }
        case Op::exp: return node(plus_share(op(Op::mul, i, absolute(ea, a)), of_function, i));
        case Op::log:
            return node(
                ea.is_share() ? plus_share(number(ea.share), of_function, i)
                              : plus_share(op(Op::div, absolute(ea, a), a), of_function, i));
        case Op::pow:
        {
            const Range exponent = trend_.value(b).range;
            const double size_of_exponent = std::max(std::fabs(exponent.low), std::fabs(exponent.high));
            if (ea.is_share() && !trend_.depends(b) && size_of_exponent * ea.share <= most_share)
                return {size_of_exponent * ea.share + of_function};
            const int of_base = op(Op::mul, size(b), op(Op::div, absolute(ea, a), a)),
                      of_exponent = op(Op::mul, size(op(Op::log, a)), absolute(eb, b));
            return node(plus_share(op(Op::mul, i, op(Op::add, of_base, of_exponent)), of_function, i));
        }
        case Op::routine: return {of_routine};
        default: return {}; // truths, and what goes in steps
        }
    }
    Rounding::Error Rounding::of_sum(const Node& n, int i)
    {
        const int a = n.argument[0], b = n.argument[1];
        const Error ea = known(a), eb = known(b);
        const Range x = trend_.value(a).range, y = trend_.value(b).range;
        const bool up = x.low >= 0 && (n.op == Op::add ? y.low >= 0 : y.high <= 0),
                   down = x.high <= 0 && (n.op == Op::add ? y.high <= 0 : y.low >= 0);
        if (ea.is_share() && eb.is_share() && (up || down))
            return {std::max(ea.share, eb.share) + 1};
        return {0, plus_share(op(Op::add, absolute(ea, a), absolute(eb, b)), 1, i)};
    }

    int Rounding::same(int x, int z)
    {
        if (x == z)
            return number(1);
        if (x > z) // equal in either order
            std::swap(x, z);
        if (const auto known = same_.find({x, z}); known != same_.end())
            return known->second;
        same_[{x, z}] = number(0);
        int proved = bounder_.either(same_as_chosen(x, z), same_as_chosen(z, x));
        const Node a = g_[x], b = g_[z];
        if (a.op == b.op && a.routine == b.routine && a.arity() == b.arity() && a.arity() > 0)
        {
            int all = number(1);
            for (std::size_t k = 0; k < std::size_t(a.arity()) && !bounder_.is(all, 0); ++k)
                all = bounder_.both(all, same(a.argument[k], b.argument[k]));
            proved = bounder_.either(proved, all);
        }
        return same_[{x, z}] = proved;
    }
    // ... where one is a choice that is decided.
    int Rounding::same_as_chosen(int choice, int z)
    {
        const Node n = g_[choice];
        if (n.op != Op::max && n.op != Op::min && n.op != Op::select)
            return number(0);
        const std::size_t k = n.op == Op::select;
        const int first = same(n.argument[k], z), second = same(n.argument[k + 1], z);
        if (bounder_.is(first, 0) && bounder_.is(second, 0))
            return number(0);
        const Bounds a = trend_.value(n.argument[0]), b = trend_.value(n.argument[1]);
        const auto at_most = [&](const Bounds& u, const Bounds& v) { return op(Op::less_equal, u.high, v.low); };
        const int takes_first = n.op == Op::max ? at_most(b, a)
            : n.op == Op::min
            ? at_most(a, b)
            : a.low,
                  takes_second = n.op == Op::max ? at_most(a, b)
            : n.op == Op::min
            ? at_most(b, a)
            : op(Op::equal, a.high, number(0));
        const int first_taken = n.op == Op::select ? op(Op::equal, takes_first, number(1)) : takes_first;
        return bounder_.either(bounder_.both(first_taken, first), bounder_.both(takes_second, second));
    }

    int Rounding::tame(int node)
    {
        const std::vector<int> all = trend_.ask(node);
        std::vector<Size> sizes(std::size_t(all.empty() ? 0 : all.back() + 1));
        for (const int i : all)
        {
            const Node n = g_[i];
            Size& size = sizes[std::size_t(i)];
            size = {number(1), number(0)};
            if (!trend_.depends(i) || n.is_leaf())
                continue;
            std::array<Size, 3> x;
            for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
                x[k] = sizes[std::size_t(n.argument[k])];
            size = size_of(n, i, x);
        }
        return sizes[std::size_t(node)].tame;
    }
    Rounding::Size Rounding::size_of(const Node& n, int i, const std::array<Size, 3>& x)
    {
        const Bounds v = trend_.value(i), a = trend_.value(n.argument[0]);
        const Bounds b = n.arity() > 1 ? trend_.value(n.argument[1]) : a;
        const auto within = [&](const Bounds& u, double limit) {
            return bounder_.both(bounder_.at_most(u, limit), bounder_.at_least(u, -limit));
        };
        const auto beyond = [&](const Bounds& u, double limit) {
            return bounder_.either(bounder_.at_least(u, limit), bounder_.at_most(u, -limit));
        };
        int all = number(1);
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
            all = bounder_.both(all, x[k].tame);
        const bool scales = n.op == Op::mul || n.op == Op::div || n.op == Op::pow || n.op == Op::exp;
        if (scales)
        {
            const int bounded = within(v, greatest_normal);
            const bool unlimited = a.range.low == HUGE_VAL || b.range.low == HUGE_VAL; // and meant so
            int away = unlimited ? number(1) : beyond(v, least_normal);
            const auto or_holds_zero = [&](const Bounds& u) {
                if (u.range.holds_zero())
                    away = bounder_.either(
                        away,
                        op(Op::both, op(Op::less_equal, u.low, number(0)), op(Op::less_equal, number(0), u.high)));
            };
            if (n.op == Op::mul || n.op == Op::div)
                or_holds_zero(a);
            if (n.op == Op::mul)
                or_holds_zero(b);
            if (n.op == Op::pow && !(a.range.low > 0))
                away = bounder_.either(away, is_zero(a));
            int tiny = bounder_.both(all, within(v, tiny_size));
            if (n.op == Op::mul)
                tiny = bounder_.either(
                    tiny,
                    bounder_.either(
                        bounder_.both(bounder_.both(x[0].tiny, x[1].tame), within(b, little_factor)),
                        bounder_.both(bounder_.both(x[1].tiny, x[0].tame), within(a, little_factor))));
            return {bounder_.both(all, bounder_.both(unlimited ? number(1) : bounded, away)), tiny};
        }
        if (n.op == Op::neg)
            return x[0];
        if (n.op == Op::select && !trend_.depends(n.argument[0]))
        {
            const int choice = n.argument[0];
            return {op(Op::select, choice, x[1].tame, x[2].tame), op(Op::select, choice, x[1].tiny, x[2].tiny)};
        }
        if (n.op == Op::add || n.op == Op::sub || n.op == Op::min || n.op == Op::max)
        {
            const int large = beyond(v, large_sum);
            const auto drowned = [&](std::size_t one, std::size_t other) {
                return bounder_.both(bounder_.both(x[one].tame, x[other].tiny), large);
            };
            all = bounder_.either(all, bounder_.either(drowned(0, 1), drowned(1, 0)));
            return {bounder_.both(all, within(v, greatest_normal)), number(0)};
        }
        return {all, number(0)};
    }

    int Rounding::undefined(int node)
    {
        const std::vector<int> all = trend_.ask(node);
        std::vector<int> flags(std::size_t(all.empty() ? 0 : all.back() + 1), -1);
        for (const int i : all)
        {
            const Node n = g_[i];
            int& flag = flags[std::size_t(i)];
            flag = number(0);
            const auto of = [&](std::size_t k) { return flags[std::size_t(n.argument[k])]; };
            if (trend_.value(i).range.known() || n.is_constant() || n.is_leaf())
                continue;
            if (n.op == Op::select)
                flag = trend_.depends(n.argument[0])
                    ? bounder_.decided(trend_.value(n.argument[0]), of(1), of(2))
                    : op(Op::select, n.argument[0], of(1), of(2));
            else if (n.op == Op::pow) // the power 0 of anything is 1, and any power of 1
            {
                const auto is_not = [&](const Bounds& x, double value) {
                    return op(Op::either, op(Op::less, x.high, number(value)), op(Op::less, number(value), x.low));
                };
                const Bounds base = trend_.value(n.argument[0]), exponent = trend_.value(n.argument[1]);
                flag = bounder_.either(
                    bounder_.both(is_not(exponent, 0), bounder_.either(of(0), undefined_here(n))),
                    bounder_.both(is_not(base, 1), of(1)));
            }
            else if (n.op < Op::less || n.op == Op::routine)
            {
                for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
                    flag = bounder_.either(flag, of(k));
                flag = bounder_.either(flag, undefined_here(n));
            }
        }
        return flags[std::size_t(node)];
    }
    // Of numbers, no number.
    int Rounding::undefined_here(const Node& n)
    {
        if (n.op == Op::routine)
        {
            int below = number(0);
            for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
                if (const double least = n.routine->least[k]; least > -HUGE_VAL)
                    below = bounder_.either(below, op(Op::less, trend_.value(n.argument[k]).high, number(least)));
            return below;
        }
        const Bounds a = trend_.value(n.argument[0]);
        if (n.op == Op::sqrt || n.op == Op::log || n.op == Op::pow)
            return a.range.low >= 0 ? number(0) : op(Op::less, a.high, number(0));
        if (n.arity() < 2)
            return number(0);
        const Bounds b = trend_.value(n.argument[1]);
        switch (n.op)
        {
        case Op::mul:
            return bounder_.either(
                bounder_.both(is_zero(a), is_infinite(b)),
                bounder_.both(is_infinite(a), is_zero(b)));
        case Op::div:
            return bounder_.either(
                bounder_.both(is_zero(a), is_zero(b)),
                bounder_.both(is_infinite(a), is_infinite(b)));
        case Op::add:
            return bounder_.either(
                bounder_.both(bounder_.at_least(a, HUGE_VAL), bounder_.at_most(b, -HUGE_VAL)),
                bounder_.both(bounder_.at_most(a, -HUGE_VAL), bounder_.at_least(b, HUGE_VAL)));
        case Op::sub:
            return bounder_.either(
                bounder_.both(bounder_.at_least(a, HUGE_VAL), bounder_.at_least(b, HUGE_VAL)),
                bounder_.both(bounder_.at_most(a, -HUGE_VAL), bounder_.at_most(b, -HUGE_VAL)));
        default: return number(0);
        }
    }
}
