#include "roofslate/plan/pass_layout.hpp"
#include <cstdlib>

namespace roofslate
{
    namespace
    {
        constexpr std::size_t most_kept_values = 131072; // larger intermediates are computed again where they are used
        constexpr std::size_t most_near_values = 1024; // of a row
        constexpr std::size_t least_saved_work = 24000; // in additions: the cost of a separate pass
        constexpr std::size_t most_copied_values = 1u << 21;

        // Work of an operation a point, in units of an addition.
        int weight(const Node& n, bool divisor_on_row)
        {
            switch (n.op)
            {
            case Op::add:
            case Op::sub:
            case Op::mul:
            case Op::neg:
            case Op::min:
            case Op::max: return 1;
            case Op::div: return divisor_on_row ? 8 : 3;
            case Op::sqrt: return 8;
            case Op::exp:
            case Op::log: return 25;
            case Op::pow: return 80;
            case Op::routine: return 500;
            default: return 4;
            }
        }
    }

    PassLayout::PassLayout(
        const Graph& graph,
        const List<Range>& ranges,
        const InstructionSet& set,
        Arena* arena,
        const List<Output>& outputs)
        : graph_(graph),
          ranges_(ranges),
          set_(set),
          pass_(arena),
          roots_(arena),
          kept_(arena),
          kept_rows_(arena),
          rows_(arena),
          infos_(std::size_t(graph.size()), arena)
    {
        pass_.outputs = outputs;
        std::stable_sort(pass_.outputs.begin(), pass_.outputs.end(), [](const Output& a, const Output& b) {
            return a.node < b.node;
        });
        for (const Output& o : pass_.outputs)
            roots_.push_back(o.node);
    }
    PassLayout::PassLayout(
        const Graph& graph,
        const List<Range>& ranges,
        const InstructionSet& set,
        Arena* arena,
        const List<Output>& outputs,
        AxisSet axes)
        : PassLayout(graph, ranges, set, arena, outputs)
    {
        pass_.axes = axes;
        lay_out();
        find_kept();
    }
    PassLayout::PassLayout(const PassLayout& main, Arena* arena, const List<Output>& outputs)
        : PassLayout(main.graph_, main.ranges_, main.set_, arena, outputs)
    {
        pass_.axes = row_axes_ = main.row_axes_;
        pass_.inner = main.pass_.inner, pass_.row = main.pass_.row;
        find_kept();
    }
    PassLayout::PassLayout(
        const Graph& graph,
        const List<Range>& ranges,
        const InstructionSet& set,
        Arena* arena,
        const FoldPass& fold,
        Directions& directions)
        : PassLayout(graph, ranges, set, arena, List<Output>(arena))
    {
        pass_.outer.assign(fold.outer.begin(), fold.outer.end());
        pass_.inner.push_back(fold.inner);
        pass_.row = graph.shape()[std::size_t(fold.inner)];
        row_axes_ = AxisSet(1) << fold.inner;
        pass_.axes = row_axes_;
        for (const int k : fold.outer)
            pass_.rows *= graph.shape()[std::size_t(k)], pass_.axes |= AxisSet(1) << k;
        keeps_near_ = fold.keeps_near;
        for (const Requirement& r : fold.requirements)
            if (directions.of_difference(r.lhs, r.rhs) == Direction::unknown)
                roots_.push_back(r.lhs), roots_.push_back(r.rhs);
        roots_.push_back(fold.objective);
        find_kept();
    }

