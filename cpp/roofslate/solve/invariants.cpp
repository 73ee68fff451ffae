#include "roofslate/solve/invariants.hpp"
#include "roofslate/run/options.hpp"

namespace roofslate
{
    namespace
    {
        constexpr std::size_t most_kept_values = 131072; // more are computed again for each block
    }

    Givens::Givens(
        const Graph& graph,
        const std::vector<int>& nodes,
        AxisSet axis,
        const InstructionSet& set,
        int threads)
        : graph_(graph),
          set_(set),
          views_(std::size_t(graph.size())),
          ranges_(ranges(graph, std::pmr::get_default_resource(), std::size_t(-1)))
    {
        const auto is_given = [&](int i) { return !(graph_[i].axes & axis); };
        std::vector<char> seen(std::size_t(graph.size()), 0);
        const auto add = [&](int i) {
            if (is_given(i) && !graph_[i].is_constant() && !seen[std::size_t(i)])
                nodes_.push_back(i), axes_ |= graph_[i].axes, seen[std::size_t(i)] = 1;
        };
        for (const int node : nodes)
            add(node);
        for (const int i : in_order(graph_, nodes, is_given))
            for (std::size_t k = 0; k < std::size_t(graph_[i].arity()); ++k)
                add(graph_[i].argument[k]);
        const auto is_read = [&](int i) {
            return graph_[i].is_constant() || graph_[i].is_leaf() || graph_.points(graph_[i].axes) <= most_kept_values;
        };
        const auto read = [&](int i) {
            if (!graph_[i].is_constant() && is_read(i))
                views_[std::size_t(i)] =
                    graph_[i].is_leaf() ? graph_.view(graph_[i]) : View{nullptr, graph_[i].axes, {}};
        };
        for (const int node : nodes_)
            read(node);
        for (const int i : in_order(graph_, nodes_, is_read))
            for (std::size_t k = 0; k < std::size_t(graph_[i].arity()); ++k)
                read(graph_[i].argument[k]);
        std::vector<Output> outputs;
        for (int i = 0; i < graph_.size(); ++i)
            if (views_[std::size_t(i)].axes && !graph_[i].is_leaf())
            {
                View& view = views_[std::size_t(i)];
                kept_.push_back(aligned_doubles(graph_.points(view.axes)));
                view.data = kept_.back().get(), view.stride = result_strides(graph_, view.axes);
                outputs.push_back({i, kept_.back().get(), view.stride, true});
            }
        if (!outputs.empty())
            store(graph_, outputs, {threads, {}, {}});
    }
    void Givens::gather(const View& view, std::size_t first, std::size_t n, double* to) const
    {
        const std::vector<std::size_t>& shape = graph_.shape();
        std::array<std::size_t, most_axes> at{};
        std::ptrdiff_t offset = 0;
        std::size_t last = shape.size(), rest = first;
        for (std::size_t k = shape.size(); k-- > 0;)
            if (axes_ >> k & 1)
            {
                last = last == shape.size() ? k : last;
                at[k] = rest % shape[k], rest /= shape[k];
                offset += std::ptrdiff_t(at[k]) * view.stride[k];
            }
        const std::ptrdiff_t step = view.stride[last];
        for (double* const end = to + n; to < end;)
        {
            const std::size_t run = std::min(std::size_t(end - to), shape[last] - at[last]);
            const double* const from = view.data + offset;
            if (step == 0)
                std::fill_n(to, run, *from);
            else if (step == 1)
                std::copy_n(from, run, to);
            else
                for (std::size_t i = 0; i < run; ++i)
                    to[i] = from[std::ptrdiff_t(i) * step];
            to += run;
            offset -= std::ptrdiff_t(at[last]) * step, at[last] = 0;
            for (std::size_t k = last; k-- > 0;)
                if (axes_ >> k & 1)
                {
                    offset += view.stride[k];
                    if (++at[k] < shape[k])
                        break;
                    offset -= std::ptrdiff_t(shape[k]) * view.stride[k], at[k] = 0;
                }
        }
    }

    Givens::Reader::Reader(const Givens& givens) : givens_(givens)
    {
        std::vector<int> copies(std::size_t(givens.graph_.size()), -1), computed;
        const auto view = [&](int i) -> const View& { return givens.views_[std::size_t(i)]; };
        const auto read = [&](int i) {
            if (copies[std::size_t(i)] >= 0 || !view(i).data)
                return;
            double* data;
            copies[std::size_t(i)] = lanes_.leaf(givens.ranges_[std::size_t(i)], data);
            sources_.emplace_back(&view(i), data);
        };
        for (int i = 0; i < givens.graph_.size(); ++i)
            read(i);
        for (const int i : in_order(givens.graph_, givens.nodes_, [&](int k) { return copies[std::size_t(k)] >= 0; }))
        {
            const Node& n = givens.graph_[i];
            const auto at = [&](std::size_t k) { return n.argument[k] >= 0 ? copies[std::size_t(n.argument[k])] : -1; };
            copies[std::size_t(i)] = n.is_constant()
                ? lanes_.graph().constant(n.value)
                : lanes_.graph().operation(n.op, at(0), at(1), at(2), n.routine);
        }
        const auto node = [&](int i) -> const Node& { return lanes_.graph()[copies[std::size_t(i)]]; };
        for (const int i : givens.nodes_)
            if (!node(i).is_leaf())
                computed.push_back(copies[std::size_t(i)]);
        program_.compile(lanes_, computed, givens.set_);
        std::size_t next = 0;
        for (const int i : givens.nodes_)
            columns_.push_back(node(i).is_leaf() ? lanes_.graph().view(node(i)).data : program_[next++]);
    }
    void Givens::Reader::read(std::size_t first, std::size_t n)
    {
        for (const auto& [view, to] : sources_)
            givens_.gather(*view, first, n, to);
        program_.run(n);
    }
}
