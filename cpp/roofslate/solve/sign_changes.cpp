#include "roofslate/solve/sign_changes.hpp"
#include "roofslate/bounds/monotonicity.hpp"
#include <cfloat>
#include <numeric>

namespace roofslate
{
    namespace
    {
        constexpr double rounding = DBL_EPSILON;
        constexpr double equal_share = 8 * rounding;      // sides that differ by less are equal
        constexpr double closed_share = 16 * rounding;    // a bracket as narrow tells its root
        constexpr double level_slope = 0x1p-20;           // what hardly moves: elasticities apart by less
        constexpr double agreed_share = 1e-12;            // of sides that agree at a root
        // at a root, the tangent's zero is nearer, though rounding shakes the sides
        constexpr double near_step = 1e-9;
        constexpr double close_share = 0x1p-30;           // sides that Newton's step brings together
        constexpr double narrow_share = 0x1p-26;          // stretches that are not split
        constexpr double scanned_share = 0.2589254117941673; // ... if nothing is known of them: a tenth of a decade
        constexpr std::size_t most_stretches = 4096;      // of a point, that are split
        constexpr int arrivals = 2;                    // without a bracket
        constexpr int far_steps = 2;                      // in one: by the whole logarithm
        constexpr int newton_steps = 10, most_steps = 250; // then every fourth one halves
        constexpr std::size_t fewest_lanes = 32;          // that are worth sorting out

        // Between values by point and by lane; as a rule all points are there, in their order.
        bool are_all(const Point* points, std::size_t n) { return n == 0 || points[n - 1] + std::size_t(1) == n; }
        void gather(const double* from, const Point* points, std::size_t n, double* to)
        {
            if (are_all(points, n))
                std::copy_n(from, n, to);
            else
                for (std::size_t i = 0; i < n; ++i)
                    to[i] = from[points[i]];
        }
        void scatter(const double* from, const Point* points, std::size_t n, double* to)
        {
            if (are_all(points, n))
                std::copy_n(from, n, to);
            else
                for (std::size_t i = 0; i < n; ++i)
                    to[points[i]] = from[i];
        }

