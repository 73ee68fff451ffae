#include "roofslate/run/worker.hpp"

namespace roofslate
{
    namespace
    {
        constexpr std::size_t most_copied_values = 65536;

        // Writes `n` points of an array, axis `d` and all later axes. Repeated parts are copied as a whole.
        // Nothing changes along axis `same` and later ones.
        void copy_spread(
            double* to,
            const double* from,
            const std::array<std::ptrdiff_t, most_axes>& stride,
            const List<int>& axes,
            std::size_t d,
            std::size_t same,
            std::size_t n,
            const Graph& graph)
        {
            if (d >= same)
            {
                std::fill_n(to, n, *from);
                return;
            }
            const std::size_t length = graph.shape()[std::size_t(axes[d])], part = n / length;
            const std::ptrdiff_t step = stride[std::size_t(axes[d])];
            if (part == 1)
                for (std::size_t i = 0; i < length; ++i)
                    to[i] = from[std::ptrdiff_t(i) * step];
            else if (step)
                for (std::size_t i = 0; i < length; ++i)
                    copy_spread(to + i * part, from + std::ptrdiff_t(i) * step, stride, axes, d + 1, same, part, graph);
            else
            {
                copy_spread(to, from, stride, axes, d + 1, same, part, graph);
                for (std::size_t done = part; done < n; done *= 2) // doubles the part already written
                    std::copy_n(to, std::min(done, n - done), to + done);
            }
        }
        // Lays an array out so that it runs evenly along the row.
        void spread(Row& row, const Pass& pass, const Graph& graph)
        {
            List<int> axes(pass.outer.get_allocator());
            for (const int k : pass.outer)
                if (row.view.axes >> k & 1)
                    axes.push_back(k);
            const std::size_t own_outer = axes.size();
            axes.insert(axes.end(), pass.inner.begin(), pass.inner.end());
            std::size_t n = 1;
            std::array<std::ptrdiff_t, most_axes> stride{};
            for (std::size_t d = axes.size(); d-- > 0;)
            {
                if (d < own_outer)
                    stride[std::size_t(axes[d])] = std::ptrdiff_t(n);
                n *= graph.shape()[std::size_t(axes[d])];
            }
            row.copy = aligned_doubles(n);
            std::size_t same = axes.size();
            while (same > 0 && row.view.stride[std::size_t(axes[same - 1])] == 0)
                --same;
            copy_spread(row.copy.get(), row.view.data, row.view.stride, axes, 0, same, n, graph);
            row.view.data = row.copy.get(), row.view.stride = stride, row.step = 1;
        }

        void invert(Row& row, const Row& of, const Pass& pass, const InstructionSet& set)
        {
            row.copy = aligned_doubles(pass.row);
            Instruction program[4];
            program[0].code = Code::load, program[0].operand.scalar = 1;
            program[1].code = Code::divide, program[1].operand = {of.view.data, 1, 0};
            program[2].code = Code::write, program[2].result = row.copy.get();
            set.run(program, 0, pass.row, false);
            row.view.data = row.copy.get();
        }
    }

    bool lay_out_arrays(Pass& pass, const Graph& graph, const InstructionSet& set)
    {
        bool gathers = false;
        for (Row& r : pass.arrays)
        {
            std::size_t values = pass.row;
            for (const int k : pass.outer)
                if (r.view.axes >> k & 1)
                    values *= graph.shape()[std::size_t(k)];
            if (r.reciprocal_of >= 0)
                invert(r, pass.arrays[std::size_t(r.reciprocal_of)], pass, set);
            else if (r.expand || (r.step != 1 && values <= most_copied_values))
                spread(r, pass, graph);
            gathers = gathers || r.step != 1;
        }
        return gathers;
    }

