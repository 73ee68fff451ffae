// Solving: derivatives, trends and bounds that it rests on; roots of polynomials, boundaries of any function, the same
// bits wherever.
#include "roofslate/bounds/monotonicity.hpp"
#include "roofslate/bounds/transform.hpp"
#include "roofslate/derivatives/tangent.hpp"
#include "roofslate/language/error.hpp"
#include "roofslate/run/lane_program.hpp"
#include "roofslate/solve/roots.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <list>

namespace
{
    using namespace support;

    // A value as a function of one number, and of what stays as it is.
    double value_with(const Graph& graph, int i, int input, double x)
    {
        const Node& n = graph[i];
        if (i == input)
            return x;
        if (n.is_constant() || n.is_leaf())
            return n.is_constant() ? n.value : *graph.view(n).data;
        double a[3] = {};
        for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
            a[k] = value_with(graph, n.argument[k], input, x);
        return evaluate(n.op, n.routine, a);
    }
    struct RandomFunction // of the first leaf, of numbers near one
    {
        Graph graph{{2}};
        std::list<std::array<double, 2>> memory;
        std::vector<int> nodes;

        int leaf(double value)
        {
            memory.push_back({value, value});
            View view;
            view.data = memory.back().data(), view.axes = 1, view.stride[0] = 1;
            return graph.leaf(view);
        }
        RandomFunction(Random& random, const std::vector<Op>& ops, int operations)
        {
            for (int k = 0; k < 3; ++k)
                nodes.push_back(leaf(uniform(random, 0.5, 2)));
            nodes.push_back(graph.constant(1.5));
            for (int k = 0; k < operations; ++k)
            {
                const Op op = ops[std::size_t(below(random, int(ops.size())))];
                const auto any = [&] { return nodes[std::size_t(below(random, int(nodes.size())))]; };
                const bool unary = op == Op::neg || (op >= Op::exp && op <= Op::floor);
                const int a = any(), b = unary ? -1 : any();
                nodes.push_back(
                    op == Op::select ? graph.operation(op, graph.operation(Op::less, a, b), any(), any())
                                     : graph.operation(op, a, b));
            }
        }
    };
    const std::vector<Op> smooth_ops{
        Op::add,
        Op::sub,
        Op::mul,
        Op::div,
        Op::neg,
        Op::pow,
        Op::exp,
        Op::log,
        Op::sqrt,
        Op::add,
        Op::mul,
        Op::div};
    const std::vector<Op> all_ops{
        Op::add,
        Op::sub,
        Op::mul,
        Op::div,
        Op::min,
        Op::max,
        Op::pow,
        Op::exp,
        Op::log,
        Op::sqrt,
        Op::ceil,
        Op::floor,
        Op::select,
        Op::neg,
        Op::add,
        Op::mul,
        Op::div,
        Op::max};

