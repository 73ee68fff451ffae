#include "crossings.hpp"
#include <roofslate/tangent.hpp>
#include <roofslate/trend.hpp>
#include <cfloat>

namespace roofslate
{
    namespace
    {
        constexpr double rounding = DBL_EPSILON;
        constexpr double equal_share = 4 * rounding;      // sides that differ by less, and hardly move, are equal
        constexpr double level_slope = 0x1p-20;           // what hardly moves: elasticities apart by less
        constexpr double agreed_share = 1e-12;            // of sides that agree at a root
        constexpr double near_step = 1e-9;                // at a root, the tangent's zero is nearer, though rounding shakes the sides
        constexpr double narrow_share = 0x1p-26;          // stretches that are not split
        constexpr double scanned_share = 0.2589254117941673; // ... if nothing is known of them: a tenth of a decade
        constexpr std::size_t most_stretches = 4096;      // of a point, that are split
        constexpr int newton_steps = 8, most_steps = 160; // then every second one halves

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

        int copied(Graph& to, const Graph& from, std::vector<int>& copies, int i)
        {
            int& known = copies[std::size_t(i)];
            if (known >= 0)
                return known;
            const Node& n = from[i];
            if (n.is_constant())
                return known = to.constant(n.value);
            std::array<int, 3> a{-1, -1, -1};
            for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
                a[k] = copied(to, from, copies, n.argument[k]);
            return copies[std::size_t(i)] = to.operation(n.op, a[0], a[1], a[2], n.routine);
        }
    }