        // Copies a node into another graph, from what has been copied.
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
        : set_(set), equal_(equation.comparison.relation == Relation::equal), stack_(block)
    { build(equation, givens, sign, y); }
    void HalfLine::build(const Equation& equation, const Givens& givens, double sign, const Range& range)
    {
        const Comparison& comparison = equation.comparison;
        Graph& g = lanes_.graph();
        const auto op = [&](Op o, int a, int b = -1, int c = -1) { return g.operation(o, a, b, c); };
        const auto number = [&](double x) { return g.constant(x); };
        const auto size = [&](int x) { return op(Op::max, x, op(Op::neg, x)); };
        const Range truth{0, 1};
        const int y = lanes_.leaf(range, y_), a = lanes_.leaf(range, a_), b = lanes_.leaf(range, b_),
                  mark = lanes_.leaf({-1, 1}, mark_);
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
        const int left = copy(comparison.left), right = copy(comparison.right),
                  left_slope = by_y(copy(equation.left_slope)), right_slope = by_y(copy(equation.right_slope));

        const auto of_leaf = [&](int i) {
            if (i == y)
                return Bounds{a, b, range, false};
            return Bounds{i, i, std::find_if(inputs.begin(), inputs.end(), [&](const auto& input) {
                                    return input.first == i;
                                })->second};
        };
        Bounder bounder(g, g);
        Trend trend(bounder, y, of_leaf);
        const Bounds l = trend.value(left), r = trend.value(right);
        const bool positive = l.range.low > 0 && r.range.low > 0, numbers = l.range.known() && r.range.known();

        const auto difference = [&](int x, int z) {
            return x < 0 && z < 0 ? number(0) : x < 0 ? op(Op::neg, z) : z < 0 ? x : op(Op::sub, x, z);
        };
        const auto times = [&](int x, int factor) { return x < 0 ? x : op(Op::mul, x, factor); };
        const int slope = difference(left_slope, right_slope), apart = op(Op::sub, left, right);

        // Does the comparison turn once at most while the unknown runs from a to b?
        const Bounds elasticity = bounder.apply(Op::sub, trend.elasticity(left), trend.elasticity(right)),
                     drift = trend.value(slope);
        const auto one_way = [&](const Bounds& e) {
            return bounder.either(bounder.at_least_zero(e), bounder.at_most_zero(e));
        };
        const int alike = bounder.either(
            bounder.both(bounder.at_least_zero(l), bounder.at_least_zero(r)),
            bounder.both(bounder.at_most_zero(l), bounder.at_most_zero(r)));
        const int smooth = bounder.both(trend.smooth(left), trend.smooth(right));
        const int monotone =
            bounder.either(bounder.both(alike, one_way(elasticity)), bounder.both(smooth, one_way(drift)));
        plain_ = bounder.is(monotone, 1) && bounder.is(smooth, 1) && numbers;

        const int gap = size(apart), right_size = r.range.low >= 0 ? right : size(right), moved = op(Op::mul, y, slope),
                  drift_here = size(moved);
        const auto share_of = [&](int x, double share) { return op(Op::mul, x, number(share)); };
        const bool finite =
            l.range.high < HUGE_VAL && l.range.low > -HUGE_VAL && r.range.high < HUGE_VAL && r.range.low > -HUGE_VAL;
        const auto of_numbers = [&](int so) {
            return finite ? so : op(Op::mul, so, op(Op::less, gap, number(HUGE_VAL)));
        };
        const int less = op(Op::less, left, right), greater = op(Op::less, right, left);
        const int defined = numbers ? number(1) : op(Op::max, op(Op::max, less, greater), op(Op::equal, left, right));
        const int sign_here = equal_
            ? op(Op::select, defined, op(Op::sub, greater, less), number(NAN))
            : op(Op::select,
                 comparison.relation == Relation::less ? less : op(Op::less_equal, left, right),
                 number(-1),
                 number(1));
        // Sides agree if they hardly differ and hardly move: else there is a better place nearby.
        const int level = of_numbers(op(
            Op::less_equal,
            op(Op::max, gap, share_of(drift_here, equal_share / level_slope)),
            share_of(right_size, equal_share)));
        const int state = equal_ ? op(Op::select, level, number(0), sign_here) : sign_here,
                  shown = equal_ ? state : op(Op::select, defined, state, number(NAN));
        scans_ = trend.has_routine(left) || trend.has_routine(right);
        if (plain_)
            states_.compile(lanes_, {shown}, set_);
        else
        {
            const int separate = bounder.either(op(Op::less, l.high, r.low), op(Op::less, r.high, l.low));
            const int known = bounder.both(op(Op::equal, l.low, l.low), op(Op::equal, r.low, r.low));
            bounds_.compile(
                lanes_,
                {separate, monotone, known, bounder.both(known, bounder.both(smooth, monotone))},
                set_);
            const int agreed = of_numbers(op(Op::less_equal, gap, share_of(right_size, agreed_share)));
            values_.compile(
                lanes_,
                {shown,
                 op(Op::select, agreed, number(0), gap),
                 op(Op::less, gap, op(Op::mul, drift_here, number(near_step)))},
                set_);
        }

        // Newton's step, in the logarithms of the unknown and, where they have one sign, of the sides.
        const int product = op(Op::mul, left, right),
                  cross = difference(times(left_slope, right), times(right_slope, left));
        const bool proved = positive && l.range.low * r.range.low > 0 && l.range.high * r.range.high < HUGE_VAL;
        const int one_sign =
            proved ? number(1) : op(Op::mul, op(Op::less, number(0), product), op(Op::less, product, number(HUGE_VAL)));
        const int logarithm =
            op(Op::select, one_sign, op(Op::mul, op(Op::log, op(Op::div, left, right)), product), apart);
        const int far_guess = op(
            Op::mul,
            y,
            op(Op::exp, op(Op::neg, op(Op::div, logarithm, op(Op::mul, y, op(Op::select, one_sign, cross, slope))))));
        // Near the turn, or where the sides are straight in the unknown or its reciprocal, the tangent in that one
        // does.
        const int rising = op(Op::less, number(0), moved);
        const int near_guess = op(
            Op::mul,
            y,
            op(Op::div,
               op(Op::select, rising, op(Op::sub, moved, apart), moved),
               op(Op::select, rising, moved, op(Op::add, moved, apart))));
        const int resolved = op(Op::max, share_of(drift_here, closed_share), share_of(right_size, equal_share)),
                  trusted = op(Op::min, share_of(drift_here, agreed_share), share_of(right_size, close_share));
        // where it holds
        const int there = op(Op::less, gap, op(Op::min, resolved, trusted)),
                  arrived = equal_ ? there : op(Op::mul, there, op(Op::less, sign_here, number(0)));
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
        // Where that fails a bracket closes around the turn; each step goes a little too far, so that both of its sides
        // come near.
        const auto add_step = [&](Narrowing& narrowing, Kind kind, int at_y) {
            const bool turns = &narrowing == &turns_;
            const int guess = turns && kind == near ? near_guess : far_guess;
            const int after = op(Op::equal, op(Op::equal, at_y, mark), want);
            const int new_a = op(Op::select, after, a, y), new_b = op(Op::select, after, y, b);
            const int wide = op(Op::less, share_of(y, closed_share), op(Op::sub, new_b, new_a)),
                      done = turns ? arrived : number(0);
            const int middle = op(Op::sqrt, op(Op::mul, new_a, new_b));
            const int beyond =
                op(Op::mul, guess, op(Op::select, after, number(1 - 4 * rounding), number(1 + 4 * rounding)));
            const int next = kind == halving ? middle
                : kind == returning
                ? op(Op::select, after, new_a, new_b)
                : op(Op::select, inside(beyond, new_a, new_b), beyond, middle);
            const int closed = equal_
                ? op(Op::select, want, new_a, new_b)
                : op(Op::select, op(Op::less, mark, number(0)), new_a, new_b);
            const int on = op(Op::mul, wide, op(Op::sub, number(1), done)), last = op(Op::select, done, final, closed);
            narrowing.steps[kind].nodes = {
                op(Op::select, open, op(Op::select, on, next, last), y),
                op(Op::mul, open, on),
                op(Op::select, open, new_a, a),
                op(Op::select, open, new_b, b)};
        };
        for (const Kind kind : {near, far, halving, returning})
            add_step(turns_, kind, sign_here), add_step(edges_, kind, state);
    }

