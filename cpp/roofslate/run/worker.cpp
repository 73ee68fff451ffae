#include "roofslate/run/worker.hpp"

namespace roofslate
{
    namespace
    {
        constexpr std::size_t most_copied_values = 65536;

        // Writes an array point by point over the axes from `d` on, `n` points; repeated parts are copied as a whole.
        // Along axes from `same` on nothing changes.
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
                for (std::size_t done = part; done < n; done *= 2) // what is there, once more
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
}
