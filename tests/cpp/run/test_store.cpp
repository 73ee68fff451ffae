// The engine whole: every instruction set, thread count, layout and length gives the bits of the operations on double.
#include "roofslate/language/error.hpp"
#include "roofslate/quantities/serving.hpp"
#include "roofslate/run/evaluate.hpp"
#include "roofslate/run/parallel.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace
{
    using namespace support;

    xt::xarray<double> array_of(const std::vector<std::size_t>& shape, double x = 1.0)
    {
        xt::xarray<double> a;
        a.resize(shape);
        a.fill(x);
        return a;
    }

    // --- random graphs against the meaning of their operations ---

    void check_random_graph(
        Random& random,
        const RandomGraph& r,
        const InstructionSet& set,
        int threads,
        bool used_before)
    {
        const Using use(set);
        const std::vector<std::size_t>& shape = r.graph.shape();
        std::vector<int> output_nodes;
        for (int k = 0; k < 4; ++k) // constants, inputs and the same node twice among them
            output_nodes.push_back(r.nodes[std::size_t(below(random, int(r.nodes.size())))]);
        output_nodes.push_back(output_nodes.front());
        std::vector<Output> outputs;
        std::vector<std::vector<double>> memory(output_nodes.size());
        for (std::size_t k = 0; k < output_nodes.size(); ++k)
        {
            Output o{output_nodes[k], nullptr, {}, used_before};
            std::vector<std::size_t> axes;
            for (std::size_t a = 0; a < shape.size(); ++a)
                if (r.graph[output_nodes[k]].axes >> a & 1)
                    axes.push_back(a);
            if (below(random, 2))
                std::shuffle(axes.begin(), axes.end(), random);
            const std::ptrdiff_t gap = below(random, 4) ? 1 : 2;
            std::ptrdiff_t next = gap, from = 0;
            for (auto a = axes.rbegin(); a != axes.rend(); ++a)
            {
                const bool reversed = below(random, 5) == 0;
                o.stride[*a] = reversed ? -next : next;
                from += reversed ? next * std::ptrdiff_t(shape[*a] - 1) : 0;
                next *= std::ptrdiff_t(shape[*a]);
            }
            memory[k].assign(std::size_t(next) + 1, -77); // one more: rows that are not aligned
            o.data = memory[k].data() + below(random, 2) + from;
            outputs.push_back(o);
        }
        Options options;
        options.threads = threads;
        store(r.graph, outputs, options);
        std::size_t points = 1;
        for (const std::size_t n : shape)
            points *= n;
        for (std::size_t k = 0; k < output_nodes.size(); ++k)
        {
            std::vector<std::size_t> point(shape.size(), 0);
            for (std::size_t round = 0; round < std::min<std::size_t>(points, 3000); ++round)
            {
                std::ptrdiff_t offset = 0;
                for (std::size_t a = 0; a < shape.size(); ++a)
                {
                    if (points > 3000)
                        point[a] = random() % shape[a];
                    offset += outputs[k].stride[a] * std::ptrdiff_t(point[a]);
                }
                const double got = static_cast<const double*>(outputs[k].data)[offset],
                             expected = value_at(r.graph, output_nodes[k], point);
                ASSERT_TRUE(same_bits(got, expected))
                    << set.name << ", " << threads << " threads, output " << k << ": " << got << ", not " << expected;
                if (points <= 3000)
                    next_point(point, shape);
            }
        }
    }
    class Engine : public testing::TestWithParam<const InstructionSet*>
    {
    };
    std::string name_of_set(const testing::TestParamInfo<const InstructionSet*>& info) { return info.param->name; }
    INSTANTIATE_TEST_SUITE_P(Every, Engine, testing::ValuesIn(instruction_sets()), name_of_set);

    TEST_P(Engine, RandomGraphsOfOrdinaryNumbers)
    {
        Random random(10);
        for (int round = 0; round < 250; ++round)
        {
            const RandomGraph r(random, 60000, false, 10);
            check_random_graph(random, r, *GetParam(), 1 + round % 3, round % 2 == 0);
            if (HasFatalFailure())
                FAIL() << "in round " << round;
        }
    }
    TEST_P(Engine, RandomGraphsOfHardNumbers)
    {
        Random random(11);
        for (int round = 0; round < 400; ++round)
        {
            const RandomGraph r(random, 5000, true, 8);
            check_random_graph(random, r, *GetParam(), 1 + round % 2, round % 2 == 0);
            if (HasFatalFailure())
                FAIL() << "in round " << round;
        }
    }
    TEST_P(Engine, LargeGridsOnManyThreads)
    {
        Random random(12);
        for (int round = 0; round < 4; ++round)
        {
            const RandomGraph r(random, 3000000, round % 2 == 1, 14);
            check_random_graph(random, r, *GetParam(), 4, true);
            if (HasFatalFailure())
                FAIL() << "in round " << round;
        }
    }
    // Each storage gets the double rounded once: in rows, columns and with gaps, streamed or not.
    TEST_P(Engine, EveryStorageRoundsOnce)
    {
        const Using use(*GetParam());
        constexpr std::size_t rows = 1400, columns = 1601; // enough for streams of floats
        std::vector<double> a(rows), b(columns);
        for (std::size_t k = 0; k < rows; ++k)
            a[k] = 1 + double(k) / 7;
        for (std::size_t k = 0; k < columns; ++k)
            b[k] = k % 97 == 5 ? undefined : k % 89 == 3 ? inf : 3 - double(k) / 11;
        Graph g({rows, columns});
        const int node = g.operation(Op::mul, g.leaf({a.data(), 1, {1, 0}}), g.leaf({b.data(), 2, {0, 1}}));
        for (const Storage storage : {Storage::float64, Storage::float32})
            for (const bool transposed : {false, true})
                for (const std::ptrdiff_t gap : {1, 2})
                    with_type(storage, [&](auto stored) {
                        using T = typename decltype(stored)::type;
                        std::vector<T> memory(rows * columns * std::size_t(gap) + 1, T(-77));
                        T* const data = memory.data() + 1;
                        const std::ptrdiff_t stride[] = {
                            gap * (transposed ? 1 : std::ptrdiff_t(columns)),
                            gap * (transposed ? std::ptrdiff_t(rows) : 1)};
                        store(g, {{node, data, {stride[0], stride[1]}, true, storage}}, {});
                        std::size_t wrong = 0, touched = memory[0] != T(-77);
                        for (std::size_t i = 0; i < rows; ++i)
                            for (std::size_t k = 0; k < columns; ++k)
                            {
                                const T* const got =
                                    data + std::ptrdiff_t(i) * stride[0] + std::ptrdiff_t(k) * stride[1];
                                wrong += !same_bits(double(*got), double(T(a[i] * b[k])));
                                touched += gap == 2 && got[1] != T(-77);
                            }
                        EXPECT_EQ(wrong, 0u) << name_of(storage) << ", " << transposed << ", gap " << gap;
                        EXPECT_EQ(touched, 0u) << name_of(storage) << ", " << transposed << ", gap " << gap;
                    });
    }
    TEST(Storage, IsFoundByName)
    {
        EXPECT_EQ(storage_named("float32"), Storage::float32);
        EXPECT_EQ(storage_named(name_of(Storage::float64)), Storage::float64);
        EXPECT_EQ(size_of(Storage::float32), sizeof(float));
        EXPECT_THROW(storage_named("float16"), Error);
    }
    // NaN must not be lost where bounds of infinite inputs are taken for proof.
    TEST_P(Engine, InfinitiesThatMeetStayNaN)
    {
        const Using use(*GetParam());
        std::vector<double> a(300, 5), b(300, -3), ones(300, 1), memory;
        a[7] = -inf, b[7] = inf, a[250] = inf, b[250] = inf;
        Graph g({300});
        const int x = g.leaf({a.data(), 1, {1}}), y = g.leaf({b.data(), 1, {1}}), one = g.leaf({ones.data(), 1, {1}});
        for (const Op inner : {Op::add, Op::sub, Op::mul, Op::div})
            for (const Op outer : {Op::max, Op::min})
            {
                const int node = g.operation(outer, g.operation(inner, x, y), one);
                store(g, {output_in_order(g, node, memory)}, {});
                for (std::size_t k = 0; k < 300; ++k)
                    ASSERT_TRUE(same_bits(memory[k], value_at(g, node, {k})))
                        << int(inner) << " then " << int(outer) << " at " << k << " gives " << memory[k];
            }
    }
    // The zero that a max or min takes depends on the order of its arguments.
    TEST_P(Engine, ZerosOfBothSigns)
    {
        const Using use(*GetParam());
        std::vector<double> a(321), b(321), memory;
        for (std::size_t k = 0; k < a.size(); ++k)
            a[k] = std::vector<double>{0.0, -0.0, 1.0, -1.0}[k % 4], b[k] = std::vector<double>{0.0, -0.0, -1.0}[k % 3];
        for (const Op op : {Op::max, Op::min})
            for (int kind = 0; kind < 16; ++kind)
            {
                Graph g({321});
                int x = g.leaf({a.data(), 1, {1}}),
                    y = kind & 8 ? g.constant(kind & 4 ? -0.0 : 0.0) : g.leaf({b.data(), 1, {1}});
                x = kind & 1 ? g.operation(Op::neg, x) : x;
                y = kind & 4 ? g.operation(Op::neg, y) : y;
                const int node = kind & 2 ? g.operation(op, y, x) : g.operation(op, x, y);
                store(g, {output_in_order(g, node, memory)}, {});
                for (std::size_t k = 0; k < a.size(); ++k)
                    ASSERT_TRUE(same_bits(memory[k], value_at(g, node, {k}))) << kind << " at " << k;
            }
    }
    // Rows too long to be copied whole are gathered piece by piece, and results scattered.
    TEST_P(Engine, LongRowsThatAreNotContiguous)
    {
        const Using use(*GetParam());
        Random random(15);
        for (const std::size_t n : {std::size_t(65537), std::size_t(200003)})
        {
            std::vector<double> a(2 * n), b(3 * n), c(n), sums(2 * n, -77), products(n, -77);
            for (std::vector<double>* v : {&a, &b, &c})
                for (double& x : *v)
                    x = uniform(random, 1, 2);
            Graph g({2, n});
            const auto along = [](const double* data, std::ptrdiff_t step) { return View{data, 2, {0, step}}; };
            const int x = g.leaf(along(a.data(), 2)), y = g.leaf(along(b.data() + 3 * (n - 1), -3)),
                      z = g.leaf(along(c.data(), 1));
            const int sum = g.operation(Op::add, g.operation(Op::mul, x, y), z),
                      product = g.operation(Op::sub, g.operation(Op::mul, y, z), x);
            Output scattered{sum, sums.data() + 2 * (n - 1), {0, -2}, false},
                even{product, products.data(), {0, 1}, false};
            Options options;
            options.threads = 2;
            store(g, {scattered, even}, options);
            for (std::size_t k = 0; k < n; ++k)
            {
                ASSERT_TRUE(same_bits(sums[2 * (n - 1 - k)], value_at(g, sum, {0, k}))) << k;
                ASSERT_TRUE(same_bits(products[k], value_at(g, product, {0, k}))) << k;
                ASSERT_EQ(sums[2 * (n - 1 - k) + 1], -77) << k;
            }
        }
    }
    TEST_P(Engine, ManyShortAxes)
    {
        const Using use(*GetParam());
        std::vector<std::vector<double>> inputs;
        Graph g(std::vector<std::size_t>(12, 3));
        int sum = g.constant(0.5);
        for (std::size_t k = 0; k < 12; ++k)
            inputs.push_back({1.0 + double(k), 0.3, 7.0 / double(k + 1)});
        for (std::size_t k = 0; k < 12; ++k)
        {
            View v{inputs[k].data(), AxisSet(1) << k, {}};
            v.stride[k] = 1;
            sum = g.operation(k % 3 ? Op::mul : Op::add, sum, g.leaf(v));
        }
        std::vector<double> memory;
        store(g, {output_in_order(g, sum, memory)}, {});
        ASSERT_EQ(memory.size(), 531441u);
        std::vector<std::size_t> point(12, 0);
        std::size_t k = 0;
        do
            ASSERT_EQ(memory[k], value_at(g, sum, point)) << k;
        while (++k, next_point(point, g.shape()));
    }

    // --- xtensor as an oracle: its lazy evaluation of the same formula, on the same views ---

    TEST_P(Engine, AgreesWithXtensorOnViewsWithoutACopy)
    {
        const Using use(*GetParam());
        Random random(13);
        xt::xarray<double> bandwidth = array_of({40, 31}), context = array_of({600, 2}), batch = array_of({31});
        for (xt::xarray<double>* a : {&bandwidth, &context, &batch})
            for (double& x : *a)
                x = uniform(random, 0.5, 4);
        const auto m = xt::transpose(bandwidth);                                     // axes 1, 0 as (31, 40)
        // every second element, backwards
        const auto L = xt::strided_view(context, {xt::range(600, xt::placeholders::_, -1), 1});
        const View of_m = view_of(m, {1, 0}), of_L = view_of(L, {2}), of_B = view_of(batch, {1});
        EXPECT_EQ(of_m.data, bandwidth.data());
        EXPECT_EQ(of_L.data, &context(599, 1));
        EXPECT_EQ(of_L.stride[2], -2);
        Graph g({40, 31, 600});
        const int nm = g.leaf(of_m), nL = g.leaf(of_L), nB = g.leaf(of_B);
        const int t_m = g.operation(Op::div, g.operation(Op::mul, nB, nL), nm),
                  t_c = g.operation(Op::mul, nB, g.constant(1.7));
        const int t = g.operation(Op::max, t_m, t_c), cost = g.operation(Op::div, g.operation(Op::sqrt, t), nB);
        std::vector<double> memory;
        Options options;
        options.threads = 2;
        store(g, {output_in_order(g, cost, memory)}, options);
        // (40, 31, 600), lazily
        const auto m3 = xt::strided_view(bandwidth, {xt::all(), xt::all(), xt::newaxis()});
        const auto B3 = xt::strided_view(batch, {xt::newaxis(), xt::all(), xt::newaxis()});
        const xt::xarray<double> L1 = L;
        const xt::xarray<double> expected = xt::sqrt(xt::maximum(B3 * L1 / m3, B3 * 1.7)) / B3;
        ASSERT_EQ(expected.size(), memory.size());
        for (std::size_t k = 0; k < memory.size(); ++k)
            ASSERT_TRUE(same_bits(memory[k], expected.flat(k))) << k;
    }
    TEST_P(Engine, QuantitiesAgreeWithTheirFormulasInXtensor)
    {
        const Using use(*GetParam());
        Random random(14);
        xt::xarray<double> B = array_of({37}), L = array_of({5, 41}), G = array_of({37});
        for (double& x : B)
            x = std::floor(uniform(random, 1, 5000));
        for (double& x : L)
            x = uniform(random, 1, 2e5);
        for (double& x : G)
            x = uniform(random, 8, 72);
        const double N_a = 37e9, N_t = 671e9, w = 0.5, q = 1667, F = 9e15, m = 8e12;
        const auto number = [](double x) { return Labelled{xt::xarray<double>(x), {}}; };
        const std::vector<Labelled> got = evaluate(
            {"pass_time", "compute_utilization", "weight_fetch_time", "hbm_drain_time"},
            {{"batch_size", {B, {"cell"}}},
             {"context_length", {L, {"kind", "length"}}},
             {"chips", {G, {"cell"}}},
             {"active_parameters", number(N_a)},
             {"total_parameters", number(N_t)},
             {"bytes_per_weight", number(w)},
             {"kv_bytes_per_token", number(q)},
             {"peak_flops", number(F)},
             {"hbm_bandwidth", number(m)},
             {"hbm_capacity", number(192e9)}});
        const auto B3 = xt::strided_view(B, {xt::all(), xt::newaxis(), xt::newaxis()});
        const auto G3 = xt::strided_view(G, {xt::all(), xt::newaxis(), xt::newaxis()});
        const xt::xarray<double> t_c = B3 * (2 * N_a / (G3 * F));
        const xt::xarray<double> t_w = w * N_t / (G3 * m);
        const xt::xarray<double> t = xt::maximum(t_w + B3 * (L * q) / (G3 * m), t_c), u = t_c / t;
        EXPECT_EQ(got[0].axes, (std::vector<std::string>{"cell", "kind", "length"}));
        EXPECT_EQ(got[2].axes, (std::vector<std::string>{"cell"}));
        EXPECT_TRUE(got[3].axes.empty());
        EXPECT_EQ(got[3].values(), 0.024);
        ASSERT_EQ(got[0].values.shape(), t.shape());
        for (std::size_t k = 0; k < t.size(); ++k)
        {
            ASSERT_TRUE(same_bits(got[0].values.flat(k), t.flat(k))) << k;
            ASSERT_TRUE(same_bits(got[1].values.flat(k), u.flat(k))) << k;
        }
        for (std::size_t k = 0; k < B.size(); ++k)
            ASSERT_TRUE(same_bits(got[2].values.flat(k), t_w.flat(k))) << k;
    }

    // --- the C++ interface ---

    TEST(Interface, OneValue)
    {
        EXPECT_EQ(value("hbm_drain_time", {{"hbm_capacity", 192e9}, {"hbm_bandwidth", 8e12}}), 0.024);
        EXPECT_THROW((void)value("hbm_drain_time", {{"hbm_capacity", 192e9}}), Error);
        EXPECT_THROW((void)value("no_such_quantity", {}), Error);
    }
    TEST(Interface, AxesThatDoNotFitAreNamed)
    {
        const xt::xarray<double> three = array_of({3}), four = array_of({4});
        const auto message = [](const Inputs& inputs) -> std::string {
            try
            {
                (void)evaluate({"pass_tokens"}, inputs);
            }
            catch (const Error& e)
            {
                EXPECT_STREQ(e.kind(), "AxisError");
                return e.what();
            }
            return "";
        };
        EXPECT_EQ(
            message({{"batch_size", {three, {"row"}}}, {"pass_length", {four, {"row"}}}}),
            "pass_length: the axis 'row' has 4 values, elsewhere 3");
        EXPECT_NE(message({{"batch_size", {three, {"row", "column"}}}}).find("batch_size"), std::string::npos);
        EXPECT_EQ(
            message({{"batch_size", {array_of({3, 3}), {"row", "row"}}}}),
            "batch_size: the axis 'row' comes twice");
        EXPECT_EQ(
            message({{"batch_size", {array_of({3, 0}), {"row", "column"}}}}),
            "batch_size: the axis 'column' is empty");
        std::vector<std::string> many;
        for (int k = 0; k <= int(most_axes); ++k)
            many.push_back("axis " + std::to_string(k));
        EXPECT_EQ(
            message({{"batch_size", {array_of(std::vector<std::size_t>(most_axes + 1, 1)), many}}}),
            "a grid has at most 16 axes");
    }
    TEST(Interface, AnAxisOfOneValueStays)
    {
        const std::vector<Labelled> got =
            evaluate({"pass_tokens"}, {{"batch_size", {array_of({1}, 64.0), {"batch_size"}}}});
        EXPECT_EQ(got[0].axes, (std::vector<std::string>{"batch_size"}));
        EXPECT_EQ(got[0].values.size(), 1u);
        EXPECT_EQ(got[0].values.flat(0), 64);
    }

    // --- progress and stopping ---

    struct Slow
    {
        std::vector<double> a = std::vector<double>(1000, 1.5), b = std::vector<double>(2000, 0.5), memory;
        Graph graph{{1000, 2000}};
        Output output;
        Slow() : output(make()) {}
        Output make()
        {
            int n = graph.operation(Op::pow, graph.leaf({a.data(), 1, {1}}), graph.leaf({b.data(), 2, {0, 1}}));
            for (int k = 0; k < 6; ++k)
                n = graph.operation(Op::pow, n, graph.constant(0.9 + k));
            return output_in_order(graph, n, memory);
        }
    };
    TEST(Report, TellsHowFarItIsAndStopsWhenAsked)
    {
        Slow slow;
        std::size_t calls = 0, last = 0, all = 0;
        const std::thread::id caller = std::this_thread::get_id();
        Options options;
        options.threads = 2;
        options.report = [&](std::size_t done, std::size_t total) {
            EXPECT_EQ(std::this_thread::get_id(), caller);
            EXPECT_GE(done, last);
            ++calls, last = done, all = total;
            return true;
        };
        store(slow.graph, {slow.output}, options);
        EXPECT_GE(calls, 2u);
        EXPECT_EQ(all, 2000000u);
        for (const double x : slow.memory)
            ASSERT_TRUE(same_bits(x, slow.memory.front()));
        options.report = [&](std::size_t, std::size_t) { return false; };
        std::chrono::nanoseconds shortest = std::chrono::hours(1); // of some, as other work may delay one
        for (int call = 0; call < 5; ++call)
        {
            const auto start = std::chrono::steady_clock::now();
            EXPECT_THROW(store(slow.graph, {slow.output}, options), Interrupted);
            shortest = std::min<std::chrono::nanoseconds>(shortest, std::chrono::steady_clock::now() - start);
        }
        if (!sanitized)
        {
            EXPECT_LT(shortest, std::chrono::milliseconds(200));
        }
        store(slow.graph, {slow.output}, {}); // and the engine goes on working
        EXPECT_EQ(slow.memory.front(), slow.memory.back());
    }
    double fails(const double*) { throw std::runtime_error("from a routine"); }
    TEST(Report, AnExceptionInAnyThreadReachesTheCaller)
    {
        static constexpr Routine routine{"fails", "f", 1, &fails};
        std::vector<double> a(200000, 1), memory; // for several threads
        Graph g({200000});
        const int n = g.operation(Op::routine, g.leaf({a.data(), 1, {1}}), -1, -1, &routine);
        Options options;
        options.threads = 3;
        EXPECT_THROW(store(g, {output_in_order(g, n, memory)}, options), std::runtime_error);
    }
    TEST(Threads, SeveralCallsAtOnce)
    {
        std::vector<std::thread> callers;
        std::atomic<int> wrong{0};
        for (int t = 0; t < 4; ++t)
            callers.emplace_back([&wrong, t] {
                Random random{std::uint64_t(t)};
                for (int round = 0; round < 30; ++round)
                {
                    const double B = uniform(random, 1, 1000);
                    const xt::xarray<double> L = xt::linspace<double>(1, 4, 777);
                    const std::vector<Labelled> got = evaluate(
                        {"pass_tokens"},
                        {{"batch_size", {xt::xarray<double>(B), {}}}, {"pass_length", {L, {"l"}}}});
                    for (std::size_t k = 0; k < L.size(); ++k)
                        wrong += got[0].values.flat(k) != B * L(k);
                }
            });
        for (std::thread& t : callers)
            t.join();
        EXPECT_EQ(wrong, 0);
    }

#if defined(__linux__)
    TEST(Parallel, LeavesTheCallersProcessorsAlone)
    {
        cpu_set_t before, after;
        ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
        Options options;
        for (int k = 0; k < 500; ++k) // threads that end at once
        {
            Progress progress(options, 4);
            in_parallel(4, 4, progress, [] { return 0; }, [](int, std::size_t) { return std::size_t(1); });
        }
        ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
        EXPECT_TRUE(CPU_EQUAL(&before, &after));
    }
#endif
}
