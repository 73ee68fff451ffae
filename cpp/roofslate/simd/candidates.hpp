// The instruction sets that were built, best first. CMake writes the list (cpp/cmake/instruction_sets.cmake).
#pragma once
#include "roofslate/simd/instructions.hpp"
#include <vector>

namespace roofslate
{
    struct Candidate
    {
        const InstructionSet* set;
        bool (*supported)(); // by this machine: exactly the features that the set's file is compiled with
    };
    const std::vector<Candidate>& instruction_set_candidates();
}
