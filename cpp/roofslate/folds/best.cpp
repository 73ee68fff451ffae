#include "roofslate/folds/block_worker.hpp"
#include "roofslate/folds/folds.hpp"
#include "roofslate/folds/requirements.hpp"
#include "roofslate/folds/search.hpp"
#include <algorithm>
#include <mutex>
#include <tuple>

namespace roofslate
{
    namespace
    {
        // rows along the fastest folded axis that are bounded at once
        constexpr std::size_t block = 128, rows_of_leaf = 32;
        constexpr std::size_t lanes = 1024; // points of a row that are kept while the folded axes go by
        constexpr std::size_t least_kept_row = 64; // shorter kept axes make no row
        constexpr std::size_t fewest_sampled_rows = 64; // a few of them predict the position of the best
        // of folded axes, if other axes are kept. A routine takes as long as dozens of operations
        constexpr double fewest_searched_points = 1 << 18, fewest_searched_with_routines = 1 << 12;
        // of all axes, if none is kept
        constexpr double fewest_bounded_points = 1 << 13, fewest_bounded_with_routines = 1 << 7;
        constexpr std::size_t fewest_threaded_points = 65536;
        constexpr std::size_t chunk_points = std::size_t(1) << 20; // of folded axes that threads share

        struct Found
        {
            double value = HUGE_VAL;
            std::int64_t where = nowhere;
            void take(double v, std::int64_t w)
            {
                if (w != nowhere && (where == nowhere || v < value || (v == value && w < where)))
                    value = v, where = w;
            }
        };

        // Folds along lanes: the row runs over a kept axis, or over a folded one whose lanes are folded in the end.
        class LaneFold
        {
        public:
            LaneFold(const Question& question, const Options& options, bool prune)
                : question_(question),
                  options_(options),
                  prune_(prune),
                  shape_(question.graph.shape()),
                  kept_(question.kept())
            {
                const AxisSet all = question.axes();
                int longest = -1, longest_kept = -1;
                for (int k = 0; k < int(shape_.size()); ++k)
                    if (all >> k & 1)
                    {
                        if (longest < 0 || length(k) > length(longest))
                            longest = k;
                        if ((kept_ >> k & 1) && (longest_kept < 0 || length(k) > length(longest_kept)))
                            longest_kept = k;
                    }
                row_ = longest_kept >= 0 && length(longest_kept) >= least_kept_row ? longest_kept : longest;
                fold_.objective = question.values.front();
                fold_.requirements = question.requirements;
                fold_.inner = row_;
                fold_.keeps_near = true;
                std::ptrdiff_t result_step = 1, index = 1;
                for (int k = int(shape_.size()); k-- > 0;)
                {
                    if (kept_ >> k & 1)
                        place_[std::size_t(k)] = result_step, result_step *= std::ptrdiff_t(length(k));
                    if (question.folded >> k & 1)
                        index_[std::size_t(k)] = index, index *= std::ptrdiff_t(length(k));
                }
                optima_ = {
                    std::vector<double>(std::size_t(result_step), NAN),
                    std::vector<std::int64_t>(std::size_t(result_step), nowhere)};
                for (const bool folded : {false, true}) // folded axes are the inner loops
                    for (int k = 0; k < int(shape_.size()); ++k)
                        if ((all >> k & 1) && k != row_ && bool(kept_ >> k & 1) != folded)
                        {
                            fold_.outer.push_back(k);
                            (folded ? folded_axes_ : kept_axes_).push_back(k);
                            (folded ? folded_points_ : kept_points_) *= length(k);
                        }
                if (!folded_axes_.empty())
                    fold_.block_axis = folded_axes_.back();
            }