    // The row is the innermost axis in memory, or several if it is short and all results are contiguous.
    void PassLayout::lay_out()
    {
        const Output& first = pass_.outputs.front();
        List<int> order(pass_.outer.get_allocator());
        for (int k = 0; k < int(graph_.shape().size()); ++k)
            if ((pass_.axes >> k & 1) && graph_.shape()[std::size_t(k)] > 1)
                order.push_back(k);
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
            return std::abs(first.stride[std::size_t(a)]) > std::abs(first.stride[std::size_t(b)]);
        });
        const auto length = [&](int k) { return graph_.shape()[std::size_t(k)]; };
        std::size_t inner = order.empty() ? 0 : 1;
        std::size_t row = order.empty() ? 1 : length(order.back());
        while (inner < order.size() && row < shortest_row)
        {
            const int next = order[order.size() - 1 - inner];
            if (!all_run_on(next, order.back(), row) || !copies_fit(order, inner + 1))
                break;
            row *= length(next), ++inner;
        }
        pass_.outer.assign(order.begin(), order.end() - std::ptrdiff_t(inner));
        pass_.inner.assign(order.end() - std::ptrdiff_t(inner), order.end());
        pass_.row = row;
        for (const int k : pass_.outer)
            pass_.rows *= length(k);
        for (const int k : pass_.inner)
            row_axes_ |= AxisSet(1) << k;
    }
    bool PassLayout::all_run_on(int next, int last, std::size_t row) const
    {
        return std::all_of(pass_.outputs.begin(), pass_.outputs.end(), [&](const Output& o) {
            return o.stride[std::size_t(last)] == 1 && o.stride[std::size_t(next)] == std::ptrdiff_t(row);
        });
    }
    bool PassLayout::copies_fit(const List<int>& order, std::size_t inner) const
    {
        AxisSet joined = 0;
        for (std::size_t k = order.size() - inner; k < order.size(); ++k)
            joined |= AxisSet(1) << order[k];
        std::size_t most = 0;
        for (int i = 0; i < graph_.size(); ++i)
            if (node(i).is_leaf() && (node(i).axes & joined) && (node(i).axes & ~pass_.axes) == 0)
                most = std::max(most, graph_.points(node(i).axes | joined));
        return most <= most_copied_values;
    }
    std::size_t PassLayout::depth(AxisSet axes) const
    {
        for (std::size_t d = pass_.outer.size(); d > 0; --d)
            if (axes >> pass_.outer[d - 1] & 1)
                return d;
        return 0;
    }
    std::size_t PassLayout::evaluations(AxisSet axes) const
    {
        if (axes & row_axes_)
            return pass_.rows * pass_.row;
        std::size_t n = 1;
        for (std::size_t d = 0; d < depth(axes); ++d)
            n *= graph_.shape()[std::size_t(pass_.outer[d])];
        return n;
    }
    // Work of a node and of what it needs on the same axes, or on some of them.
    int PassLayout::cost(int i, AxisSet axes, bool some, int walk)
    {
        const Node& n = node(i);
        if ((some ? (n.axes & ~axes) != 0 || !n.axes : n.axes != axes) || n.is_leaf() || info(i).counted == walk)
            return 0;
        info(i).counted = walk;
        int c = weight(n, n.op == Op::div && on_row(n.argument[1]));
        for (int k = 0; k < n.arity(); ++k)
            c += cost(n.argument[std::size_t(k)], axes, some, walk);
        return c;
    }
    // Is a value with fewer axes cheaper to compute once and read than to compute again?
    bool PassLayout::worth_keeping(int i)
    {
        const AxisSet axes = node(i).axes;
        const std::size_t points = graph_.points(axes), here = evaluations(axes);
        if (axes == pass_.axes || points > most_kept_values || here < 2 * points)
            return false;
        // the same for all rows of the fastest loop, it stays in the L1 cache as the array that it replaces
        const bool stays_near = keeps_near_ && on_row(i) && pass_.row <= most_near_values && !pass_.outer.empty()
            && !(axes >> pass_.outer.back() & 1);
        const int c = cost(i, false), least = !on_row(i) ? 20 : pass_.inner.size() > 1 ? 8 : stays_near ? 1 : 3;
        return c >= least && std::size_t(c) * (here - points) >= least_saved_work;
    }
    bool PassLayout::worth_a_row(int i)
    {
        constexpr int least = 2; // more than to read it
        return pass_.rows > 1 && pass_.row <= most_row_values && on_row(i) && is_row_alone(node(i).axes)
            && (info(i).divides || cost(i, true) >= least);
    }
    void PassLayout::find_kept()
    {
        Walk walk(graph_.size(), arena());
        for (const int root : roots_)
            walk.add(root);
        for (int i; (i = walk.next()) >= 0;)
        {
            if (node(i).is_constant() || node(i).is_leaf())
                continue;
            if (worth_a_row(i))
                kept_rows_.push_back(i);
            else if (worth_keeping(i))
                kept_.push_back(i);
            else
            {
                if (node(i).op == Op::div && is_quotient_proved(i))
                    info(node(i).argument[1]).divides = set_.fused; // a row has reciprocals
                for (int k = 0; k < node(i).arity(); ++k)
                    walk.add(node(i).argument[std::size_t(k)]);
            }
        }
        std::sort(kept_.begin(), kept_.end());
        std::sort(kept_rows_.begin(), kept_rows_.end());
    }
    bool PassLayout::is_quotient_proved(int i) const
    {
        const Range &d = ranges_[std::size_t(node(i).argument[1])], &q = ranges_[std::size_t(i)];
        return d.low > least_divisor && d.high < most_divisor && q.low > least_quotient && q.high < most_quotient;
    }
}
