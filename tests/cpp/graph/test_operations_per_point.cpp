// Operations that a point of a grid takes at the ideal constants: no more than before the chains became one.
#include "roofslate/graph/closure.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <deque>

namespace
{
    using namespace support;

    struct Given
    {
        const char* name;
        double number; // or the position of a word
        int axis = -1; // along which it varies
    };
    double position_of(const char* quantity, const std::string& word)
    {
        const auto& choices = registry()[registry().at(quantity)].spec->choices;
        return double(std::find(choices.begin(), choices.end(), word) - choices.begin());
    }

    // Operations of a quantity, each as often as it is done, over the points of the result.
    double operations_per_point(
        const std::string& quantity,
        const std::vector<std::size_t>& shape,
        const std::vector<Given>& inputs)
    {
        Graph graph(shape);
        std::deque<std::vector<double>> values;
        std::vector<Supplied> supplied;
        for (const Given& given : inputs)
        {
            View view;
            if (given.axis < 0)
                values.push_back({given.number});
            else
            {
                const std::size_t axis = std::size_t(given.axis);
                values.emplace_back();
                for (std::size_t k = 0; k < shape[axis]; ++k)
                    values.back().push_back(given.number * double(k + 1));
                view.axes = AxisSet(AxisSet(1) << axis);
                view.stride[axis] = 1;
            }
            view.data = values.back().data();
            supplied.push_back({registry().at(given.name), view});
        }
        Closure closure(registry(), graph, supplied);
        const int root = closure.node(registry().at(quantity));
        double operations = 0;
        std::vector<char> needed(std::size_t(graph.size()), 0);
        needed[std::size_t(root)] = 1;
        for (int i = root; i >= 0; --i)
        {
            const Node& n = graph[i];
            if (!needed[std::size_t(i)] || n.is_constant() || n.is_leaf())
                continue;
            operations += double(graph.points(n.axes));
            for (int k = 0; k < n.arity(); ++k)
                needed[std::size_t(n.argument[std::size_t(k)])] = 1;
        }
        return operations / double(graph.points(graph[root].axes));
    }

    // A replica as on the lecture's board, with experts, all of whose weights are read as that commit did by default.
    std::vector<Given> board()
    {
        return {
            {"total_parameters", 700e9},
            {"active_parameters", 37e9},
            {"active_dense_parameters", 17e9},
            {"experts", 256},
            {"experts_per_token", 8},
            {"expert_reads", position_of("expert_reads", "all")},
            {"bytes_per_weight", 0.5},
            {"kv_bytes_per_token", 1667},
            {"peak_flops", 5e15},
            {"hbm_bandwidth", 8e12},
            {"chips", 72},
            {"chip_price", 5e-4},
            {"batch_size", 1, 0},
            {"context_length", 1, 1}};
    }
    // A dense model of the catalog: bytes follow from its shape and formats.
    std::vector<Given> dense()
    {
        return {
            {"total_parameters", 70e9},
            {"active_parameters", 69.5e9},
            {"layers", 80},
            {"kv_heads", 8},
            {"head_size", 128},
            {"weight_format", position_of("weight_format", "fp8")},
            {"kv_format", position_of("kv_format", "bf16")},
            {"peak_flops_bf16", 1e15},
            {"hbm_bandwidth", 8e12},
            {"chips", 8},
            {"chip_price", 5e-4},
            {"batch_size", 1, 0},
            {"context_length", 1, 1}};
    }
    std::vector<Given> with(std::vector<Given> inputs, const std::vector<Given>& additional)
    {
        for (const Given& other : additional)
        {
            const auto at = std::find_if(inputs.begin(), inputs.end(), [&](const Given& g) {
                return std::string(g.name) == other.name;
            });
            *at = other;
        }
        return inputs;
    }

    struct Count
    {
        const char* quantity;
        double before; // at commit c08bf5c, counted by this very function
    };
    void expect_no_more(
        const std::vector<std::size_t>& shape,
        const std::vector<Given>& inputs,
        const std::vector<Count>& counts)
    {
        for (const Count& count : counts)
        {
            const double operations = operations_per_point(count.quantity, shape, inputs);
            EXPECT_LE(operations, count.before * (1 + 1e-3)) << count.quantity; // more on a short axis are free
            EXPECT_GT(operations, 1) << count.quantity;
        }
    }

    TEST(OperationsPerPoint, AreNoMoreOnBatchAndContext)
    {
        for (const auto& inputs : {board(), dense()})
            expect_no_more(
                {3200, 3125},
                inputs,
                {{"pass_time", 4.0006}, {"cost_per_token", 5.0010}, {"hbm_used", 3.0003}});
    }
    TEST(OperationsPerPoint, AreNoMoreOnFiveAxes)
    {
        const std::vector<std::size_t> shape{40, 40, 20, 10, 10};
        expect_no_more(
            shape,
            with(dense(), {{"chips", 1, 2}, {"hbm_bandwidth", 1e12, 3}, {"chip_price", 1e-4, 4}}),
            {{"pass_time", 3.0096}, {"cost_per_token", 1.3035}, {"hbm_used", 1.1013}});
        expect_no_more(
            shape,
            with(board(), {{"active_parameters", 1e9, 2}, {"total_parameters", 1e10, 3}, {"peak_flops", 1e14, 4}}),
            {{"pass_time", 1.0086}, {"cost_per_token", 2.0086}, {"hbm_used", 2.1031}});
    }
}
