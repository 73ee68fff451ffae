// The loops of a pass, and the values that it reads instead of computing them.
#pragma once
#include "roofslate/bounds/monotonicity.hpp"
#include "roofslate/plan/plan.hpp"
#include <algorithm>

namespace roofslate
{
    inline constexpr std::size_t shortest_row = 128;     // points; shorter rows are joined over several axes
    inline constexpr std::size_t most_row_values = 8192; // of an intermediate that is kept for all rows of a pass

    // Nodes to be looked at, each of them once.
    class Walk
    {
    public:
        Walk(int nodes, Arena* arena) : seen_(std::size_t(nodes), 0, arena), waiting_(arena) { waiting_.reserve(64); }
        void add(int node) { waiting_.push_back(node); }
        int next() // -1: none is left
        {
            while (!waiting_.empty())
            {
                const int node = waiting_.back();
                waiting_.pop_back();
                if (!seen_[std::size_t(node)]++)
                    return node;
            }
            return -1;
        }

    private:
        List<char> seen_;
        List<int> waiting_;
    };

    class PassLayout
    {
    public:
        PassLayout(
            const Graph& graph,
            const List<Range>& ranges,
            const InstructionSet& set,
            Arena* arena,
            const List<Output>& outputs,
            AxisSet axes);
        // The pass that computes, once for all rows of `main`, the values that depend only on the row.
        PassLayout(const PassLayout& main, Arena* arena, const List<Output>& outputs);
        PassLayout(
            const Graph& graph,
            const List<Range>& ranges,
            const InstructionSet& set,
            Arena* arena,
            const FoldPass& fold,
            Directions& directions);

        const List<int>& kept() const { return kept_; }           // to be computed in separate passes
        const List<int>& kept_rows() const { return kept_rows_; } // to be computed by the pass before this one
        void set_kept_rows(const List<Output>& rows) { rows_ = rows; }
        const double* kept_row(int i) const
        {
            const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Output& o) { return o.node == i; });
            return static_cast<const double*>(row->data);
        }
        const Graph& graph() const { return graph_; }
        const Range& range(int i) const { return ranges_[std::size_t(i)]; }
        const List<Range>& ranges() const { return ranges_; }
        const InstructionSet& set() const { return set_; }
        Arena* arena() const { return roots_.get_allocator().resource(); }
        const List<int>& roots() const { return roots_; } // nodes that the program must give
        Pass& pass() { return pass_; }                    // without a program
        std::size_t row() const { return pass_.row; }
        int last_axis() const { return pass_.inner.back(); }

        const Node& node(int i) const { return graph_[i]; }
        bool on_row(int i) const { return (node(i).axes & row_axes_) != 0; }
        bool is_row_alone(AxisSet axes) const { return (axes & ~row_axes_) == 0; }
        bool is_kept_row(int i) const { return std::binary_search(kept_rows_.begin(), kept_rows_.end(), i); }
        bool is_kept(int i) const { return std::binary_search(kept_.begin(), kept_.end(), i); }
        bool is_array(int i) const { return node(i).is_leaf() || is_kept(i) || is_kept_row(i); }
        // Loops that a value depends on: the number of the innermost one, from 1; 0: none.
        std::size_t depth(AxisSet axes) const;
        bool is_quotient_proved(int i) const;

    private:
        PassLayout(
            const Graph& graph,
            const List<Range>& ranges,
            const InstructionSet& set,
            Arena* arena,
            const List<Output>& outputs);
        void lay_out();
        bool all_run_on(int next, int last, std::size_t row) const;
        // of supplied arrays that would be spread along the row
        bool copies_fit(const List<int>& order, std::size_t inner) const;
        std::size_t evaluations(AxisSet axes) const;                      // if it were computed in this pass
        int cost(int i, AxisSet axes, bool some, int walk);
        int cost(int i, bool some) { return cost(i, some ? row_axes_ : node(i).axes, some, ++walks_); }
        bool worth_keeping(int i);
        bool worth_a_row(int i);
        void find_kept();

        struct NodeInfo
        {
            bool divides = false; // is a divisor whose reciprocal will do
            int counted = 0;      // by the walk with this number
        };
        NodeInfo& info(int i) { return infos_[std::size_t(i)]; }

        const Graph& graph_;
        const List<Range>& ranges_;
        const InstructionSet& set_;
        Pass pass_;
        AxisSet row_axes_ = 0;
        bool keeps_near_ = false;
        List<int> roots_, kept_, kept_rows_;
        List<Output> rows_;
        List<NodeInfo> infos_;
        int walks_ = 0;
    };
}
