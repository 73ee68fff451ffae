#include <roofslate/boxes.hpp>
#include <algorithm>

namespace roofslate
{
    int LaneProgram::leaf(const Range& range, double*& data)
    {
        leaves_.push_back(aligned_doubles(capacity + widest_strip));
        data = leaves_.back().get();
        std::fill_n(data, capacity + widest_strip, range.high); // the plan may rely on what it finds
        data[0] = range.low;
        View view;
        view.data = data, view.axes = 1, view.stride[0] = 1;
        return graph_.leaf(view);
    }
    void LaneProgram::compile(const std::vector<int>& nodes, const InstructionSet& set)
    {
        std::vector<Output> outputs;
        for (const int node : nodes)
        {
            results_.push_back(aligned_doubles(capacity + widest_strip));
            outputs.push_back({node, results_.back().get(), {graph_[node].is_constant() ? 0 : 1}, true}); // constants are filled in once
        }
        plan_ = make_plan(graph_, outputs, set);
        for (const Output& o : plan_.constants)
            std::fill_n(o.data, capacity, graph_[o.node].value);
        for (Pass& pass : plan_.passes)
        {
            lay_out_arrays(pass, graph_, set);
            workers_.emplace_back(pass, graph_, set, false, std::size_t(0)).go_to(0);
        }
    }
    void LaneProgram::run(std::size_t n)
    {
        for (Worker& worker : workers_)
            worker.run_points(0, n);
    }

    namespace
    {
        // Writes, for each operation of a graph, the operations that give its bounds. What the whole grid does not prove to be a number
        // has no bounds; what it proves holds in every box, so that no infinity meets its opposite or a zero.
        class Bounder
        {
        public:
            struct Ends
            {
                int low, high;
            };
            Bounder(const Graph& from, Graph& to) : from_(from), g_(to), ranges_(ranges(from, std::pmr::get_default_resource(), std::size_t(-1))), ends_(std::size_t(from.size()), {-1, -1}) {}

            const Range& range(int i) const { return ranges_[std::size_t(i)]; }
            template <class OfLeaf> Ends operator()(int i, const OfLeaf& of_leaf)
            {
                Ends& ends = ends_[std::size_t(i)];
                if (ends.low >= 0)
                    return ends;
                const Node& n = from_[i];
                if (n.is_constant())
                    return ends = {g_.constant(n.value), g_.constant(n.value)};
                if (n.is_leaf())
                    return ends = range(i).known() ? of_leaf(i) : whole(i);
                if (!range(i).known() && n.op != Op::select)
                    return ends = whole(i);
                std::array<Ends, 3> x{};
                std::array<Range, 3> r{};
                for (int k = 0; k < n.arity(); ++k)
                    x[std::size_t(k)] = (*this)(n.argument[std::size_t(k)], of_leaf), r[std::size_t(k)] = range(n.argument[std::size_t(k)]);
                return ends_[std::size_t(i)] = bounds(i, x, r);
            }