    TEST(Tangents, AreWhatDifferencesTendTo)
    {
        Random random(31);
        int checked = 0;
        for (int round = 0; round < 2000; ++round)
        {
            RandomFunction f(random, smooth_ops, 8);
            const int x = f.nodes[0], y = f.nodes.back();
            Tangents tangents(f.graph, x);
            const int slope = tangents(y);
            const double at = *f.graph.view(f.graph[x]).data, h = 1e-3 * at;
            const auto v = [&](double k) { return value_with(f.graph, y, x, at + k * h); };
            // eighth order: the remainder is far below the rounding of the values
            const double difference =
                (0.8 * (v(1) - v(-1)) - 0.2 * (v(2) - v(-2)) + 4.0 / 105 * (v(3) - v(-3)) - 1.0 / 280 * (v(4) - v(-4)))
                / h;
            const double derivative = slope < 0 ? 0 : value_with(f.graph, slope, x, at), size = std::fabs(v(0));
            if (!(size < 1e3) || !(size > 1e-3) || !(std::fabs(derivative) < 1e3) || difference != difference)
                continue;
            ++checked;
            ASSERT_NEAR(derivative, difference, 1e-8 * (1 + std::fabs(derivative) + size)) << "round " << round;
        }
        EXPECT_GT(checked, 500);
    }
    TEST(Tangents, TakeTheSideThatIsTakenAndNoSteps)
    {
        RandomFunction f(*std::make_unique<Random>(1), {Op::add}, 0);
        Graph& g = f.graph;
        const int x = f.nodes[0], two_x = g.operation(Op::mul, x, g.constant(2)), other = f.nodes[1];
        static const Routine routine{"any", "any", 1, [](const double* a) { return *a; }};
        Tangents d(g, x);
        const auto at = [&](int node, double value) { return value_with(g, node, x, value); };
        EXPECT_EQ(d(other), -1);
        EXPECT_EQ(d(g.operation(Op::ceil, x)), -1);
        EXPECT_EQ(d(g.operation(Op::less, x, other)), -1);
        EXPECT_TRUE(std::isnan(g[d(g.operation(Op::routine, x, -1, -1, &routine))].value));
        EXPECT_EQ(d(g.operation(Op::routine, other, -1, -1, &routine)), -1);
        const int most = d(g.operation(Op::max, two_x, g.constant(3))),
                  least = d(g.operation(Op::min, two_x, g.constant(3)));
        EXPECT_EQ(at(most, 2), 2);
        EXPECT_EQ(at(most, 1), 0);
        EXPECT_EQ(at(least, 2), 0);
        EXPECT_EQ(at(least, 1), 2);
        const int chosen = d(g.operation(Op::select, g.operation(Op::less, x, g.constant(1)), two_x, other));
        EXPECT_EQ(at(chosen, 0.5), 2);
        EXPECT_EQ(at(chosen, 1.5), 0);
    }

    struct Lanes // of stretches of the input, next to lanes of other values
    {
        LaneGraph lanes;
        double *a = nullptr, *b = nullptr;
        std::vector<double*> others;
        std::vector<int> copies;
        std::unique_ptr<Bounder> bounder;
        std::unique_ptr<Trend> trend;
        LaneProgram program;

