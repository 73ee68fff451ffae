// Folds by themselves: one optimum of 9.8e11 points, with a fixed price of chips and with one that rises by powers; of
// 1e9 points; best over a batch axis for each point of the others.
#include "roofslate/folds/folds.hpp"
#include "roofslate/graph/closure.hpp"
#include "roofslate/graph/grid.hpp"
#include "roofslate/language/registry.hpp"
#include <benchmark/benchmark.h>
#include <list>
#include <memory>

namespace
{
    using namespace roofslate;

    struct Grid
    {
        explicit Grid(const std::vector<std::size_t>& lengths) : shape(lengths), graph(lengths)
        {
            number("bytes_per_weight", 1), number("total_parameters", 671e9), number("active_parameters", 37e9),
                number("kv_bytes_per_token", 70272);
            number("chip_price", 1e-3), number("hbm_capacity", 192e9);
        }
        void axis(const char* name, std::size_t k, double first, double last) // in equal ratios
        {
            xt::xarray<double>& values = arrays.emplace_back(xt::xarray<double>::from_shape({shape[k]}));
            for (std::size_t i = 0; i < shape[k]; ++i)
                values(i) = first * std::pow(last / first, double(i) / double(shape[k] - 1));
            supplied.push_back({registry().at(name), view_of(values, {k})});
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
        Question question(int objective, AxisSet folded)
        {
            return {
                graph,
                {objective},
                {{node("pass_time"), graph.constant(0.05), false}, {node("hbm_used"), node("hbm_capacity"), false}},
                folded};
        }
        int power(const char* name, double unit, double exponent)
        {
            return graph.operation(
                Op::pow,
                graph.operation(Op::div, node(name), graph.constant(unit)),
                graph.constant(exponent));
        }

        std::vector<std::size_t> shape;
        Graph graph;
        std::list<xt::xarray<double>> arrays; // views point into them
        std::vector<Supplied> supplied;
        std::unique_ptr<Closure> closure;
    };

    void one_of_a_trillion(benchmark::State& state)
    {
        Grid grid({250, 250, 250, 250, 250});
        grid.axis("batch_size", 0, 1, 8192), grid.axis("context_length", 1, 1e5, 1e6), grid.axis("chips", 2, 8, 576);
        grid.axis("hbm_bandwidth", 3, 2e12, 20e12), grid.axis("peak_flops", 4, 1e15, 2e16);
        int cost = grid.node("cost_per_token");
        if (state.range(0))
            cost = grid.graph.operation(
                Op::mul,
                cost,
                grid.graph
                    .operation(Op::mul, grid.power("peak_flops", 1e15, 0.5), grid.power("hbm_bandwidth", 2e12, 0.7)));
        const Question question = grid.question(cost, 31);
        for (auto _ : state)
            benchmark::DoNotOptimize(best(question, {int(state.range(1)), {}, {}}, true));
    }
    void one_of_a_billion(benchmark::State& state)
    {
        Grid grid({178, 178, 178, 178});
        grid.number("chips", 72);
        grid.axis("batch_size", 0, 1, 8192), grid.axis("context_length", 1, 1e3, 1e6),
            grid.axis("hbm_bandwidth", 2, 2e12, 20e12), grid.axis("peak_flops", 3, 1e14, 2e16);
        const Question question = grid.question(grid.node("cost_per_token"), 15);
        for (auto _ : state)
            benchmark::DoNotOptimize(best(question, {int(state.range(1)), {}, {}}, state.range(0) != 0));
    }
    void best_batch(benchmark::State& state)
    {
        Grid grid({16, 8, 512, 1024});
        grid.number("chips", 72);
        grid.axis("total_parameters", 0, 7e9, 1e12), grid.axis("hbm_bandwidth", 1, 3e12, 2e13),
            grid.axis("batch_size", 2, 1, 8192), grid.axis("context_length", 3, 128, 1e6);
        grid.axis("peak_flops", 1, 1e15, 9e15);
        const Question question = grid.question(grid.node("cost_per_token"), 4);
        for (auto _ : state)
            benchmark::DoNotOptimize(best(question, {int(state.range(1)), {}, {}}, state.range(0) != 0));
        state.SetItemsProcessed(state.iterations() * 16 * 8 * 512 * 1024);
    }
}

BENCHMARK(one_of_a_trillion)
    ->ArgNames({"powers", "threads"})
    ->Args({0, 1})
    ->Args({1, 1})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(one_of_a_billion)
    ->ArgNames({"pruned", "threads"})
    ->Args({1, 1})
    ->Args({0, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(best_batch)
    ->ArgNames({"pruned", "threads"})
    ->Args({0, 1})
    ->Args({0, 2})
    ->Args({1, 1})
    ->Args({1, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
