#include "roofslate/solve/sign_changes.hpp"
#include <algorithm>
#include <cfloat>
#include <mutex>
#include <numeric>
#include <optional>

namespace roofslate
{
    namespace
    {
        constexpr std::size_t block = LaneGraph::capacity;
        constexpr std::size_t fewest_blocks_of_thread = 8;
        constexpr double whole_share = 1e-12; // of a root that is a whole number but for rounding
        constexpr std::size_t many_roots = 256;
        constexpr double same_share = 0x1p-25; // roots that are nearer to one another are one

        std::vector<int> nodes_of(const Comparison& c)
        {
            std::vector<int> nodes{c.lhs, c.rhs};
            nodes.insert(nodes.end(), c.unknown.above.begin(), c.unknown.above.end());
            nodes.insert(nodes.end(), c.unknown.below.begin(), c.unknown.below.end());
            return nodes;
        }
        std::vector<int> nodes_of(const Equation& e)
        {
            std::vector<int> nodes = nodes_of(e.comparison);
            for (const int slope : {e.left_slope, e.right_slope})
                if (slope >= 0)
                    nodes.push_back(slope);
            return nodes;
        }

        // What all threads read, and where each writes its own points.
        struct Shared
        {
            Shared(const Comparison& c, Which w, const Options& options)
                : comparison(c),
                  equation(c),
                  which(w),
                  set(instruction_set()),
                  givens(c.graph, nodes_of(equation), c.graph[c.unknown.leaf].axes, set, options.threads),
                  outcomes(givens.points(), Outcome::found)
            {
                const Unknown& u = c.unknown;
                zero = u.low <= 0 && u.high >= 0 && !(u.low == 0 && u.above_low);
                upper = {std::max(u.low, least_magnitude), std::min(u.high, greatest_magnitude)};
                lower = {std::max(-u.high, least_magnitude), std::min(-u.low, greatest_magnitude)};
                if (which == Which::all)
                    roots.resize(givens.points());
                else
                    values = aligned_doubles(givens.points());
            }
            const Comparison& comparison;
            Equation equation;
            Which which;
            const InstructionSet& set;
            Givens givens;
            bool zero;          // is in the range
            Range upper, lower; // magnitudes of positive and of negative numbers of the range
            std::vector<Outcome> outcomes;
            Doubles values;
            std::vector<std::vector<double>> roots;
            std::vector<Range> unsearched; // as soon as there is one

            void leave(std::size_t point, const Range& r)
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                unsearched.resize(outcomes.size());
                unsearched[point] = r;
            }

        private:
            std::mutex mutex_;
        };
        Which mirrored(Which which)
        { return which == Which::smallest ? Which::largest : which == Which::largest ? Which::smallest : which; }

        constexpr int touches = 128; // of an inequality: it holds there and neither below nor above
        struct Interval // of roots
        {
            double from, to, gap;
            int flags; // Crossings::Flag
        };

        class Solver // of one thread
        {
        public:
            Solver(Shared& shared, Progress& progress)
                : shared_(shared),
                  progress_(progress),
                  given_(shared.givens),
                  upper_(shared, 1, shared.upper),
                  lower_(shared, -1, shared.lower),
                  zero_(shared, 0, {1, shared.zero ? 1.0 : 0.0}),
                  found_(block)
            {
            }
            std::size_t solve(std::size_t number)
            {
                first_ = number * block;
                const std::size_t n = std::min(block, shared_.givens.points() - first_);
                given_.read(first_, n);
                open_.fill(true), any_closed_ = any_listed_ = all_closed_ = false;
                const Unknown& u = shared_.comparison.unknown;
                if (n != divided_ || !u.above.empty() || !u.below.empty())
                    divide(n);
                for (Part* part : {&upper_, &lower_, &zero_})
                    if (part->line)
                        part->line->begin(given_, part->points, part->from, part->to);
                find_level(n);
                const bool largest = shared_.which == Which::largest;
                largest ? find_upper() : find_lower();
                find_zero();
                largest ? find_lower() : find_upper();
                for (std::size_t i = 0; i < n && !all_closed_; ++i)
                    if (open_[i] || is_listed(i))
                        finish(i);
                return n;
            }

