#include "roofslate/folds/boxes.hpp"
#include "roofslate/bounds/transform.hpp"
#include <algorithm>

namespace roofslate
{
    Boxes::Boxes(
        const Graph& graph,
        const std::vector<int>& nodes,
        std::size_t along_lines,
        AxisSet axes,
        const InstructionSet& set)
        : shape_(graph.shape())
    {
        for (int k = 0; k < int(shape_.size()); ++k)
            if (axes >> k & 1)
                axes_.push_back(k);
        Bounder bounder(graph, bound_lanes_.graph());
        std::vector<int> leaf_of(std::size_t(graph.size()), -1), copy(std::size_t(graph.size()), -1);
        std::vector<char> needed(std::size_t(graph.size()), 0);
        for (const int n : nodes)
            needed[std::size_t(n)] = 1;
        for (int i = graph.size(); i-- > 0;)
            for (int k = 0; needed[std::size_t(i)] && k < graph[i].arity(); ++k)
                needed[std::size_t(graph[i].argument[std::size_t(k)])] = 1;
        leaves_.reserve(std::size_t(graph.size()));
        for (int i = 0; i < graph.size(); ++i)
        {
            if (!needed[std::size_t(i)])
                continue;
            const Node& n = graph[i];
            if (n.is_constant())
                copy[std::size_t(i)] = point_lanes_.graph().constant(n.value);
            else if (n.is_leaf())
            {
                leaf_of[std::size_t(i)] = int(leaves_.size());
                Leaf& leaf = leaves_.emplace_back();
                read_leaf(graph, n, leaf);
                copy[std::size_t(i)] = point_lanes_.leaf(leaf.all, leaf.points);
            }
            else
            {
                const auto at = [&](std::size_t k) {
                    return n.argument[k] >= 0 ? copy[std::size_t(n.argument[k])] : -1;
                };
                copy[std::size_t(i)] = point_lanes_.graph().operation(n.op, at(0), at(1), at(2), n.routine);
            }
        }
        std::vector<int> bounds, values;
        for (const int n : nodes)
        {
            const Bounds ends = bounder(n, [&](int i) {
                Leaf& leaf = leaves_[std::size_t(leaf_of[std::size_t(i)])];
                if (!leaf.all.known())
                    return bounder.anything();
                const int low = bound_lanes_.leaf(leaf.all, leaf.low);
                return Bounds{low, bound_lanes_.leaf(leaf.all, leaf.high), leaf.all, false};
            });
            bounds.push_back(ends.low), bounds.push_back(ends.high);
            values.push_back(copy[std::size_t(n)]);
        }
        bounds_.compile(bound_lanes_, bounds, set);
        bounds.resize(2 * along_lines);
        lines_.compile(bound_lanes_, bounds, set);
        points_.compile(point_lanes_, values, set);
    }
    constexpr std::size_t most_table_entries = 65536; // of the ranges along an axis that is not sorted
    void Boxes::read_leaf(const Graph& graph, const Node& node, Leaf& leaf) const
    {
        leaf.view = graph.view(node);
        for (const int k : axes_)
            if (leaf.view.axes >> k & 1)
                leaf.axes.push_back(k);
        leaf.all = range_of_view(leaf.view, shape_);
        if (leaf.axes.size() > 1 && leaf.all.known())
            for (const int k : leaf.axes)
                leaf.direction[std::size_t(k)] = direction_along(leaf.view, shape_, k);
        if (leaf.axes.size() != 1)
            return;
        const int axis = leaf.axes.front();
        const std::ptrdiff_t step = leaf.view.stride[std::size_t(axis)];
        leaf.length = shape_[std::size_t(axis)];
        const auto at = [&](std::size_t i) { return leaf.view.data[std::ptrdiff_t(i) * step]; };
        if (direction_along(leaf.view, shape_, axis) != Direction::unknown || !leaf.all.known())
            return;
        leaf.grain = (leaf.length + most_table_entries - 1) / most_table_entries;
        std::vector<Range> level;
        for (std::size_t i = 0; i < leaf.length; ++i)
            if (i % leaf.grain == 0)
                level.push_back({at(i), at(i)});
            else
                level.back() = {std::min(level.back().low, at(i)), std::max(level.back().high, at(i))};
        for (std::size_t step_of_level = 1; !level.empty(); step_of_level *= 2)
        {
            leaf.table.push_back(level);
            std::vector<Range> next;
            for (std::size_t i = 0; i + step_of_level < level.size(); ++i)
                next.push_back(
                    {std::min(level[i].low, level[i + step_of_level].low),
                     std::max(level[i].high, level[i + step_of_level].high)});
            level = std::move(next);
        }
    }
    Range Boxes::Leaf::within(std::size_t first, std::size_t last) const
    {
        if (table.empty())
        {
            const std::ptrdiff_t step = view.stride[std::size_t(axes.front())];
            const double a = view.data[std::ptrdiff_t(first) * step], b = view.data[std::ptrdiff_t(last - 1) * step];
            return {std::min(a, b), std::max(a, b)};
        }
        const std::size_t from = first / grain, to = (last - 1) / grain + 1;
        std::size_t level = 0;
        while ((std::size_t(2) << level) <= to - from)
            ++level;
        const Range &a = table[level][from], &b = table[level][to - (std::size_t(1) << level)];
        return {std::min(a.low, b.low), std::max(a.high, b.high)};
    }

