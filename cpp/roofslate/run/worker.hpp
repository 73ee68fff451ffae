// How one thread runs a pass: row by row, the scalars of a row first, then its program.
#pragma once
#include "roofslate/plan/plan.hpp"
#include <algorithm>
#include <cstddef>

namespace roofslate
{
    // points in one call of the machine where arrays must be gathered
    inline constexpr std::size_t gathered_segment = 2048;

    // Walks along the axes of a grid, the last one fastest.
    class Odometer
    {
    public:
        Odometer(const List<int>& axes, const std::vector<std::size_t>& shape, Arena* arena)
            : axes_(axes), shape_(shape), at_(axes.size(), 0, arena)
        {
        }
        void go_to(std::size_t row)
        {
            for (std::size_t d = axes_.size(); d-- > 0;)
            {
                at_[d] = row % length(d);
                row /= length(d);
            }
        }
        std::size_t next() // the slowest loop that moved
        {
            for (std::size_t d = axes_.size(); d-- > 0;)
            {
                if (++at_[d] < length(d))
                    return d;
                at_[d] = 0;
            }
            return 0;
        }
        std::size_t last_length() const { return length(axes_.size() - 1); }
        std::size_t go_along(std::size_t at) // the last axis; gives the loops, all of which may depend on it
        {
            at_.back() = at;
            return axes_.size();
        }
        template <class Strides> std::ptrdiff_t offset(const Strides& stride) const
        {
            std::ptrdiff_t o = 0;
            for (std::size_t d = 0; d < axes_.size(); ++d)
                o += std::ptrdiff_t(at_[d]) * stride[std::size_t(axes_[d])];
            return o;
        }

    private:
        std::size_t length(std::size_t d) const { return shape_[std::size_t(axes_[d])]; }
        const List<int>& axes_;
        const std::vector<std::size_t>& shape_;
        List<std::size_t> at_;
    };

    // Before a pass runs: arrays that do not run evenly along its row are laid out anew, reciprocals taken.
    // Returns whether some are still gathered, segment by segment.
    bool lay_out_arrays(Pass& pass, const Graph& graph, const InstructionSet& set);

    // What one thread needs to run a pass.
    class Worker
    {
    public:
        Worker(const Pass& pass, const Graph& graph, const InstructionSet& set, bool stream, std::size_t ahead)
            : pass_(pass),
              set_(set),
              stream_(stream),
              ahead_(ahead),
              odometer_(pass.outer, graph.shape(), &arena_),
              program_(pass.program, &arena_),
              values_(std::size_t(pass.values), &arena_),
              strips_(aligned_doubles(std::size_t(pass.strips) * widest_strip)),
              row_of_array_(pass.arrays.size(), &arena_),
              row_of_output_(pass.outputs.size(), &arena_),
              last_ends_(pass.stretches.size(), &arena_),
              points_(&arena_)
        {
            line_rows_ = pass.outer.empty() ? 1 : odometer_.last_length();
            for (const Stretch& s : pass.stretches)
                points_.resize(std::max(points_.size(), s.steps.size()));
            for (const Row& a : pass.arrays)
                uneven_ += a.step != 1;
            for (const Output& o : pass.outputs)
                uneven_ += step_of(o) != 1;
            gathered_ = aligned_doubles(uneven_ * gathered_segment);
            for (std::size_t k = 0; k < pass.outputs.size(); ++k)
                if (step_of(pass.outputs[k]) != 1)
                    program_[std::size_t(pass.writes[k])].op = 0; // into a buffer of doubles first
            for (const Reference& r : pass.references)
                if (r.source == Source::strip)
                {
                    double* const memory = strips_.get() + std::size_t(r.number) * widest_strip;
                    if (r.field == Field::result)
                        program_[std::size_t(r.instruction)].result = memory;
                    else
                        field(r).memory = memory;
                }
        }
        Worker(const Worker&) = delete;
        Worker& operator=(const Worker&) = delete;