        private:
            Ends whole(int i) { return {g_.constant(range(i).low), g_.constant(range(i).high)}; } // what holds on the whole grid, or NaN
            int op(Op o, int a, int b = -1, int c = -1) { return g_.operation(o, a, b, c); }
            Ends rising(Op o, const Ends& a) { return {op(o, a.low), op(o, a.high)}; }
            Ends rising_power(const Ends& a, int exponent) { return {op(Op::pow, a.low, exponent), op(Op::pow, a.high, exponent)}; }
            int smallest(int a, int b, int c, int d) { return op(Op::min, op(Op::min, a, b), op(Op::min, c, d)); }
            int largest(int a, int b, int c, int d) { return op(Op::max, op(Op::max, a, b), op(Op::max, c, d)); }
            Ends corners(Op o, const Ends& a, const Ends& b)
            {
                const int ll = op(o, a.low, b.low), lh = op(o, a.low, b.high), hl = op(o, a.high, b.low), hh = op(o, a.high, b.high);
                return {smallest(ll, lh, hl, hh), largest(ll, lh, hl, hh)};
            }
            Ends widened(const Ends& e)
            {
                const auto by = [&](int x) { return op(Op::add, op(Op::mul, op(Op::max, x, op(Op::neg, x)), g_.constant(widening_share)), g_.constant(widening_least)); };
                return {op(Op::sub, e.low, by(e.low)), op(Op::add, e.high, by(e.high))};
            }
            Ends widened_positive(const Ends& e)
            {
                const int least = g_.constant(widening_least);
                return {op(Op::sub, op(Op::mul, e.low, g_.constant(1 - widening_share)), least), op(Op::add, op(Op::mul, e.high, g_.constant(1 + widening_share)), least)};
            }
            Ends bounds(int i, const std::array<Ends, 3>& x, const std::array<Range, 3>& r)
            {
                const Node& n = from_[i];
                const auto& [a, b, c] = x;
                const bool truth = n.op == Op::less || n.op == Op::less_equal || n.op == Op::equal || n.op == Op::both || n.op == Op::either;
                if (truth && !decides(n))
                    return {g_.constant(0), g_.constant(1)};
                const bool positive = r[0].low >= 0 && (n.arity() < 2 || r[1].low >= 0);
                switch (n.op)
                {
                case Op::add: return {op(Op::add, a.low, b.low), op(Op::add, a.high, b.high)};
                case Op::sub: return {op(Op::sub, a.low, b.high), op(Op::sub, a.high, b.low)};
                case Op::mul: return positive ? Ends{op(Op::mul, a.low, b.low), op(Op::mul, a.high, b.high)} : corners(Op::mul, a, b);
                case Op::div:
                    if (r[1].holds_zero())
                        return {g_.constant(-HUGE_VAL), g_.constant(HUGE_VAL)};
                    return positive ? Ends{op(Op::div, a.low, b.high), op(Op::div, a.high, b.low)} : corners(Op::div, a, b);
                case Op::neg: return {op(Op::neg, a.high), op(Op::neg, a.low)};
                case Op::min: return {op(Op::min, a.low, b.low), op(Op::min, a.high, b.high)};
                case Op::max: return {op(Op::max, a.low, b.low), op(Op::max, a.high, b.high)};
                case Op::sqrt:
                case Op::ceil:
                case Op::floor: return rising(n.op, a);
                case Op::exp: return widened_positive(rising(n.op, a));
                case Op::log: return widened(rising(n.op, a));
                case Op::pow:
                    if (r[1].low >= 0 && r[1].low == r[1].high) // the usual case: one power, of what rises
                        return widened_positive(rising_power(a, b.low));
                    return widened_positive(corners(Op::pow, a, b));
                case Op::less:
                case Op::less_equal: return {op(n.op, a.high, b.low), op(n.op, a.low, b.high)};
                case Op::equal: return {op(Op::both, op(Op::equal, a.low, b.high), op(Op::equal, a.high, b.low)), op(Op::both, op(Op::less_equal, a.low, b.high), op(Op::less_equal, b.low, a.high))};
                case Op::both:
                case Op::either: return {op(n.op, a.low, b.low), op(n.op, a.high, b.high)};
                case Op::select:
                    if (!decides(from_[n.argument[0]]))
                        return whole(i);
                    return {op(Op::select, a.low, b.low, op(Op::select, a.high, op(Op::min, b.low, c.low), c.low)), op(Op::select, a.low, b.high, op(Op::select, a.high, op(Op::max, b.high, c.high), c.high))};
                default: return whole(i);
                }
            }
            // Is the node 1 or 0, and are its bounds?
            bool decides(const Node& n) const
            {
                if (n.op == Op::both || n.op == Op::either)
                    return decides(from_[n.argument[0]]) && decides(from_[n.argument[1]]);
                return (n.op == Op::less || n.op == Op::less_equal || n.op == Op::equal) && range(n.argument[0]).known() && range(n.argument[1]).known();
            }

