// A worker that also bounds the objective of a fold from below, point by point of a row, for a block of rows at once.
#pragma once
#include <cmath>

#include <roofslate/interval.hpp>
#include <roofslate/worker.hpp>

namespace roofslate
{
    class BlockWorker : public Worker
    {
    public:
        BlockWorker(const Pass& pass, const Graph& graph, const InstructionSet& set, int block_axis, std::size_t lanes)
            : Worker(pass, graph, set, false, 0), axis_(std::size_t(std::max(block_axis, 0))), length_(graph.shape()[axis_]), bounding_(program_), ranges_(values_.size()), moves_(values_.size(), 0), sorted_(pass.steps.size(), 0), bounds_(aligned_doubles(lanes + widest_strip)), last_possible_(pass.stretches.size(), 0)
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
            Instruction& last = bounding_[std::size_t(pass.fold)];
            last = Instruction{};
            last.code = Code::write;
        }

        // Can no value of the rows [row, row + n), n steps along the block's axis, be kept in [begin, end)?
        bool hopeless(std::size_t row, std::size_t n, std::size_t begin, std::size_t end, const double* best, bool equal_is_kept)
        {
            go_to(row);
            find_ranges(n);
            const auto [from, to] = possible_stretch(begin, end);
            if (from >= to)
                return true;
            for (const Reference& r : pass_.references)
            {
                Instruction& i = bounding_[std::size_t(r.instruction)];
                Operand& o = r.field == Field::second ? i.second : i.operand;
                const double end_of_range = r.toward == 0 ? 0 : r.toward > 0 ? range(r.number).low
                                                                             : range(r.number).high;
                if (std::isnan(end_of_range)) // nothing is known of it
                    return false;
                if (r.source == Source::scalar)
                    o.scalar = end_of_range;
                else if (r.source == Source::reciprocal)
                    o.scalar = reciprocal(end_of_range);
                else if (r.source == Source::row)
                    o = field(r);
            }
            bounding_[std::size_t(pass_.fold)].result = bounds_.get() - from;
            set_.run(bounding_.data(), from, to, false);
            const std::size_t lanes = to - from;
            if (equal_is_kept) // all bounds above what is kept
                return set_.above(bounds_.get(), best + (from - begin), lanes) == lanes;
            return set_.above(best + (from - begin), bounds_.get(), lanes) == 0;
        }

    private:
        Range range(int value) const { return moves_[std::size_t(value)] ? ranges_[std::size_t(value)] : Range{values_[std::size_t(value)], values_[std::size_t(value)]}; }
        bool is_sorted(const View& view) const
        {
            if (view.axes != AxisSet(1) << axis_)
                return false;
            bool rises = true, falls = true;
            for (std::size_t k = 1; k < length_; ++k)
            {
                const double before = view.data[std::ptrdiff_t(k - 1) * view.stride[axis_]], at = view.data[std::ptrdiff_t(k) * view.stride[axis_]];
                rises = rises && before <= at, falls = falls && before >= at;
            }
            return rises || falls;
        }
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
                    const double last = x[std::ptrdiff_t(n - 1) * step];
                    r = {std::min(*x, last), std::max(*x, last)};
                    for (std::size_t i = 1; i + 1 < n && !sorted_[k]; ++i)
                        r = {std::min(r.low, x[std::ptrdiff_t(i) * step]), std::max(r.high, x[std::ptrdiff_t(i) * step])};
                }
                else
                {
                    const auto of = [&](std::size_t a) { return s.argument[a] >= 0 ? range(s.argument[a]) : Range{}; };
                    r = range_of(s.op, of(0), of(1), of(2));
                }
            }
        }
        // Where in [begin, end) each requirement may hold for some row of the block.
        std::pair<std::size_t, std::size_t> possible_stretch(std::size_t begin, std::size_t end)
        {
            for (std::size_t k = 0; k < pass_.stretches.size() && begin < end; ++k)
            {
                const Stretch& s = pass_.stretches[k];
                std::size_t& at = last_possible_[k];
                at = turn(begin, end, std::min(std::max(at, begin), end), [&](std::size_t i) { return possible(s, i) == s.from_begin; });
                (s.from_begin ? end : begin) = at;
            }
            return {begin, end};
        }
        // Might it hold for some row of the block? Rounding goes with the arguments, so the ends that help it most decide.
        bool possible(const Stretch& s, std::size_t point)
        {
            return met(s, point, [&](int value, int toward) { return end_of(value, toward); });
        }
        double end_of(int value, int toward) const
        {
            if (!moves_[std::size_t(value)])
                return values_[std::size_t(value)];
            return toward > 0 ? ranges_[std::size_t(value)].low : ranges_[std::size_t(value)].high;
        }

        std::size_t axis_, length_;
        List<Instruction> bounding_;
        std::vector<Range> ranges_; // of values, where they move along the block
        std::vector<char> moves_, sorted_;
        Doubles bounds_;
        std::vector<std::size_t> last_possible_;
    };
}