            Optima run()
            {
                const InstructionSet& set = instruction_set();
                Plan plan = make_plan(question_.graph, fold_, set);
                Pass& pass = plan.passes.back();
                Progress progress(options_, kept_points_ * folded_points_ * pass.row);
                for (std::size_t k = 0; k + 1 < plan.passes.size(); ++k)
                    run_pass(plan.passes[k], question_.graph, set, {options_.threads, {}, {}}, progress);
                lay_out_arrays(pass, question_.graph, set);
                segments_ = (pass.row + lanes - 1) / lanes;
                folded_chunk_ =
                    std::max<std::size_t>(1, std::min(folded_points_, chunk_points / std::min(pass.row, lanes)));
                if (pass.has_routine)
                    folded_chunk_ = std::max<std::size_t>(1, folded_chunk_ / 256);
                folded_chunks_ = (folded_points_ + folded_chunk_ - 1) / folded_chunk_;
                if (folded_chunks_ > 1 || !(kept_ >> row_ & 1))
                    found_.resize(optima_.where.size());
                const std::size_t units = kept_points_ * segments_ * folded_chunks_,
                                  points = kept_points_ * folded_points_ * pass.row;
                const std::size_t per_chunk = std::max<std::size_t>(
                    1,
                    fewest_threaded_points / std::max<std::size_t>(1, folded_chunk_ * std::min(pass.row, lanes)));
                const std::size_t chunks = (units + per_chunk - 1) / per_chunk;
                const int threads = points < fewest_threaded_points && !pass.has_routine
                    ? 1
                    : int(std::min<std::size_t>(std::size_t(std::max(options_.threads, 1)), chunks));
                in_parallel(
                    threads,
                    chunks,
                    progress,
                    [&] { return Tile(pass, question_.graph, set, fold_.block_axis); },
                    [&](Tile& tile, std::size_t c) {
                        std::size_t done = 0;
                        for (std::size_t unit = c * per_chunk; unit < std::min(units, (c + 1) * per_chunk); ++unit)
                            done += run_unit(pass, tile, unit);
                        return done;
                    });
                return std::move(optima_);
            }

        private:
            struct Tile
            {
                Tile(const Pass& pass, const Graph& graph, const InstructionSet& set, int block_axis)
                    : worker(pass, graph, set, block_axis, lanes)
                {
                }
                BlockWorker worker;
                Doubles best = aligned_doubles(lanes + widest_strip), where = aligned_doubles(lanes + widest_strip);
            };
            std::size_t length(int k) const { return shape_[std::size_t(k)]; }

