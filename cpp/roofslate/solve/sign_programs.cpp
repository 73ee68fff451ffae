#include "roofslate/bounds/rounding.hpp"
#include "roofslate/solve/sign_changes.hpp"
#include <cfloat>

namespace roofslate
{
    namespace
    {
        constexpr double rounding = DBL_EPSILON;
        constexpr double equal_share = 8 * rounding;      // sides that differ by less are equal
        // ... where they hardly move; less is not counted, so that a single point gives the same result as within a
        // grid
        constexpr double least_error_share = 64 * rounding;
        constexpr double closed_share = 16 * rounding; // a bracket as narrow determines its root
        constexpr double level_slope = 0x1p-20; // what hardly moves: elasticities apart by less
        constexpr double like_share = 1e-4; // ... at a root that rounding shakes
        constexpr double level_change = 4 * rounding; // of level sides
        constexpr double near_errors = 4; // sides that may be equal but for rounding
        constexpr double agreed_share = 1e-12; // of sides that agree at a root
        constexpr double declared_error = 0x1p16; // in units of rounding, of a side with many terms that nearly cancel
        constexpr double close_share = 0x1p-30; // sides that Newton's step brings together

        // Stretches of a point to look at. The time of bounds grows with the square of a formula's length, so the
        // number falls with the square if the formula is not short. No clock decides: all machines agree.
        std::size_t most_stretches(const Comparison& c)
        {
            constexpr double all = 32768, fewest = 256, short_formula = 160;
            std::vector<char> varies(std::size_t(c.graph.size()), 0);
            double length = 0;
            for (const int i : in_order(c.graph, {c.lhs, c.rhs}, [](int) { return false; }))
            {
                const Node& n = c.graph[i];
                char& so = varies[std::size_t(i)];
                so = i == c.unknown.leaf;
                for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
                    so = char(so | varies[std::size_t(n.argument[k])]);
                length += so ? 1 + (n.op == Op::routine ? n.routine->operations : 0) : 0;
            }
            const double share = std::min(1.0, short_formula / length);
            return std::size_t(std::max(fewest, all * share * share));
        }

        // Copies a node into another graph, from its copied arguments.
        int copied(Graph& to, const Graph& from, std::vector<int>& copies, int node)
        {
            for (const int i : in_order(from, {node}, [&](int k) { return copies[std::size_t(k)] >= 0; }))
            {
                const Node& n = from[i];
                const auto at = [&](std::size_t k) {
                    return n.argument[k] >= 0 ? copies[std::size_t(n.argument[k])] : -1;
                };
                copies[std::size_t(i)] =
                    n.is_constant() ? to.constant(n.value) : to.operation(n.op, at(0), at(1), at(2), n.routine);
            }
            return copies[std::size_t(node)];
        }
    }

