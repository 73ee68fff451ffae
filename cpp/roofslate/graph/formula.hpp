// Formulas that are no quantity: written over quantities, with a value in any graph.
#pragma once
#include "roofslate/graph/closure.hpp"
#include <string>
#include <vector>

namespace roofslate
{
    // Operations of which input k is the quantity needs[k]; the last one is the value.
    struct Formula
    {
        Tape tape;
        std::vector<std::string> needs;
    };
    std::string text_of(const Formula& formula, const Registry& registry);
    int node_of(const Formula& formula, const Registry& registry, Graph& graph, Closure& closure);

    // A comparison of two formulas.
    struct Condition
    {
        enum class Kind
        {
            less,
            less_equal,
            equal,
            not_equal,
        };
        Formula lhs;
        Kind kind;
        Formula rhs;
    };
}