            std::int64_t index_of(std::size_t folded) const
            {
                std::ptrdiff_t at = 0;
                for (std::size_t k = folded_axes_.size(); k-- > 1;)
                {
                    const std::size_t axis = std::size_t(folded_axes_[k]);
                    at += std::ptrdiff_t(folded % shape_[axis]) * index_[axis];
                    folded /= shape_[axis];
                }
                return folded_axes_.empty()
                    ? 0
                    : at + std::ptrdiff_t(folded) * index_[std::size_t(folded_axes_.front())];
            }
            std::size_t place_of(std::size_t kept_point) const
            {
                std::ptrdiff_t at = 0;
                for (auto k = kept_axes_.rbegin(); k != kept_axes_.rend(); ++k)
                {
                    at += std::ptrdiff_t(kept_point % length(*k)) * place_[std::size_t(*k)];
                    kept_point /= length(*k);
                }
                return std::size_t(at);
            }
            struct Unit // lanes of a row at one kept point
            {
                Tile& tile;
                std::size_t first_row, begin, end;
                bool backwards = false; // last rows first, so that the last of equals is kept
            };
            void run_row(const Unit& u, std::size_t folded, std::size_t begin, std::size_t end)
            {
                BlockWorker& worker = u.tile.worker;
                worker.go_to(u.first_row + folded);
                Instruction& keep = worker.fold();
                keep.code = u.backwards ? Code::keep_equal : Code::keep;
                keep.operand.scalar = double(folded);
                keep.best = u.tile.best.get() - u.begin, keep.where = u.tile.where.get() - u.begin;
                const auto [from, to] = worker.stretch(begin, end);
                if (from < to)
                    worker.run_points(from, to);
            }
            // Rows along the block's axis, halved until they are hopeless or few. Only the lanes that may matter are
            // visited.
            void run_block(const Unit& u, std::size_t low, std::size_t high, std::size_t begin, std::size_t end)
            {
                if (high - low > 1)
                    std::tie(begin, end) = u.tile.worker.open_lanes(
                        u.first_row + low,
                        high - low,
                        begin,
                        end,
                        u.tile.best.get() + (begin - u.begin),
                        u.backwards);
                if (begin >= end)
                    return;
                if (high - low > rows_of_leaf)
                {
                    const std::size_t middle = low + (high - low) / 2;
                    run_block(u, u.backwards ? middle : low, u.backwards ? high : middle, begin, end);
                    run_block(u, u.backwards ? low : middle, u.backwards ? middle : high, begin, end);
                }
                else
                    for (std::size_t k = 0; k < high - low; ++k)
                        run_row(u, u.backwards ? high - 1 - k : low + k, begin, end);
            }
            // Samples a few rows to decide whether most lanes are better late.
            bool falls(Unit& u, std::size_t first, std::size_t last)
            {
                constexpr std::size_t rows = 8;
                const std::size_t n = u.end - u.begin;
                for (std::size_t k = 0; k < rows; ++k)
                    run_row(u, first + (last - first) * (2 * k + 1) / (2 * rows), u.begin, u.end);
                const std::size_t quarter = first + (last - first) / 4;
                std::size_t late = 0, located = 0;
                for (std::size_t i = 0; i < n; ++i)
                {
                    const double where = u.tile.where[std::ptrdiff_t(i)];
                    located += where >= 0, late += where >= double(quarter);
                }
                clear(u.tile, n);
                return 2 * late > located;
            }
            static void clear(Tile& tile, std::size_t n)
            {
                std::fill_n(tile.best.get(), n, HUGE_VAL);
                std::fill_n(tile.where.get(), n, double(nowhere));
            }
            std::size_t run_unit(const Pass& pass, Tile& tile, std::size_t unit)
            {
                const std::size_t chunk = unit % folded_chunks_, segment = unit / folded_chunks_ % segments_,
                                  kept_point = unit / folded_chunks_ / segments_;
                const std::size_t begin = segment * lanes, end = std::min(begin + lanes, pass.row), n = end - begin;
                const std::size_t first = chunk * folded_chunk_, last = std::min(folded_points_, first + folded_chunk_);
                clear(tile, n);
                Unit u{tile, kept_point * folded_points_, begin, end};
                const bool bounded =
                    prune_ && pass.has_bounds; // else no order spares a row, but a good one spares stores
                u.backwards = last - first >= (bounded ? 1 : 4) * fewest_sampled_rows && falls(u, first, last);
                if (bounded)
                {
                    const std::size_t length = this->length(fold_.block_axis);
                    for (std::size_t done = first; done < last;)
                    {
                        // a row of the next block
                        const std::size_t from = u.backwards ? last - (done - first) - 1 : done;
                        const std::size_t line = from / length * length;
                        const std::size_t low =
                            u.backwards ? std::max(std::max(line, first), from / block * block) : from;
                        const std::size_t high = u.backwards
                            ? from + 1
                            : std::min(std::min(line + length, last), (from / block + 1) * block);
                        run_block(u, low, high, begin, end);
                        done += high - low;
                    }
                }
                else
                    for (std::size_t k = 0; k < last - first; ++k)
                        run_row(u, u.backwards ? last - 1 - k : first + k, begin, end);
                const bool along_kept = kept_ >> row_ & 1;
                const std::ptrdiff_t place_step = along_kept ? place_[std::size_t(row_)] : 0,
                                     index_step = along_kept ? 0 : index_[std::size_t(row_)];
                const std::size_t result_index = place_of(kept_point);
                const auto each_found = [&](const auto& take) {
                    for (std::size_t i = 0; i < n; ++i)
                        if (const double at = tile.where[std::ptrdiff_t(i)]; at != double(nowhere))
                            take(
                                result_index + (begin + i) * std::size_t(place_step),
                                tile.best[std::ptrdiff_t(i)],
                                index_of(std::size_t(at)) + std::ptrdiff_t(begin + i) * index_step);
                };
                const auto put = [&](std::size_t to, double value, std::int64_t where) {
                    optima_.values[to] = value, optima_.where[to] = where;
                };
                if (!found_.empty())
                {
                    const std::lock_guard<std::mutex> lock(mutex_);
                    each_found([&](std::size_t to, double value, std::int64_t where) {
                        found_[to].take(value, where), put(to, found_[to].value, found_[to].where);
                    });
                }
                else
                    each_found(put);
                return n * (last - first);
            }

            const Question& question_;
            const Options& options_;
            bool prune_;
            const std::vector<std::size_t>& shape_;
            AxisSet kept_;
            int row_ = -1;
            FoldPass fold_;
            std::vector<int> kept_axes_, folded_axes_; // loops around the row
            std::size_t kept_points_ = 1, folded_points_ = 1, segments_ = 1, folded_chunk_ = 1, folded_chunks_ = 1;
            std::array<std::ptrdiff_t, most_axes> place_{}, index_{};
            Optima optima_;
            std::vector<Found> found_; // if several units fold into one result
            std::mutex mutex_;
        };
    }

