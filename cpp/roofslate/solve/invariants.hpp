// What nodes take that does not vary along an axis, point by point of the others: a block of lanes at a time.
#pragma once
#include "roofslate/run/lane_program.hpp"

namespace roofslate
{
    class Givens
    {
    public:
        // The largest parts of the nodes that do not vary along `axis`.
        Givens(const Graph& graph, const std::vector<int>& nodes, AxisSet axis, const InstructionSet& set, int threads);

        std::size_t size() const { return nodes_.size(); }
        int node(std::size_t k) const { return nodes_[k]; }
        const Range& range(std::size_t k) const { return ranges_[std::size_t(nodes_[k])]; }
        std::size_t points() const { return graph_.points(axes_); }

        class Reader // of one thread
        {
        public:
            explicit Reader(const Givens& givens);
            void read(std::size_t first, std::size_t n); // points in the order of the grid
            const double* operator[](std::size_t k) const { return columns_[k]; }

        private:
            const Givens& givens_;
            LaneGraph lanes_;
            std::vector<std::pair<const View*, double*>> sources_;
            LaneProgram program_;
            std::vector<const double*> columns_;
        };

    private:
        void gather(const View& view, std::size_t first, std::size_t n, double* to) const;

        const Graph& graph_;
        const InstructionSet& set_;
        AxisSet axes_ = 0;
        std::vector<int> nodes_;
        // by node, of the nodes read: inputs, and nodes precomputed for all points because there are few
        std::vector<View> views_;
        std::vector<Doubles> kept_;
        std::pmr::vector<Range> ranges_;
    };
}
