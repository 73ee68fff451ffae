#include "roofslate/solve/sign_changes.hpp"
#include <cfloat>

namespace roofslate
{
    namespace
    {
        constexpr double narrow_share = 0x1p-26;  // stretches that are not split where their ends differ
        constexpr double closest_share = 0x1p-48; // ... at all: there are a few numbers in it
        constexpr double many_numbers_share = 64 * closest_share;
        constexpr double scanned_share = 0.2589254117941673; // ... if nothing is known of them: a tenth of a decade
        constexpr double beside_share = 0x1p-20;  // roots as near to the first one are looked for too
        constexpr double clear_share = 0x1p-10;          // of how far sides are apart at ends, in between
        constexpr double cancelled_share = 1e-12;
        constexpr std::size_t most_on_level = 2048;      // ... before it is taken for one that the sides agree on it
        constexpr double beside_factor = 2;              // within which several are looked at together
        // of these, so many at a time: few while a root may be near
        constexpr std::size_t together(std::size_t before) { return before < 64 ? 1 : before < 512 ? 8 : 64; }
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
        const double* const states = seen()[Look::state];
        for (std::size_t i = 0; i < n && !plain_; ++i)
        {
            defined_[points[i]] |= states[i] == states[i];
            held_[points[i]] |= states[i] == -1;
            const double nearness = values_[Look::near][i];
            if (nearness == 0 || nearness == agreed_and_near)
                (states[i] == -1 ? held_surely_ : failed_surely_)[points[i]] = true;
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
        held_surely_.fill(false), failed_surely_.fill(false);
        unsearched_.fill({HUGE_VAL, -HUGE_VAL});
        const auto look = [&](const Numbers& at, Ends& ends) {
            gather(at.data(), points.data(), points.size(), y_);
            evaluate(points.data(), points.size());
            const double* states = seen()[Look::state];
            const auto is_near = [](double state) { return std::fabs(state) == level_sign; };
            if (plain_ && !equal_ && std::any_of(states, states + points.size(), is_near))
            {
                LaneProgram& levels = program_of(levels_);
                levels.run(points.size()), states = levels[0];
            }
            scatter(states, points.data(), points.size(), ends.state.data());
            if (!plain_)
            {
                scatter(values_[Look::sign], points.data(), points.size(), ends.sign.data());
                scatter(values_[Look::near], points.data(), points.size(), ends.near.data());
                scatter(values_[Look::apart], points.data(), points.size(), ends.apart.data());
                scatter(values_[Look::ratio], points.data(), points.size(), ends.ratio.data());
                scatter(values_[Look::error], points.data(), points.size(), ends.error.data());
            }
        };
        look(low, low_ends_), look(high, high_ends_);
    }

    End HalfLine::look(Point point, double y)
    {
        y_[0] = y;
        evaluate(&point, 1);
        End result = end(0);
        result.sign = sign(result);
        return result;
    }

