// Folds: equal, place and all, to a plain loop over every point; pruned or not, with every instruction set, with any
// number of threads.
#include "roofslate/folds/boxes.hpp"
#include "roofslate/folds/folds.hpp"
#include "roofslate/graph/closure.hpp"
#include "roofslate/graph/grid.hpp"
#include "roofslate/language/registry.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <cstdint>
#include <cstring>
#include <list>

namespace
{
    using namespace support;

    struct Grid
    {
        explicit Grid(const std::vector<std::size_t>& lengths) : shape(lengths), graph(lengths) {}
        void axis(const char* name, std::size_t k, const std::vector<double>& values)
        {
            xt::xarray<double>& all = arrays.emplace_back(xt::xarray<double>::from_shape({values.size()}));
            std::copy(values.begin(), values.end(), all.begin());
            supplied.push_back({registry().at(name), view_of(all, {k})});
        }
        void number(const char* name, double x)
        {
            xt::xarray<double>& value = arrays.emplace_back(x);
            supplied.push_back({registry().at(name), view_of(value, {})});
        }
        int node(const char* name)
        {
            if (!closure)
                closure = std::make_unique<Closure>(registry(), graph, supplied);
            return closure->node(registry().at(name));
        }
        std::vector<std::size_t> shape;
        Graph graph;
        std::list<xt::xarray<double>> arrays;
        std::vector<Supplied> supplied;
        std::unique_ptr<Closure> closure;
    };
    std::vector<double> geometric(double low, double high, std::size_t n)
    {
        std::vector<double> x;
        for (std::size_t i = 0; i < n; ++i)
            x.push_back(n == 1 ? low : low * std::pow(high / low, double(i) / double(n - 1)));
        return x;
    }
    // The decode question over models, chips, batches and contexts.
    struct Decode : Grid
    {
        explicit Decode(const std::vector<std::size_t>& lengths) : Grid(lengths)
        {
            axis("total_parameters", 0, geometric(7e10, 7e11, shape[0])),
                axis("kv_bytes_per_token", 0, geometric(3e5, 3e4, shape[0]));
            axis("peak_flops", 1, geometric(1e15, 9e15, shape[1])),
                axis("hbm_bandwidth", 1, geometric(3e12, 2e13, shape[1]));
            axis("batch_size", 2, geometric(1, 8192, shape[2])),
                axis("context_length", 3, geometric(100, 1e6, shape[3]));
            number("active_parameters", 3.7e10), number("chips", 72), number("bytes_per_weight", 1),
                number("chip_price", 1e-3), number("hbm_capacity", 192e9);
        }
        Question question(AxisSet folded, double longest_pass = 0.05)
        {
            const int cost = node("cost_per_token"), time = node("pass_time"), used = node("hbm_used"),
                      room = node("hbm_capacity");
            return {
                graph,
                {cost},
                {{time, graph.constant(longest_pass), false},
                 {used, graph.operation(Op::mul, room, graph.constant(72)), true}},
                folded};
        }
    };
    std::vector<double> materialised(const Graph& graph, int node)
    {
        std::vector<double> all(graph.points(AxisSet(-1)));
        std::size_t points = 1;
        for (const std::size_t n : graph.shape())
            points *= n;
        all.resize(points);
        const AxisSet axes = graph[node].axes;
        std::vector<double> row_values(graph.points(axes));
        Output o{node, row_values.data(), result_strides(graph, axes)};
        store(graph, {o}, {});
        for (std::size_t i = 0; i < points; ++i)
        {
            std::ptrdiff_t at = 0;
            for (std::size_t k = graph.shape().size(), rest = i; k-- > 0; rest /= graph.shape()[k])
                at += std::ptrdiff_t(rest % graph.shape()[k]) * o.stride[k];
            all[i] = axes ? row_values[std::size_t(at)] : graph[node].value;
        }
        return all;
    }
    Optima plain_best(const Question& q)
    {
        const Graph& g = q.graph;
        const std::vector<double> value = materialised(g, q.values[0]);
        std::vector<std::vector<double>> sides;
        for (const Requirement& r : q.requirements)
            sides.push_back(materialised(g, r.lhs)), sides.push_back(materialised(g, r.rhs));
        const AxisSet kept_axes = q.kept();
        std::vector<std::int64_t> where(g.points(kept_axes), nowhere);
        std::vector<double> least(where.size(), HUGE_VAL);
        for (std::size_t i = 0; i < value.size(); ++i)
        {
            std::size_t result_index = 0, index = 0, place_step = 1, index_step = 1;
            for (std::size_t k = g.shape().size(), rest = i; k-- > 0; rest /= g.shape()[k])
            {
                const std::size_t at = rest % g.shape()[k];
                if (kept_axes >> k & 1)
                    result_index += at * place_step, place_step *= g.shape()[k];
                if (q.folded >> k & 1)
                    index += at * index_step, index_step *= g.shape()[k];
            }
            bool ok = value[i] == value[i];
            for (std::size_t r = 0; r < q.requirements.size(); ++r)
                ok = ok
                    && (q.requirements[r].strict
                            ? sides[2 * r][i] < sides[2 * r + 1][i]
                            : sides[2 * r][i] <= sides[2 * r + 1][i]);
            if (ok && (where[result_index] == nowhere || value[i] < least[result_index]))
                least[result_index] = value[i], where[result_index] = std::int64_t(index);
        }
        for (std::size_t k = 0; k < where.size(); ++k)
            least[k] = where[k] == nowhere ? NAN : least[k];
        return {least, where};
    }
    bool same(const Optima& a, const Optima& b)
    {
        return a.where == b.where
            && std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)) == 0;
    }

    class Folds : public ::testing::TestWithParam<const InstructionSet*>
    {
        void SetUp() override { before_ = &instruction_set(), use_instruction_set(*GetParam()); }
        void TearDown() override { use_instruction_set(*before_); }
        const InstructionSet* before_ = nullptr;
    };

    TEST_P(Folds, BestIsThatOfAPlainLoop)
    {
        for (const auto& shape :
             {std::vector<std::size_t>{2, 3, 37, 150}, {3, 4, 70, 5}, {1, 2, 600, 7}, {1, 2, 300, 130}, {2, 2, 1, 1}})
            for (const AxisSet folded : {4u, 12u, 8u, 15u, 3u, 6u, 0u})
                for (const double longest : {0.05, 0.004, 1e-9})
                {
                    Decode grid(shape);
                    const Question q = grid.question(folded, longest);
                    const Optima expected = plain_best(q);
                    for (const int threads : {1, 3})
                        for (const bool prune : {false, true})
                            EXPECT_TRUE(same(best(q, {threads, {}, {}}, prune), expected))
                                << "folded " << folded << ", " << threads << " threads, pruned " << prune;
                }
    }
    // Blocks of rows are bounded by their best end where the objective goes one way, whichever way that and the axis
    // are.
    TEST_P(Folds, BestOfAFallingAxisAndOfTheLargestIsThatOfAPlainLoop)
    {
        for (const bool falling : {false, true})
            for (const char* const objective : {"cost_per_token", "pass_time", "replica_throughput", "batch_size"})
                for (const bool largest : {false, true})
                {
                    Decode grid({1, 2, 260, 140});
                    if (falling)
                        std::reverse(
                            std::next(grid.arrays.begin(), 4)->begin(),
                            std::next(grid.arrays.begin(), 4)->end());
                    Question q = grid.question(4, 0.05);
                    q.values = {grid.node(objective)};
                    if (largest)
                        q.values[0] = grid.graph.operation(Op::neg, q.values[0]);
                    const Optima expected = plain_best(q);
                    for (const bool prune : {false, true})
                        EXPECT_TRUE(same(best(q, {2, {}, {}}, prune), expected))
                            << objective << ", falling " << falling << ", largest " << largest << ", pruned " << prune;
                }
    }
    TEST_P(Folds, LimitsMayBeOfNegatives)
    {
        for (const AxisSet folded : {4u, 12u, 8u})
        {
            Decode grid({2, 3, 37, 150});
            Question q = grid.question(folded, 0.004);
            const Optima expected = best(q, {}, true);
            for (Requirement& r : q.requirements)
                r = {grid.graph.operation(Op::neg, r.rhs), grid.graph.operation(Op::neg, r.lhs), r.strict};
            for (const bool prune : {false, true})
                EXPECT_TRUE(same(best(q, {}, prune), expected)) << "folded " << folded << ", pruned " << prune;
        }
    }
    TEST_P(Folds, BestSkipsNaNAndTakesInfinity)
    {
        Grid grid({3, 400});
        std::vector<double> x(400, 5.0);
        x[7] = NAN, x[9] = HUGE_VAL;
        grid.axis("batch_size", 1, x);
        const int b = grid.node("batch_size");
        for (const bool prune : {false, true})
        {
            EXPECT_EQ(best({grid.graph, {b}, {}, 3}, {}, prune).where, std::vector<std::int64_t>{0});
            EXPECT_EQ(
                best({grid.graph, {grid.graph.operation(Op::neg, b)}, {}, 2}, {}, prune).where,
                std::vector<std::int64_t>{9});
            EXPECT_EQ(
                best({grid.graph, {b}, {{grid.graph.constant(5), b, true}}, 2}, {}, prune).where,
                std::vector<std::int64_t>{9});
            EXPECT_EQ(
                best({grid.graph, {b}, {{b, grid.graph.constant(5), true}}, 2}, {}, prune).where,
                std::vector<std::int64_t>{nowhere});
        }
    }
    TEST_P(Folds, ALongAxisInNoOrderIsSearchedByItsRanges)
    {
        Random random(5);
        std::vector<double> x(200000);
        for (double& value : x)
            value = uniform(random, 1, 2);
        x[123457] = 0.5, x[199999] = 0.5;
        Grid grid({x.size(), 3});
        grid.axis("batch_size", 0, x), grid.axis("pass_length", 1, {3, 1, 2});
        const Question q{grid.graph, {grid.node("pass_tokens")}, {}, 3};
        EXPECT_EQ(best(q, {}, true).where, std::vector<std::int64_t>{3 * 123457 + 1});
        EXPECT_EQ(
            count({grid.graph, {}, {{grid.node("pass_tokens"), grid.graph.constant(1.0), true}}, 3}, {}, true),
            count({grid.graph, {}, {{grid.node("pass_tokens"), grid.graph.constant(1.0), true}}, 3}, {}, false));
    }
    TEST_P(Folds, BestOfRandomQuestionsIsThatOfAPlainLoop)
    {
        Random random(77);
        for (int round = 0; round < 600; ++round)
        {
            RandomGraph r(random, 3000, round % 2 == 0, 10);
            const auto any = [&] { return r.nodes[std::size_t(below(random, int(r.nodes.size())))]; };
            Question q{r.graph, {r.nodes.back()}, {}, AxisSet(below(random, 1 << r.graph.shape().size()))};
            for (int k = below(random, 3); k-- > 0;)
                q.requirements.push_back({any(), any(), below(random, 2) == 0});
            const Optima expected = plain_best(q);
            for (const bool prune : {false, true})
                ASSERT_TRUE(same(best(q, {1 + round % 2, {}, {}}, prune), expected))
                    << "round " << round << ", pruned " << prune;
        }
    }
    TEST_P(Folds, BoundsHoldAllValuesOfRandomBoxes)
    {
        Random random(21);
        std::size_t known = 0, narrow = 0, all = 0;
        for (int round = 0; round < 300; ++round)
        {
            const RandomGraph r(random, 300, round % 2 == 0, 12);
            std::vector<int> nodes;
            AxisSet axes = 0;
            for (int i = 0; i < r.graph.size(); ++i)
                if (!r.graph[i].is_constant())
                    nodes.push_back(i), axes |= r.graph[i].axes;
            if (nodes.empty())
                continue;
            Boxes boxes(r.graph, nodes, nodes.size(), axes, *GetParam());
            for (int b = 0; b < 12; ++b)
            {
                Box box = boxes.full();
                for (const int k : boxes.axes())
                {
                    const std::size_t axis = std::size_t(k);
                    const int length = int(box.high[axis]);
                    box.low[axis] = std::uint32_t(below(random, length));
                    box.high[axis] = box.low[axis] + 1 + std::uint32_t(below(random, length - int(box.low[axis])));
                }
                const std::size_t n = std::size_t(boxes.points(box));
                if (n > LaneProgram::capacity)
                    continue;
                boxes.bound(&box, 1);
                ASSERT_TRUE(boxes.add_points(box));
                boxes.compute();
                for (std::size_t k = 0; k < nodes.size(); ++k)
                {
                    const Range range{boxes.low(k, 0), boxes.high(k, 0)};
                    ++all, known += range.known();
                    double least = HUGE_VAL, most = -HUGE_VAL;
                    for (std::size_t i = 0; i < n && range.known(); ++i)
                    {
                        const double v = boxes.values(k)[i];
                        ASSERT_TRUE(range.low <= v && v <= range.high)
                            << "operation " << int(r.graph[nodes[k]].op) << " gives " << v << " outside of ["
                            << range.low << ", " << range.high << "] in round " << round;
                        least = std::min(least, v), most = std::max(most, v);
                    }
                    narrow += range.known() && least == range.low && most == range.high;
                }
            }
        }
        EXPECT_GT(known, all / 2);
        EXPECT_GT(narrow, known / 3);
    }
    INSTANTIATE_TEST_SUITE_P(
        Every,
        Folds,
        ::testing::ValuesIn(instruction_sets()),
        [](const testing::TestParamInfo<const InstructionSet*>& set) { return std::string(set.param->name); });

    // Found by fuzzing. Bounds of a block of rows use only its values, not neighboring ones.
    TEST(Folds, AnArrayWithGapsIsBoundedByItsOwnValues)
    {
        // laid out anew; too large for that
        for (const std::vector<std::size_t>& shape :
             {std::vector<std::size_t>{7, 4, 7}, std::vector<std::size_t>{700, 300, 7}})
        {
            std::vector<double> numbers(2 * shape[0] * shape[1]);
            for (std::size_t i = 0; i < numbers.size(); ++i)
                numbers[i] = double((i * 0x9e3779b97f4a7c15u >> 40) % 97);
            const std::vector<double> ones(shape[2], 1.0);
            Graph graph(shape);
            View gaps, line;
            gaps.data = numbers.data(), gaps.axes = 3, gaps.stride = {2, 2 * std::ptrdiff_t(shape[0])};
            line.data = ones.data(), line.axes = 4, line.stride = {0, 0, 1};
            const int objective = graph.leaf(gaps), one = graph.leaf(line);
            const Question q{graph, {objective}, {{one, one, false}}, 6};
            const Optima plain = best(q, {}, false), pruned = best(q, {}, true);
            EXPECT_EQ(plain.where, pruned.where);
            EXPECT_EQ(plain.values, pruned.values);
        }
    }
    // Found by fuzzing. A comparison with NaN is a number, though nothing bounds what was compared.
    TEST(Folds, AGapAmongTheRowsOfABlockIsNotLost)
    {
        const std::vector<double> limits(8, 0.5), numbers{0, 1, 2, 3, 4, 5, 6, 7}, gap{9, NAN};
        Graph graph({8, 8, 2});
        const auto axis_leaf = [&](const std::vector<double>& values, std::size_t axis) {
            View view;
            view.data = values.data(), view.axes = AxisSet(1) << axis, view.stride[axis] = 1;
            return graph.leaf(view);
        };
        const int limit = axis_leaf(limits, 0),
                  smaller = graph.operation(Op::less, axis_leaf(numbers, 1), axis_leaf(gap, 2));
        const Question q{graph, {graph.operation(Op::neg, smaller)}, {{smaller, limit, false}}, 6};
        const Optima plain = best(q, {}, false), pruned = best(q, {}, true);
        EXPECT_EQ(plain.where, std::vector<std::int64_t>(8, 1));
        EXPECT_EQ(pruned.where, plain.where);
        EXPECT_EQ(pruned.values, plain.values);
    }
    // So many values share a slot that they are not collected before narrower slots are counted.
    TEST(Folds, QuantilesOfAMillionNeighbouringValues)
    {
        const std::size_t n = 1200001;
        std::vector<double> x(n);
        for (std::size_t i = 0; i < n; ++i)
            x[i] = 1 + double(std::uint64_t(i) * 7919 % n) * DBL_EPSILON; // each place once
        x[5] = 1e300;
        const double moved = 1 + double(5 * 7919 % n) * DBL_EPSILON;
        Graph graph({n});
        View view;
        view.data = x.data(), view.axes = 1, view.stride = {1};
        const Question q{graph, {graph.leaf(view)}, {}, 1};
        const std::vector<double> result = quantiles(q, {0, 0.5, 1}, {});
        const auto sorted = [&](std::size_t k) {
            return 1 + double(k + (1 + double(k) * DBL_EPSILON >= moved)) * DBL_EPSILON;
        };
        EXPECT_EQ(
            result,
            (std::vector<double>{sorted(0), sorted(1), 0, sorted(n / 2), sorted(n / 2 + 1), 0, 1e300, 1e300, 0}));
        std::fill(x.begin(), x.end(), NAN);
        for (const double value : quantiles(q, {0, 0.5, 1}, {}))
            EXPECT_TRUE(std::isnan(value));
    }
    TEST(Folds, AConditionMayBeAnyNumber)
    {
        const double number = -1.375;
        Graph graph({1});
        View view;
        view.data = &number, view.axes = 1, view.stride = {1};
        const int x = graph.leaf(view), chosen = graph.operation(Op::select, x, graph.constant(-0.0), x),
                  square = graph.operation(Op::mul, chosen, chosen, -1);
        const Question q{graph, {square}, {{square, graph.constant(0.0), false}}, 1};
        EXPECT_EQ(best(q, {}, true).where, best(q, {}, false).where);
        EXPECT_EQ(best(q, {}, true).where, std::vector<std::int64_t>{0});
    }
}