        // `wide`: all that is known of the other inputs is that they are numbers; `unknown`: not even that.
        Lanes(const RandomFunction& f, const Range& stretch, bool wide, bool unknown)
        {
            Graph& g = lanes.graph();
            const Range all = wide ? Range{1e-3, 1e3} : stretch;
            double* y;
            const int input = lanes.leaf(all, y), low = lanes.leaf(all, a), high = lanes.leaf(all, b);
            copies.assign(std::size_t(f.graph.size()), -1);
            std::vector<std::pair<int, Range>> known;
            for (int i = 0; i < f.graph.size(); ++i)
            {
                const Node& n = f.graph[i];
                int& copy = copies[std::size_t(i)];
                if (i == f.nodes[0])
                    copy = input;
                else if (n.is_constant())
                    copy = g.constant(n.value);
                else if (n.is_leaf())
                {
                    const double x = *f.graph.view(n).data;
                    const Range range = unknown ? Range{} : wide ? Range{-5, 5} : Range{x, x};
                    others.push_back(nullptr);
                    copy = lanes.leaf(range, others.back());
                    known.emplace_back(copy, range);
                }
                else
                {
                    const auto at = [&](std::size_t k) {
                        return n.argument[k] >= 0 ? copies[std::size_t(n.argument[k])] : -1;
                    };
                    copy = g.operation(n.op, at(0), at(1), at(2));
                }
            }
            bounder = std::make_unique<Bounder>(g, g);
            trend = std::make_unique<Trend>(*bounder, input, [=](int i) {
                if (i == input)
                    return Bounds{low, high, all, false};
                for (const auto& [leaf, range] : known)
                    if (leaf == i)
                        return Bounds{i, i, range};
                return Bounds{};
            });
            const int last = copies[std::size_t(f.nodes.back())];
            const Bounds value = trend->value(last), elasticity = trend->elasticity(last);
            program.compile(
                lanes,
                {value.low, value.high, elasticity.low, elasticity.high, trend->smooth(last)},
                instruction_set());
            a[0] = stretch.low, b[0] = stretch.high;
            for (std::size_t k = 0, leaf = 1; k < others.size(); ++k, ++leaf)
                others[k][0] = *f.graph.view(f.graph[f.nodes[leaf]]).data;
            program.run(1);
        }
    };
    TEST(Trend, HoldsBetweenAnyTwoValues)
    {
        Random random(32);
        int decided = 0, all = 0;
        for (int round = 0; round < 4000; ++round)
        {
            const RandomFunction f(random, all_ops, 1 + below(random, 8));
            const double middle = std::exp(uniform(random, -3, 3));
            const Range stretch{middle, middle * std::exp(uniform(random, 0.001, 2))};
            Lanes lanes(f, stretch, round % 2 == 0, false);
            const double low = lanes.program[2][0], high = lanes.program[3][0];
            ++all;
            const bool one_sign = lanes.program[0][0] >= 0 || lanes.program[1][0] <= 0;
            if (!one_sign || !(low == low && high == high) || (low == -inf && high == inf))
                continue;
            ++decided;
            double before_x = 0, before = 0;
            for (int k = 0; k <= 20; ++k)
            {
                const double x = stretch.low * std::pow(stretch.high / stretch.low, k / 20.0),
                             v = value_with(f.graph, f.nodes.back(), f.nodes[0], x);
                ASSERT_TRUE(v == v) << "round " << round;
                if (k && std::fabs(v) > 1e-290 && std::fabs(before) > 1e-290 && std::fabs(v) < inf
                    && std::fabs(before) < inf)
                {
                    const double e = std::log(std::fabs(v / before)) / std::log(x / before_x),
                                 rounding = 1e-9 / std::log(x / before_x);
                    ASSERT_EQ(v > 0, before > 0) << "round " << round;
                    ASSERT_TRUE(
                        e >= low - rounding * (1 + std::fabs(low)) && e <= high + rounding * (1 + std::fabs(high)))
                        << e << " is not in [" << low << ", " << high << "], round " << round;
                }
                before_x = x, before = v;
            }
        }
        EXPECT_GT(decided, all / 3);
    }
    TEST(Bounder, ALaneHasTheSameBoundsWhateverStandsBesideIt)
    {
        Random random(33);
        for (int round = 0; round < 4000; ++round)
        {
            const RandomFunction f(random, all_ops, 10);
            const double middle = std::exp(uniform(random, -3, 3));
            const Range stretch{middle, middle * std::exp(uniform(random, 0.001, 2))};
            Lanes alone(f, stretch, false, false), among(f, stretch, true, false), anything(f, stretch, true, true);
            for (std::size_t k = 0; k < 2; ++k)
            {
                const double x = alone.program[k][0];
                for (const Lanes* other : {&among, &anything})
                {
                    const double y = other->program[k][0];
                    ASSERT_TRUE(x == y || (x != x && y != y))
                        << x << " as one lane, " << y << " among others, end " << k << ", round " << round;
                }
            }
            EXPECT_EQ(alone.program[4][0], among.program[4][0]);
        }
    }

    // Roots of a product of (x - r), on a grid of the r.
    struct Polynomial
    {
        std::vector<std::vector<double>> roots;
        std::size_t points;
        Graph graph;
        std::vector<double> unknown{1.0};
        int x, product, zero;

