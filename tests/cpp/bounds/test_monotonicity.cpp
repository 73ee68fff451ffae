// Which way a formula goes along an axis: proved only where it holds for all inputs in their ranges.
#include "roofslate/bounds/monotonicity.hpp"
#include "roofslate/graph/grid.hpp"
#include <gtest/gtest.h>

namespace
{
    using namespace roofslate;

    struct AlongAnAxis : ::testing::Test
    {
        xt::xarray<double> rising{1, 2, 3}, falling{3, 2, 1}, mixed{1, 3, 2}, low{0, 1, 2}, other{2, 5};
        Graph g{{3, 2}};
        int x = g.leaf(view_of(rising, {0})), y = g.leaf(view_of(other, {1}));
        int op(Op o, int a, int b = -1) { return g.operation(o, a, b); }
        int number(double value) { return g.constant(value); }
        Direction along(int node) { return direction(g, ranges(g), node, 0); }
    };

    TEST_F(AlongAnAxis, SumsProductsAndQuotientsOfPositiveNumbersHaveADirection)
    {
        EXPECT_EQ(along(x), Direction::nondecreasing);
        EXPECT_EQ(along(op(Op::add, op(Op::mul, x, y), y)), Direction::nondecreasing);
        EXPECT_EQ(along(op(Op::div, y, x)), Direction::nonincreasing);
        EXPECT_EQ(
            along(op(Op::div, op(Op::max, op(Op::add, op(Op::mul, x, y), y), op(Op::mul, x, x)), op(Op::mul, x, x))),
            Direction::nonincreasing);
        EXPECT_EQ(along(op(Op::sqrt, x)), Direction::nondecreasing);
        EXPECT_EQ(along(op(Op::pow, x, number(-2))), Direction::nonincreasing);
    }
    TEST_F(AlongAnAxis, AFallingAxisTurnsIt)
    {
        const int f = g.leaf(view_of(falling, {0}));
        EXPECT_EQ(along(f), Direction::nonincreasing);
        EXPECT_EQ(along(op(Op::div, y, f)), Direction::nondecreasing);
    }
    TEST_F(AlongAnAxis, TheNegativeOfAValueGoesTheOtherWay)
    {
        EXPECT_EQ(along(op(Op::neg, x)), Direction::nonincreasing);
        EXPECT_EQ(along(op(Op::neg, op(Op::div, y, x))), Direction::nondecreasing);
    }
    TEST_F(AlongAnAxis, NothingIsSaidWhereNothingIsProved)
    {
        EXPECT_EQ(along(op(Op::div, op(Op::add, op(Op::mul, x, x), y), x)), Direction::unknown); // between 1/x and x
        EXPECT_EQ(along(op(Op::sub, x, y)), Direction::unknown);
        EXPECT_EQ(along(op(Op::log, x)), Direction::unknown);
        EXPECT_EQ(along(op(Op::pow, y, x)), Direction::unknown);
        EXPECT_EQ(along(op(Op::mul, x, op(Op::neg, y))), Direction::unknown);
        EXPECT_EQ(along(op(Op::mul, x, g.leaf(view_of(rising, {0})))), Direction::unknown); // two inputs along the axis
        EXPECT_EQ(along(g.leaf(view_of(mixed, {0}))), Direction::unknown);
        EXPECT_EQ(along(g.leaf(view_of(low, {0}))), Direction::unknown); // rounding near zero is no share of the value
        EXPECT_EQ(along(y), Direction::unknown);
    }
}