    HalfLine::HalfLine(const Comparison& comparison, const Givens& givens, double sign, const Range& y, const InstructionSet& set)
        : set_(set), equal_(comparison.relation == Relation::equal), stack_(block)
    {
        build(comparison, givens, sign, y);
    }
    void HalfLine::build(const Comparison& comparison, const Givens& givens, double sign, const Range& range)
    {
        Graph& g = lanes_.graph();
        const auto op = [&](Op o, int a, int b = -1, int c = -1) { return g.operation(o, a, b, c); };
        const auto number = [&](double x) { return g.constant(x); };
        const auto size = [&](int x) { return op(Op::max, x, op(Op::neg, x)); };
        const Range truth{0, 1};
        const int y = lanes_.leaf(range, y_), a = lanes_.leaf(range, a_), b = lanes_.leaf(range, b_), mark = lanes_.leaf({-1, 1}, mark_);
        const int want = lanes_.leaf(truth, want_), newton = lanes_.leaf(truth, newton_), open = lanes_.leaf(truth, open_);
        std::vector<int> copies(std::size_t(comparison.graph.size()), -1);
        std::vector<std::pair<int, Range>> inputs;
        copies[std::size_t(comparison.unknown.leaf)] = sign < 0 ? op(Op::neg, y) : sign > 0 ? y
                                                                                        : number(0);
        for (std::size_t k = 0; k < givens.size(); ++k)
        {
            given_lanes_.push_back(nullptr);
            const int leaf = lanes_.leaf(givens.range(k), given_lanes_.back());
            copies[std::size_t(givens.node(k))] = leaf;
            inputs.emplace_back(leaf, givens.range(k));
        }
        const int left = copied(g, comparison.graph, copies, comparison.left), right = copied(g, comparison.graph, copies, comparison.right);

        const auto of_leaf = [&](int i) {
            if (i == y)
                return Bounds{a, b, range, false};
            return Bounds{i, i, std::find_if(inputs.begin(), inputs.end(), [&](const auto& input) { return input.first == i; })->second};
        };
        Bounder bounder(g, g);
        Trend trend(bounder, y, of_leaf);
        const Bounds l = trend.value(left), r = trend.value(right);
        const bool positive = l.range.low > 0 && r.range.low > 0, numbers = l.range.known() && r.range.known();

        // Newton's step in the logarithms of the unknown and, where they have one sign, of the sides.
        Tangents tangent(g, y);
        const int left_slope = tangent(left), right_slope = tangent(right);
        const auto difference = [&](int x, int z) { return x < 0 && z < 0 ? number(0) : x < 0 ? op(Op::neg, z)
                                                                                   : z < 0     ? x
                                                                                               : op(Op::sub, x, z); };
        const auto times = [&](int x, int factor) { return x < 0 ? x : op(Op::mul, x, factor); };
        const int slope = difference(left_slope, right_slope), cross = difference(times(left_slope, right), times(right_slope, left));
        const int apart = op(Op::sub, left, right), ratio = op(Op::div, left, right);
        const bool proved = positive && l.range.low / r.range.high > 0 && l.range.high / r.range.low < HUGE_VAL;
        const int one_sign = proved ? number(1) : op(Op::mul, op(Op::less, number(0), ratio), op(Op::less, ratio, number(HUGE_VAL)));
        const int per_change = op(Op::div, op(Op::select, one_sign, op(Op::mul, left, right), number(1)), op(Op::mul, y, op(Op::select, one_sign, cross, slope)));
        const int change = op(Op::select, one_sign, op(Op::log, ratio), apart);
        const int guess = op(Op::mul, y, op(Op::exp, op(Op::neg, op(Op::mul, change, per_change))));

        const int gap = size(apart), scale = positive ? op(Op::max, left, right) : op(Op::max, size(left), size(right));
        const auto within = [&](double share) { return op(Op::mul, op(Op::less_equal, gap, op(Op::mul, scale, number(share))), op(Op::less, gap, number(HUGE_VAL))); };
        const int weakness = op(Op::select, one_sign, size(per_change), number(0)); // how far the root goes where the sides go by a share
        const int less = op(Op::less, left, right), greater = op(Op::less, right, left);
        const int defined = numbers ? number(1) : op(Op::max, op(Op::max, less, greater), op(Op::equal, left, right));
        int state;
        if (equal_)
        {
            const int near = op(Op::select, one_sign, op(Op::less_equal, size(change), number(equal_share)), within(equal_share));
            const int level = op(Op::select, one_sign, op(Op::less, number(1 / level_slope), weakness), op(Op::less_equal, size(op(Op::mul, y, slope)), op(Op::mul, scale, number(level_slope))));
            state = op(Op::select, op(Op::mul, near, level), number(0), op(Op::select, defined, op(Op::sub, greater, less), number(NAN)));
        }
        else
            state = op(Op::select, comparison.relation == Relation::less ? less : op(Op::less_equal, left, right), number(-1), number(1));
        values_.compile(lanes_, {equal_ ? state : op(Op::select, defined, state, number(NAN)), guess, op(Op::select, within(agreed_share), number(0), gap), op(Op::less, gap, op(Op::mul, size(op(Op::mul, y, slope)), number(near_step)))}, set_);

        // The bracket closes around the turn. Each step goes a little too far, so that both of its sides come near.
        const int after = op(Op::equal, op(Op::equal, state, mark), want);
        const int new_a = op(Op::select, after, a, y), new_b = op(Op::select, after, y, b);
        const int room = op(Op::mul, op(Op::select, op(Op::less, weakness, number(64)), op(Op::add, number(1), weakness), number(1)), number(4 * rounding));
        const int beyond = op(Op::mul, guess, op(Op::select, after, op(Op::sub, number(1), room), op(Op::add, number(1), room)));
        const int inside = op(Op::mul, newton, op(Op::mul, op(Op::less, new_a, beyond), op(Op::less, beyond, new_b)));
        const int next = op(Op::select, inside, beyond, op(Op::sqrt, op(Op::mul, new_a, new_b)));
        const int wide = op(Op::less, op(Op::mul, y, op(Op::mul, room, number(4))), op(Op::sub, new_b, new_a));
        step_.compile(lanes_, {op(Op::select, open, new_a, a), op(Op::select, open, new_b, b), op(Op::select, open, next, y), op(Op::mul, open, wide)}, set_);

        // Does the comparison turn once at most while the unknown runs from a to b?
        const Bounds elasticity = bounder.apply(Op::sub, trend.elasticity(left), trend.elasticity(right)), drift = trend.value(slope);
        const auto one_way = [&](const Bounds& e) { return bounder.either(bounder.at_least_zero(e), bounder.at_most_zero(e)); };
        const int alike = bounder.either(bounder.both(bounder.at_least_zero(l), bounder.at_least_zero(r)), bounder.both(bounder.at_most_zero(l), bounder.at_most_zero(r)));
        const int smooth = bounder.both(trend.smooth(left), trend.smooth(right));
        const int monotone = bounder.either(bounder.both(alike, one_way(elasticity)), bounder.both(smooth, one_way(drift)));
        one_way_ = bounder.is(monotone, 1);
        if (one_way_)
            return;
        const int separate = bounder.either(op(Op::less, l.high, r.low), op(Op::less, r.high, l.low));
        const int known = bounder.both(op(Op::equal, l.low, l.low), op(Op::equal, r.low, r.low));
        bounds_.compile(lanes_, {separate, monotone, known}, set_);
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
        values_.run(n);
        const double* const states = values_[0];
        for (std::size_t i = 0; i < n; ++i)
        {
            defined_[points[i]] |= states[i] == states[i];
            held_[points[i]] |= states[i] == -1;
        }
    }
    void HalfLine::begin(const Givens::Reader& given, const std::vector<Point>& points, const Numbers& low, const Numbers& high)
    {
        given_ = &given, loaded_lanes_ = 0;
        low_ = low, high_ = high;
        defined_.fill(false), held_.fill(false), stretches_.fill(0);
        const auto look = [&](const Numbers& at, Ends& ends) {
            gather(at.data(), points.data(), points.size(), y_);
            evaluate(points.data(), points.size());
            scatter(values_[0], points.data(), points.size(), ends.state.data());
            scatter(values_[1], points.data(), points.size(), ends.guess.data());
            scatter(values_[2], points.data(), points.size(), ends.gap.data());
        };
        look(low, low_ends_), look(high, high_ends_);
    }