        Polynomial(Random& random, std::size_t degree, std::size_t n) : points(n), graph({n, 1})
        {
            View of_x;
            of_x.data = unknown.data(), of_x.axes = 2, of_x.stride[1] = 0;
            x = graph.leaf(of_x), product = graph.constant(1), zero = graph.constant(0);
            for (std::size_t k = 0; k < degree; ++k)
            {
                roots.emplace_back();
                for (std::size_t i = 0; i < n; ++i)
                    roots.back().push_back((below(random, 2) ? -1 : 1) * std::exp(uniform(random, -8, 8)));
            }
            for (const std::vector<double>& r : roots)
            {
                View view;
                view.data = r.data(), view.axes = 1, view.stride[0] = 1;
                product = graph.operation(Op::mul, product, graph.operation(Op::sub, x, graph.leaf(view)));
            }
        }
        Comparison comparison(Relation relation, double low = -DBL_MAX, double high = DBL_MAX)
        { return {graph, product, zero, relation, {x, low, high, false, {}, {}}}; }
        std::vector<double> sorted(std::size_t i) const
        {
            std::vector<double> all;
            for (const std::vector<double>& r : roots)
                all.push_back(r[i]);
            std::sort(all.begin(), all.end());
            return all;
        }
    };
    class Solve : public ::testing::TestWithParam<const InstructionSet*>
    {
        void SetUp() override { before_ = &instruction_set(), use_instruction_set(*GetParam()); }
        void TearDown() override { use_instruction_set(*before_); }
        const InstructionSet* before_ = nullptr;
    };
    TEST_P(Solve, FindsAllRootsOfPolynomials)
    {
        Random random(34);
        for (const std::size_t degree : {1, 2, 3, 5})
        {
            Polynomial p(random, degree, 1100);
            for (const Relation relation : {Relation::equal, Relation::less, Relation::less_equal})
            {
                const Roots result = solve(p.comparison(relation), Which::all, {2, {}, {}});
                const Roots least = solve(p.comparison(relation), Which::smallest, {}),
                            most = solve(p.comparison(relation), Which::largest, {});
                for (std::size_t i = 0; i < p.points; ++i)
                {
                    const std::vector<double> expected = p.sorted(i);
                    ASSERT_EQ(result.outcomes[i], Outcome::found);
                    ASSERT_GE(result.each, degree);
                    for (std::size_t k = 0; k < degree; ++k)
                        ASSERT_NEAR(result.values[i * result.each + k], expected[k], 1e-12 * std::fabs(expected[k]))
                            << "degree " << degree << ", point " << i;
                    ASSERT_TRUE(degree == result.each || std::isnan(result.values[i * result.each + degree]));
                    ASSERT_NEAR(least.values[i], expected.front(), 1e-12 * std::fabs(expected.front()));
                    ASSERT_NEAR(most.values[i], expected.back(), 1e-12 * std::fabs(expected.back()));
                }
            }
        }
    }
    TEST_P(Solve, KeepsToTheRange)
    {
        Random random(35);
        Polynomial p(random, 3, 600);
        for (const auto& [low, high] :
             {std::pair{0.0, DBL_MAX},
              std::pair{-1.0, 1.0},
              std::pair{2.0, 3.0},
              std::pair{-DBL_MAX, -0.5},
              std::pair{1.0, 1.0}})
        {
            const Roots result = solve(p.comparison(Relation::equal, low, high), Which::all, {});
            for (std::size_t i = 0; i < p.points; ++i)
            {
                std::vector<double> expected;
                for (const double r : p.sorted(i))
                    if (r >= low && r <= high)
                        expected.push_back(r);
                ASSERT_EQ(result.outcomes[i], expected.empty() ? Outcome::never : Outcome::found);
                for (std::size_t k = 0; k < result.each; ++k)
                    if (k < expected.size())
                        ASSERT_NEAR(result.values[i * result.each + k], expected[k], 1e-12 * std::fabs(expected[k]));
                    else
                        ASSERT_TRUE(std::isnan(result.values[i * result.each + k]));
            }
        }
    }
    // A function of a positive number, compared with a constant.
    struct Line
    {
        Graph graph{{1}};
        std::vector<double> unknown{1.0};
        int x;

