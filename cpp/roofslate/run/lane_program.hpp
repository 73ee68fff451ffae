// Programs over lanes that are filled anew for each run: many small questions at once, by the ordinary operations.
#pragma once
#include "roofslate/bounds/interval.hpp"
#include "roofslate/run/worker.hpp"
#include <list>

namespace roofslate
{
    // A graph over lanes, and the memory of its inputs.
    class LaneGraph
    {
    public:
        static constexpr std::size_t capacity = 512;

        LaneGraph() : graph_({capacity}) {}
        LaneGraph(const LaneGraph&) = delete;
        LaneGraph& operator=(const LaneGraph&) = delete;
        Graph& graph() { return graph_; }
        const Graph& graph() const { return graph_; }
        // An input whose values will stay within the range.
        int leaf(const Range& range, double*& data);

    private:
        friend class LaneProgram;
        struct Leaf
        {
            Range range;
            Doubles data;
        };
        Graph graph_;
        std::list<Leaf> leaves_;
    };

    // Nodes of such a graph, computed together.
    class LaneProgram
    {
    public:
        static constexpr std::size_t capacity = LaneGraph::capacity;

        LaneProgram() = default;
        LaneProgram(const LaneProgram&) = delete;
        LaneProgram& operator=(const LaneProgram&) = delete;
        void compile(LaneGraph& lanes, const std::vector<int>& nodes, const InstructionSet& set);
        bool compiled() const { return !results_.empty(); }
        void run(std::size_t n);
        const double* operator[](std::size_t k) const { return results_[k].get(); } // of the k-th node

    private:
        std::vector<Doubles> results_;
        Plan plan_{std::pmr::get_default_resource()};
        std::list<Worker> workers_;
    };
}
