// Runs a node on the folded axes of a grid and passes its values on in tiles that fit in the CPU cache.
#pragma once
#include "roofslate/folds/folds.hpp"
#include "roofslate/run/parallel.hpp"
#include "roofslate/run/worker.hpp"
#include <memory>
#include <mutex>

namespace roofslate
{
    class TileFold
    {
    public:
        static constexpr std::size_t lanes = 512;

        TileFold(const Question& question, const Options& options, Progress& progress)
            : graph_(question.graph), set_(instruction_set()), plan_(std::pmr::get_default_resource())
        {
            const std::vector<std::size_t>& shape = graph_.shape();
            const AxisSet all = question.axes(), kept_axes = question.kept();
            FoldPass fold;
            fold.objective = question.values.front();
            int longest = -1;
            for (int k = 0; k < int(shape.size()); ++k) // the last kept axis is the row only if nothing is folded
                if ((all >> k & 1) && (longest < 0 || rank(shape, kept_axes, k) >= rank(shape, kept_axes, longest)))
                    longest = k;
            for (const bool folded : {false, true})
                for (int k = 0; k < int(shape.size()); ++k)
                    if ((all >> k & 1) && k != longest && bool(kept_axes >> k & 1) != folded)
                    {
                        fold.outer.push_back(k);
                        (folded ? rows_ : kept_) *= shape[std::size_t(k)];
                    }
            fold.inner = longest;
            row_is_kept_ = kept_axes >> longest & 1;
            repeats_ = question.repeats();
            plan_ = make_plan(graph_, fold, set_);
            for (std::size_t k = 0; k + 1 < plan_.passes.size(); ++k)
                run_pass(plan_.passes[k], graph_, set_, {options.threads, {}, {}}, progress);
            lay_out_arrays(pass(), graph_, set_);
        }

        std::size_t kept() const { return kept_ * (row_is_kept_ ? pass_row() : 1); } // points of the kept axes
        // of the folded axes for each of them
        std::size_t points() const { return rows_ * points_of_row(); }
        // Of points in all, those that a thread takes at once: whole rows where they are short, and no more than
        // `most`.
        std::size_t chunk_of(std::size_t all, int threads, std::size_t least, std::size_t most) const
        {
            constexpr std::size_t chunks_of_thread = 8;
            const std::size_t share = threads > 1 ? all / (chunks_of_thread * std::size_t(threads)) : most,
                              wanted = has_routine() ? 4096 : std::min(std::max(share, least), most),
                              row = points_of_row();
            return row < wanted ? wanted / row * row : (wanted + lanes - 1) / lanes * lanes;
        }
        // of each value, along folded axes that it does not vary along
        std::int64_t repeats() const { return repeats_; }
        bool has_routine() const { return plan_.passes.back().has_routine; }

        class Reader // of one thread
        {
        public:
            explicit Reader(TileFold& fold)
                : fold_(fold),
                  worker_(fold.pass(), fold.graph_, fold.set_, false, 0),
                  buffer_(aligned_doubles(lanes + widest_strip))
            {
            }
            // Points [first, last) of the folded axes at a point of the kept ones: take(values, n).
            template <class Take> void read(
                std::size_t kept_point,
                std::size_t first,
                std::size_t last,
                const Take& take)
            {
                const std::size_t of_row = fold_.points_of_row(), row = fold_.pass_row();
                const std::size_t offset = fold_.row_is_kept_ ? kept_point % row : 0,
                                  outer = fold_.row_is_kept_ ? kept_point / row : kept_point;
                for (std::size_t point = first; point < last;)
                {
                    const std::size_t from = point % of_row, to = std::min(of_row, from + last - point);
                    worker_.go_to(outer * fold_.rows_ + point / of_row);
                    point += to - from;
                    for (std::size_t begin = from; begin < to; begin += lanes)
                    {
                        const std::size_t n = std::min(lanes, to - begin);
                        Instruction& last_one = worker_.fold();
                        last_one.code = Code::write, last_one.result = buffer_.get() - offset - begin;
                        worker_.run_points(offset + begin, offset + begin + n);
                        take(buffer_.get(), n);
                    }
                }
            }

        private:
            TileFold& fold_;
            Worker worker_;
            Doubles buffer_;
        };
        Reader reader() { return Reader(*this); }

        // For all points, by several threads: take(state, kept point, values, n). A thread's state is made for each
        // chunk, all of one kept point, and handed to done(state, kept point) after it, by one thread at a time.
        template <class MakeState, class TakeValues, class Done> void run(
            int threads,
            Progress& progress,
            const MakeState& make_state,
            const TakeValues& take,
            const Done& done)
        {
            const std::size_t chunk = chunk_of(kept() * points(), threads, 16384, std::size_t(1) << 20),
                              chunks_of_point = (points() + chunk - 1) / chunk;
            std::mutex mutex;
            const std::size_t chunks = kept() * chunks_of_point;
            in_parallel(
                int(std::min<std::size_t>(std::size_t(std::max(threads, 1)), chunks)),
                chunks,
                progress,
                [&] { return std::make_unique<Reader>(*this); },
                [&](std::unique_ptr<Reader>& reader, std::size_t c) {
                    const std::size_t point = c / chunks_of_point, first = c % chunks_of_point * chunk,
                                      last = std::min(points(), first + chunk);
                    auto state = make_state();
                    reader->read(point, first, last, [&](const double* values, std::size_t n) {
                        take(state, values, n);
                    });
                    const std::lock_guard<std::mutex> lock(mutex);
                    done(state, point);
                    return last - first;
                });
        }

    private:
        static std::pair<bool, std::size_t> rank(const std::vector<std::size_t>& shape, AxisSet kept_axes, int k)
        { return kept_axes >> k & 1 ? std::pair{false, std::size_t(0)} : std::pair{true, shape[std::size_t(k)]}; }
        Pass& pass() { return plan_.passes.back(); }
        std::size_t pass_row() const { return plan_.passes.back().row; }
        std::size_t points_of_row() const { return row_is_kept_ ? 1 : pass_row(); }

        const Graph& graph_;
        const InstructionSet& set_;
        Plan plan_;
        std::size_t kept_ = 1, rows_ = 1;
        bool row_is_kept_ = false;
        std::int64_t repeats_ = 1;
    };
}
