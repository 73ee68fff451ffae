// Exact derivatives: reverse-mode chain rule on the operations of a graph. Adjoints are more nodes of the same graph,
// and run like all nodes.
#pragma once
#include "roofslate/derivatives/saturation.hpp"
#include "roofslate/run/options.hpp"

namespace roofslate
{
    enum class Derivative
    {
        elasticity, // d ln(output) / d ln(input); NaN where the output is 0 or not finite
        slope // d output / d input; NaN where the output is not finite
    };
    enum class Side // of a kink: the derivative towards smaller values of the input, or towards larger ones
    {
        below,
        above
    };
    struct Kink // a max or min whose arguments are equal somewhere
    {
        int node;
        int where; // a node that is not 0 where they are, and the output depends on it
    };
    // Error for a routine without a derivative by an argument, and the inputs (by position) that reach the output
    // through it.
    struct NoPartial
    {
        const Routine* routine;
        int argument;
        std::vector<std::size_t> inputs;
    };

    // Derivatives of a node by leaves and variables of its graph. -1 marks an input that the output does not take.
    // Comparisons, ceil and floor have derivative 0, a choice has the derivative of the selected alternative.
    class Derivation
    {
    public:
        // At limits: if a value overflowed or underflowed, or a factor of 0 fixes it, derivatives are 0, and NaN
        // otherwise. This takes more operations and changes no finite value. Throws NoPartial.
        Derivation(Graph& graph, int output, const std::vector<int>& inputs, Derivative kind, bool at_limits = false);

        // One node for each input; at a kink they have the derivative of the argument that max or min gave.
        const std::vector<int>& smooth() const { return smooth_; }
        // Every max, min and root that may have a kink; roots only at limits.
        const std::vector<Kink>& kinks() const { return kinks_; }
        // Whether derivatives are finite at all points, by their ranges.
        bool are_finite(const std::vector<int>& derivatives);
        // The same derivatives, one-sided at all kinks.
        std::vector<int> one_sided(Side side);
        // The kinks without the points at which the sides agree in all derivatives.
        std::vector<Kink> sharp_kinks();

    private:
        // An adjoint in two forms: `relative` is the node times the derivative by it, `absolute` the derivative itself.
        // The former passes through products unchanged, the latter through sums, and neither is ever divided by a value
        // that may be 0.
        enum Form
        {
            relative,
            absolute
        };
        struct Use
        {
            int user, position; // which argument of it
        };
        // Derivatives of all nodes by one input, of the second order where something asked for them.
        struct Direction
        {
            int input;
            std::vector<int> slope;
            mutable std::vector<int> curvature;
        };
        // instead of a node: a derivative that is 0 everywhere, a condition that holds everywhere
        static constexpr int none = -1;
        static constexpr int unknown = -3; // not made yet

        bool passes(const Node& n, int position);
        int fixed_choice(const Node& n); // by a max or min at all points: the argument's place, or -1
        int first_is_taken(const Node& n);
        void find_live();
        bool is_live(int i) const { return i >= 0 && i <= output_ && live_[std::size_t(i)]; }
        void find_wanted();
        void refuse_what_has_no_partial();
        // to give an argument its adjoint in a form, a user needs its own in this one
        static Form asked_of(Op user, int position, Form form);
        int adjoint(int i, Form form) const { return adjoints_[std::size_t(i)][form]; }
        int root(Form form);
        int contribution(const Use& use, Form form);
        int contribution_in_range(const Use& use, Form form);
        int activity(int i); // a node that is not 0 where the output depends on this one
        int passed_if(const Use& use); // a node that is not 0 where a max, min or select takes it
        int active_if(const Use& use);
        int settled(int i); // the condition that the output is independent of this one
        int settled_by(const Use& use);
        bool may_turn(int i);
        std::pair<int, int> turn_of(const Node& n); // whose terms are equal at a kink
        int curvature(int i, const Direction& direction);
        int tangent(int i, const Direction& direction, Side side);
        int tangent_in_range(int i, const Direction& direction, Side side);
        int tangent_of_root(int i, int slope, const Direction& direction, Side side);
        int tangent_of_turn(const Node& n, int a, int b, Side side);
        int finished(int derivative);
        int any(const std::vector<int>& nodes);

        int apply(Op op, int a, int b = -1, int c = -1) { return graph_.operation(op, a, b, c); }
        int number(double x) { return graph_.constant(x); }
        int sum(int a, int b);
        int negated(int a);
        int product(int a, int b);
        int quotient(int a, int b);
        int chosen(int condition, int a, int b);
        int unless(int constant, int derivative);
        int guarded(int user, int adjoint, bool harmless);
        int product_in(int user, int adjoint, int factor);
        int quotient_in(int user, int adjoint, int divisor);
        int partial(const Node& n, int position);
        int power_slope(int power);
        int log_of_base(int power);
        const Range& range(int i) { return saturation_.range(i); }
        bool is(int i, double x) const { return graph_[i].is_literal() && graph_[i].value == x; }
        bool finite(int i) { return saturation_.finite(i); }
        bool not_zero(int i) { return saturation_.not_zero(i); }

        Graph& graph_;
        const int output_;
        const std::vector<int> inputs_;
        const Derivative kind_;
        const bool at_limits_;
        Saturation saturation_;
        // of nodes up to the output: depends on an input, and the output on it
        std::vector<char> live_;
        std::vector<std::vector<Use>> uses_;
        std::vector<std::array<bool, 2>> wanted_;
        std::vector<std::array<int, 2>> adjoints_;
        std::vector<int> activity_, settled_;
        std::vector<int> smooth_;
        std::vector<Kink> kinks_;
    };

    struct KinkPoints
    {
        int node;
        std::int64_t points; // of the output's axes
    };
    struct Derivatives
    {
        std::vector<int> nodes;
        std::vector<KinkPoints> kinks; // points at which the derivatives depend on the side
        bool finite;                   // at all points; otherwise perhaps
    };
    // The derivatives, one-sided at kinks, which are searched on the whole grid.
    Derivatives differentiate(
        Graph& graph,
        int output,
        const std::vector<int>& inputs,
        Derivative kind,
        Side side,
        const Options& options,
        bool at_limits = false);
}
