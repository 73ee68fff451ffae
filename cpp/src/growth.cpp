#include <roofslate/growth.hpp>
#include <cmath>

namespace roofslate
{
    namespace
    {
        constexpr double least_magnitude = 1e-280, most_magnitude = 1e280; // rounding is a share of the value between them
        constexpr double most_exponent = 8;

        // If what stands on the axis becomes x >= 1 times as large, a value becomes x^low to x^high times as large.
        class Growth
        {
        public:
            Growth(const Graph& graph, const std::pmr::vector<Range>& ranges, int axis) : graph_(graph), ranges_(ranges), axis_(axis), known_(std::size_t(graph.size())), visited_(std::size_t(graph.size()), 0) {}
            const Range& operator()(int i)
            {
                Range& r = known_[std::size_t(i)];
                if (!visited_[std::size_t(i)]++)
                    r = is_tame(i) ? of(graph_[i], i) : Range{};
                return r;
            }
            int leaf() const { return leaf_; } // what stands on the axis

        private:
            bool is_tame(int i) const
            {
                const Range& r = ranges_[std::size_t(i)];
                return r.low > least_magnitude && r.high < most_magnitude;
            }
            Range of(const Node& n, int i)
            {
                if (!(n.axes >> axis_ & 1))
                    return {0, 0};
                if (n.is_leaf())
                {
                    if (leaf_ >= 0 && leaf_ != i)
                        return {};
                    leaf_ = i;
                    return {1, 1};
                }
                switch (n.op)
                {
                case Op::add:
                case Op::min:
                case Op::max:
                {
                    const Range a = (*this)(n.argument[0]), b = (*this)(n.argument[1]);
                    return hull(a.low, a.high, b.low, b.high);
                }
                case Op::mul:
                {
                    const Range a = (*this)(n.argument[0]), b = (*this)(n.argument[1]);
                    return {a.low + b.low, a.high + b.high};
                }
                case Op::div:
                {
                    const Range a = (*this)(n.argument[0]), b = (*this)(n.argument[1]);
                    return {a.low - b.high, a.high - b.low};
                }
                case Op::sqrt:
                {
                    const Range a = (*this)(n.argument[0]);
                    return {a.low / 2, a.high / 2};
                }
                case Op::pow:
                {
                    const Range a = (*this)(n.argument[0]), power = ranges_[std::size_t(n.argument[1])];
                    if (!(power.low == power.high && std::fabs(power.low) <= most_exponent))
                        return {};
                    return hull(a.low * power.low, a.high * power.low, a.low * power.low, a.high * power.low);
                }
                default: return {};
                }
            }

            const Graph& graph_;
            const std::pmr::vector<Range>& ranges_;
            int axis_, leaf_ = -1;
            std::vector<Range> known_;
            std::vector<char> visited_;
        };

        // 1: the values on the axis rise or stay, -1: they fall or stay.
        int order(const View& view, int axis, std::size_t n)
        {
            if (view.axes != AxisSet(1) << axis)
                return 0;
            bool rises = true, falls = true;
            for (std::size_t k = 1; k < n; ++k)
            {
                const double before = view.data[std::ptrdiff_t(k - 1) * view.stride[std::size_t(axis)]], at = view.data[std::ptrdiff_t(k) * view.stride[std::size_t(axis)]];
                rises = rises && before <= at, falls = falls && before >= at;
            }
            return rises ? 1 : falls ? -1
                                     : 0;
        }
    }

    int direction(const Graph& graph, const std::pmr::vector<Range>& ranges, int node, int axis)
    {
        const bool negated = graph[node].op == Op::neg;
        Growth growth(graph, ranges, axis);
        const Range r = growth(negated ? graph[node].argument[0] : node);
        if (!r.known() || growth.leaf() < 0 || !(r.low >= 0 || r.high <= 0))
            return 0;
        const int way = order(graph.view(graph[growth.leaf()]), axis, graph.shape()[std::size_t(axis)]);
        return (r.low >= 0 ? way : -way) * (negated ? -1 : 1);
    }
}