    void HalfLine::load(const Point* points, std::size_t n)
    {
        if (n == loaded_lanes_ && std::equal(points, points + n, loaded_.begin()))
            return;
        std::copy_n(points, n, loaded_.begin());
        loaded_lanes_ = n;
        for (std::size_t k = 0; k < given_lanes_.size(); ++k)
            gather((*given_)[k], points, n, given_lanes_[k]);
    }
    void HalfLine::evaluate(const Point* points, std::size_t n)
    {
        load(points, n);
        (plain_ ? states_ : values_).run(n);
        for (std::size_t i = 0; i < n && !plain_; ++i)
        {
            defined_[points[i]] |= states()[i] == states()[i];
            held_[points[i]] |= states()[i] == -1;
        }
    }
    void HalfLine::begin(
        const Givens::Reader& given,
        const std::vector<Point>& points,
        const Numbers& low,
        const Numbers& high)
    {
        given_ = &given, loaded_lanes_ = 0;
        low_ = &low, high_ = &high;
        defined_.fill(plain_), held_.fill(false), stretches_.fill(0);
        const auto look = [&](const Numbers& at, Ends& ends) {
            gather(at.data(), points.data(), points.size(), y_);
            evaluate(points.data(), points.size());
            scatter(states(), points.data(), points.size(), ends.state.data());
            if (!plain_)
                scatter(values_[1], points.data(), points.size(), ends.gap.data());
        };
        look(low, low_ends_), look(high, high_ends_);
    }