    HalfLine::HalfLine(
        const Equation& equation,
        const Givens& givens,
        double sign,
        const Range& y,
        const InstructionSet& set)
        : set_(set),
          equal_(equation.comparison.relation == Relation::equal),
          strict_(equation.comparison.relation == Relation::less),
          most_stretches_(most_stretches(equation.comparison)),
          stack_(block)
    { build(equation, givens, sign, y); }
    // NOLINTNEXTLINE(readability-function-size): one graph, from the sides to Newton's steps
    void HalfLine::build(const Equation& equation, const Givens& givens, double sign, const Range& range)
    {
        const Comparison& comparison = equation.comparison;
        Graph& g = lanes_.graph();
        const auto op = [&](Op o, int a, int b = -1, int c = -1) { return g.operation(o, a, b, c); };
        const auto number = [&](double x) { return g.constant(x); };
        const auto size = [&](int x) { return op(Op::max, x, op(Op::neg, x)); };
        const Range truth{0, 1};
        const int y = lanes_.leaf(range, y_), a = lanes_.leaf(range, a_), b = lanes_.leaf(range, b_),
                  mark = lanes_.leaf({-1, undefined_state}, mark_);
        const int want = lanes_.leaf(truth, want_), open = lanes_.leaf(truth, open_);
        std::vector<int> copies(std::size_t(comparison.graph.size()), -1);
        std::vector<std::pair<int, Range>> inputs;
        copies[std::size_t(comparison.unknown.leaf)] = sign < 0 ? op(Op::neg, y) : sign > 0 ? y : number(0);
        for (std::size_t k = 0; k < givens.size(); ++k)
        {
            given_lanes_.push_back(nullptr);
            const int leaf = lanes_.leaf(givens.range(k), given_lanes_.back());
            copies[std::size_t(givens.node(k))] = leaf;
            inputs.emplace_back(leaf, givens.range(k));
        }
        const auto copy = [&](int node) { return node < 0 ? node : copied(g, comparison.graph, copies, node); };
        const auto by_y = [&](int tangent) { return tangent >= 0 && sign < 0 ? op(Op::neg, tangent) : tangent; };
        const int lhs = copy(comparison.lhs), rhs = copy(comparison.rhs), left_slope = by_y(copy(equation.left_slope)),
                  right_slope = by_y(copy(equation.right_slope));

        const auto of_leaf = [&](int i) {
            if (i == y)
                return Bounds{a, b, range, false, true, number(1)};
            const Range& of_input =
                std::find_if(inputs.begin(), inputs.end(), [&](const auto& input) { return input.first == i; })->second;
            // of zeros the one without a sign, by its reciprocal
            const int clean =
                op(Op::either, op(Op::less, number(0), i), op(Op::less, number(0), op(Op::div, number(1), i)));
            return Bounds{i, i, of_input, true, false, clean};
        };
        Bounder bounder(g, g);
        Trend trend(bounder, y, of_leaf);
        one_way_ = comparison.goes_one_way;
        const Bounds l = one_way_ ? Bounds{lhs, lhs, {}} : trend.value(lhs),
                     r = one_way_ ? Bounds{rhs, rhs, {}} : trend.value(rhs);
        const bool positive = l.range.low > 0 && r.range.low > 0, numbers = l.range.known() && r.range.known();

        const auto difference = [&](int x, int z) {
            return x < 0 && z < 0 ? number(0) : x < 0 ? op(Op::neg, z) : z < 0 ? x : op(Op::sub, x, z);
        };
        const auto times = [&](int x, int factor) { return x < 0 ? x : op(Op::mul, x, factor); };
        const int slope = difference(left_slope, right_slope), apart = op(Op::sub, lhs, rhs);

        // Does the comparison turn once at most while the unknown runs from a to b?
        const Bounds elasticity = one_way_ ? Bounds{} : trend.elasticity_of_ratio(lhs, rhs),
                     drift = one_way_ ? Bounds{} : trend.value(slope);
        const auto one_way = [&](const Bounds& e) {
            return bounder.either(bounder.at_least_zero(e), bounder.at_most_zero(e));
        };
        const int alike = one_way_
            ? number(1)
            : bounder.either(
                  bounder.both(bounder.at_least_zero(l), bounder.at_least_zero(r)),
                  bounder.both(bounder.at_most_zero(l), bounder.at_most_zero(r)));
        const int smooth = one_way_ ? number(0) : bounder.both(trend.smooth(lhs), trend.smooth(rhs));
        Rounding rounded(bounder, trend);
        const int tame = one_way_ ? number(1) : bounder.both(rounded.tame(lhs), rounded.tame(rhs));
        const int monotone = one_way_
            ? number(1)
            : bounder.both(
                  tame,
                  bounder.either(bounder.both(alike, one_way(elasticity)), bounder.both(smooth, one_way(drift))));
        const Rounding::Error left_error = one_way_ ? Rounding::Error{declared_error, -1} : rounded.error(lhs),
                              right_error = one_way_ ? Rounding::Error{} : rounded.error(rhs);
        const bool steady = left_error.is_share() && right_error.is_share();
        plain_ = bounder.is(monotone, 1) && bounder.is(smooth, 1) && numbers && steady;

        const int gap = size(apart), right_size = r.range.low >= 0 ? rhs : size(rhs), moved = op(Op::mul, y, slope),
                  drift_here = size(moved);
        const auto share_of = [&](int x, double share) { return op(Op::mul, x, number(share)); };
        const bool finite =
            l.range.high < HUGE_VAL && l.range.low > -HUGE_VAL && r.range.high < HUGE_VAL && r.range.low > -HUGE_VAL;
        const auto of_numbers = [&](int so) {
            return finite ? so : op(Op::mul, so, op(Op::less, gap, number(HUGE_VAL)));
        };
        const int less = op(Op::less, lhs, rhs), greater = op(Op::less, rhs, lhs);
        const int defined = numbers ? number(1) : op(Op::max, op(Op::max, less, greater), op(Op::equal, lhs, rhs));
        const int sign_here = equal_
            ? op(Op::select, defined, op(Op::sub, greater, less), number(NAN))
            : op(Op::select,
                 comparison.relation == Relation::less ? less : op(Op::less_equal, lhs, rhs),
                 number(-1),
                 number(1));
        // Sides agree if they differ by no more than rounding and hardly move: else there is a better place nearby.
        const int least_error = share_of(right_size, least_error_share);
        const int error = steady
            ? share_of(right_size, std::max(least_error_share, rounding * (left_error.share + right_error.share)))
            : op(Op::max,
                 least_error,
                 share_of(
                     op(Op::add, rounded.absolute(left_error, lhs), rounded.absolute(right_error, rhs)),
                     rounding));
        const int hazy = steady ? number(0) : op(Op::less, share_of(right_size, agreed_share), error);
        const int level = of_numbers(bounder.both(
            bounder.both(
                op(Op::less_equal, gap, error),
                op(Op::less_equal, drift_here, share_of(right_size, level_slope))),
            op(Op::sub, number(1), hazy)));
        const int if_level = number(equal_ ? 0 : comparison.relation == Relation::less ? 1 : -1);
        const int state = op(Op::select, level, if_level, sign_here);
        const auto where_defined = [&](int x) { return equal_ ? x : op(Op::select, defined, x, number(NAN)); };
        scans_ = !one_way_ && (trend.has_routine(lhs) || trend.has_routine(rhs));
        if (plain_ && equal_)
            states_.compile(lanes_, {state}, set_);
        else if (plain_)
        {
            const auto half_if = [&](int so) { return op(Op::select, so, number(level_sign), number(1)); };
            states_.compile(
                lanes_,
                {where_defined(op(Op::mul, sign_here, half_if(op(Op::less_equal, gap, error))))},
                set_);
            levels_.nodes = {where_defined(op(Op::mul, sign_here, half_if(level)))};
        }
        if (!plain_ && !one_way_)
        {
            const bool strict = comparison.relation == Relation::less;
            const auto below = [&](const Bounds& u, const Bounds& v, bool or_equal) {
                return op(or_equal ? Op::less_equal : Op::less, u.high, v.low);
            };
            // an undefined side meets no condition
            const Bounds l_number = numbers ? l : bounder.of_numbers(lhs),
                         r_number = numbers ? r : bounder.of_numbers(rhs);
            const int never_less = below(r_number, l_number, !equal_ && strict),
                      less_throughout = equal_ ? below(l_number, r_number, false) : below(l, r, !strict);
            const int separate = bounder.either(never_less, less_throughout);
            const int known = bounder.both(op(Op::equal, l.low, l.low), op(Op::equal, r.low, r.low));
            const auto is_fixed = [&](const Bounds& u) { return op(Op::equal, u.low, u.high); };
            const int same =
                bounder.both(known, bounder.either(rounded.same(lhs, rhs), bounder.both(is_fixed(l), is_fixed(r))));
            const int undefined = bounder.either(rounded.undefined(lhs), rounded.undefined(rhs));
            // slopes of the log ratio of the sides by the log of the unknown, and of their difference
            const int by_ratio = bounder.both(known, bounder.both(bounder.both(tame, smooth), alike)),
                      by_difference = bounder.both(known, bounder.both(tame, smooth));
            const auto largest = [&](const Bounds& u) { return op(Op::max, op(Op::neg, u.low), u.high); };
            const auto least_size = [&](const Bounds& u) {
                return op(Op::max, number(0), op(Op::max, u.low, op(Op::neg, u.high)));
            };
            const int
                steady_ratio =
                    op(Op::less_equal,
                       op(Op::mul, largest(elasticity), op(Op::log, op(Op::div, b, a))),
                       number(level_change)),
                steady_difference =
                    op(Op::less_equal,
                       op(Op::mul, largest(drift), op(Op::sub, b, a)),
                       share_of(least_size(r), level_change));
            // wherever they are, the sides are no farther apart than what counts as equal
            const int limit = share_of(least_size(r), least_error_share / 2);
            const int pinched = bounder.both(
                op(Op::less_equal, op(Op::sub, l.high, r.low), limit),
                op(Op::less_equal, op(Op::sub, r.high, l.low), limit));
            const auto if_proved = [&](int proved, int x) { return op(Op::select, proved, x, number(NAN)); };
            bounds_.nodes = {
                bounder.either(separate, undefined),
                bounder.either(same, bounder.both(known, monotone)),
                known,
                bounder.either(same, bounder.both(known, bounder.both(smooth, monotone))),
                if_proved(by_ratio, elasticity.low),
                if_proved(by_ratio, elasticity.high),
                if_proved(by_difference, drift.low),
                if_proved(by_difference, drift.high),
                op(Op::select,
                   pinched,
                   number(pinched_level),
                   bounder
                       .either(bounder.both(by_ratio, steady_ratio), bounder.both(by_difference, steady_difference)))};
        }
        if (!plain_)
        {
            const int agreed = of_numbers(op(Op::less_equal, gap, share_of(right_size, agreed_share))),
                      close = of_numbers(op(Op::less_equal, gap, share_of(right_size, like_share)));
            // ... as far as rounding and one step of the unknown move them
            const int explained = bounder.both(
                op(Op::less, error, number(HUGE_VAL)),
                of_numbers(op(
                    Op::less_equal,
                    gap,
                    op(Op::add, share_of(error, 2), share_of(drift_here, near_errors * closed_share)))));
            const int nearness = of_numbers(op(Op::less_equal, gap, share_of(error, near_errors)));
            if (one_way_) // without slopes
                states_.compile(lanes_, {where_defined(sign_here), apart, nearness}, set_);
            values_.compile(
                lanes_,
                {where_defined(state),
                 where_defined(sign_here),
                 op(Op::mul, nearness, op(Op::add, number(1), op(Op::add, close, agreed))),
                 agreed,
                 explained,
                 close,
                 gap,
                 hazy,
                 apart,
                 op(Op::select,
                    op(Op::less, number(0), op(Op::div, lhs, rhs)),
                    op(Op::log, op(Op::div, lhs, rhs)),
                    number(NAN)),
                 error},
                set_);
        }

        // Newton's step, in the logarithms of the unknown and, if they have one sign, of the sides.
        const int product = op(Op::mul, lhs, rhs), cross = difference(times(left_slope, rhs), times(right_slope, lhs));
        const bool proved = positive && l.range.low * r.range.low > 0 && l.range.high * r.range.high < HUGE_VAL;
        const int one_sign =
            proved ? number(1) : op(Op::mul, op(Op::less, number(0), product), op(Op::less, product, number(HUGE_VAL)));
        const int logarithm = op(Op::select, one_sign, op(Op::mul, op(Op::log, op(Op::div, lhs, rhs)), product), apart);
        const int far_guess = op(
            Op::mul,
            y,
            op(Op::exp, op(Op::neg, op(Op::div, logarithm, op(Op::mul, y, op(Op::select, one_sign, cross, slope))))));
        // Near the turn, or where the sides are straight in the unknown or its reciprocal, the tangent in that one is
        // enough.
        const int rising = op(Op::less, number(0), moved);
        const int near_guess = op(
            Op::mul,
            y,
            op(Op::div,
               op(Op::select, rising, op(Op::sub, moved, apart), moved),
               op(Op::select, rising, moved, op(Op::add, moved, apart))));
        const int resolved = op(Op::max, share_of(drift_here, closed_share), share_of(right_size, equal_share)),
                  trusted = op(Op::min, share_of(drift_here, agreed_share), share_of(right_size, close_share));
        // on the side that meets the condition
        const int is_near = op(Op::less, gap, op(Op::min, resolved, trusted)),
                  arrived = equal_ ? is_near : op(Op::mul, is_near, op(Op::less, sign_here, number(0)));
        const auto inside = [&](int x, int from, int to) {
            return op(Op::mul, op(Op::less, from, x), op(Op::less, x, to));
        };
        const int onto = equal_
            ? near_guess
            : op(Op::mul, near_guess, op(Op::add, number(1), op(Op::mul, mark, number(4 * rounding))));
        const int nearer = op(Op::select, inside(onto, a, b), onto, y),
                  final = equal_ ? op(Op::max, a, op(Op::min, near_guess, b)) : y;
        leap_.nodes = {op(Op::select, inside(far_guess, a, b), far_guess, op(Op::sqrt, op(Op::mul, a, b)))};
        step_.nodes = {nearer};
        arrival_.nodes = {op(Op::select, arrived, final, nearer), op(Op::sub, number(1), arrived)};
        // If that fails, a bracket closes around the turn. Each step goes a little too far, so that both of its sides
        // come near.
        const auto add_step = [&](Narrowing& narrowing, Kind kind, int at_y) {
            const bool turns = &narrowing == &turns_;
            const int guess = turns && kind == near ? near_guess : far_guess;
            const int after = op(Op::equal, op(Op::equal, at_y, mark), want);
            const int new_a = op(Op::select, after, a, y), new_b = op(Op::select, after, y, b);
            const int wide = op(Op::less, share_of(y, closed_share), op(Op::sub, new_b, new_a)),
                      done = turns && !(one_way_ && kind == halving) ? arrived : number(0);
            const int middle = op(Op::sqrt, op(Op::mul, new_a, new_b));
            const int beyond =
                op(Op::mul, guess, op(Op::select, after, number(1 - 4 * rounding), number(1 + 4 * rounding)));
            const int next = kind == halving ? middle
                : kind == returning
                ? op(Op::select, after, new_a, new_b)
                : op(Op::select, inside(beyond, new_a, new_b), beyond, middle);
            const int of_roots = op(Op::equal, mark, number(0)); // the last root is requested, not values beyond
            const int closed = equal_
                ? op(Op::select, op(Op::equal, want, of_roots), new_b, new_a)
                : op(Op::select, op(Op::less, mark, number(0)), new_a, new_b);
            const int on = op(Op::mul, wide, op(Op::sub, number(1), done)), last = op(Op::select, done, final, closed);
            narrowing.steps[kind].nodes = {
                op(Op::select, open, op(Op::select, on, next, last), y),
                op(Op::mul, open, on),
                op(Op::select, open, new_a, a),
                op(Op::select, open, new_b, b)};
        };
        const int edge_state = equal_ ? op(Op::select, defined, state, number(undefined_state)) : state;
        for (const Kind kind : {near, far, halving, returning})
            add_step(turns_, kind, sign_here), add_step(edges_, kind, edge_state);
    }
}