    namespace
    {
        struct BestGoal
        {
            static constexpr bool ordered = true;
            explicit BestGoal(const Question& question) : requirements(question) {}
            bool beaten(double bound, std::int64_t first) const
            {
                return optimum.where != nowhere
                    && (bound > optimum.value || (bound == optimum.value && first > optimum.where));
            }
            bool hopeless(const Waiting& w) const { return beaten(w.bound[0], w.first); }
            bool wants(const Boxes& boxes, std::size_t i, Waiting& w) const
            {
                const double low = boxes.low(0, i);
                w.bound[0] = low == low ? low : -HUGE_VAL;
                return !beaten(w.bound[0], w.first) && requirements.possible(boxes, i);
            }
            double width(const Boxes::Ends& lines, std::size_t i) const
            { return relative_width(lines.low(0, i), lines.high(0, i)); }
            template <class Index> void take(const Boxes& boxes, std::size_t first, std::size_t n, const Index& index)
            {
                for (std::size_t i = 0; i < n; ++i)
                    if (const double value = boxes.values(0)[first + i];
                        (optimum.where == nowhere ? value == value : value <= optimum.value)
                        && requirements.met(boxes, first + i))
                        optimum.take(value, index(i));
            }
            Requirements requirements;
            Found optimum;
        };
    }

    AxisSet Question::axes() const
    {
        AxisSet all = 0;
        for (const int v : values)
            all |= graph[v].axes;
        for (const Requirement& r : requirements)
            all |= graph[r.lhs].axes | graph[r.rhs].axes;
        return all;
    }

    static bool has_routine(const Graph& graph)
    {
        for (int i = 0; i < graph.size(); ++i)
            if (graph[i].routine)
                return true;
        return false;
    }

    bool is_worth_bounds(const Question& question)
    {
        const double fewest = has_routine(question.graph) ? fewest_bounded_with_routines : fewest_bounded_points;
        return question.kept() || double(question.graph.points(question.axes())) >= fewest;
    }

    Optima best(const Question& question, const Options& options, bool prune)
    {
        if (!question.axes())
        {
            const double value = question.graph[question.values.front()].value;
            bool ok = !std::isnan(value);
            for (const Requirement& r : question.requirements)
                ok = ok
                    && (r.strict ? question.graph[r.lhs].value < question.graph[r.rhs].value
                                 : question.graph[r.lhs].value <= question.graph[r.rhs].value);
            return {{ok ? value : NAN}, {ok ? 0 : nowhere}};
        }
        const double folded_points = double(question.graph.points(question.axes() & question.folded));
        const double fewest = has_routine(question.graph) ? fewest_searched_with_routines : fewest_searched_points;
        if (prune && (!question.kept() || folded_points >= fewest))
        {
            const std::size_t kept_points = question.graph.points(question.kept());
            Optima optima{std::vector<double>(kept_points), std::vector<std::int64_t>(kept_points)};
            const auto put = [&](std::size_t kept_point, const BestGoal& goal) {
                optima.values[kept_point] = goal.optimum.where == nowhere ? NAN : goal.optimum.value,
                optima.where[kept_point] = goal.optimum.where;
            };
            search_kept_points(question, options, [&] { return BestGoal(question); }, put);
            return optima;
        }
        Optima optima = LaneFold(question, options, prune).run();
        // Infinity is a value, but no value is smaller than the infinity that lanes start with.
        const Range range = ranges(question.graph)[std::size_t(question.values.front())];
        if (!(range.high < HUGE_VAL) && std::count(optima.where.begin(), optima.where.end(), nowhere))
        {
            Graph& graph = question.graph;
            Question infinite = question;
            infinite.values = {graph.operation(
                Op::select,
                graph.operation(Op::equal, question.values.front(), graph.constant(HUGE_VAL)),
                graph.constant(0),
                graph.constant(NAN))};
            const std::vector<std::int64_t> first = LaneFold(infinite, options, prune).run().where;
            for (std::size_t k = 0; k < first.size(); ++k)
                if (optima.where[k] == nowhere && first[k] != nowhere)
                    optima.where[k] = first[k], optima.values[k] = HUGE_VAL;
        }
        return optima;
    }
}
