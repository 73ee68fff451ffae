// The program of a pass: values computed once for a row, and accumulator-machine instructions for its points.
#pragma once
#include "roofslate/plan/pass_layout.hpp"

namespace roofslate
{
    // By node: the position in an earlier pass's results.
    Pass write_program(PassLayout& layout, const List<const View*>& kept_views);
    Pass write_program(
        PassLayout& layout,
        const List<const View*>& kept_views,
        const FoldPass& fold,
        Directions& directions);
}
