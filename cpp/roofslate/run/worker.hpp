// A pass on one thread: row by row, the scalars of a row first, then its program.
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

    // One thread's memory for a pass, and the pass run with it.
    class Worker
    {
    public:
        Worker(const Pass& pass, const Graph& graph, const InstructionSet& set, bool stream, std::size_t ahead);
        Worker(const Worker&) = delete;
        Worker& operator=(const Worker&) = delete;

        void run(std::size_t first_unit, std::size_t last_unit, std::size_t segment);
        void go_to(std::size_t row);
        // Of the row that `go_to` went to, as are the points of a stretch.
        void run_points(std::size_t begin, std::size_t end)
        {
            if (!uneven_)
                set_.run(program_.data(), begin, end, stream_);
            else
                run_uneven(begin, end);
        }
        // The part of [begin, end) in which those requirements hold that hold on a stretch.
        std::pair<std::size_t, std::size_t> stretch(std::size_t begin, std::size_t end);
        Instruction& fold() { return program_[std::size_t(pass_.fold)]; }

    protected:
        static constexpr std::size_t none = std::size_t(-1);
        struct End // of a stretch, at the row that was asked for last and at the one before it: the next row's is near
        { std::size_t last = 0, before = 0, row = none, begin = 0, end = 0; };
        // The first point of [begin, end) at which `holds` turns false, by growing steps from a guess. It is true up
        // to one point and false at all later ones.
        template <class Holds> static std::size_t partition_point(
            std::size_t begin,
            std::size_t end,
            std::size_t guess,
            const Holds& holds)
        {
            std::size_t low = begin, high = end; // of the result
            if (guess < end && holds(guess))
                for (std::size_t step = 1;; step *= 2)
                {
                    low = guess + 1;
                    if (step > end - low)
                        break;
                    guess = low + step - 1;
                    if (guess >= end)
                        break;
                    if (!holds(guess))
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
                    if (holds(guess))
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
                (holds(middle) ? low : high) = holds(middle) ? middle + 1 : middle;
            }
            return low;
        }
        // True if a requirement holds at a point. `value(number, difference)` gives the values of the row.
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
            const double lhs = at(s.lhs, Direction::nondecreasing), rhs = at(s.rhs, Direction::nonincreasing);
            return s.strict ? lhs < rhs : lhs <= rhs;
        }
        std::ptrdiff_t step_of(const Output& o) const
        { return pass_.inner.empty() ? 1 : o.stride[std::size_t(pass_.inner.back())]; }
        Operand& field(const Reference& r)
        {
            Instruction& i = program_[std::size_t(r.instruction)];
            return r.field == Field::second ? i.second : i.operand;
        }

    private:
        // inlined in worker.cpp: rows may be short
        inline std::size_t move_to(std::size_t row);
        inline void compute(const ScalarStep& step);
        inline void fill(const Reference& r);
        void run_uneven(std::size_t begin, std::size_t end);
        void lay_out_comparisons();
        bool met(std::size_t stretch, std::size_t point); // of the row
        bool is_as_before(const Stretch& s, const End& e, std::size_t begin, std::size_t end) const;

        // A stretch's requirement with the places of its numbers.
        struct Comparison
        {
            explicit Comparison(Arena* arena) : steps(arena) {}
            struct Step
            {
                Op op;
                std::ptrdiff_t step; // of an array
                std::array<const double*, 2> x;
                double* result;
            };
            List<Step> steps;
            const double *lhs = nullptr, *rhs = nullptr;
        };
        std::array<std::byte, 8192> buffer_;
        std::pmr::monotonic_buffer_resource arena_{buffer_.data(), buffer_.size()};

    protected:
        const Pass& pass_;
        const InstructionSet& set_;
        bool stream_;
        std::size_t uneven_ = 0; // arrays and results that are not contiguous along the row
        std::size_t ahead_; // doubles by which arrays are asked for early
        Odometer odometer_;
        List<Instruction> program_;
        List<double> values_;
        Doubles strips_, gathered_;
        List<const double*> row_of_array_;
        List<void*> row_of_output_;
        List<End> last_ends_;
        List<double> points_; // of a stretch: values of its steps
        List<Comparison> comparisons_;
        // the first row of the line, along the last outer axis, and the number of rows
        std::size_t row_ = none, line_ = 0, line_rows_;
    };
}