        private:
            struct Part // of the unknown's range
            {
                Part(const Shared& shared, double sign, const Range& y)
                {
                    if (y.low <= y.high)
                        line.emplace(shared.equation, shared.givens, sign, y, shared.set);
                }
                std::optional<HalfLine> line;
                HalfLine::Numbers from, to; // by point
                std::array<bool, block> has;
                std::vector<Point> points; // which have it
            };
            void divide(std::size_t n)
            {
                divided_ = n;
                const Unknown& u = shared_.comparison.unknown;
                std::fill_n(low_.begin(), n, u.low), std::fill_n(high_.begin(), n, u.high);
                for (const int node : u.above)
                    for (std::size_t i = 0; i < n; ++i)
                        low_[i] = std::max(low_[i], value_of(node, i));
                for (const int node : u.below)
                    for (std::size_t i = 0; i < n; ++i)
                        high_[i] = std::min(high_[i], value_of(node, i));
                start(upper_, n, [&](std::size_t i) {
                    return Range{std::max(low_[i], shared_.upper.low), std::min(high_[i], shared_.upper.high)};
                });
                start(lower_, n, [&](std::size_t i) {
                    return Range{std::max(-high_[i], shared_.lower.low), std::min(-low_[i], shared_.lower.high)};
                });
                start(zero_, n, [&](std::size_t i) {
                    return low_[i] <= 0 && high_[i] >= 0 ? Range{1, 1} : Range{1, 0};
                });
            }
            double value_of(int node, std::size_t i) const
            {
                if (const Node& n = shared_.comparison.graph[node]; n.is_constant())
                    return n.value;
                std::size_t k = 0;
                while (shared_.givens.node(k) != node)
                    ++k;
                return given_[k][i];
            }
            template <class RangeOf> void start(Part& part, std::size_t n, const RangeOf& range_of)
            {
                part.points.clear();
                for (std::size_t i = 0; i < n && part.line; ++i)
                {
                    const Range r = range_of(i);
                    part.from[i] = r.low, part.to[i] = r.high, part.has[i] = r.low <= r.high;
                    if (part.has[i])
                        part.points.push_back(Point(i));
                }
            }
            // Points at which both sides agree at all ends, so that they may everywhere.
            void find_level(std::size_t n)
            {
                const bool whole_numbers = shared_.comparison.unknown.whole_numbers; // the first root may be none
                level_.fill(false), all_of_point_.fill(whole_numbers), any_level_ = whole_numbers;
                if (shared_.comparison.relation != Relation::equal)
                    return;
                bool some = false;
                for (const Part* part : {&upper_, &lower_, &zero_})
                    for (std::size_t i = 0; i < n && part->line; ++i)
                        some |= part->line->state_at_low(i) == 0;
                for (std::size_t i = 0; i < n && some; ++i)
                {
                    bool any = false, all = true;
                    for (const Part* part : {&upper_, &lower_, &zero_})
                        if (all && part->line && part->has[i])
                            any = true, all = part->line->state_at_low(i) == 0 && part->line->state_at_high(i) == 0;
                    level_[i] = any && all;
                    all_of_point_[i] = whole_numbers || level_[i];
                    any_level_ = any_level_ || level_[i];
                }
            }
            bool needs_more(std::size_t i) const { return open_[i] || all_of_point_[i] || shared_.which == Which::all; }
            // Those of the part's points that need more roots.
            const std::vector<Point>& open_points(const Part& part)
            {
                if (!any_closed_)
                    return part.points;
                points_.clear();
                if (all_closed_)
                    return points_;
                for (const Point p : part.points)
                    if (needs_more(p))
                        points_.push_back(p);
                return points_;
            }
            bool is_listed(std::size_t i) const { return any_listed_ && !found_[i].empty(); }
            void list(std::size_t i, const Interval& root)
            {
                open_[i] = all_of_point_[i], any_closed_ = any_listed_ = true;
                found_[i].push_back(root);
            }
            // A plain line yields at most one value, about which nothing more is needed.
            void add(const Crossings& crossings, double sign)
            {
                const auto is_plain = [](const Part& part) { return !part.line || part.line->is_plain(); };
                const bool at_once = shared_.which != Which::all && is_plain(upper_) && is_plain(lower_) && !any_listed_
                    && std::equal(crossings.from.begin(), crossings.from.end(), crossings.to.begin());
                if (at_once && !any_closed_ && !any_level_ && crossings.size() == divided_
                    && are_all(crossings.point.data(), crossings.size())) // as a rule
                {
                    std::transform(
                        crossings.from.begin(),
                        crossings.from.end(),
                        shared_.values.get() + first_,
                        [&](double y) { return as_root(y, sign); });
                    all_closed_ = any_closed_ = true;
                    return;
                }
                for (std::size_t k = 0; k < crossings.size(); ++k)
                {
                    const Point p = crossings.point[k];
                    if (at_once && open_[p] && !all_of_point_[p])
                    {
                        open_[p] = false;
                        shared_.values[first_ + p] = as_root(crossings.from[k], sign);
                        continue;
                    }
                    const double from = as_root(crossings.from[k], sign), to = as_root(crossings.to[k], sign);
                    const int flags = crossings.flags[k] ^ (sign < 0 ? int(Crossings::begins) : 0);
                    list(p, {std::min(from, to), std::max(from, to), crossings.gap[k], flags});
                }
                any_closed_ = any_closed_ || crossings.size();
            }
            static double as_root(double y, double sign)
            { return y <= least_magnitude ? 0 : y >= greatest_magnitude ? sign * HUGE_VAL : sign * y; }
            void find_upper()
            {
                if (upper_.line)
                    add(upper_.line->find(open_points(upper_), shared_.which, all_of_point_, progress_), 1);
            }
            void find_lower()
            {
                if (lower_.line)
                    add(lower_.line->find(open_points(lower_), mirrored(shared_.which), all_of_point_, progress_), -1);
            }
            // Zero itself, and what turns between it and the smallest magnitudes.
            void find_zero()
            {
                if (!zero_.line)
                    return;
                for (const Point p : open_points(zero_))
                {
                    const double at_low = zero_.line->state_at_low(p);
                    const auto turns = [&](const Part& part) {
                        return part.line && part.has[p] && (part.line->state_at_low(p) == -1) != (at_low == -1);
                    };
                    const bool above = turns(upper_), below = turns(lower_), holds = at_low == -1;
                    if (shared_.comparison.relation == Relation::equal ? at_low != 0 : !above && !below)
                        continue;
                    if (above && below && !holds) // it fails only at zero
                        continue;
                    list(p, {0, 0, 0, above && below ? touches : below == holds ? int(Crossings::begins) : 0});
                }
            }

