// Which way a formula goes along an axis: proved only where it holds for all inputs in their ranges.
#include "roofslate/bounds/monotonicity.hpp"
#include "roofslate/graph/grid.hpp"
#include <gtest/gtest.h>

namespace
{
    using namespace roofslate;

    struct Direction : ::testing::Test
    {
        xt::xarray<double> rising{1, 2, 3}, falling{3, 2, 1}, mixed{1, 3, 2}, low{0, 1, 2}, other{2, 5};
        Graph g{{3, 2}};
        int x = g.leaf(view_of(rising, {0})), y = g.leaf(view_of(other, {1}));
        int op(Op o, int a, int b = -1) { return g.operation(o, a, b); }
        int number(double value) { return g.constant(value); }
        int along(int node) { return direction(g, ranges(g), node, 0); }
    };

    TEST_F(Direction, SumsProductsAndQuotientsOfPositiveNumbersHaveADirection)
    {
        EXPECT_EQ(along(x), 1);
        EXPECT_EQ(along(op(Op::add, op(Op::mul, x, y), y)), 1);
        EXPECT_EQ(along(op(Op::div, y, x)), -1);
        EXPECT_EQ(
            along(op(Op::div, op(Op::max, op(Op::add, op(Op::mul, x, y), y), op(Op::mul, x, x)), op(Op::mul, x, x))),
            -1);
        EXPECT_EQ(along(op(Op::sqrt, x)), 1);
        EXPECT_EQ(along(op(Op::pow, x, number(-2))), -1);
    }
    TEST_F(Direction, AFallingAxisTurnsIt)
    {
        const int f = g.leaf(view_of(falling, {0}));
        EXPECT_EQ(along(f), -1);
        EXPECT_EQ(along(op(Op::div, y, f)), 1);
    }
    TEST_F(Direction, TheNegativeOfAValueGoesTheOtherWay)
    {
        EXPECT_EQ(along(op(Op::neg, x)), -1);
        EXPECT_EQ(along(op(Op::neg, op(Op::div, y, x))), 1);
    }
    TEST_F(Direction, NothingIsSaidWhereNothingIsProved)
    {
        EXPECT_EQ(along(op(Op::div, op(Op::add, op(Op::mul, x, x), y), x)), 0); // between 1/x and x
        EXPECT_EQ(along(op(Op::sub, x, y)), 0);
        EXPECT_EQ(along(op(Op::log, x)), 0);
        EXPECT_EQ(along(op(Op::pow, y, x)), 0);
        EXPECT_EQ(along(op(Op::mul, x, op(Op::neg, y))), 0);
        EXPECT_EQ(along(op(Op::mul, x, g.leaf(view_of(rising, {0})))), 0); // two inputs along the axis
        EXPECT_EQ(along(g.leaf(view_of(mixed, {0}))), 0);
        EXPECT_EQ(along(g.leaf(view_of(low, {0}))), 0); // rounding near zero is no share of the value
        EXPECT_EQ(along(y), 0);
    }
}