    // From one corner to the opposite one, if the values are monotone along every axis of the box.
    Range Boxes::Leaf::within(const Box& box) const
    {
        std::ptrdiff_t least = 0, most = 0;
        for (const int axis : axes)
        {
            const std::size_t k = std::size_t(axis);
            const std::ptrdiff_t first = std::ptrdiff_t(box.low[k]) * view.stride[k],
                                 last = std::ptrdiff_t(box.high[k] - 1) * view.stride[k];
            if (first != last && direction[k] == Direction::unknown)
                return all;
            const bool falls = direction[k] == Direction::nonincreasing;
            least += falls ? last : first, most += falls ? first : last;
        }
        return {view.data[least], view.data[most]};
    }

    Box Boxes::full() const
    {
        Box box;
        for (std::size_t k = 0; k < shape_.size(); ++k)
            box.high[k] = 1;
        for (const int k : axes_)
            box.high[std::size_t(k)] = std::uint32_t(shape_[std::size_t(k)]);
        return box;
    }
    double Boxes::points(const Box& box) const
    {
        double n = 1;
        for (const int k : axes_)
            n *= double(box.high[std::size_t(k)] - box.low[std::size_t(k)]);
        return n;
    }
    void Boxes::bound(const Box* boxes, std::size_t n)
    {
        for (const Leaf& leaf : leaves_)
        {
            if (!leaf.low)
                continue;
            const std::size_t axis = std::size_t(leaf.axes.front());
            for (std::size_t i = 0; i < n; ++i)
            {
                const Range r =
                    leaf.axes.size() > 1 ? leaf.within(boxes[i]) : leaf.within(boxes[i].low[axis], boxes[i].high[axis]);
                leaf.low[i] = r.low, leaf.high[i] = r.high;
            }
        }
        bounds_.run(n);
    }
    void Boxes::bound_lines(const Box* boxes, std::size_t n)
    {
        const std::size_t d = axes_.size();
        for (const Leaf& leaf : leaves_)
        {
            if (!leaf.low)
                continue;
            if (leaf.axes.size() > 1)
            {
                for (std::size_t b = 0; b < n; ++b)
                {
                    Box line = boxes[b];
                    for (const int k : leaf.axes)
                        line.low[std::size_t(k)] += (line.high[std::size_t(k)] - line.low[std::size_t(k)]) / 2,
                            line.high[std::size_t(k)] = line.low[std::size_t(k)] + 1;
                    for (std::size_t j = 0; j < d; ++j)
                    {
                        const std::size_t k = std::size_t(axes_[j]);
                        const std::uint32_t low = line.low[k], high = line.high[k];
                        line.low[k] = boxes[b].low[k], line.high[k] = boxes[b].high[k];
                        const Range r = leaf.within(line);
                        leaf.low[b * d + j] = r.low, leaf.high[b * d + j] = r.high;
                        line.low[k] = low, line.high[k] = high;
                    }
                }
                continue;
            }
            const std::size_t axis = std::size_t(leaf.axes.front());
            const std::ptrdiff_t step = leaf.view.stride[axis];
            for (std::size_t b = 0; b < n; ++b)
            {
                const std::uint32_t low = boxes[b].low[axis], high = boxes[b].high[axis];
                const Range r = leaf.within(low, high);
                const double middle = leaf.view.data[std::ptrdiff_t(low + (high - low) / 2) * step];
                for (std::size_t j = 0; j < d; ++j)
                {
                    const bool ranged = axes_[j] == leaf.axes.front();
                    leaf.low[b * d + j] = ranged ? r.low : middle, leaf.high[b * d + j] = ranged ? r.high : middle;
                }
            }
        }
        lines_.run(n * d);
    }
    bool Boxes::add_points(const Box& box)
    {
        const std::size_t n = std::size_t(points(box));
        if (pending_ + n > LaneProgram::capacity)
            return false;
        for (const Leaf& leaf : leaves_)
        {
            double* to = leaf.points + pending_;
            if (leaf.axes.size() == 1)
            {
                const std::size_t axis = std::size_t(leaf.axes.front());
                const std::ptrdiff_t step = leaf.view.stride[axis];
                std::size_t inside = 1;
                for (const int k : axes_)
                    if (k > leaf.axes.front())
                        inside *= box.high[std::size_t(k)] - box.low[std::size_t(k)];
                for (double* const end = to + n; to < end;)
                    for (std::uint32_t i = box.low[axis]; i < box.high[axis]; ++i, to += inside)
                        std::fill_n(to, inside, leaf.view.data[std::ptrdiff_t(i) * step]);
            }
            else
            {
                std::array<std::uint32_t, most_axes> at = box.low;
                for (std::size_t i = 0; i < n; ++i)
                {
                    std::ptrdiff_t offset = 0;
                    for (const int k : leaf.axes)
                        offset += std::ptrdiff_t(at[std::size_t(k)]) * leaf.view.stride[std::size_t(k)];
                    *to++ = leaf.view.data[offset];
                    for (std::size_t d = axes_.size(); d-- > 0;)
                    {
                        const std::size_t k = std::size_t(axes_[d]);
                        if (++at[k] < box.high[k])
                            break;
                        at[k] = box.low[k];
                    }
                }
            }
        }
        pending_ += n;
        return true;
    }
    void Boxes::compute()
    {
        points_.run(pending_);
        pending_ = 0;
    }
}
