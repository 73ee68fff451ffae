// A worker that also bounds the objective of a fold from below, point by point of a row, for a block of rows at once.
#pragma once
#include "roofslate/bounds/interval.hpp"
#include "roofslate/run/worker.hpp"
#include <cmath>

namespace roofslate
{
    class BlockWorker : public Worker
    {
    public:
        BlockWorker(const Pass& pass, const Graph& graph, const InstructionSet& set, int block_axis, std::size_t lanes)
            : Worker(pass, graph, set, false, 0),
              axis_(std::size_t(std::max(block_axis, 0))),
              shape_(graph.shape()),
              bounding_(program_),
              ranges_(values_.size()),
              moves_(values_.size(), 0),
              sorted_(pass.steps.size(), 0),
              bounds_(aligned_doubles(lanes + widest_strip)),
              last_possible_(pass.stretches.size(), 0)
        {
            if (!pass.has_bounds)
                return;
            for (std::size_t k = 0; k < pass.steps.size(); ++k)
            {
                const ScalarStep& s = pass.steps[k];
                char& moves = moves_[std::size_t(s.result)];
                if (s.op == Op::input)
                {
                    moves = s.view.stride[axis_] != 0;
                    sorted_[k] = is_sorted(s.view);
                }
                else
                    for (std::size_t a = 0; a < 3 && s.argument[a] >= 0; ++a)
                        moves = moves || moves_[std::size_t(s.argument[a])];
            }
            const std::size_t fold = std::size_t(pass.fold);
            Instruction last{};
            if (pass.direction != Direction::unknown) // its values only follow their direction up to rounding
            {
                last.code = Code::multiply;
                last.operand.scalar = pass.bound_share;
                bounding_.insert(bounding_.begin() + std::ptrdiff_t(fold), last);
                last.operand = {};
            }
            last.code = Code::write;
            bounding_[bounding_.size() - 2] = last;
        }

        // The part of [begin, end) in which a value of the rows [row, row + n), n steps along the block's axis, might
        // be kept: a stretch that contains all such lanes.
        std::pair<std::size_t, std::size_t> open_lanes(
            std::size_t row,
            std::size_t n,
            std::size_t begin,
            std::size_t end,
            const double* best,
            bool equal_is_kept)
        {
            go_to(row);
            find_ranges(n);
            auto [from, to] = possible_stretch(begin, end);
            if (from >= to || uneven_) // gathering is for points, not for bounds
                return {from, to};
            if (pass_.direction != Direction::unknown)
                aim_at_row(pass_.direction == Direction::nonincreasing ? row + n - 1 : row);
            else if (!aim_at_ranges())
                return {from, to};
            bounding_[bounding_.size() - 2].result = bounds_.get() - from;
            set_.run(bounding_.data(), from, to, false);
            // C++17 has no capture of `from` itself
            const auto hopeless = [&, start = from](std::size_t first, std::size_t lanes) {
                const double *const bound = bounds_.get() + (first - start), *const least = best + (first - begin);
                return equal_is_kept ? set_.above(bound, least, lanes) == lanes : set_.above(least, bound, lanes) == 0;
            };
            constexpr std::size_t few = 64;
            std::size_t first = from, last = to;
            while (first < last && hopeless(first, std::min(few, last - first)))
                first += std::min(few, last - first);
            while (first < last && hopeless(last - std::min(few, last - first), std::min(few, last - first)))
                last -= std::min(few, last - first);
            return {first, last};
        }

    private:
        // Feeds the bounding program with the values of a row.
        void aim_at_row(std::size_t row)
        {
            go_to(row);
            std::copy_n(program_.begin(), pass_.fold, bounding_.begin());
        }
        // Feeds it with the ends of ranges; false where one is not known.
        bool aim_at_ranges()
        {
            for (const Reference& r : pass_.references)
            {
                Instruction& i = bounding_[std::size_t(r.instruction)];
                Operand& o = r.field == Field::second ? i.second : i.operand;
                const double end_of_range = r.objective == Direction::unknown ? 0
                    : r.objective == Direction::nonincreasing
                    ? range(r.number).high
                    : range(r.number).low;
                if (std::isnan(end_of_range))
                    return false;
                if (r.source == Source::scalar)
                    o.scalar = end_of_range;
                else if (r.source == Source::reciprocal)
                    o.scalar = reciprocal(end_of_range);
                else if (r.source == Source::row)
                    o = field(r);
            }
            return true;
        }
        Range range(int value) const
        {
            return moves_[std::size_t(value)]
                ? ranges_[std::size_t(value)]
                : Range{values_[std::size_t(value)], values_[std::size_t(value)]};
        }
        bool is_sorted(const View& view) const
        { return view.axes == AxisSet(1) << axis_ && direction_along(view, shape_, int(axis_)) != Direction::unknown; }
        void find_ranges(std::size_t n)
        {
            for (std::size_t k = 0; k < pass_.steps.size(); ++k)
            {
                const ScalarStep& s = pass_.steps[k];
                if (!moves_[std::size_t(s.result)])
                    continue;
                Range& r = ranges_[std::size_t(s.result)];
                if (s.op == Op::input)
                {
                    const std::ptrdiff_t step = s.view.stride[axis_];
                    const double* const x = s.view.data + odometer_.offset(s.view.stride);
                    r = {*x, *x};
                    for (std::size_t i = sorted_[k] ? n - 1 : 1; i < n; ++i)
                    {
                        const double other = x[std::ptrdiff_t(i) * step];
                        // which stays unknown
                        r = other == other ? Range{std::min(r.low, other), std::max(r.high, other)} : Range{};
                    }
                }
                else
                {
                    const auto of = [&](std::size_t a) { return s.argument[a] >= 0 ? range(s.argument[a]) : Range{}; };
                    r = range_of(s.op, of(0), of(1), of(2));
                }
            }
        }
        // The parts of [begin, end) in which each requirement may be met for some row of the block.
        std::pair<std::size_t, std::size_t> possible_stretch(std::size_t begin, std::size_t end)
        {
            for (std::size_t k = 0; k < pass_.stretches.size() && begin < end; ++k)
            {
                const Stretch& s = pass_.stretches[k];
                std::size_t& at = last_possible_[k];
                at = partition_point(begin, end, std::min(std::max(at, begin), end), [&](std::size_t i) {
                    return possible(s, i) == s.from_begin;
                });
                (s.from_begin ? end : begin) = at;
            }
            return {begin, end};
        }
        // Might it hold for some row of the block? Rounding goes with the arguments, so the ends that help it most
        // decide.
        bool possible(const Stretch& s, std::size_t point)
        {
            return met(s, point, [&](int value, Direction difference) { return end_of(value, difference); });
        }
        double end_of(int value, Direction difference) const
        {
            if (!moves_[std::size_t(value)])
                return values_[std::size_t(value)];
            return difference == Direction::nonincreasing
                ? ranges_[std::size_t(value)].high
                : ranges_[std::size_t(value)].low;
        }

        std::size_t axis_;
        const std::vector<std::size_t>& shape_;
        List<Instruction> bounding_;
        std::vector<Range> ranges_; // of values that move along the block
        std::vector<char> moves_, sorted_;
        Doubles bounds_;
        std::vector<std::size_t> last_possible_;
    };
}
