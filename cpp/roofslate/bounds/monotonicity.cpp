#include "roofslate/bounds/monotonicity.hpp"
#include <cmath>
#include <string_view>

namespace roofslate
{
    namespace
    {
        Direction direction_of_leaf(const Graph& graph, int leaf, int axis)
        {
            const View& view = graph.view(graph[leaf]);
            return view.axes == AxisSet(1) << axis ? direction_along(view, graph.shape(), axis) : Direction::unknown;
        }
    }

    Direction Directions::operator()(int node)
    {
        std::optional<Direction>& known = known_[std::size_t(node)];
        return known ? *known : known.emplace(prove(node));
    }
    Direction Directions::of_difference(int lhs, int rhs)
    {
        return ranges_[std::size_t(lhs)].known() && ranges_[std::size_t(rhs)].known()
            ? combined((*this)(lhs), reversed((*this)(rhs)))
            : Direction::unknown;
    }
    Direction Directions::prove(int i)
    {
        const Node& n = graph_[i];
        if (!(n.axes >> axis_ & 1))
            return Direction::constant;
        if (!ranges_[std::size_t(i)].known())
            return Direction::unknown;
        if (n.is_leaf())
            return direction_of_leaf(graph_, i, axis_);
        const Direction a = (*this)(n.argument[0]), b = n.arity() > 1 ? (*this)(n.argument[1]) : Direction::constant;
        const auto least = [&](int k) { return ranges_[std::size_t(n.argument[std::size_t(k)])].low; };
        switch (n.op)
        {
        case Op::add:
        case Op::min:
        case Op::max: return combined(a, b);
        case Op::sub: return combined(a, reversed(b));
        case Op::neg: return reversed(a);
        case Op::sqrt:
        case Op::ceil:
        case Op::floor: return a;
        case Op::mul: return least(0) >= 0 && least(1) >= 0 ? combined(a, b) : Direction::unknown;
        case Op::div: return least(0) >= 0 && least(1) > 0 ? combined(a, reversed(b)) : Direction::unknown;
        default: return Direction::unknown;
        }
    }

    namespace
    {
        // rounding is a share of the value between them
        constexpr double least_magnitude = 1e-280, most_magnitude = 1e280;
        constexpr double most_exponent = 8;

        // Elasticities with respect to the one leaf on the axis: if it becomes x >= 1 times as large, a value becomes
        // x^low to x^high times as large.
        class Growth
        {
        public:
            Growth(const Graph& graph, const std::pmr::vector<Range>& ranges, int axis)
                : graph_(graph),
                  ranges_(ranges),
                  axis_(axis),
                  known_(std::size_t(graph.size())),
                  visited_(std::size_t(graph.size()), 0)
            {
            }
            const Range& operator()(int i)
            {
                Range& r = known_[std::size_t(i)];
                if (!visited_[std::size_t(i)]++)
                    r = is_tame(i) ? of(graph_[i], i) : Range{};
                return r;
            }
            int leaf() const { return leaf_; } // on the axis; -1: none was met

        private:
            bool is_tame(int i) const
            {
                const Range& r = ranges_[std::size_t(i)];
                return r.low > least_magnitude && r.high < most_magnitude;
            }
            Range of(const Node& n, int i)
            {
                if (!(n.axes >> axis_ & 1))
                    return {0, 0};
                if (n.is_leaf())
                {
                    if (leaf_ >= 0 && leaf_ != i)
                        return {};
                    leaf_ = i;
                    return {1, 1};
                }
                switch (n.op)
                {
                case Op::add:
                case Op::min:
                case Op::max:
                {
                    const Range a = (*this)(n.argument[0]), b = (*this)(n.argument[1]);
                    return hull(a.low, a.high, b.low, b.high);
                }
                case Op::mul:
                {
                    const Range a = (*this)(n.argument[0]), b = (*this)(n.argument[1]);
                    return {a.low + b.low, a.high + b.high};
                }
                case Op::div:
                {
                    const Range a = (*this)(n.argument[0]), b = (*this)(n.argument[1]);
                    return {a.low - b.high, a.high - b.low};
                }
                case Op::sqrt:
                {
                    const Range a = (*this)(n.argument[0]);
                    return {a.low / 2, a.high / 2};
                }
                case Op::pow:
                {
                    const Range a = (*this)(n.argument[0]), power = ranges_[std::size_t(n.argument[1])];
                    if (!(power.low == power.high && std::fabs(power.low) <= most_exponent))
                        return {};
                    return hull(a.low * power.low, a.high * power.low, a.low * power.low, a.high * power.low);
                }
                default: return {};
                }
            }

