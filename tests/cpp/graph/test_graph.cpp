// The question as a graph: sharing, folding, decided choices; missing inputs and reasons; bounds of all values.
#include "roofslate/bounds/interval.hpp"
#include "roofslate/graph/closure.hpp"
#include "roofslate/language/error.hpp"
#include "roofslate/language/registry.hpp"
#include "support.hpp"
#include <gtest/gtest.h>

namespace
{
    using namespace support;

    const double ten_numbers[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const View along_first{ten_numbers, 1, {1}}, along_second{ten_numbers, 2, {0, 1}};

    TEST(Graph, SharesEqualOperations)
    {
        Graph g({10, 10});
        const int a = g.leaf(along_first), b = g.leaf(along_second), sum = g.operation(Op::add, a, b);
        EXPECT_EQ(g.operation(Op::add, a, b), sum);
        EXPECT_NE(g.operation(Op::add, b, a), sum); // of two zeros or two NaN the order counts
        EXPECT_NE(g.operation(Op::sub, a, b), sum);
        EXPECT_EQ(g[sum].axes, 3u);
        EXPECT_EQ(g.constant(2), g.constant(2));
        EXPECT_NE(g.constant(0.0), g.constant(-0.0));
        EXPECT_EQ(g.constant(undefined), g.constant(undefined));
        EXPECT_EQ(g.points(3), 100u);
        EXPECT_EQ(g.points(2), 10u);
        EXPECT_EQ(g.points(0), 1u);
    }
    TEST(Graph, SharesEqualOperationsAmongMany)
    {
        constexpr int many = 100000;
        Graph g({10});
        const int a = g.leaf(along_first);
        const auto node = [&](int k) { return g.operation(Op::add, a, g.constant(k + 0.5)); };
        std::vector<int> nodes;
        for (int k = 0; k < many; ++k)
            nodes.push_back(node(k));
        const int size = g.size();
        for (int k = 0; k < many; ++k)
            ASSERT_EQ(node(k), nodes[std::size_t(k)]);
        EXPECT_EQ(g.size(), size);
        EXPECT_EQ(size, 2 * many + 1);
    }
    TEST(Graph, FoldsConstantsAsTheyWouldBeComputed)
    {
        Graph g({});
        for (const double x : hard_numbers())
            for (const double y : hard_numbers())
                for (const Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::pow, Op::max, Op::min, Op::less, Op::equal})
                {
                    const double both[] = {x, y};
                    const int n = g.operation(op, g.constant(x), g.constant(y));
                    ASSERT_TRUE(g[n].is_literal() && same_bits(g[n].value, evaluate(op, nullptr, both)));
                }
    }
    TEST(Graph, MakesDecidedChoices)
    {
        Graph g({10, 10});
        const int a = g.leaf(along_first), b = g.leaf(along_second);
        EXPECT_EQ(g.operation(Op::select, g.constant(1), a, b), a);
        EXPECT_EQ(g.operation(Op::select, g.constant(0), a, b), b);
        EXPECT_EQ(g.operation(Op::select, g.constant(undefined), a, b), a); // NaN is not zero
        EXPECT_EQ(g.operation(Op::select, a, b, b), b);
    }
    TEST(Graph, AViewWithoutAxesIsAConstant)
    {
        Graph g({10});
        const int n = g.leaf({ten_numbers + 3, 0, {}});
        EXPECT_TRUE(g[n].is_literal());
        EXPECT_EQ(g[n].value, 4);
    }