        void run(std::size_t first_unit, std::size_t last_unit, std::size_t segment)
        {
            const std::size_t per_row = (pass_.row + segment - 1) / segment;
            for (std::size_t unit = first_unit; unit < last_unit; ++unit)
            {
                const std::size_t row = unit / per_row, begin = unit % per_row * segment;
                go_to(row);
                run_points(begin, std::min(begin + segment, pass_.row));
            }
        }
        void run_points(std::size_t begin, std::size_t end) // of the row it went to
        {
            if (!uneven_)
                set_.run(program_.data(), begin, end, stream_);
            else
                run_uneven(begin, end);
        }
        // Where in [begin, end) of the row it went to the requirements hold that hold on a stretch.
        std::pair<std::size_t, std::size_t> stretch(std::size_t begin, std::size_t end)
        {
            for (std::size_t k = 0; k < pass_.stretches.size() && begin < end; ++k)
            {
                const Stretch& s = pass_.stretches[k];
                auto& [last, before] = last_ends_[k];
                const std::size_t guess = 2 * last - std::min(before, 2 * last); // it moves on as it did
                before = last;
                last = turn(begin, end, std::min(std::max(guess, begin), end), [&](std::size_t i) {
                    return met(s, i) == s.from_begin;
                });
                (s.from_begin ? end : begin) = last;
            }
            return {begin, end};
        }
        Instruction& fold() { return program_[std::size_t(pass_.fold)]; }
        void go_to(std::size_t row)
        {
            if (row == row_)
                return;
            std::size_t moved = 0;
            if (row_ != none && row - line_ < line_rows_) // without a division: rows may be short
                moved = odometer_.go_along(row - line_);
            else
            {
                if (row_ != none && row == row_ + 1)
                    moved = odometer_.next() + 1;
                else
                    odometer_.go_to(row);
                line_ = row - row % line_rows_;
            }
            row_ = row;
            for (std::size_t k = pass_.first_step[std::min(moved, pass_.first_step.size() - 1)]; k < pass_.steps.size();
                 ++k)
            {
                const ScalarStep& s = pass_.steps[k];
                const auto x = [&](std::size_t a) { return values_[std::size_t(s.argument[a])]; };
                double& result = values_[std::size_t(s.result)];
                switch (s.op) // the common ones here: rows may be short
                {
                case Op::input: result = s.view.data[odometer_.offset(s.view.stride)]; break;
                case Op::constant: result = s.constant; break;
                case Op::add: result = x(0) + x(1); break;
                case Op::mul: result = x(0) * x(1); break;
                case Op::div: result = x(0) / x(1); break;
                default:
                {
                    double all[3] = {};
                    for (std::size_t a = 0; a < 3 && s.argument[a] >= 0; ++a)
                        all[a] = x(a);
                    result = evaluate(s.op, s.routine, all);
                }
                }
            }
            for (std::size_t k = 0; k < pass_.outputs.size(); ++k)
            {
                const Output& o = pass_.outputs[k];
                const std::ptrdiff_t offset = odometer_.offset(o.stride);
                row_of_output_[k] = o.single ? reinterpret_cast<double*>(o.single + offset) : o.data + offset;
                program_[std::size_t(pass_.writes[k])].result = row_of_output_[k];
            }
            for (std::size_t k = moved == 0 ? 0 : pass_.first_moving; k < pass_.references.size(); ++k)
                fill(pass_.references[k]);
        }

    protected:
        // The first point of a sorted stretch where `before` no longer holds, sought in growing steps from a guess.
        template <class Before> static std::size_t turn(
            std::size_t begin,
            std::size_t end,
            std::size_t guess,
            const Before& before)
        {
            std::size_t low = begin, high = end; // it lies in [low, high]
            if (guess < end && before(guess))
                for (std::size_t step = 1;; step *= 2)
                {
                    low = guess + 1;
                    if (step > end - low)
                        break;
                    guess = low + step - 1;
                    if (guess >= end)
                        break;
                    if (!before(guess))
                    {
                        high = guess;
                        break;
                    }
                }
            else
                for (std::size_t step = 1; guess > low; step *= 2)
                {
                    high = guess;
                    guess = guess - low > step ? guess - step : low;
                    if (before(guess))
                    {
                        low = guess + 1;
                        break;
                    }
                    if (guess == low)
                        return low;
                }
            while (low < high)
            {
                const std::size_t middle = low + (high - low) / 2;
                (before(middle) ? low : high) = before(middle) ? middle + 1 : middle;
            }
            return low;
        }
        bool met(const Stretch& s, std::size_t point)
        {
            return met(s, point, [&](int value, Direction) { return values_[std::size_t(value)]; });
        }
        // Whether a requirement holds at a point, with the values of the row as `value(number, difference)` gives them.
        template <class Value> bool met(const Stretch& s, std::size_t point, const Value& value)
        {
            const auto at = [&](int argument, Direction difference) {
                return argument >= 0 ? points_[std::size_t(argument)] : value(-2 - argument, difference);
            };
            for (std::size_t k = 0; k < s.steps.size(); ++k)
            {
                const Stretch::Step& step = s.steps[k];
                if (step.op == Op::input)
                {
                    const Row& array = pass_.arrays[std::size_t(step.array)];
                    points_[k] = array.view.data[std::ptrdiff_t(point) * array.step];
                    continue;
                }
                const double x[2] = {
                    at(step.argument[0], step.difference[0]),
                    step.argument[1] == -1 ? 0.0 : at(step.argument[1], step.difference[1])};
                switch (step.op) // the common ones here
                {
                case Op::add: points_[k] = x[0] + x[1]; break;
                case Op::mul: points_[k] = x[0] * x[1]; break;
                case Op::div: points_[k] = x[0] / x[1]; break;
                case Op::max: points_[k] = math::max(x[0], x[1]); break;
                default: points_[k] = evaluate(step.op, nullptr, x);
                }
            }
            const double left = at(s.left, Direction::nondecreasing), right = at(s.right, Direction::nonincreasing);
            return s.strict ? left < right : left <= right;
        }
        std::ptrdiff_t step_of(const Output& o) const
        { return pass_.inner.empty() ? 1 : o.stride[std::size_t(pass_.inner.back())]; }
        Operand& field(const Reference& r)
        {
            Instruction& i = program_[std::size_t(r.instruction)];
            return r.field == Field::second ? i.second : i.operand;
        }

