// Operations of formulas at run time: their names, how many operands they take, and what they do to units.
#pragma once
#include "roofslate/language/expr.hpp"
#include "roofslate/language/unit.hpp"
#include <optional>
#include <string_view>
#include <vector>

namespace roofslate
{
    std::optional<Op> operation_called(std::string_view name); // nothing: a routine, if there is one of that name
    std::string_view name_of(const Operation& operation);      // of inputs and constants: empty
    int arity_of(const Operation& operation);                  // of inputs and constants: 0

    // The operations that a root takes, in their order; the root is the last one.
    Tape without_unused(const Tape& tape, int root);

    // The unit of an operation's value; otherwise the operands that do not fit: one that is no number, or two of unlike
    // units.
    struct UnitOfOperation
    {
        Dimension unit;
        std::vector<int> misfits;
    };
    UnitOfOperation unit_of(Op op, const std::vector<Dimension>& operands);
}
