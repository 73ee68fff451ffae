#include "roofslate/run/lane_program.hpp"

namespace roofslate
{
    int LaneGraph::leaf(const Range& range, double*& data)
    {
        leaves_.push_back({range, aligned_doubles(capacity + widest_strip)});
        data = leaves_.back().data.get();
        std::fill_n(data, capacity + widest_strip, range.high);
        View view;
        view.data = data, view.axes = 1, view.stride[0] = 1;
        return graph_.leaf(view);
    }

    void LaneProgram::compile(LaneGraph& lanes, const std::vector<int>& nodes, const InstructionSet& set)
    {
        const Graph& graph = lanes.graph();
        std::vector<Output> outputs;
        for (const int node : nodes)
        {
            results_.push_back(aligned_doubles(capacity + widest_strip));
            outputs.push_back({node, results_.back().get(), {1}, true});
        }
        // of lanes that are in use: the plan relies on what it finds, so it finds the ranges
        std::vector<double> values;
        for (const LaneGraph::Leaf& leaf : lanes.leaves_)
        {
            values.insert(values.end(), leaf.data.get(), leaf.data.get() + capacity);
            std::fill_n(leaf.data.get(), capacity, leaf.range.high);
            leaf.data[0] = leaf.range.low;
        }
        plan_ = make_plan(graph, outputs, set);
        for (Pass& pass : plan_.passes)
        {
            lay_out_arrays(pass, graph, set);
            workers_.emplace_back(pass, graph, set, false, std::size_t(0)).go_to(0);
        }
        const double* value = values.data();
        for (const LaneGraph::Leaf& leaf : lanes.leaves_)
        {
            std::copy_n(value, capacity, leaf.data.get());
            value += capacity;
        }
    }
    void LaneProgram::run(std::size_t n)
    {
        for (Worker& worker : workers_)
            worker.run_points(0, n);
    }
}