        void fill(const Reference& r)
        {
            Operand& o = field(r);
            switch (r.source)
            {
            case Source::scalar: o.scalar = values_[std::size_t(r.number)]; break;
            case Source::reciprocal: o.scalar = reciprocal(values_[std::size_t(r.number)]); break;
            case Source::row:
            {
                const View& view = pass_.arrays[std::size_t(r.number)].view;
                o.memory = row_of_array_[std::size_t(r.number)] = view.data + odometer_.offset(view.stride);
                o.step = 1, o.ahead = ahead_;
                break;
            }
            case Source::strip: break;
            }
        }
        // A segment whose arrays or results do not lie point by point: through buffers.
        void run_uneven(std::size_t begin, std::size_t end)
        {
            std::vector<double*> buffer_of_array(row_of_array_.size(), nullptr);
            double* free = gathered_.get();
            for (std::size_t k = 0; k < row_of_array_.size(); ++k)
                if (const std::ptrdiff_t step = pass_.arrays[k].step; step != 1)
                {
                    const double* from = row_of_array_[k] + std::ptrdiff_t(begin) * step;
                    for (std::size_t i = 0; i < end - begin; ++i)
                        free[i] = from[std::ptrdiff_t(i) * step];
                    buffer_of_array[k] = free - begin;
                    free += gathered_segment;
                }
            for (const Reference& r : pass_.references)
                if (r.source == Source::row && buffer_of_array[std::size_t(r.number)])
                    field(r).memory = buffer_of_array[std::size_t(r.number)];
            std::vector<double*> buffer_of_output(row_of_output_.size(), nullptr);
            for (std::size_t k = 0; k < row_of_output_.size(); ++k)
                if (step_of(pass_.outputs[k]) != 1)
                {
                    buffer_of_output[k] = free;
                    program_[std::size_t(pass_.writes[k])].result = free - begin;
                    free += gathered_segment;
                }
            set_.run(program_.data(), begin, end, false);
            for (std::size_t k = 0; k < row_of_output_.size(); ++k)
                if (buffer_of_output[k])
                {
                    const std::ptrdiff_t step = step_of(pass_.outputs[k]);
                    const auto scatter = [&](auto* to) {
                        for (std::size_t i = 0; i < end - begin; ++i)
                            to[std::ptrdiff_t(begin + i) * step] =
                                std::remove_reference_t<decltype(*to)>(buffer_of_output[k][i]);
                    };
                    if (pass_.outputs[k].single)
                        scatter(reinterpret_cast<float*>(row_of_output_[k]));
                    else
                        scatter(row_of_output_[k]);
                }
        }

        static constexpr std::size_t none = std::size_t(-1);
        std::array<std::byte, 8192> buffer_;
        std::pmr::monotonic_buffer_resource arena_{buffer_.data(), buffer_.size()};
        const Pass& pass_;
        const InstructionSet& set_;
        bool stream_;
        std::size_t uneven_ = 0; // arrays and results that do not lie point by point along the row
        std::size_t ahead_; // doubles by which arrays are asked for early
        Odometer odometer_;
        List<Instruction> program_;
        List<double> values_;
        Doubles strips_, gathered_;
        List<const double*> row_of_array_;
        List<double*> row_of_output_;
        // of stretches, the last one first: the next row's is near
        List<std::pair<std::size_t, std::size_t>> last_ends_;
        List<double> points_;         // of a stretch
        // the first row of the line, along the last outer axis, and how many it has
        std::size_t row_ = none, line_ = 0, line_rows_;
    };
}
