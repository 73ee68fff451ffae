// The engine by itself, without Python: a point, a plan, and grids of long and short axes, one thread and several.
#include "roofslate/graph/closure.hpp"
#include "roofslate/language/registry.hpp"
#include "roofslate/memory/pool.hpp"
#include "roofslate/run/evaluate.hpp"
#include <benchmark/benchmark.h>
#include <list>
#include <numeric>

namespace
{
    using namespace roofslate;

    // Models, chips, batches and contexts: each input varies along one axis, the others are numbers.
    struct Cell
    {
        explicit Cell(const std::vector<std::size_t>& lengths) : shape(lengths)
        {
            axis("total_parameters", 0, 4e11, 1e11), axis("active_parameters", 0, 2e10, 9e9),
                axis("kv_bytes_per_token", 0, 2e4, 1.5e4);
            axis("peak_flops", 1, 1e15, 5e14), axis("hbm_bandwidth", 1, 3e12, 7e11), axis("chip_price", 1, 5e-4, 1e-4);
            axis("batch_size", 2, 1, 16), axis("context_length", 3, 100, 200);
            number("chips", 72), number("bytes_per_weight", 1);
        }
        void axis(const char* name, std::size_t k, double first, double step)
        {
            xt::xarray<double>& values = arrays.emplace_back(first + step * xt::arange<double>(0, double(shape[k])));
            supplied.push_back({registry().at(name), view_of(values, {k})});
        }
        void number(const char* name, double x)
        {
            xt::xarray<double>& value = arrays.emplace_back(x);
            supplied.push_back({registry().at(name), view_of(value, {})});
        }

        std::vector<std::size_t> shape;
        std::list<xt::xarray<double>> arrays; // views point into them
        std::vector<Supplied> supplied;
    };

    void point(benchmark::State& state)
    {
        const Cell cell({1, 1, 1, 1});
        const int quantity = registry().at("cost_per_token");
        for (auto _ : state)
        {
            Graph graph(cell.shape);
            Closure closure(registry(), graph, cell.supplied);
            benchmark::DoNotOptimize(graph[closure.node(quantity)].value);
        }
    }

    void grid(benchmark::State& state)
    {
        const Cell cell(
            {std::size_t(state.range(0)),
             std::size_t(state.range(1)),
             std::size_t(state.range(2)),
             std::size_t(state.range(3))});
        const std::size_t points =
            std::accumulate(cell.shape.begin(), cell.shape.end(), std::size_t(1), std::multiplies<>());
        const Block block = take_block(points * sizeof(double));
        std::fill_n(static_cast<double*>(block.data), points, 0.0);
        for (auto _ : state)
        {
            Graph graph(cell.shape);
            Closure closure(registry(), graph, cell.supplied);
            Output output{closure.node(registry().at("cost_per_token")), static_cast<double*>(block.data), {}, true};
            output.stride = result_strides(graph, graph[output.node].axes);
            store(graph, {output}, {int(state.range(4)), {}, {}});
        }
        state.SetItemsProcessed(std::int64_t(state.iterations()) * std::int64_t(points));
        give_block(block);
    }
}

BENCHMARK(point);
BENCHMARK(grid)
    ->ArgNames({"models", "chips", "batches", "contexts", "threads"})
    ->Args({4, 8, 512, 1024, 1})
    ->Args({4, 8, 512, 1024, 2})
    ->Args({1024, 512, 8, 4, 1})
    ->Args({64, 64, 64, 64, 1})
    ->Args({16, 16, 16, 16, 1})
    ->Args({8, 8, 8, 8, 1})
    ->UseRealTime();
