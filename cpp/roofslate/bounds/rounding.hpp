// How far a computed value is from its formula: bounds of the error by rounding, and proofs that nothing overflows or
// underflows, or that a value is undefined.
#pragma once
#include "roofslate/bounds/monotonicity.hpp"
#include <map>

namespace roofslate
{
    // Of nodes of the graph that a trend is about, while its input runs over a stretch.
    class Rounding
    {
    public:
        Rounding(Bounder& bounder, Trend& trend) : bounder_(bounder), trend_(trend), g_(bounder.graph()) {}

        // Of a value at the input itself, in units of DBL_EPSILON, as far as the input moves it: a share of the value
        // that is proved for all, or a node where terms may cancel.
        struct Error
        {
            double share = 0;
            int node = -1;
            bool is_share() const { return node < 0; }
        };
        Error error(int node);
        int absolute(const Error& error, int node);
        // Truths: nothing that moves with the input leaves the range of normal numbers; the value is nowhere a number.
        int tame(int node);
        int undefined(int node);
        int same(int x, int z); // two values are equal to the bit

    private:
        struct Size // truths
        {
            int tame, tiny; // as accurate as rounding is; so small that it may have underflowed
        };
        Size size_of(const Node& n, int i, const std::array<Size, 3>& arguments);
        int same_as_chosen(int choice, int z);
        Error derive(const Node& n, int i);
        Error of_sum(const Node& n, int i);
        int undefined_here(const Node& n);
        Error known(int node) const { return errors_[std::size_t(node)]; }
        int op(Op o, int a, int b = -1, int c = -1) { return g_.operation(o, a, b, c); }
        int number(double x) { return g_.constant(x); }
        int size(int x);
        int plus_share(int error, double share, int value);
        int is_zero(const Bounds& a) { return bounder_.both(bounder_.at_least_zero(a), bounder_.at_most_zero(a)); }
        int is_infinite(const Bounds& a)
        { return bounder_.either(bounder_.at_least(a, HUGE_VAL), bounder_.at_most(a, -HUGE_VAL)); }

        Bounder& bounder_;
        Trend& trend_;
        Graph& g_;
        std::vector<Error> errors_;
        std::vector<char> has_error_;
        std::map<std::pair<int, int>, int> same_;
    };
}