            // Reports the requested roots of a point, and the range left unsearched.
            void finish(std::size_t i)
            {
                std::vector<Interval>& roots = found_[i];
                const bool equal = shared_.comparison.relation == Relation::equal, any = !roots.empty();
                merge(roots, equal);
                if (any && roots.empty() && shared_.which != Which::all && !all_of_point_[i])
                {
                    search_all(i);
                    merge(roots, equal);
                }
                const Range unsearched = unsearched_of(i);
                Outcome& outcome = shared_.outcomes[first_ + i];
                Outcome otherwise = without_roots(i);
                if (shared_.comparison.unknown.whole_numbers)
                    otherwise = equal ? to_whole(roots, otherwise) : to_whole_boundaries(i, roots, otherwise);
                const bool some_unsearched = unsearched.low <= unsearched.high;
                const double first = roots.empty() ? HUGE_VAL : roots.front().from,
                             last = roots.empty() ? -HUGE_VAL : roots.back().to;
                if (level_[i] && roots.size() == 1 && first <= least_of(i) && last >= greatest_of(i))
                    outcome =
                        some_unsearched || (roots[0].flags & Crossings::guessed) ? Outcome::undecided : Outcome::always;
                else if (
                    some_unsearched
                    && (shared_.which == Which::all || roots.empty()
                        || (shared_.which == Which::smallest ? unsearched.low < first : unsearched.high > last)))
                    outcome = shared_.which == Which::all && are_many(i, roots) ? Outcome::many : Outcome::undecided;
                else
                    outcome = roots.empty() ? otherwise : Outcome::found;
                if (outcome == Outcome::undecided || outcome == Outcome::many)
                    shared_.leave(
                        first_ + i,
                        some_unsearched ? unsearched
                            : first <= last
                            ? Range{first, last}
                            : Range{least_of(i), greatest_of(i)});
                if (shared_.which != Which::all)
                    shared_.values[first_ + i] = outcome != Outcome::found ? NAN
                        : shared_.which == Which::smallest
                        ? first
                        : last;
                else if (outcome != Outcome::always)
                    for (const Interval& interval : roots)
                    {
                        shared_.roots[first_ + i].push_back(interval.from);
                        if (interval.from < interval.to)
                            shared_.roots[first_ + i].push_back(interval.to);
                    }
                roots.clear();
            }
            // Of so many those stay beyond which something is left: between the first and the last nothing is missing.
            bool are_many(std::size_t i, std::vector<Interval>& roots) const
            {
                const double low = has(lower_, i) && lower_.line->has_unsearched(i)
                    ? -lower_.line->unsearched(i).low
                    : -HUGE_VAL,
                             high = has(upper_, i) && upper_.line->has_unsearched(i)
                    ? upper_.line->unsearched(i).low
                    : HUGE_VAL;
                const auto is_beyond = [&](const Interval& x) { return x.from < low || x.to > high; };
                const auto beyond = std::count_if(roots.begin(), roots.end(), is_beyond);
                if (roots.size() - std::size_t(beyond) < many_roots)
                    return false;
                roots.erase(std::remove_if(roots.begin(), roots.end(), is_beyond), roots.end());
                return true;
            }
            // If the first roots turn out to be none, the ones beyond them count.
            void search_all(std::size_t i)
            {
                all_of_point_[i] = true;
                const std::vector<Point> point{Point(i)};
                for (Part* part : {&upper_, &lower_})
                    if (has(*part, i))
                    {
                        const bool up = part == &upper_;
                        part->line->begin_again(i);
                        const Which which = up ? shared_.which : mirrored(shared_.which);
                        add(part->line->find(point, which, all_of_point_, progress_), up ? 1 : -1);
                    }
            }
            // Of roots and stretches of them the whole numbers.
            static Outcome to_whole(std::vector<Interval>& roots, Outcome otherwise)
            {
                std::size_t count = 0;
                for (Interval x : roots)
                {
                    const double from = std::ceil(x.from - whole_share * std::fabs(x.from)),
                                 to = std::floor(x.to + whole_share * std::fabs(x.to));
                    if (from <= to)
                        x.from = from, x.to = to, roots[count++] = x;
                }
                roots.resize(count);
                return otherwise;
            }
            // Of the stretches in which an inequality holds the first and the last whole number, unless it is an end of
            // the range.
            Outcome to_whole_boundaries(std::size_t i, std::vector<Interval>& roots, Outcome otherwise)
            {
                const bool excluded = least_of(i) == 0 && !has(zero_, i); // the lower end itself
                const double low = excluded ? 1 : std::ceil(least_of(i)), high = std::floor(greatest_of(i));
                std::vector<Range> holds;
                const bool from_low =
                    roots.empty() ? otherwise == Outcome::always : !(roots.front().flags & Crossings::begins);
                double from = low;
                bool inside = from_low;
                const auto close = [&](double to) {
                    if (from > to)
                        return;
                    if (!holds.empty() && from <= holds.back().high + 1)
                        holds.back().high = std::max(holds.back().high, to);
                    else
                        holds.push_back({from, to});
                };
                for (const Interval& x : roots)
                {
                    if (x.flags & touches)
                    {
                        from = std::ceil(x.from);
                        close(std::floor(x.to));
                        continue;
                    }
                    if (inside)
                        close(whole_below(i, x.to));
                    else
                        from = std::max(low, -whole_below(i, x.from, -1));
                    inside = !inside;
                }
                if (inside)
                    close(high);
                roots.clear();
                for (const Range& r : holds)
                    for (const double x : {r.low, r.high})
                        if (x != (x == r.low ? low : high) && (roots.empty() || roots.back().to != x))
                            roots.push_back({x, x, 0, 0});
                return holds.empty() ? (otherwise == Outcome::undefined ? otherwise : Outcome::never) : Outcome::always;
            }
            // The last whole number that meets the condition, on the way up or down to a boundary. It may be a few
            // numbers from the next one.
            double whole_below(std::size_t i, double boundary, double direction = 1)
            {
                const double x = direction * boundary, nearest = std::round(x);
                if (std::isinf(x) || nearest <= x || nearest - x > whole_share * std::fabs(x))
                    return std::floor(x);
                const double n = direction * nearest;
                Part& part = n > 0 ? upper_ : n < 0 ? lower_ : zero_;
                if (!has(part, i))
                    return std::floor(x);
                return part.line->look(Point(i), n == 0 ? 1 : std::fabs(n)).sign == -1 ? nearest : std::floor(x);
            }
            double least_of(std::size_t i) const
            { return has(lower_, i) ? as_root(lower_.to[i], -1) : has(zero_, i) ? 0 : as_root(upper_.from[i], 1); }
            double greatest_of(std::size_t i) const
            { return has(upper_, i) ? as_root(upper_.to[i], 1) : has(zero_, i) ? 0 : as_root(lower_.from[i], -1); }
            static bool has(const Part& part, std::size_t i) { return part.line && part.has[i]; }
            Range unsearched_of(std::size_t i) const
            {
                Range all{HUGE_VAL, -HUGE_VAL};
                if (has(upper_, i) && upper_.line->has_unsearched(i))
                    all = upper_.line->unsearched(i);
                if (has(lower_, i) && lower_.line->has_unsearched(i))
                {
                    const Range& y = lower_.line->unsearched(i);
                    all = {std::min(all.low, -y.high), std::max(all.high, -y.low)};
                }
                return all;
            }
            Outcome without_roots(std::size_t i) const
            {
                bool defined = false, held = false, sure = !has(upper_, i) && !has(lower_, i);
                for (const Part* part : {&upper_, &lower_, &zero_})
                    if (part->line && part->has[i])
                        defined = defined || part->line->was_defined(i), held = held || part->line->did_hold(i),
                        sure = sure || (part != &zero_ && part->line->is_sure(i));
                if (!sure && defined && shared_.comparison.relation != Relation::equal)
                    return Outcome::undecided;
                if (held && shared_.comparison.relation != Relation::equal)
                    return Outcome::always;
                return defined || !(low_[i] <= high_[i]) ? Outcome::never : Outcome::undefined;
            }
            static bool are_distinct(double a, double b, double share)
            { return a < b && (std::isinf(b - a) || b - a > share * std::min(std::fabs(a), std::fabs(b))); }
            // Merges roots closer than the resolution: for an equality into the value at which the
            // sides agree best, for an inequality into a boundary, or none if it fails only in between.
            static void merge(std::vector<Interval>& roots, bool equal)
            {
                const auto is_first = [](const Interval& a, const Interval& b) { // of a single value the beginning
                    const bool begins = (a.flags & Crossings::begins) && !(b.flags & Crossings::begins);
                    return a.from < b.from || (a.from == b.from && begins);
                };
                std::stable_sort(roots.begin(), roots.end(), is_first);
                std::size_t count = 0;
                for (std::size_t k = 0, next; k < roots.size(); k = next)
                {
                    Interval all = roots[k];
                    const Interval* best = nullptr;
                    for (next = k; next < roots.size() && !are_distinct(all.to, roots[next].from, same_share); ++next)
                    {
                        const Interval& member = roots[next];
                        all.to = std::max(all.to, member.to);
                        all.flags |= member.flags & Crossings::guessed;
                        if (member.from == member.to && (!best || member.gap < best->gap))
                            best = &member;
                    }
                    if (!equal && (next - k) % 2 == 0)
                    {
                        if (!(roots[k].flags & Crossings::begins))
                            continue;
                        all.flags |= touches;
                    }
                    if (!are_distinct(all.from, all.to, best ? 2 * same_share : same_share))
                        all.from = all.to = best ? best->from : all.from;
                    roots[count++] = all;
                }
                roots.resize(count);
            }

