#include "roofslate/plan/plan.hpp"
#include "roofslate/plan/pass_program.hpp"
#include <optional>

namespace roofslate
{
    AxisSet written_axes(const Graph& graph, const Output& output)
    {
        AxisSet axes = graph[output.node].axes;
        for (std::size_t k = 0; k < graph.shape().size(); ++k)
            if (output.stride[k] != 0 && graph.shape()[k] > 1)
                axes |= AxisSet(1) << k;
        return axes;
    }
    std::vector<int> memory_order(const Graph& graph, AxisSet axes)
    {
        std::vector<int> order;
        for (int k = 0; k < int(graph.shape().size()); ++k)
            if (axes >> k & 1)
                order.push_back(k);
        const auto length = [&](int k) { return graph.shape()[std::size_t(k)]; };
        if (order.empty() || length(order.back()) >= shortest_row)
            return order;
        const auto longest =
            std::max_element(order.begin(), order.end(), [&](int a, int b) { return length(a) <= length(b); });
        if (length(*longest) >= shortest_row)
            std::rotate(longest, longest + 1, order.end());
        return order;
    }

    std::array<std::ptrdiff_t, most_axes> result_strides(const Graph& graph, AxisSet axes)
    {
        std::array<std::ptrdiff_t, most_axes> stride{};
        std::ptrdiff_t next = 1;
        const std::vector<int> order = memory_order(graph, axes);
        for (auto k = order.rbegin(); k != order.rend(); ++k)
        {
            stride[std::size_t(*k)] = next;
            next *= std::ptrdiff_t(graph.shape()[std::size_t(*k)]);
        }
        return stride;
    }

    namespace
    {
        // Makes the passes of a plan, the last one first: what a pass keeps becomes an output of one with fewer axes.
        class Planning
        {
        public:
            Planning(const Graph& graph, const InstructionSet& set, Arena* arena)
                : graph_(graph),
                  set_(set),
                  arena_(arena),
                  bounds_(ranges(graph, arena)),
                  views_(std::size_t(graph.size()), arena),
                  kept_views_(std::size_t(graph.size()), nullptr, arena),
                  open_(arena),
                  plan_(arena)
            { plan_.passes.reserve(8), plan_.intermediates.reserve(16), open_.reserve(16); }
            void want(const Output& o) { open_.push_back(o); }
            void want(const FoldPass& fold)
            {
                Directions directions(graph_, bounds_, fold.inner, arena_);
                PassLayout layout(graph_, bounds_, set_, arena_, fold, directions);
                add(layout, [&] { return write_program(layout, kept_views_, fold, directions); });
            }
            Plan finish()
            {
                const auto axis_count = [](AxisSet a) { return __builtin_popcount(a); };
                while (!open_.empty())
                {
                    const auto written = [&](const Output& o) { return written_axes(graph_, o); };
                    const AxisSet axes =
                        written(*std::max_element(open_.begin(), open_.end(), [&](const Output& a, const Output& b) {
                            return axis_count(written(a)) < axis_count(written(b));
                        }));
                    const auto in_pass = std::stable_partition(open_.begin(), open_.end(), [&](const Output& o) {
                        return written(o) != axes;
                    });
                    PassLayout layout(graph_, bounds_, set_, arena_, List<Output>(in_pass, open_.end(), arena_), axes);
                    open_.erase(in_pass, open_.end());
                    add(layout, [&] { return write_program(layout, kept_views_); });
                }
                std::reverse(plan_.passes.begin(), plan_.passes.end());
                return std::move(plan_);
            }

        private:
            void keep(const List<int>& nodes)
            {
                for (const int node : nodes)
                {
                    View& view = views_[std::size_t(node)];
                    if (view.data)
                        continue;
                    const AxisSet node_axes = graph_[node].axes;
                    plan_.intermediates.push_back(aligned_doubles(graph_.points(node_axes)));
                    double* const values = plan_.intermediates.back().get();
                    const Output o{node, values, result_strides(graph_, node_axes), true};
                    view = {values, node_axes, o.stride};
                    kept_views_[std::size_t(node)] = &view;
                    open_.push_back(o);
                }
            }
            template <class Write> void add(PassLayout& layout, Write write)
            {
                keep(layout.kept());
                List<Output> rows(arena_);
                for (const int node : layout.kept_rows())
                {
                    plan_.intermediates.push_back(aligned_doubles(layout.row()));
                    rows.push_back({node, plan_.intermediates.back().get(), {}, true});
                    rows.back().stride[std::size_t(layout.last_axis())] = 1;
                }
                layout.set_kept_rows(rows);
                std::optional<PassLayout> before;
                if (!rows.empty())
                {
                    before.emplace(layout, arena_, rows);
                    keep(before->kept());
                }
                plan_.passes.push_back(write());
                if (before)
                    plan_.passes.push_back(write_program(*before, kept_views_));
            }

            const Graph& graph_;
            const InstructionSet& set_;
            Arena* arena_;
            List<Range> bounds_;
            List<View> views_;
            List<const View*> kept_views_;
            List<Output> open_;
            Plan plan_;
        };
    }
    Plan make_plan(const Graph& graph, const std::vector<Output>& outputs, const InstructionSet& set, Arena* arena)
    {
        Plan constants(arena);
        for (const Output& o : outputs)
            if (!written_axes(graph, o))
                constants.constants.push_back(o);
        if (constants.constants.size() == outputs.size())
            return constants;
        Planning planning(graph, set, arena);
        for (const Output& o : outputs)
            if (written_axes(graph, o))
                planning.want(o);
        Plan plan = planning.finish();
        plan.constants = std::move(constants.constants);
        return plan;
    }
    Plan make_plan(const Graph& graph, const FoldPass& fold, const InstructionSet& set, Arena* arena)
    {
        Planning planning(graph, set, arena);
        planning.want(fold);
        return planning.finish();
    }
}
