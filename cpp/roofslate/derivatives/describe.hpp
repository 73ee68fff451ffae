// Derivatives in words: the position of a kink, and the reason for a missing derivative.
#pragma once
#include "roofslate/derivatives/adjoint.hpp"
#include "roofslate/graph/closure.hpp"
#include "roofslate/language/error.hpp"

namespace roofslate
{
    struct KinkText
    {
        std::string quantity, left, right; // whose formula chooses between these sides, which are equal
    };
    KinkText describe(const KinkPoints& kink, const Closure& closure, const Registry& registry);
    Error no_derivative(const NoPartial& refused, const std::vector<std::string>& inputs);
}