        Line()
        {
            View view;
            view.data = unknown.data(), view.axes = 1, view.stride[0] = 1;
            x = graph.leaf(view);
        }
        int op(Op o, int a, int b = -1, int c = -1) { return graph.operation(o, a, b, c); }
        int number(double value) { return graph.constant(value); }
        Roots roots(int node, Relation relation, double limit, double high = 1e60, double low = 0x1p-20)
        { return solve({graph, node, number(limit), relation, {x, low, high, false, {}, {}}}, Which::all, {}); }
        Outcome outcome(int node, Relation relation, double limit, double high = 1e60)
        { return roots(node, relation, limit, high).outcomes[0]; }
    };
    TEST_P(Solve, AValueByItselfIsOne)
    {
        Line f;
        const int square = f.op(Op::mul, f.x, f.x), root = f.op(Op::sqrt, f.x);
        for (const int y : {f.x, root})
        {
            const int one = f.op(Op::div, y, y), none = f.op(Op::sub, y, y);
            EXPECT_EQ(f.outcome(one, Relation::equal, 1), Outcome::always);
            EXPECT_EQ(f.outcome(one, Relation::less, 1), Outcome::never);
            EXPECT_EQ(f.outcome(none, Relation::less_equal, 0), Outcome::always);
            EXPECT_EQ(f.outcome(none, Relation::less, 0), Outcome::never);
        }
        EXPECT_EQ(f.outcome(f.op(Op::div, f.op(Op::min, f.x, square), f.x), Relation::less_equal, 1), Outcome::always);
        EXPECT_EQ(f.outcome(f.op(Op::div, f.op(Op::max, f.x, square), f.x), Relation::less, 1), Outcome::never);
    }
    TEST_P(Solve, AQuotientByMoreIsAtMostOne)
    {
        Line f;
        const int up = f.op(Op::ceil, f.x), more = f.op(Op::add, f.op(Op::mul, up, f.number(1.5)), f.x);
        for (const int divisor : {up, more, f.op(Op::max, f.op(Op::sqrt, f.x), up)})
            EXPECT_EQ(f.outcome(f.op(Op::div, f.x, divisor), Relation::less_equal, 1), Outcome::always);
        EXPECT_EQ(f.outcome(f.op(Op::div, f.x, f.op(Op::floor, f.x)), Relation::less_equal, 1, 40), Outcome::found);
    }
    TEST_P(Solve, ADifferenceRelativeToAPartGoesOneWay)
    {
        Line f;
        const int steps = f.op(Op::ceil, f.x);
        const auto relative = [&](Op o, int a, int b) { return f.op(Op::div, f.op(o, a, b), steps); };
        EXPECT_EQ(f.outcome(relative(Op::sub, steps, f.number(1)), Relation::less_equal, 1.001), Outcome::always);
        EXPECT_EQ(f.outcome(relative(Op::sub, f.number(1), steps), Relation::less, -1.001), Outcome::never);
        const Roots roots = f.roots(relative(Op::add, steps, f.number(7)), Relation::less_equal, 1 + 7 / 1e6);
        ASSERT_EQ(roots.outcomes[0], Outcome::found);
        ASSERT_EQ(roots.each, 1u);
        EXPECT_NEAR(roots.values[0], 999999, 1e-7);
    }
    TEST_P(Solve, AMinimumIsComparedByItsParts)
    {
        Line f;
        const int root = f.op(Op::sqrt, f.x), least = f.op(Op::min, f.x, root), most = f.op(Op::max, f.x, root);
        const double little = 1e-9;
        const int below = f.op(Op::less, least, f.op(Op::mul, root, f.number(1 - little))),
                  above = f.op(Op::less, f.op(Op::mul, root, f.number(1 + little)), most);
        const auto chosen = [&](int condition) { return f.op(Op::select, condition, f.number(2), f.number(3)); };
        const Roots of_below = f.roots(chosen(below), Relation::less_equal, 2),
                    of_above = f.roots(chosen(above), Relation::less_equal, 2);
        ASSERT_EQ(of_below.outcomes[0], Outcome::found);
        ASSERT_EQ(of_above.outcomes[0], Outcome::found);
        ASSERT_EQ(of_below.each, 1u);
        ASSERT_EQ(of_above.each, 1u);
        EXPECT_NEAR(of_below.values[0], 1 - 2 * little, 1e-14);
        EXPECT_NEAR(of_above.values[0], 1 + 2 * little, 1e-14);
    }
    TEST_P(Solve, LooksAtFewerStretchesOfALongFormula)
    {
        Line f;
        int part = f.op(Op::sub, f.x, f.op(Op::floor, f.x));
        const auto outcome = [&] { return f.roots(part, Relation::less_equal, 1, 60, 1).outcomes[0]; };
        EXPECT_EQ(outcome(), Outcome::always);
        for (int k = 1; k <= 300; ++k)
            part = f.op(Op::max, part, f.op(Op::mul, f.x, f.number(1e-9 / k)));
        EXPECT_EQ(outcome(), Outcome::undecided);
    }
    TEST_P(Solve, StopsWhenItIsAsked)
    {
        Random random(36);
        Polynomial p(random, 3, 5000);
        const Options options{2, [](std::size_t, std::size_t) { return false; }, {}};
        EXPECT_THROW(solve(p.comparison(Relation::equal), Which::all, options), Interrupted);
    }
    TEST_P(Solve, DividesAnyFunctionWhereItTurns)
    {
        Random random(37);
        int turns = 0;
        for (int round = 0; round < 600; ++round)
        {
            RandomFunction f(
                random,
                {Op::add, Op::mul, Op::div, Op::sub, Op::min, Op::max, Op::sqrt, Op::exp, Op::add, Op::mul, Op::div},
                7);
            const int x = f.nodes[0], y = f.nodes.back();
            if (!f.graph[y].axes || x == y)
                continue;
            // on separate axes, and all others constant
            Graph g({1});
            double one = 1;
            View view;
            view.data = &one, view.axes = 1;
            std::vector<int> copies(std::size_t(f.graph.size()), -1);
            for (int i = 0; i < f.graph.size(); ++i)
            {
                const Node& n = f.graph[i];
                const auto at = [&](std::size_t k) {
                    return n.argument[k] >= 0 ? copies[std::size_t(n.argument[k])] : -1;
                };
                copies[std::size_t(i)] = i == x ? g.leaf(view)
                    : n.is_constant()           ? g.constant(n.value)
                    : n.is_leaf()
                    ? g.constant(*f.graph.view(n).data)
                    : g.operation(n.op, at(0), at(1), at(2));
            }
            const double middle = value_with(f.graph, y, x, std::exp(uniform(random, -1, 1)));
            const int lhs = copies[std::size_t(y)];
            if (!(std::fabs(middle) < 1e6) || !g[lhs].axes || std::fabs(middle) < 1e-6)
                continue;
            const Roots result = solve(
                {g, lhs, g.constant(middle), Relation::less, {copies[std::size_t(x)], 1e-2, 1e2, false, {}, {}}},
                Which::all,
                {});
            bool before = false;
            std::size_t crossed = 0, previous = 0;
            bool any = false;
            for (int k = 0; k <= 400; ++k)
            {
                const double at = 1e-2 * std::pow(1e4, k / 400.0), v = value_with(f.graph, y, x, at);
                if (std::fabs(v - middle) < 1e-9 * std::fabs(middle))
                    continue; // on a plateau, or at a turn
                const bool holds = v < middle;
                crossed = 0;
                bool near_turn = false; // near a sign change rounding decides
                for (std::size_t r = 0; r < result.each; ++r)
                    crossed += result.values[r] < at,
                        near_turn = near_turn || std::fabs(result.values[r] - at) < 1e-9 * at;
                if (near_turn)
                    continue;
                ASSERT_TRUE(!any || ((crossed - previous) % 2 == 1) == (holds != before))
                    << "at " << at << ", round " << round;
                turns += any && holds != before;
                any = true, before = holds, previous = crossed;
            }
        }
        EXPECT_GT(turns, 100);
    }
    INSTANTIATE_TEST_SUITE_P(
        Every,
        Solve,
        ::testing::ValuesIn(instruction_sets()),
        [](const testing::TestParamInfo<const InstructionSet*>& set) { return std::string(set.param->name); });
}