            const Graph& from_;
            Graph& g_;
            std::pmr::vector<Range> ranges_;
            std::vector<Ends> ends_;
        };
    }

    Boxes::Boxes(const Graph& graph, const std::vector<int>& nodes, AxisSet axes, const InstructionSet& set) : shape_(graph.shape())
    {
        for (int k = 0; k < int(shape_.size()); ++k)
            if (axes >> k & 1)
                axes_.push_back(k);
        Bounder bounder(graph, bounds_.graph());
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
                copy[std::size_t(i)] = points_.graph().constant(n.value);
            else if (n.is_leaf())
            {
                leaf_of[std::size_t(i)] = int(leaves_.size());
                Leaf& leaf = leaves_.emplace_back();
                read_leaf(graph, n, leaf);
                copy[std::size_t(i)] = points_.leaf(leaf.all, leaf.points);
            }
            else
            {
                const auto at = [&](std::size_t k) { return n.argument[k] >= 0 ? copy[std::size_t(n.argument[k])] : -1; };
                copy[std::size_t(i)] = points_.graph().operation(n.op, at(0), at(1), at(2), n.routine);
            }
        }
        std::vector<int> bounds, values;
        for (const int n : nodes)
        {
            const auto ends = bounder(n, [&](int i) {
                Leaf& leaf = leaves_[std::size_t(leaf_of[std::size_t(i)])];
                Bounder::Ends e{};
                e.low = bounds_.leaf(leaf.all, leaf.low), e.high = bounds_.leaf(leaf.all, leaf.high);
                return e;
            });
            bounds.push_back(ends.low), bounds.push_back(ends.high);
            values.push_back(copy[std::size_t(n)]);
        }
        bounds_.compile(bounds, set);
        points_.compile(values, set);
        for (Leaf& leaf : leaves_)
            if (leaf.low && leaf.axes.size() != 1) // bounds of such a leaf are not narrowed
            {
                std::fill_n(leaf.low, LaneProgram::capacity, leaf.all.low);
                std::fill_n(leaf.high, LaneProgram::capacity, leaf.all.high);
            }
    }
    constexpr std::size_t most_table_entries = 65536; // of the ranges along an axis that is not sorted
    void Boxes::read_leaf(const Graph& graph, const Node& node, Leaf& leaf) const
    {
        leaf.view = graph.view(node);
        for (const int k : axes_)
            if (leaf.view.axes >> k & 1)
                leaf.axes.push_back(k);
        leaf.all = range_of_view(leaf.view, shape_);
        if (leaf.axes.size() != 1)
            return;
        const int axis = leaf.axes.front();
        const std::ptrdiff_t step = leaf.view.stride[std::size_t(axis)];
        leaf.length = shape_[std::size_t(axis)];
        const auto at = [&](std::size_t i) { return leaf.view.data[std::ptrdiff_t(i) * step]; };
        bool rises = true, falls = true;
        for (std::size_t i = 1; i < leaf.length; ++i)
            rises = rises && at(i - 1) <= at(i), falls = falls && at(i - 1) >= at(i);
        if (rises || falls || !leaf.all.known())
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
                next.push_back({std::min(level[i].low, level[i + step_of_level].low), std::max(level[i].high, level[i + step_of_level].high)});
            level = std::move(next);
        }
    }
    Range Boxes::Leaf::within(std::size_t first, std::size_t last) const
    {
        if (axes.size() != 1)
            return all;
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

    Box Boxes::whole() const
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
            if (!leaf.low || leaf.axes.size() != 1)
                continue;
            const std::size_t axis = std::size_t(leaf.axes.front());
            for (std::size_t i = 0; i < n; ++i)
            {
                const Range r = leaf.within(boxes[i].low[axis], boxes[i].high[axis]);
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
            if (!leaf.low || leaf.axes.size() != 1)
                continue;
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
        bounds_.run(n * d);
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
