#include "roofslate/folds/order_statistics.hpp"
#include "roofslate/folds/search.hpp"
#include "roofslate/folds/tile_fold.hpp"
#include <cfloat>

namespace roofslate
{
    namespace
    {
        constexpr double fewest_boxed_points = 3e7; // below, boxes are wider than bins almost to the end
        constexpr double fewest_points_of_value = 16; // of an input, which boxes look at one by one to bound them

        bool boxes_pay(const Question& question)
        {
            const AxisSet folded = question.axes() & question.folded;
            double inputs = 0;
            for (int i = 0; i < question.graph.size(); ++i)
                if (question.graph[i].is_leaf())
                    inputs = std::max(inputs, double(question.graph.points(question.graph[i].axes & folded)));
            const double points = double(question.graph.points(folded));
            return points >= fewest_boxed_points && points >= fewest_points_of_value * inputs;
        }

        // Which bin a value falls into: 0 below, then the bins, then above, then NaN.
        class Bins
        {
        public:
            explicit Bins(const std::vector<double>& edges) : edges_(edges), uppers_(edges)
            {
                uppers_.back() = std::nextafter(uppers_.back(), HUGE_VAL); // the last bin has its upper edge
                make_table();
            }
            std::size_t size() const { return edges_.size() + 2; }
            std::size_t not_a_number() const { return edges_.size() + 1; }
            std::size_t find(double x) const
            {
                if (x != x)
                    return not_a_number();
                if (!table_.empty())
                {
                    const std::int64_t slot = (key_of(x) >> shift_) - first_;
                    if (slot < 0)
                        return 0;
                    if (slot >= std::int64_t(table_.size()))
                        return edges_.size();
                    const std::size_t bin = table_[std::size_t(slot)];
                    return bin + (bin < uppers_.size() && x >= uppers_[bin]);
                }
                return std::size_t(std::upper_bound(uppers_.begin(), uppers_.end(), x) - uppers_.begin());
            }
            struct Counts
            {
                explicit Counts(const Bins& bins) : of_bin(bins.size()), ends(bins.size(), 0) {}
                std::vector<std::int64_t> of_bin;
                std::vector<std::uint32_t> ends; // in the ordered values before these: the next ones' are near
            };
            void count(const InstructionSet& set, const double* values, std::size_t n, Counts& counts) const
            {
                constexpr std::size_t most_edges = 32;
                const bool falls = values[n - 1] < values[0];
                if (set.ordered(values, n, falls))
                    return falls ? count_ordered(values + n - 1, -1, n, counts) : count_ordered(values, 1, n, counts);
                double low, high;
                if (set.extent(values, n, &low, &high))
                {
                    const std::size_t first = find(low), last = find(high);
                    if (last - first <= most_edges)
                    {
                        std::size_t before = 0;
                        for (std::size_t bin = first; bin < last; ++bin)
                        {
                            const std::size_t below = set.below(values, n, uppers_[bin]);
                            counts.of_bin[bin] += std::int64_t(below - before);
                            before = below;
                        }
                        counts.of_bin[last] += std::int64_t(n - before);
                        return;
                    }
                }
                for (std::size_t i = 0; i < n; ++i)
                    ++counts.of_bin[find(values[i])];
            }

        private:
            // Rising values, `step` apart: each bin gets those up to its upper edge, searched near the last position.
            void count_ordered(const double* values, std::ptrdiff_t step, std::size_t n, Counts& counts) const
            {
                constexpr std::size_t near = 8;
                const auto at = [&](std::size_t k) { return values[std::ptrdiff_t(k) * step]; };
                const std::size_t last = find(at(n - 1));
                std::size_t before = 0;
                for (std::size_t bin = find(at(0)); bin < last; ++bin)
                {
                    const double edge = uppers_[bin];
                    std::size_t end = std::min(std::max<std::size_t>(counts.ends[bin], before), n), low = before,
                                high = n;
                    for (std::size_t k = 0; k < near && end < n && at(end) < edge; ++k)
                        low = ++end;
                    for (std::size_t k = 0; k < near && end > low && !(at(end - 1) < edge); ++k)
                        high = --end;
                    if ((end < n && at(end) < edge) || (end > before && !(at(end - 1) < edge))) // it is far
                    {
                        while (low < high)
                        {
                            const std::size_t middle = low + (high - low) / 2;
                            (at(middle) < edge ? low : high) = at(middle) < edge ? middle + 1 : middle;
                        }
                        end = low;
                    }
                    counts.of_bin[bin] += std::int64_t(end - before);
                    counts.ends[bin] = std::uint32_t(end);
                    before = end;
                }
                counts.of_bin[last] += std::int64_t(n - before);
            }
            // One entry for each stretch of keys that holds one edge at most: the edges before it.
            void make_table()
            {
                constexpr std::size_t most_entries = 16384;
                const std::int64_t low = key_of(uppers_.front()), high = key_of(uppers_.back());
                for (shift_ = 62; shift_ > 0; --shift_)
                {
                    if (std::uint64_t(high >> shift_) - std::uint64_t(low >> shift_) >= most_entries)
                        return;
                    bool distinct = true;
                    for (std::size_t k = 1; k < uppers_.size() && distinct; ++k)
                        distinct = key_of(uppers_[k - 1]) >> shift_ != key_of(uppers_[k]) >> shift_;
                    if (distinct)
                        break;
                }
                if (shift_ == 0)
                    return;
                first_ = low >> shift_;
                std::size_t edge = 0;
                for (std::int64_t slot = first_; slot <= high >> shift_; ++slot)
                {
                    while (edge < uppers_.size() && key_of(uppers_[edge]) >> shift_ < slot)
                        ++edge;
                    table_.push_back(std::uint16_t(edge));
                }
            }