            const Graph& graph_;
            const std::pmr::vector<Range>& ranges_;
            int axis_, leaf_ = -1;
            std::vector<Range> known_;
            std::vector<char> visited_;
        };
    }

    Direction direction(const Graph& graph, const std::pmr::vector<Range>& ranges, int node, int axis)
    {
        const bool negated = graph[node].op == Op::neg;
        Growth growth(graph, ranges, axis);
        const Range r = growth(negated ? graph[node].argument[0] : node);
        if (!r.known() || growth.leaf() < 0 || !(r.low >= 0 || r.high <= 0))
            return Direction::unknown;
        const Direction of_leaf = direction_of_leaf(graph, growth.leaf(), axis);
        if (of_leaf == Direction::unknown)
            return Direction::unknown;
        const bool rises = (of_leaf != Direction::nonincreasing) == (r.low >= 0);
        return rises != negated ? Direction::nondecreasing : Direction::nonincreasing;
    }

    // All that a node is computed from, after it is known what of that depends on the input.
    std::vector<int> Trend::ask(int node)
    {
        depends_.resize(std::size_t(g_.size()), -1), known_.resize(std::size_t(g_.size()));
        std::vector<int> all = in_order(g_, {node}, [](int) { return false; });
        for (const int i : all)
        {
            bool dependent = i == input_;
            for (std::size_t k = 0; k < std::size_t(g_[i].arity()); ++k)
                dependent = dependent || depends(g_[i].argument[k]);
            depends_[std::size_t(i)] = dependent;
        }
        return all;
    }
    Bounds Trend::elasticity(int node)
    {
        for (const int i : ask(node))
            if (known_[std::size_t(i)].low < 0)
            {
                const Node n = g_[i];
                powers_.resize(std::size_t(g_.size())), lines_.resize(std::size_t(g_.size()));
                lines_[std::size_t(i)] = line_of(n, i);
                lines_.resize(std::size_t(g_.size()));
                if (depends(i))
                    powers_[std::size_t(i)] = powers_of(n, i);
                const Bounds e = i == input_ ? bounder_.constant(1)
                    : !depends(i)            ? bounder_.constant(0)
                    : is_atom(i)
                    ? derive(n, i)
                    : of_powers(powers_[std::size_t(i)]);
                known_[std::size_t(i)] = e;
            }
        return known(node);
    }
    Bounds Trend::elasticity_of_ratio(int over, int under)
    {
        elasticity(over), elasticity(under);
        powers_.resize(std::size_t(g_.size()));
        return of_powers(sum(powers_[std::size_t(over)], powers_[std::size_t(under)], -1));
    }
    Trend::Powers Trend::sum(const Powers& a, const Powers& b, double times_b)
    {
        Powers all = a;
        for (const Term& t : b)
        {
            const auto at = std::lower_bound(all.begin(), all.end(), t);
            if (at == all.end() || t < *at)
                all.insert(at, {t.atom, t.factor, t.times * times_b});
            else
                at->times += t.times * times_b;
        }
        all.erase(std::remove_if(all.begin(), all.end(), [](const Term& t) { return t.times == 0; }), all.end());
        return all;
    }
    Trend::Powers Trend::raised(const Powers& base, int exponent)
    {
        Powers all;
        for (const Term& t : base)
            if (g_[exponent].is_constant())
                all.push_back({t.atom, t.factor, t.times * g_[exponent].value});
            else
                all.push_back({t.atom, t.factor < 0 ? exponent : op(Op::mul, t.factor, exponent), t.times});
        std::sort(all.begin(), all.end());
        return all;
    }
    // Another node that is the same but for rounding, if the formula takes first powers.
    int Trend::without_first_powers(const Node& n, int i)
    {
        std::array<int, 3> x = n.argument;
        bool changed = false;
        for (std::size_t k = 0; k < std::size_t(n.arity()) && n.op != Op::routine; ++k)
            if (const Node& a = g_[x[k]]; a.op == Op::pow && bounder_.is(a.argument[1], 1))
                x[k] = a.argument[0], changed = true;
        if (!changed)
            return i;
        const int same = op(n.op, x[0], x[1], x[2]);
        elasticity(same);
        powers_.resize(std::size_t(g_.size()));
        return is_atom(same) ? same : i;
    }
    Trend::Powers Trend::powers_of(const Node& n, int i)
    {
        constexpr std::size_t most_terms = 16;
        const auto of = [&](std::size_t k) -> const Powers& { return powers_[std::size_t(n.argument[k])]; };
        const auto is_nothing = [&](int k) {
            return (n.op == Op::add || n.op == Op::sub) && g_[k].is_constant() && g_[k].value == 0;
        };
        const Powers atom{{without_first_powers(n, i), -1, 1}};
        Powers result = atom;
        switch (n.op)
        {
        case Op::neg: result = of(0); break;
        case Op::mul: result = sum(of(0), of(1), 1); break;
        case Op::div: result = sum(of(0), of(1), -1); break;
        case Op::sqrt: result = sum({}, of(0), 0.5); break;
        case Op::pow:
            if (!depends(n.argument[1]))
                result = raised(of(0), n.argument[1]);
            break;
        case Op::add:
        case Op::sub:
        case Op::min:
        case Op::max:
            if (of(0) == of(1) || is_nothing(n.argument[1]))
                result = of(0);
            else if (is_nothing(n.argument[0]))
                result = of(1);
            break;
        case Op::select:
            if (!depends(n.argument[0]) && of(1) == of(2))
                result = of(1);
            break;
        case Op::less:
        case Op::less_equal:
        case Op::equal: break;
        default: // a value constant except for rounding makes a constant
            if (i != input_ && std::all_of(n.argument.begin(), n.argument.begin() + n.arity(), [&](int k) {
                    return powers_[std::size_t(k)].empty();
                }))
                result = {};
        }
        return result.size() > most_terms ? atom : result;
    }
    Bounds Trend::of_powers(const Powers& powers)
    {
        Bounds all;
        lines_.resize(std::size_t(g_.size()));
        const auto replace = [&](Bounds& part, int condition, int low, int high) {
            if (bounder_.is(condition, 0))
                return;
            part.low = op(Op::select, condition, low, part.low), part.high = op(Op::select, condition, high, part.high);
            part.exact = false;
            if (part.range.known())
                part.range = hull(part.range.low, part.range.high, 0, 1);
        };
        for (const Term& t : powers)
        {
            Bounds part = known(t.atom);
            int cancelled = number(0), by_input = number(0);
            for (const Term& u : powers)
                if (u.atom != t.atom)
                {
                    cancelled = bounder_.either(cancelled, proportional(t, u));
                    cancelled = bounder_.either(cancelled, proportional_by_input(u, t));
                    by_input = bounder_.either(by_input, proportional_by_input(t, u));
                    if (const Bounds e = of_geometric_sum(t, u); e.low >= 0)
                    {
                        const int inside = op(Op::equal, e.low, e.low);
                        part.range = {}, replace(part, inside, e.low, e.high);
                    }
                    if (const Bounds e = of_geometric_sum(u, t); e.low >= 0)
                        cancelled = bounder_.either(cancelled, op(Op::equal, e.low, e.low));
                }
            replace(part, cancelled, number(0), number(0)), replace(part, by_input, number(1), number(1));
            if (t.factor >= 0)
                part = bounder_.apply(Op::mul, value(t.factor), part);
            if (t.times != 1)
                part = bounder_.apply(Op::mul, bounder_.constant(t.times), part);
            all = all.low < 0 ? part : bounder_.apply(Op::add, all, part);
        }
        return all.low < 0 ? bounder_.constant(0) : all;
    }
    int Trend::smooth(int node)
    {
        int all = number(1);
        for (const int i : ask(node))
        {
            const Node n = g_[i];
            if (depends(i) && (n.op == Op::ceil || n.op == Op::floor))
                all = bounder_.both(all, bounder_.either(same(value(i)), is_whole(n)));
            else if (n.op == Op::select && depends(n.argument[0]))
                all = bounder_.both(all, same(value(n.argument[0])));
        }
        return all;
    }
    // Whether a routine goes one way with each argument that varies.
    bool Trend::is_monotone(const Node& n)
    {
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
            if (n.routine->directions[k] == 0 && depends(n.argument[k]))
                return false;
        return true;
    }
    bool Trend::has_bounds(const Node& n) const
    {
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
            if (depends(n.argument[k]) && !n.routine->has_bounds_by(k))
                return false;
        return true;
    }
    bool Trend::has_routine(int node)
    {
        const std::vector<int> all = ask(node);
        return std::any_of(all.begin(), all.end(), [&](int i) {
            return depends(i) && g_[i].op == Op::routine && !has_bounds(g_[i]);
        });
    }