            Shared& shared_;
            Progress& progress_;
            Givens::Reader given_;
            Part upper_, lower_, zero_; // of `zero_` the line is a single value
            std::size_t first_ = 0, divided_ = 0;
            std::vector<Point> points_;
            HalfLine::Numbers low_, high_;
            HalfLine::Truths open_; // nothing has been found yet
            HalfLine::Truths level_, all_of_point_; // all ends are roots; no root makes others superfluous
            bool any_closed_ = false, any_listed_ = false, all_closed_ = false, any_level_ = false;
            std::vector<std::vector<Interval>> found_;
        };
    }

    AxisSet Comparison::axes() const
    {
        AxisSet all = 0;
        for (const int node : nodes_of(*this))
            all |= graph[node].axes;
        return all & ~graph[unknown.leaf].axes;
    }
    Roots solve(const Comparison& comparison, Which which, const Options& options)
    {
        Shared shared(comparison, which, options);
        const std::size_t points = shared.givens.points(), blocks = (points + block - 1) / block;
        Progress progress(options, points);
        const int threads =
            int(std::min<std::size_t>(std::size_t(std::max(options.threads, 1)), 1 + blocks / fewest_blocks_of_thread));
        in_parallel(
            threads,
            blocks,
            progress,
            [&] { return std::make_unique<Solver>(shared, progress); },
            [](std::unique_ptr<Solver>& solver, std::size_t number) { return solver->solve(number); });
        if (which != Which::all)
            return {1, points, std::move(shared.values), std::move(shared.outcomes), std::move(shared.unsearched)};
        std::size_t each = 0;
        for (const std::vector<double>& of_point : shared.roots)
            each = std::max(each, of_point.size());
        Roots roots{
            each,
            points * each,
            aligned_doubles(points * each),
            std::move(shared.outcomes),
            std::move(shared.unsearched)};
        std::fill_n(roots.values.get(), roots.size, NAN);
        for (std::size_t p = 0; p < points; ++p)
            std::copy(shared.roots[p].begin(), shared.roots[p].end(), roots.values.get() + p * each);
        return roots;
    }
}
