#include "roofslate/bounds/interval.hpp"
#include "roofslate/simd/instructions.hpp"

namespace roofslate
{
    namespace
    {
        // Bounds of the values at `data`, along `axis` and later axes. False: one of them is NaN.
        bool widen(
            Range& all,
            const double* data,
            const View& view,
            const std::vector<std::size_t>& shape,
            std::size_t axis)
        {
            while (axis < shape.size() && !(view.axes >> axis & 1))
                ++axis;
            if (axis == shape.size())
            {
                all = {std::min(all.low, *data), std::max(all.high, *data)};
                return *data == *data;
            }
            double low, high;
            if (!(view.axes >> axis >> 1) && view.stride[axis] == 1)
            {
                const bool known = instruction_set().extent(data, shape[axis], &low, &high);
                all = {std::min(all.low, low), std::max(all.high, high)};
                return known;
            }
            bool ordered = true;
            for (std::size_t i = 0; i < shape[axis] && ordered; ++i, data += view.stride[axis])
                ordered = widen(all, data, view, shape, axis + 1);
            return ordered;
        }
    }

    Range range_of_view(const View& view, const std::vector<std::size_t>& shape)
    {
        Range all{HUGE_VAL, -HUGE_VAL};
        return widen(all, view.data, view, shape, 0) ? all : Range{};
    }
    namespace
    {
        Range range_of_enclosure(const Routine& routine, const std::array<Range, 3>& x)
        {
            const Enclosure& e = routine.enclosure();
            std::vector<double> values;
            values.reserve(e.tape.operations.size());
            bool exact = true;
            for (std::size_t k = 0; k < std::size_t(routine.arity); ++k)
            {
                if (!x[k].known())
                    return {};
                exact = exact && x[k].low == x[k].high;
            }
            if (exact)
            {
                const std::array<double, 3> at{x[0].low, x[1].low, x[2].low};
                const double value = routine.value(at.data());
                return {value, value};
            }
            for (const Operation& o : e.tape.operations)
            {
                const auto number = std::size_t(std::max(o.argument[0], 0));
                std::array<double, 3> at{};
                for (std::size_t k = 0; k < 3 && o.op != Op::input && o.argument[k] >= 0; ++k)
                    at[k] = values[std::size_t(o.argument[k])];
                values.push_back(
                    o.op == Op::input ? (number % 2 ? x[number / 2].high : x[number / 2].low)
                        : o.op == Op::constant
                        ? o.value
                        : evaluate(o.op, o.routine, at.data()));
            }
            const auto unless_end = [](double end, int direction) { // 0 and 1 limit the routine
                return end == 0 || end == 1 ? end : widened(end, direction, routine_share);
            };
            const Range ends{unless_end(values[std::size_t(e.low)], -1), unless_end(values[std::size_t(e.high)], 1)};
            return ends.known() ? ends : Range{};
        }
    }
    Range range_of_routine(const Routine& routine, const std::array<Range, 3>& x)
    {
        if (routine.enclosure)
            return range_of_enclosure(routine, x);
        std::array<double, 3> least{}, most{};
        for (std::size_t k = 0; k < std::size_t(routine.arity); ++k)
        {
            const bool rises = routine.directions[k] >= 0;
            if (!x[k].known() || (routine.directions[k] == 0 && x[k].low != x[k].high))
                return {};
            least[k] = rises ? x[k].low : x[k].high, most[k] = rises ? x[k].high : x[k].low;
        }
        const Range ends{
            widened(routine.value(least.data()), -1, routine_share),
            widened(routine.value(most.data()), 1, routine_share)};
        return ends.known() ? ends : Range{};
    }
    void extend_ranges(std::pmr::vector<Range>& ranges, const Graph& graph, std::size_t most_values)
    {
        const auto of = [&](int i) { return i >= 0 ? ranges[std::size_t(i)] : Range{}; };
        int i = int(ranges.size());
        for (ranges.resize(std::size_t(graph.size())); i < graph.size(); ++i)
        {
            const Node& n = graph[i];
            Range& out = ranges[std::size_t(i)];
            if (n.is_constant())
                out = {n.value, n.value};
            else if (n.is_leaf())
                out = graph.points(n.axes) <= most_values ? range_of_view(graph.view(n), graph.shape()) : Range{};
            else if (n.op == Op::routine)
                out = range_of_routine(*n.routine, {of(n.argument[0]), of(n.argument[1]), of(n.argument[2])});
            else if (n.op == Op::mul && n.argument[0] == n.argument[1])
                out = square_of(of(n.argument[0]));
            else if ((n.op == Op::div || n.op == Op::sub) && n.argument[0] == n.argument[1])
            {
                out = range_of_itself(n.op, of(n.argument[0]));
                if (!out.known())
                    out = range_of(n.op, of(n.argument[0]), of(n.argument[1]), {});
            }
            else
                out = range_of(n.op, of(n.argument[0]), of(n.argument[1]), of(n.argument[2]));
        }
    }
    std::pmr::vector<Range> ranges(const Graph& graph, std::pmr::memory_resource* arena, std::size_t most_values)
    {
        std::pmr::vector<Range> r(arena);
        extend_ranges(r, graph, most_values);
        return r;
    }
}