    std::vector<Supplied> numbers(const std::vector<std::pair<const char*, const double*>>& given)
    {
        std::vector<Supplied> supplied;
        for (const auto& [name, x] : given)
            supplied.push_back({registry().at(name), {x, 0, {}}});
        return supplied;
    }
    TEST(Closure, NamesWhatIsMissingAndTheChainThatNeedsIt)
    {
        const double one = 1;
        Graph g({});
        Closure closure(
            registry(),
            g,
            numbers({{"batch_size", &one}, {"pass_length", &one}, {"active_parameters", &one}, {"peak_flops", &one}}));
        try
        {
            closure.node(registry().at("compute_utilization"));
            FAIL();
        }
        catch (const Error& e)
        {
            const std::string text = e.what();
            EXPECT_STREQ(e.kind(), "MissingInput");
            EXPECT_EQ(text.find("missing input 'chips' ("), 0u) << text;
            EXPECT_NE(text.find("in chip"), std::string::npos) << text;
            EXPECT_NE(
                text.find("needed by chips_per_stage <- stage_flops <- compute_time <- compute_utilization"),
                std::string::npos)
                << text;
        }
    }
    TEST(Closure, ASuppliedQuantityCutsTheGraph)
    {
        const double t = 0.02, n = 3, unused = 5;
        Graph g({});
        Closure closure(
            registry(),
            g,
            numbers(
                {{"pass_time", &t},
                 {"round_tokens", &n},
                 {"microbatches", &n},
                 {"pipeline_stages", &n},
                 {"context_length", &unused}}));
        const int node = closure.node(registry().at("replica_throughput"));
        EXPECT_EQ(g[node].value, 3 / 0.02);
        EXPECT_TRUE(closure.was_used(registry().at("pass_time")));
        EXPECT_FALSE(closure.was_used(registry().at("context_length")));
        for (const int q : closure.visited())
            EXPECT_NE(registry()[q].name, "compute_time");
        EXPECT_EQ(closure.node(registry().at("replica_throughput")), node);
    }
    TEST(Closure, OnlyTheChosenAlternativeIsNeeded)
    {
        const double all = 1, weights = 7e9, bytes = 0.5;
        Graph g({});
        Closure closure(
            registry(),
            g,
            numbers({{"expert_reads", &all}, {"total_parameters", &weights}, {"bytes_per_weight", &bytes}}));
        EXPECT_EQ(g[closure.node(registry().at("fetched_weight_bytes"))].value, 3.5e9); // no experts were asked for
    }
    TEST(Closure, FallbacksAndDefaults)
    {
        const double stages = 4, chips = 8;
        Graph g({});
        Closure closure(registry(), g, numbers({{"pipeline_stages", &stages}, {"chips", &chips}}));
        EXPECT_EQ(g[closure.node(registry().at("microbatches"))].value, 4);
        EXPECT_EQ(g[closure.node(registry().at("chips_per_stage"))].value, 2);
        EXPECT_EQ(g[closure.node(registry().at("compute_efficiency"))].value, 1);
    }

    Registry with_spent_time()
    {
        Definition d{"spent_time", "t", "s", "a term of a real machine", "test", {"kernel_overhead", "layers"}, {}, -1};
        const Expr rate = Expr::input(d.tape, 0), amount = Expr::input(d.tape, 1);
        d.root = quantities::spend(rate, amount).on(d.tape);
        return {registry(), {d}};
    }
    TEST(Closure, ATermWithoutARateAsksForNothing)
    {
        const Registry all = with_spent_time();
        const double none = 0, some = 2, layers = 3;
        const auto supplied = [&](const char* name, const double& x, bool variable = false) {
            return Supplied{all.at(name), {&x, 0, {}}, variable};
        };
        Graph g({});
        Closure without(all, g, {supplied("kernel_overhead", none)});
        EXPECT_EQ(g[without.node(all.at("spent_time"))].value, 0);
        Closure with(all, g, {supplied("kernel_overhead", some), supplied("layers", layers)});
        EXPECT_EQ(g[with.node(all.at("spent_time"))].value, 6);
        Closure missing(all, g, {supplied("kernel_overhead", some)});
        EXPECT_THROW(missing.node(all.at("spent_time")), Error);

        // a rate that something is differentiated by has a slope at zero, and so needs the amount
        Closure differentiated(all, g, {supplied("kernel_overhead", none, true), supplied("layers", layers)});
        const int node = differentiated.node(all.at("spent_time"));
        EXPECT_EQ(g[node].op, Op::mul);
        EXPECT_EQ(g[node].value, 0);
    }
    TEST(Closure, ACircleNamesWhatMayBeGiven)
    {
        Change change;
        change.tape.push({Op::input, {0, -1, -1}});
        change.needs = {"pass_tokens"};
        const Registry circle = changed(registry(), "batch_size", change); // which pass_tokens needs
        const double one = 1;
        Graph g({});
        Closure closure(circle, g, {{circle.at("pass_length"), {&one, 0, {}}}});
        try
        {
            closure.node(circle.at("kv_bytes"));
            FAIL();
        }
        catch (const Error& e)
        {
            const std::string text = e.what();
            EXPECT_STREQ(e.kind(), "MissingInput");
            EXPECT_EQ(text.find("missing input 'batch_size' (batch size"), 0u) << text;
            EXPECT_NE(text.find("; needed by kv_bytes"), std::string::npos) << text;
        }
        Closure given(circle, g, {{circle.at("batch_size"), {&one, 0, {}}}});
        EXPECT_EQ(g[given.node(circle.at("pass_tokens"))].value, 1);
    }

