// What the tests share: comparison by bits, hard numbers, the instruction sets of this machine, the engine on an
// expression.
#pragma once
#include "roofslate/language/math.hpp"
#include "roofslate/run/options.hpp"
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace support
{
    using namespace roofslate;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr bool sanitized = true;
#else
    constexpr bool sanitized = false;
#endif

    constexpr double inf = HUGE_VAL;
    constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

    inline bool same_bits(double a, double b) { return (a != a && b != b) || math::bits(a) == math::bits(b); }

    // Both ends of the number line, both zeros, and the places where exp, log and pow change their method.
    inline const std::vector<double>& hard_numbers()
    {
        static const std::vector<double> numbers{
            0.0,
            -0.0,
            1.0,
            -1.0,
            inf,
            -inf,
            undefined,
            5e-324,
            -5e-324,
            2.2250738585072014e-308,
            1e-310,
            DBL_MAX,
            -DBL_MAX,
            0.5,
            2.0,
            3.0,
            1.0 / 3,
            0.1,
            10.0,
            -2.5,
            709.78,
            709.79,
            -708.5,
            -745.1,
            -745.2,
            1e-200,
            1e200,
            1e-100,
            1e100,
            1.4142135623730951,
            0.7071067811865476,
            1.4142135623730949,
            1 + DBL_EPSILON,
            1 - DBL_EPSILON / 2,
            1e15,
            4503599627370497.5,
            9007199254740993.0,
            -0.5,
            2.5,
            -1e-300};
        return numbers;
    }

    class Using // an instruction set, as long as this lives
    {
    public:
        explicit Using(const InstructionSet& set) : before_(instruction_set()) { use_instruction_set(set); }
        ~Using() { use_instruction_set(before_); }
        Using(const Using&) = delete;
        Using& operator=(const Using&) = delete;

    private:
        const InstructionSet& before_;
    };

    using Random = std::mt19937_64;
    inline int below(Random& random, int n) { return int(random() % std::uint64_t(n)); }
    inline double uniform(Random& random, double low, double high)
    { return low + (high - low) * (double(random() >> 11) * 0x1p-53); }

    // Strides of a grid in row-major order, and an output over all axes of a node in such memory.
    inline Output output_in_order(const Graph& graph, int node, std::vector<double>& memory)
    {
        Output o{node, nullptr, {}, false};
        std::ptrdiff_t next = 1;
        for (std::size_t k = graph.shape().size(); k-- > 0;)
            if (graph[node].axes >> k & 1)
            {
                o.stride[k] = next;
                next *= std::ptrdiff_t(graph.shape()[k]);
            }
        memory.assign(std::size_t(next), -77.0);
        o.data = memory.data();
        return o;
    }
    // The node's value at a point of the grid, by the meaning of its operations.
    inline double value_at(const Graph& graph, int i, const std::vector<std::size_t>& point)
    {
        const Node& n = graph[i];
        if (n.is_constant())
            return n.value;
        if (n.is_leaf())
        {
            const View& v = graph.view(n);
            std::ptrdiff_t offset = 0;
            for (std::size_t k = 0; k < point.size(); ++k)
                offset += v.stride[k] * std::ptrdiff_t(point[k]);
            return v.data[offset];
        }
        double x[3] = {};
        for (int k = 0; k < n.arity(); ++k)
            x[k] = value_at(graph, n.argument[std::size_t(k)], point);
        return evaluate(n.op, n.routine, x);
    }
    inline bool next_point(std::vector<std::size_t>& point, const std::vector<std::size_t>& shape)
    {
        for (std::size_t k = shape.size(); k-- > 0;)
        {
            if (++point[k] < shape[k])
                return true;
            point[k] = 0;
        }
        return false;
    }

    // Random graphs over random grids: arrays that are slices of larger ones, reversed, transposed; every operation;
    // hard numbers.
    struct RandomGraph
    {
        Graph graph;
        std::vector<std::vector<double>> memory;
        std::vector<int> nodes;

        static std::vector<std::size_t> random_shape(Random& random, std::size_t most)
        {
            const int longest[] = {3, 9, 40, 300, 700};
            std::vector<std::size_t> shape(std::size_t(below(random, 5)) + 1);
            std::size_t points = 1;
            for (std::size_t& n : shape)
            {
                n = std::size_t(below(random, longest[below(random, 5)])) + 1;
                if (points * n > most)
                    n = 2;
                points *= n;
            }
            return shape;
        }
        RandomGraph(Random& random, std::size_t most_points, bool hard, int operations)
            : graph(random_shape(random, most_points))
        {
            const std::vector<std::size_t>& shape = graph.shape();
            memory.reserve(5);
            for (int leaf = 0; leaf < 5; ++leaf)
            {
                std::vector<std::size_t> axes;
                for (std::size_t k = 0; k < shape.size(); ++k)
                    if (below(random, 2) == 0)
                        axes.push_back(k);
                std::shuffle(axes.begin(), axes.end(), random);
                View view;
                std::ptrdiff_t next = 1, from = 0;
                for (const std::size_t k : axes)
                {
                    const std::ptrdiff_t step = next * (1 + below(random, 2)), length = std::ptrdiff_t(shape[k]);
                    const bool reversed = below(random, 3) == 0;
                    view.axes |= AxisSet(1) << k;
                    view.stride[k] = reversed ? -step : step;
                    from += reversed ? step * (length - 1) : 0;
                    next = step * length;
                }
                memory.emplace_back(std::size_t(next));
                for (double& x : memory.back())
                    x = hard && below(random, 8) == 0
                        ? hard_numbers()[std::size_t(below(random, int(hard_numbers().size())))]
                        : uniform(random, 0.1, 4);
                view.data = memory.back().data() + from;
                nodes.push_back(graph.leaf(view));
            }
            nodes.push_back(graph.constant(2.5));
            nodes.push_back(graph.constant(0.0));
            for (int k = 0; k < operations; ++k)
            {
                static const Op ops[] = {
                    Op::add,  Op::sub,    Op::mul,    Op::div,  Op::neg,   Op::min,  Op::max,        Op::pow,
                    Op::exp,  Op::log,    Op::sqrt,   Op::ceil, Op::floor, Op::less, Op::less_equal, Op::equal,
                    Op::both, Op::either, Op::select, Op::add,  Op::mul,   Op::div,  Op::max,        Op::min};
                const Op op = ops[below(random, int(std::size(ops)))];
                const auto any = [&] { return nodes[std::size_t(below(random, int(nodes.size())))]; };
                const bool unary = op == Op::neg || (op >= Op::exp && op <= Op::floor);
                const int a = any(), b = unary ? -1 : any(), c = op == Op::select ? any() : -1;
                nodes.push_back(graph.operation(op, a, b, c));
            }
        }
    };
}