    Worker::Worker(const Pass& pass, const Graph& graph, const InstructionSet& set, bool stream, std::size_t ahead)
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
          points_(&arena_),
          comparisons_(&arena_)
    {
        line_rows_ = pass.outer.empty() ? 1 : odometer_.last_length();
        lay_out_comparisons();
        for (const Row& a : pass.arrays)
            uneven_ += a.step != 1;
        for (const Output& o : pass.outputs)
            uneven_ += step_of(o) != 1;
        gathered_ = aligned_doubles(uneven_ * gathered_segment);
        for (std::size_t k = 0; k < pass.outputs.size(); ++k)
            if (step_of(pass.outputs[k]) != 1)
                program_[std::size_t(pass.writes[k])].storage = Storage::float64; // a buffer first
        for (const Reference& r : pass.references)
            if (r.source == Source::strip)
            {
                double* const memory = strips_.get() + std::size_t(r.number) * widest_strip;
                if (r.field == Field::scratch)
                    program_[std::size_t(r.instruction)].scratch = memory;
                else
                    field(r).memory = memory;
            }
    }
    void Worker::run(std::size_t first_unit, std::size_t last_unit, std::size_t segment)
    {
        const std::size_t per_row = (pass_.row + segment - 1) / segment;
        for (std::size_t unit = first_unit; unit < last_unit; ++unit)
        {
            const std::size_t row = unit / per_row, begin = unit % per_row * segment;
            go_to(row);
            run_points(begin, std::min(begin + segment, pass_.row));
        }
    }
    // Returns the least depth of steps that must be computed again.
    std::size_t Worker::move_to(std::size_t row)
    {
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
        return moved;
    }
    void Worker::compute(const ScalarStep& s)
    {
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
    void Worker::fill(const Reference& r)
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
    void Worker::go_to(std::size_t row)
    {
        if (row == row_)
            return;
        const std::size_t moved = move_to(row);
        for (std::size_t k = pass_.first_step[std::min(moved, pass_.first_step.size() - 1)]; k < pass_.steps.size();
             ++k)
            compute(pass_.steps[k]);
        for (std::size_t k = 0; k < pass_.outputs.size(); ++k)
        {
            const Output& o = pass_.outputs[k];
            row_of_output_[k] = element(o.data, o.storage, odometer_.offset(o.stride));
            program_[std::size_t(pass_.writes[k])].result = row_of_output_[k];
        }
        for (std::size_t k = pass_.first_reference[std::min(moved, pass_.first_reference.size() - 1)];
             k < pass_.references.size();
             ++k)
            fill(pass_.references[k]);
    }
    // True if the requirement held on all of the last row, or nowhere on it, and from there to this one can only hold
    // on more, or on less.
    bool Worker::is_as_before(const Stretch& s, const End& e, std::size_t begin, std::size_t end) const
    {
        if (begin != e.begin || end != e.end || e.row - line_ >= line_rows_ || s.from_row_to_row == Direction::unknown)
            return false;
        const bool complete = e.last == (s.from_begin ? end : begin),
                   none_of_it = e.last == (s.from_begin ? begin : end);
        const bool more = s.from_row_to_row == Direction::constant
            || (row_ > e.row) == (s.from_row_to_row == Direction::nonincreasing);
        const bool less = s.from_row_to_row == Direction::constant || !more;
        return (complete && more) || (none_of_it && less);
    }
    std::pair<std::size_t, std::size_t> Worker::stretch(std::size_t begin, std::size_t end)
    {
        for (std::size_t k = 0; k < pass_.stretches.size() && begin < end; ++k)
        {
            const Stretch& s = pass_.stretches[k];
            End& e = last_ends_[k];
            if (!is_as_before(s, e, begin, end))
            {
                const std::size_t guess = 2 * e.last - std::min(e.before, 2 * e.last); // it moves on as it did
                e.before = e.last;
                e.last = partition_point(begin, end, std::min(std::max(guess, begin), end), [&](std::size_t i) {
                    return met(k, i) == s.from_begin;
                });
                e.row = row_, e.begin = begin, e.end = end;
            }
            (s.from_begin ? end : begin) = e.last;
        }
        return {begin, end};
    }
    void Worker::lay_out_comparisons()
    {
        std::size_t most = 0, steps = 0;
        for (const Stretch& s : pass_.stretches)
            most = std::max(most, s.steps.size()), steps += s.steps.size();
        points_.resize(most);
        comparisons_.reserve(pass_.stretches.size());
        for (const Stretch& s : pass_.stretches)
        {
            const auto of = [&](int argument) -> const double* {
                return argument == -1 ? nullptr
                    : argument >= 0
                    ? &points_[std::size_t(argument)]
                    : &values_[std::size_t(-2 - argument)];
            };
            Comparison& c = comparisons_.emplace_back(&arena_);
            for (std::size_t k = 0; k < s.steps.size(); ++k)
            {
                const Stretch::Step& step = s.steps[k];
                if (step.op == Op::input)
                {
                    const Row& array = pass_.arrays[std::size_t(step.array)];
                    c.steps.push_back({step.op, array.step, {array.view.data, nullptr}, &points_[k]});
                }
                else
                    c.steps.push_back({step.op, 0, {of(step.argument[0]), of(step.argument[1])}, &points_[k]});
            }
            c.lhs = of(s.lhs), c.rhs = of(s.rhs);
        }
    }
    // Rows may be short, so this is most of what they cost.
    bool Worker::met(std::size_t stretch, std::size_t point)
    {
        const Comparison& c = comparisons_[stretch];
        for (const Comparison::Step& s : c.steps)
            switch (s.op) // the common ones here
            {
            case Op::input: *s.result = s.x[0][std::ptrdiff_t(point) * s.step]; break;
            case Op::add: *s.result = *s.x[0] + *s.x[1]; break;
            case Op::mul: *s.result = *s.x[0] * *s.x[1]; break;
            case Op::div: *s.result = *s.x[0] / *s.x[1]; break;
            case Op::max: *s.result = math::max(*s.x[0], *s.x[1]); break;
            default:
            {
                const double x[2] = {*s.x[0], s.x[1] ? *s.x[1] : 0.0};
                *s.result = evaluate(s.op, nullptr, x);
            }
            }
        return pass_.stretches[stretch].strict ? *c.lhs < *c.rhs : *c.lhs <= *c.rhs;
    }
    // A segment with arrays or results that are not contiguous: through buffers.
    void Worker::run_uneven(std::size_t begin, std::size_t end)
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
                with_type(pass_.outputs[k].storage, [&](auto stored) {
                    auto* const to = static_cast<typename decltype(stored)::type*>(row_of_output_[k]);
                    const std::ptrdiff_t step = step_of(pass_.outputs[k]);
                    for (std::size_t i = 0; i < end - begin; ++i)
                        to[std::ptrdiff_t(begin + i) * step] = stored.of(buffer_of_output[k][i]);
                });
    }
}