    // --- ranges ---

    bool holds(const Range& r, double x) { return !r.known() || (x == x && r.low <= x && x <= r.high); }

    void check_ranges(const Graph& graph)
    {
        const auto bounds = ranges(graph);
        std::vector<std::size_t> point(graph.shape().size(), 0);
        std::vector<double> value(std::size_t(graph.size()));
        do
            for (int i = 0; i < graph.size(); ++i)
            {
                const Node& n = graph[i];
                double x[3] = {};
                for (int k = 0; k < n.arity(); ++k)
                    x[k] = value[std::size_t(n.argument[std::size_t(k)])];
                double& v = value[std::size_t(i)];
                v = n.is_constant() || n.is_leaf() ? value_at(graph, i, point) : evaluate(n.op, n.routine, x);
                const Range& r = bounds[std::size_t(i)];
                ASSERT_TRUE(holds(r, v)) << "operation " << int(n.op) << " gives " << v << " outside of [" << r.low
                                         << ", " << r.high << "] from " << x[0] << ", " << x[1] << ", " << x[2];
            }
        while (next_point(point, graph.shape()));
    }
    TEST(Ranges, HoldAllValuesOfRandomGraphs)
    {
        Random random(8);
        for (int round = 0; round < 400; ++round)
        {
            const RandomGraph r(random, 300, round % 2 == 0, 12);
            check_ranges(r.graph);
            if (HasFatalFailure())
                FAIL() << "in round " << round;
        }
    }
    // Pairs of ends in every position. If infinities of both signs meet, there is NaN, and nothing is known.
    TEST(Ranges, HoldAllPairsOfHardNumbers)
    {
        for (const double a : hard_numbers())
            for (const double b : hard_numbers())
                for (const double c : {-inf, -3.0, 0.0, 1.0, inf})
                    for (const double d : {-inf, -2.0, -0.0, 5.0, inf})
                    {
                        const double lhs[2] = {a, b}, rhs[2] = {c, d};
                        Graph g({2, 2});
                        const int x = g.leaf({lhs, 1, {1}}), y = g.leaf({rhs, 2, {0, 1}});
                        for (const Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::min, Op::max})
                            g.operation(op, x, y);
                        for (const Op op : {Op::neg, Op::sqrt, Op::exp, Op::ceil, Op::floor})
                            g.operation(op, x);
                        check_ranges(g);
                        if (HasFatalFailure())
                            FAIL() << "from " << a << " and " << b << " with " << c << " and " << d;
                    }
    }
    TEST(Ranges, AreTightWhereOperationsAreMonotone)
    {
        const double a[2] = {2, 3}, b[2] = {-1, 4};
        Graph g({2, 2});
        const int x = g.leaf({a, 1, {1}}), y = g.leaf({b, 2, {0, 1}});
        const int sum = g.operation(Op::add, x, y), product = g.operation(Op::mul, x, y),
                  quotient = g.operation(Op::div, y, x), most = g.operation(Op::max, x, y);
        const auto r = ranges(g);
        const auto is = [&](int node, double low, double high) {
            return r[std::size_t(node)].low == low && r[std::size_t(node)].high == high;
        };
        EXPECT_TRUE(is(sum, 1, 7) && is(product, -3, 12) && is(quotient, -0.5, 2) && is(most, 2, 4));
    }
}
