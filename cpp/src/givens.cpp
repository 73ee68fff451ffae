#include <roofslate/givens.hpp>
#include <roofslate/sinks.hpp>

namespace roofslate
{
    namespace
    {
        constexpr std::size_t most_kept_values = 131072; // more are computed again for each block
    }

    Givens::Givens(const Graph& graph, const std::vector<int>& nodes, AxisSet axis, const InstructionSet& set, int threads)
        : graph_(graph), set_(set), seen_(std::size_t(graph.size()), 0), views_(std::size_t(graph.size())), ranges_(ranges(graph, std::pmr::get_default_resource(), std::size_t(-1)))
    {
        for (const int node : nodes)
            find(node, axis);
        for (const int node : nodes_)
            axes_ |= graph_[node].axes;
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
    void Givens::find(int i, AxisSet axis)
    {
        const Node& n = graph_[i];
        if (n.is_constant() || seen_[std::size_t(i)])
            return;
        seen_[std::size_t(i)] = 1;
        if (!(n.axes & axis))
        {
            nodes_.push_back(i);
            return find_sources(i);
        }
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
            find(n.argument[k], axis);
    }
    void Givens::find_sources(int i)
    {
        const Node& n = graph_[i];
        View& view = views_[std::size_t(i)];
        if (n.is_constant() || view.axes)
            return;
        if (n.is_leaf())
            view = graph_.view(n);
        else if (graph_.points(n.axes) <= most_kept_values)
            view.axes = n.axes;
        else
            for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
                find_sources(n.argument[k]);
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
        if (last == shape.size())
        {
            *to = *view.data;
            return;
        }
        const std::ptrdiff_t step = view.stride[last];
        for (double* const end = to + n; to < end;)
        {
            const std::size_t run = std::min(std::size_t(end - to), shape[last] - at[last]);
            const double* const from = view.data + offset;
            if (step == 0)
                std::fill_n(to, run, *from);
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

    Givens::Reader::Reader(const Givens& givens) : givens_(givens), node_of_(std::size_t(givens.graph_.size()), -1)
    {
        std::vector<int> wanted;
        for (const int i : givens.nodes_)
            wanted.push_back(node(i));
        std::vector<int> computed;
        for (const int i : wanted)
            if (!lanes_.graph()[i].is_leaf())
                computed.push_back(i);
        program_.compile(lanes_, computed, givens.set_);
        std::size_t next = 0;
        for (std::size_t k = 0; k < wanted.size(); ++k)
            columns_.push_back(lanes_.graph()[wanted[k]].is_leaf() ? lanes_.graph().view(lanes_.graph()[wanted[k]]).data : program_[next++]);
    }
    int Givens::Reader::node(int i)
    {
        int& known = node_of_[std::size_t(i)];
        if (known >= 0)
            return known;
        const Node& n = givens_.graph_[i];
        if (n.is_constant())
            return known = lanes_.graph().constant(n.value);
        if (const View& view = givens_.views_[std::size_t(i)]; view.data)
        {
            double* data;
            const int leaf = lanes_.leaf(givens_.ranges_[std::size_t(i)], data);
            sources_.emplace_back(&view, data);
            return known = leaf;
        }
        std::array<int, 3> a{-1, -1, -1};
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
            a[k] = node(n.argument[k]);
        return node_of_[std::size_t(i)] = lanes_.graph().operation(n.op, a[0], a[1], a[2], n.routine);
    }
    void Givens::Reader::read(std::size_t first, std::size_t n)
    {
        for (const auto& [view, to] : sources_)
            givens_.gather(*view, first, n, to);
        program_.run(n);
    }
}