            std::vector<double> edges_, uppers_;
            std::vector<std::uint16_t> table_;
            int shift_ = 0;
            std::int64_t first_ = 0;
        };

        struct HistogramGoal
        {
            static constexpr bool ordered = false;
            HistogramGoal(const Question&, const Bins& edges) : bins(edges), counts(edges) {}
            bool hopeless(const Waiting&) const { return false; }
            bool wants(const Boxes& boxes, std::size_t i, const Waiting& w)
            {
                const std::size_t first = bins.find(boxes.low(0, i));
                if (first == bins.not_a_number() || first != bins.find(boxes.high(0, i)))
                    return true;
                counts.of_bin[first] += std::int64_t(boxes.points(w.box));
                return false;
            }
            double width(const Boxes::Ends& lines, std::size_t i) const
            { return relative_width(lines.low(0, i), lines.high(0, i)); }
            template <class Index> void take(const Boxes& boxes, std::size_t first, std::size_t n, const Index&)
            { bins.count(set, boxes.values(0) + first, n, counts); }
            const Bins& bins;
            const InstructionSet& set = instruction_set();
            Bins::Counts counts;
        };
    }

    std::vector<std::int64_t> histogram(
        const Question& question,
        const std::vector<double>& edges,
        const Options& options,
        bool prune)
    {
        const Bins bins(edges);
        const InstructionSet& set = instruction_set();
        std::vector<std::int64_t> all(question.graph.points(question.kept()) * bins.size());
        if (!question.axes())
            ++all[bins.find(question.graph[question.values.front()].value)];
        else if (prune && boxes_pay(question))
            search_kept_points(
                question,
                options,
                [&] { return HistogramGoal(question, bins); },
                [&](std::size_t kept_point, const HistogramGoal& goal) {
                    for (std::size_t k = 0; k < bins.size(); ++k)
                        all[kept_point * bins.size() + k] += goal.counts.of_bin[k];
                });
        else
        {
            Progress progress(options, question.graph.points(question.axes()));
            TileFold fold(question, options, progress);
            fold.run(
                options.threads,
                progress,
                [&] { return Bins::Counts(bins); },
                [&](Bins::Counts& counts, const double* values, std::size_t n) { bins.count(set, values, n, counts); },
                [&](const Bins::Counts& counts, std::size_t kept_point) {
                    for (std::size_t k = 0; k < bins.size(); ++k)
                        all[kept_point * bins.size() + k] += counts.of_bin[k];
                });
        }
        for (std::int64_t& n : all)
            n *= question.repeats();
        return all;
    }

    Range finite_extent(const Question& question, const Options& options)
    {
        Range all{HUGE_VAL, -HUGE_VAL};
        const auto take = [](Range& r, double x) {
            if (std::fabs(x) <= DBL_MAX)
                r = {std::min(r.low, x), std::max(r.high, x)};
        };
        if (!question.axes())
        {
            take(all, question.graph[question.values.front()].value);
            return all;
        }
        const InstructionSet& set = instruction_set();
        Progress progress(options, question.graph.points(question.axes()));
        TileFold fold(question, options, progress);
        fold.run(
            options.threads,
            progress,
            [] { return Range{HUGE_VAL, -HUGE_VAL}; },
            [&](Range& r, const double* values, std::size_t n) {
                double low, high;
                if (set.extent(values, n, &low, &high) && std::fabs(low) <= DBL_MAX && std::fabs(high) <= DBL_MAX)
                    r = {std::min(r.low, low), std::max(r.high, high)};
                else
                    for (std::size_t i = 0; i < n; ++i)
                        take(r, values[i]);
            },
            [&](const Range& r, std::size_t) { all = {std::min(all.low, r.low), std::max(all.high, r.high)}; });
        return all;
    }
}