    const std::vector<Crossing>& HalfLine::find(const std::vector<Point>& points, Which which, Progress& progress)
    {
        which_ = which;
        crossings_.clear();
        std::vector<Stretch> batch, undecided;
        for (const Point p : points)
        {
            const Stretch whole{p, low_[p], high_[p], low_ends_[p], high_ends_[p]};
            if (one_way_ && judge(whole, 0) == Verdict::settled)
                conclude(whole);
            else
                batch.push_back(whole);
        }
        narrow();
        while (!batch.empty() && !progress.stopped())
        {
            undecided.clear();
            if (!one_way_)
            {
                std::array<Point, block> of;
                for (std::size_t i = 0; i < batch.size(); ++i)
                    of[i] = batch[i].point, a_[i] = batch[i].a, b_[i] = batch[i].b;
                load(of.data(), batch.size());
                bounds_.run(batch.size());
            }
            for (std::size_t i = 0; i < batch.size(); ++i)
            {
                const Verdict verdict = judge(batch[i], i);
                if (verdict == Verdict::settled)
                    conclude(batch[i]);
                else if (verdict == Verdict::split)
                    undecided.push_back(batch[i]);
            }
            split(undecided);
            const std::size_t before = crossings_.size();
            narrow();
            if (which_ != Which::all)
                for (std::size_t k = before; k < crossings_.size(); ++k)
                    stack_[crossings_[k].point].clear();
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
        if (equal_ && which_ != Which::all && (which_ == Which::smallest ? s.at_a : s.at_b).state == 0 && (s.at_a.state != 0 || s.at_b.state != 0))
            return Verdict::settled;
        const bool half_defined = (s.at_a.state == s.at_a.state) != (s.at_b.state == s.at_b.state);
        if (one_way_ && !half_defined)
            return Verdict::settled;
        const bool separate = !one_way_ && bounds_[0][lane] != 0, monotone = one_way_ || bounds_[1][lane] != 0, known = one_way_ || bounds_[2][lane] != 0;
        if (separate)
            return Verdict::none;
        const double share = s.b / s.a - 1;
        if ((monotone && !half_defined) || share <= (known || half_defined ? narrow_share : scanned_share) || stretches_[s.point] > most_stretches)
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
            const End end = result(i);
            if (s.at_a.state == 0 && s.at_b.state == 0 && end.state == 0) // as far as one sees, all of it
            {
                conclude(s);
                continue;
            }
            const Stretch lower{s.point, s.a, y_[i], s.at_a, end}, upper{s.point, y_[i], s.b, end, s.at_b};
            stack_[s.point].push_back(which_ == Which::largest ? lower : upper);
            stack_[s.point].push_back(which_ == Which::largest ? upper : lower);
        }
    }
    // What the states at its ends say of a stretch.
    void HalfLine::conclude(const Stretch& s)
    {
        const double a = state(s.at_a), b = state(s.at_b);
        const bool starts = equal_ && a == 0, ends = equal_ && b == 0;
        if (starts && ends)
            add_crossing(s.point, s.a, s.b);
        else if (starts && which_ == Which::smallest)
            add_crossing(s.point, s.a, s.a);
        else if (ends && which_ == Which::largest)
            add_crossing(s.point, s.b, s.b);
        else if (starts)
            add_bracket(s, true);
        else if (equal_ ? a * b <= 0 : a != b)
            add_bracket(s, equal_ && which_ == Which::largest);
    }
    void HalfLine::add_bracket(const Stretch& s, bool last)
    {
        const auto within = [&](double x) { return x > s.a && x < s.b; };
        Brackets& k = *brackets_;
        const std::size_t i = k.size++;
        k.point[i] = s.point, k.a[i] = s.a, k.b[i] = s.b;
        k.start[i] = within(s.at_b.guess) ? s.at_b.guess : within(s.at_a.guess) ? s.at_a.guess
                                                                                  : std::sqrt(s.a * s.b);
        k.mark[i] = state(last ? s.at_b : s.at_a), k.want[i] = last;
        k.far[i] = std::min(s.at_a.gap, s.at_b.gap);
        k.whole[i] = last ? s.a : s.b;
        k.equal[i] = equal_ && s.at_a.state == 0 ? s.a : equal_ && s.at_b.state == 0 ? s.b
                                                                                     : NAN;
        k.end[i] = s.at_b;
    }
    void HalfLine::narrow()
    {
        while (brackets_->size)
        {
            std::swap(brackets_, narrowed_);
            brackets_->size = 0;
            Brackets& k = *narrowed_;
            const std::size_t n = k.size;
            load(k.point.data(), n);
            std::copy_n(k.a.begin(), n, a_), std::copy_n(k.b.begin(), n, b_), std::copy_n(k.start.begin(), n, y_), std::copy_n(k.mark.begin(), n, mark_), std::copy_n(k.want.begin(), n, want_);
            std::fill_n(newton_, n, 1.0), std::fill_n(open_, n, 1.0);
            for (int step = 0; step < most_steps; ++step)
            {
                if (step >= newton_steps)
                    std::fill_n(newton_, n, double(step % 2));
                step_.run(n);
                std::copy_n(step_[0], n, a_), std::copy_n(step_[1], n, b_), std::copy_n(step_[2], n, y_), std::copy_n(step_[3], n, open_);
                if (set_.below(open_, n, 0.5) == n)
                    break;
            }
            std::copy_n(a_, n, k.a.begin()), std::copy_n(b_, n, k.b.begin());
            settle();
        }
    }
    // Of an inequality the side on which it holds. Of an equality Newton's last word, if the sides agree there: else they jump past one another.
    void HalfLine::settle()
    {
        const Brackets& k = *narrowed_;
        if (!equal_)
        {
            for (std::size_t i = 0; i < k.size; ++i)
            {
                const double x = k.mark[i] == -1 ? k.a[i] : k.b[i];
                add_crossing(k.point[i], x, x);
            }
            return;
        }
        for (std::size_t i = 0; i < k.size; ++i)
            y_[i] = k.want[i] ? k.a[i] : k.b[i];
        values_.run(k.size);
        for (std::size_t i = 0; i < k.size; ++i)
        {
            const End end = result(i);
            const double x = y_[i];
            const bool steady = values_[3][i] != 0;
            if (end.state != 0 && end.gap != 0 && !(steady && end.gap <= k.far[i]))
            {
                if (k.equal[i] == k.equal[i])
                    add_crossing(k.point[i], k.equal[i], k.equal[i]);
                continue;
            }
            const double root = steady && end.state != 0 ? std::min(std::max(end.guess, k.a[i]), k.b[i]) : x;
            if (which_ != Which::all)
                add_crossing(k.point[i], root, root);
            else if (k.want[i]) // where the stretch of roots begins is known
                add_crossing(k.point[i], k.whole[i], root);
            else if (k.end[i].state == 0)
                add_crossing(k.point[i], root, k.whole[i]);
            else if (end.state != 0 || steady)
                add_crossing(k.point[i], root, root);
            else
                add_bracket({k.point[i], x, k.whole[i], end, k.end[i]}, true);
        }
    }
}
