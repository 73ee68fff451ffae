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
        constexpr double same_share = 64 * DBL_EPSILON; // roots that are nearer to one another are one

        std::vector<int> nodes_of(const Comparison& c)
        {
            std::vector<int> nodes{c.left, c.right};
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
        };
        Which mirrored(Which which)
        { return which == Which::smallest ? Which::largest : which == Which::largest ? Which::smallest : which; }

        struct Interval // of roots
        { double from, to; };

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
                  found_(shared.which == Which::all ? block : 0)
            {
            }
            std::size_t solve(std::size_t number)
            {
                first_ = number * block;
                const std::size_t n = std::min(block, shared_.givens.points() - first_);
                given_.read(first_, n);
                open_.fill(true), any_closed_ = false;
                const Unknown& u = shared_.comparison.unknown;
                if (n != divided_ || !u.above.empty() || !u.below.empty())
                    divide(n);
                for (Part* part : {&upper_, &lower_, &zero_})
                    if (part->line)
                        part->line->begin(given_, part->points, part->from, part->to);
                if (shared_.comparison.relation == Relation::equal)
                    find_always(n);
                const bool largest = shared_.which == Which::largest;
                largest ? find_upper() : find_lower();
                find_zero();
                largest ? find_lower() : find_upper();
                for (std::size_t i = 0; i < n; ++i)
                    if (open_[i])
                        close(i, outcome(i));
                    else if (shared_.which == Which::all && !found_[i].empty())
                        list(found_[i], shared_.roots[first_ + i]);
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
            // Points at which both sides agree all over the range.
            void find_always(std::size_t n)
            {
                bool any = false;
                for (const Part* part : {&upper_, &lower_, &zero_})
                    for (std::size_t i = 0; i < n && part->line; ++i)
                        any = any || part->line->state_at_low(i) == 0;
                if (!any)
                    return;
                any = false;
                std::array<int, block> missing{};
                for (std::size_t i = 0; i < n; ++i)
                {
                    bool all = true;
                    for (const Part* part : {&upper_, &lower_, &zero_})
                        if (all && part->line && part->has[i])
                            all = part->line->state_at_low(i) == 0 && part->line->state_at_high(i) == 0, ++missing[i];
                    missing[i] = all ? missing[i] : 0;
                    any = any || missing[i];
                }
                if (!any)
                    return;
                for (Part* part : {&upper_, &lower_, &zero_})
                    if (part->line)
                    {
                        points_.clear();
                        for (const Point p : part->points)
                            if (missing[p])
                                points_.push_back(p);
                        const Crossings& found = part->line->find(points_, Which::all, progress_);
                        for (std::size_t k = 0; k < found.size(); ++k)
                            if (const Point p = found.point[k];
                                found.from[k] == part->from[p] && found.to[k] == part->to[p] && --missing[p] == 0)
                                close(p, Outcome::always);
                    }
            }
            // Those of the part's points that need more roots.
            const std::vector<Point>& open_points(const Part& part)
            {
                if (!any_closed_)
                    return part.points;
                points_.clear();
                for (const Point p : part.points)
                    if (open_[p] || (shared_.which == Which::all && shared_.outcomes[first_ + p] != Outcome::always))
                        points_.push_back(p);
                return points_;
            }
            void close(std::size_t i, Outcome without)
            {
                open_[i] = false, any_closed_ = true;
                shared_.outcomes[first_ + i] = without;
                if (shared_.which != Which::all)
                    shared_.values[first_ + i] = NAN;
            }
            void add(std::size_t i, double from, double to)
            {
                open_[i] = false;
                if (shared_.which == Which::all)
                    found_[i].push_back({from, to});
                else
                    shared_.values[first_ + i] = shared_.which == Which::smallest ? from : to;
            }
            void find_upper()
            {
                if (!upper_.line)
                    return;
                const Crossings& found = upper_.line->find(open_points(upper_), shared_.which, progress_);
                for (std::size_t k = 0; k < found.size(); ++k)
                    add(found.point[k],
                        found.from[k] <= least_magnitude ? 0 : found.from[k],
                        found.to[k] >= greatest_magnitude ? HUGE_VAL : found.to[k]);
                any_closed_ = any_closed_ || found.size();
            }
            void find_lower()
            {
                if (!lower_.line)
                    return;
                const Crossings& found = lower_.line->find(open_points(lower_), mirrored(shared_.which), progress_);
                for (std::size_t k = 0; k < found.size(); ++k)
                    add(found.point[k],
                        found.to[k] >= greatest_magnitude ? -HUGE_VAL : -found.to[k],
                        found.from[k] <= least_magnitude ? 0 : -found.from[k]);
                any_closed_ = any_closed_ || found.size();
            }
            // Zero itself, and what turns between it and the smallest magnitudes.
            void find_zero()
            {
                if (!zero_.line)
                    return;
                for (const Point p : open_points(zero_))
                {
                    const double here = zero_.line->state_at_low(p);
                    const auto turns = [&](const Part& part) {
                        return part.line && part.has[p] && (part.line->state_at_low(p) == -1) != (here == -1);
                    };
                    if (shared_.comparison.relation == Relation::equal ? here == 0 : turns(upper_) || turns(lower_))
                        add(p, 0, 0), any_closed_ = true;
                }
            }
            Outcome outcome(std::size_t i) const // where nothing was found
            {
                bool defined = false, held = false;
                for (const Part* part : {&upper_, &lower_, &zero_})
                    if (part->line && part->has[i])
                        defined = defined || part->line->was_defined(i), held = held || part->line->did_hold(i);
                if (held && shared_.comparison.relation != Relation::equal)
                    return Outcome::always;
                return defined || !(low_[i] <= high_[i]) ? Outcome::never : Outcome::undefined;
            }
            static bool apart(double a, double b)
            { return a < b && (std::isinf(b - a) || b - a > same_share * std::min(std::fabs(a), std::fabs(b))); }
            static void list(std::vector<Interval>& found, std::vector<double>& roots)
            {
                std::sort(found.begin(), found.end(), [](const Interval& a, const Interval& b) {
                    return a.from < b.from;
                });
                std::size_t last = 0;
                for (std::size_t k = 1; k < found.size(); ++k)
                    if (!apart(found[last].to, found[k].from))
                        found[last].to = std::max(found[last].to, found[k].to);
                    else
                        found[++last] = found[k];
                for (std::size_t k = 0; k <= last; ++k)
                {
                    roots.push_back(found[k].from);
                    if (apart(found[k].from, found[k].to))
                        roots.push_back(found[k].to);
                }
                found.clear();
            }

            Shared& shared_;
            Progress& progress_;
            Givens::Reader given_;
            Part upper_, lower_, zero_; // of `zero_` the line is a single value
            std::size_t first_ = 0, divided_ = 0;
            std::vector<Point> points_;
            HalfLine::Numbers low_, high_;
            std::array<bool, block> open_; // nothing has been found yet
            bool any_closed_ = false;
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
            return {1, points, std::move(shared.values), std::move(shared.outcomes)};
        std::size_t each = 0;
        for (const std::vector<double>& of_point : shared.roots)
            each = std::max(each, of_point.size());
        Roots roots{each, points * each, aligned_doubles(points * each), std::move(shared.outcomes)};
        std::fill_n(roots.values.get(), roots.size, NAN);
        for (std::size_t p = 0; p < points; ++p)
            std::copy(shared.roots[p].begin(), shared.roots[p].end(), roots.values.get() + p * each);
        return roots;
    }
}