    const Crossings& HalfLine::find(
        const std::vector<Point>& points,
        Which which,
        const Truths& all_of_point,
        Progress& progress)
    {
        which_ = which;
        beyond_.fill(which == Which::largest ? 0 : HUGE_VAL);
        crossings_.clear();
        std::vector<Stretch> batch;
        if (plain_)
            conclude_plain(points);
        else
            for (const Point p : points)
            {
                const std::size_t before = batch.size();
                if (one_way_)
                    add_turns(p, batch);
                if (batch.size() <= before + 1) // as declared
                    batch.resize(before), batch.push_back(full(p));
                else
                    leave(full(p));
            }
        narrow();
        while (!batch.empty() && !progress.stopped())
        {
            const std::size_t before = crossings_.size();
            for (std::size_t first = 0; first < batch.size(); first += block)
                look_at(batch.data() + first, std::min(block, batch.size() - first));
            prune(before, all_of_point);
            next_batch(points, batch);
            progress.tell();
        }
        if (!plain_ && equal_)
            see_through_haze();
        return crossings_;
    }
    void HalfLine::look_at(const Stretch* stretches, std::size_t n)
    {
        std::vector<Stretch> undecided, narrowest;
        std::array<Point, block> of{};
        for (std::size_t i = 0; i < n; ++i)
            of[i] = stretches[i].point, a_[i] = stretches[i].a, b_[i] = stretches[i].b;
        load(of.data(), n);
        if (!one_way_)
            program_of(bounds_).run(n);
        for (std::size_t i = 0; i < n; ++i)
        {
            const Stretch& s = stretches[i];
            const Verdict verdict = judge(s, i);
            if (verdict == Verdict::settled || verdict == Verdict::settled_and_left)
                conclude(s, proof(Proof::sure, i) != 0 || proof(Proof::level, i) != 0);
            if (verdict == Verdict::agreed)
                crossings_.add(s.point, s.a, s.b, std::min(std::fabs(s.at_a.apart), std::fabs(s.at_b.apart)), 0);
            if (verdict == Verdict::left || verdict == Verdict::settled_and_left)
                leave(s);
            if (verdict == Verdict::split)
                undecided.push_back(s);
            if (verdict == Verdict::look_through)
                narrowest.push_back(s);
        }
        split(undecided);
        for (const Stretch& s : narrowest)
            look_through(s);
        narrow();
    }
    HalfLine::Verdict HalfLine::judge(const Stretch& s, std::size_t lane) const
    {
        const bool known = proof(Proof::known, lane) != 0;
        const double a = state(s.at_a), b = state(s.at_b);
        if (proof(Proof::nothing, lane) != 0)
        {
            if (equal_ && (a == 0 || b == 0)) // but the sides agree within rounding there
                return a != b || proof(Proof::level, lane) != 0 || s.b / s.a - 1 <= narrow_share
                    ? Verdict::settled
                    : Verdict::split;
            return equal_ || a == b ? Verdict::none : Verdict::settled; // it may end where nothing but rounding is left
        }
        if (a == b && proof(Proof::level, lane) != 0
            && !(equal_ && a != 0 && proof(Proof::level, lane) == pinched_level))
            return equal_ && a == 0 ? Verdict::settled : Verdict::none;
        const bool hides_a = hides(s.at_a), hides_b = hides(s.at_b);
        if (proof(Proof::once, lane) != 0 && (hides_a || hides_b) && moves_away(s, lane))
            return Verdict::none;
        if (proof(Proof::once, lane) != 0 && !(a == b && (hides_a || hides_b)))
            return Verdict::settled;
        if (a == b && is_clear(s, lane))
            return Verdict::none;
        if (a == b && a != 0 && is_drowned(s, lane))
        {
            const bool agree = s.at_a.near == agreed_and_near && s.at_b.near == agreed_and_near;
            if (!equal_ || !agree)
                return Verdict::none;
            if (s.b / s.a - 1 > many_numbers_share)
                return Verdict::agreed;
        }
        const bool telling = known || !scans_;
        if (a == b)
            return judge_alike(s, lane, telling);
        const double share = s.b / s.a - 1;
        if (!telling && share <= scanned_share)
            return Verdict::settled_and_left;
        return share <= narrow_share ? Verdict::settled : Verdict::split;
    }
    // From an end at which the sides are apart they go farther apart.
    bool HalfLine::moves_away(const Stretch& s, std::size_t lane) const
    {
        const bool rises = proof(Proof::least, lane) >= 0, falls = proof(Proof::greatest, lane) <= 0;
        const auto apart = [&](const End& end) { return hides(end) || end.state == 0 ? 0 : end.apart; };
        const double a = apart(s.at_a), b = apart(s.at_b);
        return (rises && (a > 0 || b < 0)) || (falls && (a < 0 || b > 0));
    }
    // Rounding may have made the sign.
    bool HalfLine::hides(const End& end) const { return end.near != 0 && end.near < agreed_and_near && end.state != 0; }
    // Rounding is larger than how far the sides are apart, all along: no value decides which one is greater.
    bool HalfLine::is_drowned(const Stretch& s, std::size_t lane) const
    {
        constexpr double much = 4, wide = 1;
        const double error = much * std::min(s.at_a.error, s.at_b.error),
                     apart = std::max(std::fabs(s.at_a.apart), std::fabs(s.at_b.apart));
        if (!(apart <= error))
            return false;
        if (proof(Proof::once, lane) != 0)
            return true;
        const double slope = std::max(std::fabs(proof(Proof::least, lane)), std::fabs(proof(Proof::greatest, lane)));
        return s.b / s.a - 1 <= wide && apart + slope * (s.b - s.a) <= error;
    }
    // By the slopes, the sides stay apart between ends at which they are.
    bool HalfLine::is_clear(const Stretch& s, std::size_t lane) const
    {
        if (s.at_a.near != 0 || s.at_b.near != 0)
            return false;
        const auto stays = [](double at_a, double at_b, double low, double high, double width) {
            if (!(at_a * at_b > 0))
                return false;
            if (at_a < 0)
                at_a = -at_a, at_b = -at_b, std::swap(low, high), low = -low, high = -high;
            const double least = std::min(at_a, at_b);
            if (low >= 0 || high <= 0)
                return true;
            const double lines = high * at_a - low * at_b, between = low * high * width; // which nearly cancel at times
            return lines + between > clear_share * least * (high - low) + cancelled_share * (lines - between);
        };
        return stays(
                   s.at_a.ratio,
                   s.at_b.ratio,
                   proof(Proof::slowest, lane),
                   proof(Proof::fastest, lane),
                   std::log(s.b / s.a))
            || stays(s.at_a.apart, s.at_b.apart, proof(Proof::least, lane), proof(Proof::greatest, lane), s.b - s.a);
    }
    // Of a stretch whose ends say the same.
    HalfLine::Verdict HalfLine::judge_alike(const Stretch& s, std::size_t lane, bool telling) const
    {
        const double share = s.b / s.a - 1;
        if (!telling && share <= scanned_share)
            return Verdict::left;
        if (share > closest_share)
            return Verdict::split;
        if (equal_ && s.at_a.state == 0)
            return Verdict::look_through;
        const bool smooth = proof(Proof::least, lane) == proof(Proof::least, lane);
        const bool are_near = s.at_a.near >= close_and_near || s.at_b.near >= close_and_near;
        return smooth && !are_near ? Verdict::none : Verdict::look_through;
    }
    // The few numbers of a narrow stretch. At a jump, one of them may be a root or meet the condition.
    void HalfLine::look_through(const Stretch& s)
    {
        std::array<Point, block> of{};
        std::size_t n = 0;
        for (double y = s.a; y <= s.b && n < block; y = std::nextafter(y, HUGE_VAL))
            of[n] = s.point, y_[n++] = y;
        evaluate(of.data(), n);
        const double* const states = values_[Look::state];
        if (equal_ && std::all_of(states, states + n, [](double state) { return state == 0; }))
        {
            crossings_.add(s.point, s.a, s.b, 0, 0);
            return;
        }
        if (equal_)
        {
            std::size_t best = n;
            for (std::size_t i = 0; i < n; ++i)
                if ((states[i] == 0 || values_[Look::agreed][i] != 0)
                    && (best == n || values_[Look::gap][i] < values_[Look::gap][best]))
                    best = i;
            if (best < n)
                crossings_.add(s.point, y_[best], y_[best], values_[Look::gap][best], 0);
        }
        for (std::size_t i = 1; i < n && !equal_; ++i)
            if ((states[i - 1] == -1) != (states[i] == -1))
            {
                const bool begins = states[i] == -1;
                const double x = y_[begins ? i : i - 1];
                crossings_.add(s.point, x, x, 0, begins ? Crossings::begins : 0);
            }
    }
    void HalfLine::leave(const Stretch& s)
    {
        Range& all = unsearched_[s.point];
        all = {std::min(all.low, s.a), std::max(all.high, s.b)};
    }
    // The one that is looked at next last.
    void HalfLine::push(const Stretch& lower, const Stretch& upper)
    {
        std::vector<Stretch>& stack = stack_[lower.point];
        stack.push_back(which_ == Which::largest ? lower : upper);
        stack.push_back(which_ == Which::largest ? upper : lower);
    }
    void HalfLine::split(const std::vector<Stretch>& stretches)
    {
        std::array<Point, block> of{};
        for (std::size_t i = 0; i < stretches.size(); ++i)
            of[i] = stretches[i].point, y_[i] = std::sqrt(stretches[i].a * stretches[i].b);
        evaluate(of.data(), stretches.size());
        for (std::size_t i = 0; i < stretches.size(); ++i)
        {
            const Stretch& s = stretches[i];
            const End middle = end(i);
            if (equal_ && s.at_a.state == 0 && s.at_b.state == 0 && middle.state == 0
                && stretches_[s.point] >= most_on_level) // as far as one sees, all of it
                conclude(s, false);
            else
                push({s.point, s.a, y_[i], s.at_a, middle}, {s.point, y_[i], s.b, middle, s.at_b});
        }
    }
    bool HalfLine::is_wanted(const Stretch& s) const
    { return which_ == Which::largest ? s.b >= beyond_[s.point] : s.a <= beyond_[s.point]; }
    bool HalfLine::is_beside(const Stretch& next, const Stretch& other) const
    { return which_ == Which::largest ? other.b * beside_factor >= next.b : other.a <= next.a * beside_factor; }
    void HalfLine::next_batch(const std::vector<Point>& points, std::vector<Stretch>& batch)
    {
        batch.clear();
        for (const Point p : points)
        {
            std::vector<Stretch>& stack = stack_[p];
            while (!stack.empty() && !is_wanted(stack.back()))
                stack.pop_back();
            if (stack.empty())
                continue;
            if (stretches_[p] < most_stretches_)
            {
                const std::size_t first = batch.size();
                const Stretch next = stack.back();
                for (std::size_t n = together(stretches_[p]); n > 0 && !stack.empty() && is_beside(next, stack.back());
                     --n, ++stretches_[p])
                {
                    if (is_wanted(stack.back()))
                        batch.push_back(stack.back());
                    stack.pop_back();
                }
                std::reverse(batch.begin() + std::ptrdiff_t(first), batch.end()); // its parts come last, and so next
                continue;
            }
            for (const Stretch& s : stack)
                if (is_wanted(s))
                    leave(s);
            stack.clear();
        }
    }
    // A root that is sure makes all beyond it superfluous. Its neighbors may be the same one.
    void HalfLine::prune(std::size_t first, const Truths& all_of_point)
    {
        for (std::size_t k = first; which_ != Which::all && k < crossings_.size(); ++k)
        {
            const Point p = crossings_.point[k];
            if (all_of_point[p] || (crossings_.flags[k] & Crossings::hazy))
                continue;
            if (which_ == Which::largest)
                beyond_[p] = std::max(beyond_[p], crossings_.to[k] * (1 - beside_share));
            else
                beyond_[p] = std::min(beyond_[p], crossings_.from[k] * (1 + beside_share));
        }
    }

