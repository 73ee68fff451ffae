// Many boxes of a grid at once: bounds of the values in them, and the values at their points, both by the ordinary
// operations.
#pragma once
#include "roofslate/bounds/direction.hpp"
#include "roofslate/run/lane_program.hpp"

namespace roofslate
{
    struct Box // from `low` to before `high`, axis by axis
    { std::array<std::uint32_t, most_axes> low{}, high{}; };

    class Boxes
    {
    public:
        // `nodes` of the graph whose bounds and values are wanted; lines bound the first `along_lines` of them.
        Boxes(
            const Graph& graph,
            const std::vector<int>& nodes,
            std::size_t along_lines,
            AxisSet axes,
            const InstructionSet& set);

        const std::vector<int>& axes() const { return axes_; } // those that the nodes vary along, slowest first
        Box full() const;
        double points(const Box& box) const;

        // Bounds of up to LaneProgram::capacity boxes; NaN: anything, perhaps NaN.
        void bound(const Box* boxes, std::size_t n);
        // The same of the lines through the middle of boxes: first of one along the first axis, then along the second,
        // then the next box.
        void bound_lines(const Box* boxes, std::size_t n);
        class Ends // of nodes in boxes or along lines
        {
        public:
            explicit Ends(const LaneProgram& program) : program_(program) {}
            double low(std::size_t node, std::size_t i) const { return program_[2 * node][i]; }
            double high(std::size_t node, std::size_t i) const { return program_[2 * node + 1][i]; }

        private:
            const LaneProgram& program_;
        };
        double low(std::size_t node, std::size_t box) const { return Ends(bounds_).low(node, box); }
        double high(std::size_t node, std::size_t box) const { return Ends(bounds_).high(node, box); }
        Ends of_lines() const { return Ends(lines_); }

        // Adds the points of a box, the last axis fastest; false where they do not fit. Then computes them all.
        bool add_points(const Box& box);
        void compute();
        const double* values(std::size_t node) const { return points_[node]; }

    private:
        struct Leaf
        {
            View view;
            std::vector<int> axes;
            std::size_t length = 0; // of its axis, if any
            std::size_t grain = 1; // values of an entry of the table
            // of stretches of 2^k entries, for values that are not monotone throughout
            std::vector<std::vector<Range>> table;
            Range all;
            std::array<Direction, most_axes> direction{}; // by axis, of several axes
            double *low = nullptr, *high = nullptr, *points = nullptr;

            Range within(std::size_t first, std::size_t last) const; // along its one axis
            Range within(const Box& box) const; // of several axes
        };
        void read_leaf(const Graph& graph, const Node& node, Leaf& leaf) const;

        std::vector<std::size_t> shape_;
        std::vector<int> axes_;
        std::vector<Leaf> leaves_;
        LaneGraph bound_lanes_, point_lanes_;
        LaneProgram bounds_, lines_, points_;
        std::size_t pending_ = 0;
    };
}
