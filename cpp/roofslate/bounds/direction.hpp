// The direction in which values go along an axis, or in which one value goes with another.
#pragma once
#include "roofslate/graph/graph.hpp"

namespace roofslate
{
    enum class Direction : std::uint8_t
    {
        unknown, // nothing is proved
        constant,
        nondecreasing,
        nonincreasing,
    };
    constexpr Direction reversed(Direction d)
    {
        return d == Direction::nondecreasing ? Direction::nonincreasing
            : d == Direction::nonincreasing
            ? Direction::nondecreasing
            : d;
    }
    // Of a function that does not fall with either of its arguments.
    constexpr Direction combined(Direction a, Direction b)
    { return a == Direction::constant ? b : b == Direction::constant || a == b ? a : Direction::unknown; }
    // Of an array along an axis, on every line of it.
    Direction direction_along(const View& view, const std::vector<std::size_t>& shape, int axis);
}