    const Crossings& HalfLine::find(const std::vector<Point>& points, Which which, Progress& progress)
    {
        which_ = which;
        crossings_.clear();
        std::vector<Stretch> batch, undecided;
        if (plain_)
            conclude_plain(points);
        else
            for (const Point p : points)
                batch.push_back(whole(p));
        narrow();
        while (!batch.empty() && !progress.stopped())
        {
            undecided.clear();
            std::array<Point, block> of;
            for (std::size_t i = 0; i < batch.size(); ++i)
                of[i] = batch[i].point, a_[i] = batch[i].a, b_[i] = batch[i].b;
            load(of.data(), batch.size());
            bounds_.run(batch.size());
            for (std::size_t i = 0; i < batch.size(); ++i)
            {
                const Verdict verdict = judge(batch[i], i);
                if (verdict == Verdict::settled)
                    conclude(batch[i], is_sure(i));
                else if (verdict == Verdict::split)
                    undecided.push_back(batch[i]);
            }
            split(undecided);
            const std::size_t before = crossings_.size();
            narrow();
            if (which_ != Which::all)
                for (std::size_t k = before; k < crossings_.size(); ++k)
                    stack_[crossings_.point[k]].clear();
            batch.clear();
            for (const Point p : points)
                if (!stack_[p].empty())
                {
                    batch.push_back(stack_[p].back());
                    stack_[p].pop_back();
                    ++stretches_[p];
                }
            progress.tell();
        }
        return crossings_;
    }
    HalfLine::Verdict HalfLine::judge(const Stretch& s, std::size_t lane) const
    {
        if (equal_ && which_ != Which::all && (which_ == Which::smallest ? s.at_a : s.at_b).state == 0
            && (s.at_a.state != 0 || s.at_b.state != 0))
            return Verdict::settled;
        const bool half_defined = (s.at_a.state == s.at_a.state) != (s.at_b.state == s.at_b.state);
        const bool separate = bounds_[0][lane] != 0, monotone = bounds_[1][lane] != 0, known = bounds_[2][lane] != 0;
        if (separate)
            return Verdict::none;
        const bool defined = s.at_a.state == s.at_a.state || s.at_b.state == s.at_b.state,
                   telling = known || half_defined || (defined && !scans_);
        const double share = s.b / s.a - 1;
        if ((monotone && !half_defined) || share <= (telling ? narrow_share : scanned_share)
            || stretches_[s.point] > most_stretches)
            return Verdict::settled;
        return Verdict::split;
    }
    void HalfLine::split(const std::vector<Stretch>& stretches)
    {
        std::array<Point, block> of;
        for (std::size_t i = 0; i < stretches.size(); ++i)
            of[i] = stretches[i].point, y_[i] = std::sqrt(stretches[i].a * stretches[i].b);
        evaluate(of.data(), stretches.size());
        for (std::size_t i = 0; i < stretches.size(); ++i)
        {
            const Stretch& s = stretches[i];
            const End end{states()[i], gap(i)};
            if (s.at_a.state == 0 && s.at_b.state == 0 && end.state == 0) // as far as one sees, all of it
            {
                conclude(s, false);
                continue;
            }
            const Stretch lower{s.point, s.a, y_[i], s.at_a, end}, upper{s.point, y_[i], s.b, end, s.at_b};
            stack_[s.point].push_back(which_ == Which::largest ? lower : upper);
            stack_[s.point].push_back(which_ == Which::largest ? upper : lower);
        }
    }
    // All at once, but for those that have an end at which both sides agree.
    void HalfLine::conclude_plain(const std::vector<Point>& points)
    {
        Brackets& k = *turns_.to_come;
        const double *const low = low_ends_.state.data(), *const high = high_ends_.state.data();
        const bool last = equal_ && which_ == Which::largest;
        std::size_t turning = 0, n = points.size();
        if (are_all(points.data(), n)) // at once, as a rule
            for (std::size_t i = 0; i < n; ++i)
                turning += low[i] * high[i] < 0;
        if (turning == n)
        {
            std::copy_n(points.begin(), n, k.point.begin());
            std::copy_n(low_->begin(), n, k.a.begin()), std::copy_n(high_->begin(), n, k.b.begin()),
                std::copy_n(last ? high : low, n, k.mark.begin());
        }
        else
        {
            turning = 0;
            for (const Point p : points)
            {
                k.point[turning] = p, k.a[turning] = (*low_)[p], k.b[turning] = (*high_)[p],
                k.mark[turning] = last ? high[p] : low[p];
                turning += low[p] * high[p] < 0;
            }
        }
        std::fill_n(k.want.begin(), turning, last), std::fill_n(k.sure.begin(), turning, true);
        k.size = turning;
        if (which_ == Which::all)
            for (std::size_t i = 0; i < turning; ++i)
                k.whole[i] = whole(k.point[i]);
        for (const Point p : points)
            if (equal_ && turning < n && low[p] * high[p] == 0)
                conclude(whole(p), true);
    }
    // What the states at its ends say of a stretch.
    void HalfLine::conclude(const Stretch& s, bool sure)
    {
        const double a = state(s.at_a), b = state(s.at_b);
        const bool starts = equal_ && a == 0, ends = equal_ && b == 0;
        if (starts && ends)
            crossings_.add(s.point, s.a, s.b);
        else if (starts && which_ == Which::smallest)
            crossings_.add(s.point, s.a, s.a);
        else if (ends && which_ == Which::largest)
            crossings_.add(s.point, s.b, s.b);
        else if (starts)
            add_bracket(s, sure, true);
        else if (equal_ ? a * b <= 0 : a != b)
            add_bracket(s, sure, equal_ && which_ == Which::largest);
    }
    void HalfLine::add_bracket(const Stretch& s, bool sure, bool last)
    {
        const bool edge = state(last ? s.at_a : s.at_b) == 0;
        Brackets& k = *(edge ? edges_ : turns_).to_come;
        const std::size_t i = k.size++;
        k.point[i] = s.point, k.a[i] = s.a, k.b[i] = s.b;
        k.mark[i] = state(last ? s.at_b : s.at_a), k.want[i] = last;
        k.sure[i] = sure;
        if (!sure || which_ == Which::all)
            k.whole[i] = s;
    }
    void HalfLine::narrow()
    {
        while (turns_.to_come->size || edges_.to_come->size)
        {
            narrow(turns_);
            narrow(edges_);
        }
    }
    void HalfLine::narrow(Narrowing& narrowing)
    {
        std::swap(narrowing.brackets, narrowing.to_come);
        narrowing.to_come->size = 0;
        Brackets& k = *narrowing.brackets;
        const std::size_t n = k.size;
        if (n == 0)
            return;
        load(k.point.data(), n);
        std::copy_n(k.a.begin(), n, a_), std::copy_n(k.b.begin(), n, b_), std::copy_n(k.b.begin(), n, y_),
            std::copy_n(k.mark.begin(), n, mark_), std::copy_n(k.want.begin(), n, want_);
        std::array<Point, block> of = k.point, bracket; // of lanes
        std::iota(bracket.begin(), bracket.end(), Point(0));
        std::size_t lanes = n;
        const auto let_go = [&](const double* open) { // what is done makes way
            const bool all_shut = set_.below(open, lanes, 0.5) == lanes;
            if (lanes == n)
                std::copy_n(y_, n, k.root.begin());
            if (lanes == n && all_shut)
            {
                lanes = 0;
                return;
            }
            std::size_t still = 0;
            for (std::size_t i = 0; i < lanes; ++i)
            {
                const Point j = bracket[i];
                k.root[j] = y_[i];
                bracket[still] = j, of[still] = of[i];
                a_[still] = a_[i], b_[still] = b_[i], y_[still] = y_[i], mark_[still] = mark_[i],
                want_[still] = want_[i];
                still += open[i] != 0;
            }
            lanes = still;
            load(of.data(), lanes);
        };
        const auto run = [&](Step& step) -> LaneProgram& {
            LaneProgram& program = program_of(step);
            program.run(lanes);
            std::copy_n(program[0], lanes, y_);
            return program;
        };
        if (&narrowing == &turns_)
        {
            run(leap_), run(step_);
            for (int step = 0; step < arrivals && lanes; ++step)
                let_go(run(arrival_)[1]);
        }
        constexpr Kind later[]{halving, far, returning, far};
        std::fill_n(open_, lanes, 1.0);
        for (int step = 0; step < most_steps && lanes; ++step)
        {
            const Kind kind = step < far_steps ? far : step < newton_steps ? near : later[(step - newton_steps) % 4];
            LaneProgram& program = run(narrowing.steps[kind]);
            std::copy_n(program[1], lanes, open_), std::copy_n(program[2], lanes, a_),
                std::copy_n(program[3], lanes, b_);
            const std::size_t shut = set_.below(open_, lanes, 0.5);
            if (shut == lanes || (shut >= lanes / 2 && lanes >= fewest_lanes) || step + 1 == most_steps)
            {
                let_go(program[1]);
                std::fill_n(open_, lanes, 1.0);
            }
        }
        settle(k);
    }
    LaneProgram& HalfLine::program_of(Step& step)
    {
        if (!step.program.compiled())
            step.program.compile(lanes_, step.nodes, set_);
        return step.program;
    }
    // Of an inequality the side on which it holds. Of an equality Newton's last word, if the sides agree there: else
    // they jump past one another.
    void HalfLine::settle(Brackets& k)
    {
        if (!equal_ || (plain_ && which_ != Which::all))
        {
            crossings_.add(k.point.data(), k.root.data(), k.size);
            return;
        }
        for (std::size_t i = 0; i < k.size; ++i)
            y_[i] = k.root[i];
        load(k.point.data(), k.size);
        (plain_ ? states_ : values_).run(k.size);
        for (std::size_t i = 0; i < k.size; ++i)
        {
            const Stretch& whole = k.whole[i];
            const bool flat = states()[i] == 0, steady = !plain_ && values_[2][i] != 0;
            const bool agreed =
                k.sure[i] || flat || gap(i) == 0 || (steady && gap(i) <= std::min(whole.at_a.gap, whole.at_b.gap));
            if (!agreed && whole.at_a.state != 0 && whole.at_b.state != 0)
                continue;
            const double root = agreed ? y_[i] : whole.at_a.state == 0 ? whole.a : whole.b;
            if (which_ != Which::all)
                crossings_.add(k.point[i], root, root);
            else if (k.want[i]) // where the stretch of roots begins is known
                crossings_.add(k.point[i], whole.a, root);
            else if (whole.at_b.state == 0)
                crossings_.add(k.point[i], root, whole.b);
            else if (flat && !steady)
                add_bracket({k.point[i], root, whole.b, {states()[i], gap(i)}, whole.at_b}, k.sure[i], true);
            else
                crossings_.add(k.point[i], root, root);
        }
    }
}
