#include <roofslate/interval.hpp>

namespace roofslate
{
    namespace
    {
        Range range_of_view(const View& view, const std::vector<std::size_t>& shape, std::size_t axis)
        {
            if (axis == shape.size())
                return {*view.data, *view.data};
            if (!(view.axes >> axis & 1))
                return range_of_view(view, shape, axis + 1);
            Range all{HUGE_VAL, -HUGE_VAL};
            View at = view;
            for (std::size_t i = 0; i < shape[axis]; ++i, at.data += view.stride[axis])
            {
                const Range r = range_of_view(at, shape, axis + 1);
                if (!r.known())
                    return {};
                all = {std::min(all.low, r.low), std::max(all.high, r.high)};
            }
            return all;
        }
    }

    std::pmr::vector<Range> ranges(const Graph& graph, std::pmr::memory_resource* arena)
    {
        std::pmr::vector<Range> r(std::size_t(graph.size()), arena);
        const auto of = [&](int i) { return i >= 0 ? r[std::size_t(i)] : Range{}; };
        for (int i = 0; i < graph.size(); ++i)
        {
            const Node& n = graph[i];
            Range& out = r[std::size_t(i)];
            if (n.is_constant())
                out = {n.value, n.value};
            else if (n.is_leaf())
                out = graph.points(n.axes) <= most_searched_values ? range_of_view(graph.view(n), graph.shape(), 0) : Range{};
            else
                out = range_of(n.op, of(n.argument[0]), of(n.argument[1]), of(n.argument[2]));
        }
        return r;
    }
}