    // All at once, but for those that have an end at which both sides agree.
    void HalfLine::conclude_plain(const std::vector<Point>& points)
    {
        Brackets& k = *turns_.to_come;
        const double *const low = low_ends_.state.data(), *const high = high_ends_.state.data();
        std::size_t turning = 0, n = points.size();
        if (are_all(points.data(), n)) // at once, as a rule
            for (std::size_t i = 0; i < n; ++i)
                turning += low[i] * high[i] == -1; // neither within rounding
        if (turning == n)
        {
            std::copy_n(points.begin(), n, k.point.begin());
            std::copy_n(low_->begin(), n, k.a.begin()), std::copy_n(high_->begin(), n, k.b.begin()),
                std::copy_n(low, n, k.mark.begin());
            std::fill_n(k.want.begin(), n, 0.0), std::fill_n(k.sure.begin(), n, true);
            k.size = n;
            return;
        }
        for (const Point p : points)
            conclude(full(p), true);
    }
    // What the states at its ends say of a stretch in which the comparison turns once at most.
    void HalfLine::conclude(const Stretch& s, bool sure)
    {
        const double a = state(s.at_a), b = state(s.at_b);
        if (equal_ && a == 0 && b == 0)
            crossings_.add(s.point, s.a, s.b, 0, sure ? 0 : Crossings::guessed);
        else if (a == b)
            return;
        else if (equal_ && (a == 0 || b == 0))
            add_bracket(edges_, s, 0, b == 0, sure);
        else if (equal_ && (a == undefined_state || b == undefined_state))
            add_bracket(edges_, s, undefined_state, b == undefined_state, sure);
        else if (sign(s.at_a) != sign(s.at_b))
            add_bracket(turns_, s, sign(s.at_a), false, sure);
        else
            add_bracket(edges_, s, a, false, sure);
    }
    void HalfLine::add_bracket(Narrowing& narrowing, const Stretch& s, double mark, bool want, bool sure)
    {
        Brackets& k = *narrowing.to_come;
        const std::size_t i = k.size++;
        k.point[i] = s.point, k.a[i] = s.a, k.b[i] = s.b;
        k.mark[i] = mark, k.want[i] = want;
        k.sure[i] = sure;
        k.full[i] = s;
    }
    // How the sides pass one another among the neighbors of a value. At a jump they change their order in one step that
    // is larger than those on either side, and no rounding shakes them there. At a pole they come nearer to one another
    // away from it.
    HalfLine::Passage HalfLine::passage(Point point, double y)
    {
        constexpr int neighbors = 16;
        constexpr double larger = 4;
        std::array<Point, 2 * neighbors + 1> of{};
        of.fill(point);
        for (int k = -neighbors; k <= neighbors; ++k)
            y_[k + neighbors] = y * (1 + 2 * k * DBL_EPSILON);
        evaluate(of.data(), of.size());
        const double *const signs = values_[Look::sign], *const differences = values_[Look::apart];
        std::size_t changes = 0;
        double step_of_change = 0;
        std::array<double, 2> largest_step{}; // before the change and after it
        bool parts = false; // the sides are farther apart away from the change
        for (std::size_t i = 1; i < of.size(); ++i)
        {
            const bool is_change = !(signs[i - 1] == signs[i]);
            double& step = is_change ? step_of_change : largest_step[changes > 0];
            step = std::max(step, std::fabs(differences[i] - differences[i - 1]));
            changes += is_change;
            if (is_change)
                parts = std::fabs(differences[i - 1]) <= std::fabs(differences[0])
                    && std::fabs(differences[i]) <= std::fabs(differences[of.size() - 1]);
        }
        if (changes > 1)
            return Passage::shaken;
        const double usual_step = std::min(largest_step[0], largest_step[1]);
        return changes == 1 && parts && step_of_change <= larger * usual_step ? Passage::crossing : Passage::jump;
    }
    // Adds the stretches in which the comparison turns, by some values: of a side declared monotone first
    // over all usual loads, then around the one that saturates the service.
    void HalfLine::add_turns(Point point, std::vector<Stretch>& stretches)
    {
        constexpr std::size_t coarse = 64, fine = 128;
        constexpr double least = 1e-9, most = 1e9, around = 4;
        const std::size_t before = stretches.size();
        std::array<Point, fine> of{};
        of.fill(point);
        double from = std::max(low(point), least), to = std::min(high(point), most);
        for (int round = 0; round < 2 && from < to && stretches.size() <= before + 1; ++round)
        {
            stretches.resize(before);
            const std::size_t values = round == 0 ? coarse : fine;
            std::array<double, fine> y;
            for (std::size_t i = 0; i < values; ++i)
                y[i] = from * std::pow(to / from, double(i) / double(values - 1));
            std::copy_n(y.begin(), values, y_);
            load(of.data(), values);
            states_.run(values);
            const double *const signs = states_[0], *const differences = states_[1], *const nearness = states_[2];
            Stretch s = full(point);
            std::size_t saturated = values; // the value after which, or before which
            for (std::size_t i = 0; i <= values; ++i)
            {
                if (i > 0 && i < values && std::isfinite(differences[i]) != std::isfinite(differences[i - 1]))
                    saturated = i;
                if (i < values && (nearness[i] != 0 || !(signs[i] == signs[i])))
                    continue; // rounding may have made the sign, or there is none
                s.b = i < values ? y[i] : high(point);
                s.at_b = i < values ? End{signs[i], signs[i], 0, differences[i], NAN, 0} : high_ends_[point];
                if (state(s.at_a) != state(s.at_b))
                    stretches.push_back(s);
                s.a = s.b, s.at_a = s.at_b;
            }
            double first = 0, last = 0; // of a load that saturates the service, or else of the first turn
            if (saturated < values)
                first = y[saturated - 1], last = y[saturated];
            else if (stretches.size() > before)
                first = stretches[before].a, last = stretches[before].b;
            else
                return;
            from = std::max(from, first / around), to = std::min(to, last * around);
        }
    }
    // Roots that rounding hides one among others: those between which both sides are equal but for rounding are one, or
    // none if the sides do not change their order, or if they belong to a stretch on which the sides agree.
    void HalfLine::see_through_haze()
    {
        const Crossings& c = crossings_;
        std::vector<std::size_t> order;
        std::vector<bool> dropped(c.size(), false);
        const auto is_hazy = [&](std::size_t k) { return (c.flags[k] & Crossings::hazy) != 0; };
        for (std::size_t k = 0; k < c.size(); ++k)
            order.push_back(k);
        if (std::none_of(order.begin(), order.end(), is_hazy))
            return;
        std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t k) {
            return c.point[i] != c.point[k] ? c.point[i] < c.point[k] : c.from[i] < c.from[k];
        });
        const auto are_one = [&](std::size_t i, std::size_t k) {
            const Point p = c.point[i];
            if (p != c.point[k] || !(is_hazy(i) || is_hazy(k)))
                return false;
            bool alike = true;
            for (int part = 1; part < 4 && alike; ++part)
            {
                y_[0] = c.to[i] * std::pow(c.from[k] / c.to[i], part / 4.0);
                load(&p, 1);
                values_.run(1);
                alike = values_[Look::near][0] != 0 && values_[Look::error][0] <= DBL_MAX;
            }
            return alike;
        };
        for (std::size_t first = 0, last; first < order.size(); first = last)
        {
            std::size_t clear = 0, best = first;
            for (last = first; last == first || (last < order.size() && are_one(order[last - 1], order[last])); ++last)
            {
                clear += !is_hazy(order[last]);
                if (c.gap[order[last]] < c.gap[order[best]])
                    best = last;
            }
            for (std::size_t k = first; k < last; ++k)
                if (is_hazy(order[k]))
                {
                    dropped[order[k]] = true;
                    if (clear || (last - first) % 2 == 0 || k != best)
                        continue;
                    dropped[order[k]] = (c.flags[order[k]] & Crossings::hidden) != 0;
                    if (!dropped[order[k]])
                        continue;
                    const Passage passed = passage(c.point[order[k]], c.from[order[k]]);
                    dropped[order[k]] = passed != Passage::crossing;
                    if (passed == Passage::shaken)
                        leave({c.point[order[k]], c.from[order[first]], c.to[order[last - 1]], {}, {}});
                }
        }
        Crossings remaining;
        for (std::size_t k = 0; k < c.size(); ++k)
            if (!dropped[k])
                remaining.add(c.point[k], c.from[k], c.to[k], c.gap[k], c.flags[k]);
        crossings_ = std::move(remaining);
    }
}