    Bounds Trend::derive(const Node& n, int i)
    {
        switch (n.op)
        {
        case Op::neg: return known(n.argument[0]);
        case Op::add:
        case Op::sub: return of_sum(n, i);
        case Op::mul:
        case Op::div:
        {
            const int a = n.argument[0], b = n.argument[1];
            if (!depends(b))
                return known(a);
            if (n.op == Op::mul && !depends(a))
                return known(b);
            return bounder_.apply(n.op == Op::mul ? Op::add : Op::sub, known(a), known(b));
        }
        case Op::min:
        case Op::max: return of_extreme(n);
        case Op::sqrt: return bounder_.apply(Op::mul, known(n.argument[0]), bounder_.constant(0.5));
        case Op::exp: return bounder_.apply(Op::mul, value(n.argument[0]), known(n.argument[0]));
        case Op::log: return ratio(known(n.argument[0]), value(i));
        case Op::pow: return of_power(n);
        case Op::ceil:
        case Op::floor: return of_steps(n, i);
        case Op::select: return of_choice(n);
        case Op::routine: return of_routine(n);
        default: return bounder_.anything();
        }
    }
    // A routine that rises with an argument, but slower: the largest elasticity by it, -1 if nothing is known.
    int Trend::steepest(const Node& n, std::size_t argument)
    {
        // Of x^beta = 1 + k / x it is w / (beta + w) by k. The share w = k / (x + k) is less than 1.
        if (std::string_view(n.routine->name) != "overtraining_optimum" || argument != 1)
            return -1;
        const Bounds beta = value(n.argument[0]);
        const int proved = op(Op::both, op(Op::less, number(0), beta.low), op(Op::less, beta.high, number(HUGE_VAL)));
        const int limit = op(Op::div, number(1 + 1e-12), op(Op::add, number(1), beta.low));
        return op(Op::select, proved, limit, number(NAN));
    }
    Bounds Trend::of_routine(const Node& n)
    {
        Bounds result = direction_of_routine(n);
        Bounds all;
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
            if (depends(n.argument[k]))
            {
                const int limit = steepest(n, k);
                if (limit < 0)
                    return result;
                const Bounds e = known(n.argument[k]), steep{limit, limit, {}, false};
                const Bounds part = bounder_.hull(bounder_.constant(0), bounder_.apply(Op::mul, steep, e));
                all = all.low < 0 ? part : bounder_.apply(Op::add, all, part);
            }
        const auto tighter = [&](Op o, int by_direction, int by_limit) {
            const int both = op(o, by_direction, by_limit);
            return op(
                Op::select,
                op(Op::equal, by_limit, by_limit),
                op(Op::select, op(Op::equal, by_direction, by_direction), both, by_limit),
                by_direction);
        };
        result.low = tighter(Op::max, result.low, all.low), result.high = tighter(Op::min, result.high, all.high);
        return result;
    }
    // Only the sign, if it is monotone in all arguments in one direction.
    Bounds Trend::direction_of_routine(const Node& n)
    {
        if (!is_monotone(n))
            return bounder_.anything();
        int rises = number(1), falls = number(1);
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
            if (depends(n.argument[k]))
            {
                const Bounds e = known(n.argument[k]);
                const int up = bounder_.at_least_zero(e), down = bounder_.at_most_zero(e);
                const bool with = n.routine->directions[k] > 0;
                rises = bounder_.both(rises, with ? up : down), falls = bounder_.both(falls, with ? down : up);
            }
        const auto end = [&](int zero, int other, double far) {
            return op(Op::select, zero, number(0), op(Op::select, other, number(far), number(NAN)));
        };
        return {end(rises, falls, -HUGE_VAL), end(falls, rises, HUGE_VAL), {}, false};
    }
    Bounds Trend::chosen(int condition, const Bounds& a, const Bounds& b)
    {
        if (bounder_.is(condition, 1))
            return a;
        if (bounder_.is(condition, 0))
            return b;
        return {
            op(Op::select, condition, a.low, b.low),
            op(Op::select, condition, a.high, b.high),
            hull(a.range.low, a.range.high, b.range.low, b.range.high),
            false};
    }
    // Between the elasticities of the terms, or the change of the terms relative to the sum if their signs differ.
    Bounds Trend::of_sum(const Node& n, int i)
    {
        const std::array<Bounds, 2> e{known(n.argument[0]), known(n.argument[1])};
        std::array<Bounds, 2> v{value(n.argument[0]), value(n.argument[1])};
        if (n.op == Op::sub)
            v[1] = bounder_.apply(Op::neg, v[1]);
        const auto is_zero = [&](const Bounds& x) {
            return bounder_.both(bounder_.at_least_zero(x), bounder_.at_most_zero(x));
        };
        const bool unlike =
            (v[0].range.low >= 0 && v[1].range.high <= 0) || (v[0].range.high <= 0 && v[1].range.low >= 0);
        const int up = bounder_.both(bounder_.at_least_zero(v[0]), bounder_.at_least_zero(v[1]));
        const int down = bounder_.both(bounder_.at_most_zero(v[0]), bounder_.at_most_zero(v[1]));
        const int alike = unlike ? number(0) : bounder_.either(up, down);
        Bounds result = unlike ? bounder_.hull(e[0], e[1]) : weighted(e, v);
        if (!bounder_.is(alike, 1))
        {
            Bounds change;
            for (std::size_t k = 0; k < 2; ++k)
                if (depends(n.argument[k]))
                {
                    const Bounds part = bounder_.apply(Op::mul, v[k], e[k]);
                    change = change.low < 0 ? part : bounder_.apply(Op::add, change, part);
                }
            result = chosen(alike, result, ratio(change, value(i)));
        }
        return of_line(lines_[std::size_t(i)], chosen(is_zero(v[1]), e[0], chosen(is_zero(v[0]), e[1], result)));
    }
    // The change of a value relative to the value, which may begin or end at zero.
    Bounds Trend::ratio(const Bounds& change, const Bounds& value)
    {
        const Bounds quotient = bounder_.apply(Op::div, change, value);
        if (!value.range.holds_zero())
            return quotient;
        const int up = bounder_.at_least_zero(value), down = bounder_.at_most_zero(value);
        const int rises = bounder_.at_least_zero(change), falls = bounder_.at_most_zero(change);
        const auto by_sign = [&](int if_up, int if_down, double otherwise) {
            const auto one_way = [&](int proved) { return op(Op::select, proved, number(0), number(otherwise)); };
            return op(Op::select, up, one_way(if_up), op(Op::select, down, one_way(if_down), number(NAN)));
        };
        const int holds_zero =
            bounder_.both(op(Op::less_equal, value.low, number(0)), op(Op::less_equal, number(0), value.high));
        Bounds result{-1, -1, {}, false};
        result.low = op(Op::select, holds_zero, by_sign(rises, falls, -HUGE_VAL), quotient.low);
        result.high = op(Op::select, holds_zero, by_sign(falls, rises, HUGE_VAL), quotient.high);
        const bool all_up = value.range.low >= 0, all_down = value.range.high <= 0;
        if (all_up || all_down)
        {
            const bool all_rise = all_up ? change.range.low >= 0 : change.range.high <= 0,
                       all_fall = all_up ? change.range.high <= 0 : change.range.low >= 0;
            result.range = {all_rise ? 0 : -HUGE_VAL, all_fall ? 0 : HUGE_VAL};
        }
        return result;
    }
    Bounds Trend::of_power(const Node& n)
    {
        const int a = n.argument[0], b = n.argument[1];
        Bounds result;
        if (depends(a))
            result = bounder_.apply(Op::mul, value(b), known(a));
        if (depends(b))
        {
            const Bounds part =
                bounder_.apply(Op::mul, bounder_.apply(Op::log, value(a)), bounder_.apply(Op::mul, value(b), known(b)));
            result = result.low < 0 ? part : bounder_.apply(Op::add, result, part);
        }
        return result;
    }
    // That of the one which is taken, or between both.
    Bounds Trend::of_extreme(const Node& n)
    {
        const Bounds a = known(n.argument[0]), b = known(n.argument[1]), u = value(n.argument[0]),
                     v = value(n.argument[1]);
        const bool largest = n.op == Op::max;
        const int first = largest ? op(Op::less_equal, v.high, u.low) : op(Op::less_equal, u.high, v.low),
                  second = largest ? op(Op::less_equal, u.high, v.low) : op(Op::less_equal, v.high, u.low);
        const Bounds between = bounder_.hull(a, b);
        const auto selected = [&](int x, int y, int both) {
            return op(Op::select, first, x, op(Op::select, second, y, both));
        };
        return {selected(a.low, b.low, between.low), selected(a.high, b.high, between.high), between.range, false};
    }
    // A truth: all numbers of the argument are whole.
    int Trend::is_whole(const Node& n)
    {
        constexpr double all_whole = 0x1p52;
        const Bounds a = value(n.argument[0]);
        return bounder_.either(bounder_.at_least(a, all_whole), bounder_.at_most(a, -all_whole));
    }
    Bounds Trend::of_steps(const Node& n, int i)
    {
        const Bounds e = known(n.argument[0]);
        const int none = same(value(i)), whole = is_whole(n), rises = bounder_.at_least_zero(e),
                  falls = bounder_.at_most_zero(e);
        const auto end = [&](int zero, int other, double far, int of_argument) {
            const int by_sign = op(Op::select, zero, number(0), op(Op::select, other, number(far), number(NAN)));
            return op(Op::select, none, number(0), op(Op::select, whole, of_argument, by_sign));
        };
        Bounds result{end(rises, falls, -HUGE_VAL, e.low), end(falls, rises, HUGE_VAL, e.high), {}, false};
        if (e.range.low >= 0)
            result.range = {0, HUGE_VAL};
        else if (e.range.high <= 0)
            result.range = {-HUGE_VAL, 0};
        return result;
    }
    Bounds Trend::of_choice(const Node& n)
    {
        const Bounds condition = value(n.argument[0]), a = known(n.argument[1]), b = known(n.argument[2]);
        if (!depends(n.argument[0]))
            return bounder_.apply(Op::select, condition, a, b);
        const auto decided = [&](int x, int y) {
            return op(Op::select, condition.low, x, op(Op::select, condition.high, number(NAN), y));
        };
        return {decided(a.low, b.low), decided(a.high, b.high), {}, false};
    }
}
