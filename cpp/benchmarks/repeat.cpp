#include "benchmarks/repeat.hpp"
#include "roofslate/language/error.hpp"
#include "roofslate/run/options.hpp"

namespace roofslate
{
    void repeat_engine(
        const Registry& registry,
        int quantity,
        const std::vector<std::size_t>& shape,
        const std::vector<Supplied>& supplied,
        double* out,
        const std::array<std::ptrdiff_t, most_axes>& stride,
        int calls,
        int threads)
    {
        std::size_t points = 1;
        for (const std::size_t n : shape)
            points *= n;
        for (int call = 0; call < calls; ++call)
        {
            Graph graph(shape);
            Closure closure(registry, graph, supplied);
            const Output o{closure.node(quantity), out, stride, true};
            if (graph.points(graph[o.node].axes) != points)
                throw axis_error("out must have the shape of the grid, and the quantity must vary along all of it");
            store(graph, {o}, {threads, {}, {}});
        }
    }
}
