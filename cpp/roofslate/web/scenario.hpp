// A scenario as a page holds it: numbers and axes by quantity, and the questions that are asked of it.
#pragma once
#include "roofslate/folds/fold.hpp"
#include "roofslate/graph/closure.hpp"
#include "roofslate/solve/roots.hpp"

namespace roofslate::web
{
    // A quantity compared with a number.
    struct Comparison
    {
        int quantity;
        std::string_view relation; // < <= == != >= >
        double value;
    };
    struct Optimum
    {
        bool exists;
        double value;
        std::vector<std::int64_t> position; // by axis of the scenario
    };
    struct Solution
    {
        std::vector<double> values; // `each` for a point of the axes, NaN after the last one
        std::size_t each;
        std::vector<std::string> reasons; // by point; empty: there is a solution
        AxisSet axes;
    };
    struct Slopes
    {
        std::vector<double> values; // an array per input, on the axes
        AxisSet axes; // an input that decides nothing any more may leave the output more of them
    };
    enum class Origin
    {
        given,
        by_default,
        formula,
        other_quantity, // its substitute
    };
    struct Step
    {
        int quantity;
        double value;
        Origin origin;
        int formula = -1;   // the quantity whose formula, or whose value, it is; -1: none
        int condition = -1; // the quantity that binds in a max or min; -1: none
        std::vector<int> needs{}; // that decide the value, in the formula's order
        std::string text{}, remark{}; // the formula after choices, and the decisions of max and min
    };

    // Everything that it refuses is an Error that names the quantity. It owns copies of the numbers.
    class Scenario
    {
    public:
        void set(int quantity, double value);
        // Adds an axis with the name of the input. Axes keep the order of their calls.
        void set_axis(int quantity, const double* values, std::size_t size);
        std::vector<int> axes() const; // the quantities along them
        std::size_t size_of_axis(std::size_t axis) const;

        std::vector<AxisSet> axes_of(const std::vector<int>& outputs) const;
        // An array per output, on its axes, the last axis fastest.
        void evaluate(const std::vector<int>& outputs, const std::vector<double*>& results) const;
        Optimum best(int output, bool maximize, const std::vector<Comparison>& where) const;
        Solution solve(int input, const Comparison& condition, Which which) const;
        Slopes differentiate(int output, const std::vector<int>& inputs) const;
        // The quantity that is asked for comes first, each before those that it needs.
        std::vector<Step> explain(int output) const;

    private:
        struct Input
        {
            int quantity;
            std::vector<double> values;
            bool is_axis;
        };
        struct Grid;

        void check(int quantity, const double* values, std::size_t size) const;
        void check_bounds(int except = -1) const;
        void check_numbers(int output) const;
        Input& input(int quantity);
        const Input* find(int quantity) const;
        std::vector<const Input*> axis_inputs() const;
        std::vector<std::size_t> shape() const;
        std::vector<Supplied> supplied() const;
        // The node of each; an error lists all that is missing.
        std::vector<int> nodes(Grid& grid, const std::vector<int>& outputs) const;

        std::vector<Input> inputs_;
    };
}
