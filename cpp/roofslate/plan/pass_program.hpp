// The program of a pass: what is computed once for a row, and instructions of the accumulator machine for its points.
#pragma once
#include "roofslate/plan/pass_layout.hpp"

namespace roofslate
{
    // By node: where an earlier pass puts it.
    Pass write_program(PassLayout& layout, const List<const View*>& kept);
    Pass write_program(PassLayout& layout, const List<const View*>& kept, const FoldPass& fold, Directions& directions);
}
