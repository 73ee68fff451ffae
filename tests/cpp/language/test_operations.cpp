// Operations by name, their operands, and their units at run time.
#include "roofslate/language/error.hpp"
#include "roofslate/language/operations.hpp"
#include "roofslate/language/registry.hpp"
#include <gtest/gtest.h>

namespace
{
    using namespace roofslate;

    const Dimension token = unit("token"), second = unit("s"), none = unit("1");

    Dimension marked(Dimension d, bool any, bool written)
    {
        d.any = any, d.written = written;
        return d;
    }

    TEST(Operations, AreCalledByName)
    {
        for (const char* const name : {"add", "neg", "select", "less_equal", "both", "pow"})
        {
            const std::optional<Op> op = operation_called(name);
            ASSERT_TRUE(op);
            EXPECT_EQ(name_of(Operation{*op}), name);
        }
        EXPECT_FALSE(operation_called("erlang_c"));
        EXPECT_FALSE(operation_called("input"));
        EXPECT_EQ(name_of(Operation{Op::input}), "");
        Operation o{Op::routine};
        o.routine = registry().routine("erlang_c");
        ASSERT_NE(o.routine, nullptr);
        EXPECT_EQ(name_of(o), "erlang_c");
        EXPECT_EQ(arity_of(o), 2);
        EXPECT_EQ(arity_of({Op::constant}), 0);
        EXPECT_EQ(arity_of({Op::floor}), 1);
        EXPECT_EQ(arity_of({Op::equal}), 2);
        EXPECT_EQ(arity_of({Op::select}), 3);
    }
    TEST(Operations, WithoutThoseThatTheRootDoesNotTake)
    {
        Tape tape;
        const int x = tape.push({Op::input, {0, -1, -1}});
        tape.push({Op::exp, {x, -1, -1}});
        const int y = tape.push({Op::input, {1, -1, -1}});
        const int root = tape.push({Op::sub, {y, x, -1}});
        tape.push({Op::neg, {root, -1, -1}});
        const Tape used = without_unused(tape, root);
        ASSERT_EQ(used.operations.size(), 3U);
        EXPECT_EQ(used.operations[1].argument[0], 1); // of an input: its number
        EXPECT_EQ(used.operations[2].op, Op::sub);
        EXPECT_EQ(used.operations[2].argument[0], 1);
        EXPECT_EQ(used.operations[2].argument[1], 0);
    }
    TEST(Operations, HaveUnits)
    {
        const auto unit_is = [](Op op, const std::vector<Dimension>& operands, const char* expected) {
            const UnitOfOperation result = unit_of(op, operands);
            return result.misfits.empty() && spell(result.unit) == expected;
        };
        EXPECT_TRUE(unit_is(Op::mul, {token, second}, "token*s"));
        EXPECT_TRUE(unit_is(Op::div, {token, second}, "token/s"));
        EXPECT_TRUE(unit_is(Op::sqrt, {second}, "s^0.5"));
        EXPECT_TRUE(unit_is(Op::floor, {second}, "s"));
        EXPECT_TRUE(unit_is(Op::max, {second, second}, "s"));
        EXPECT_TRUE(unit_is(Op::select, {none, second, second}, "s"));
        EXPECT_TRUE(unit_is(Op::less, {second, second}, "1"));
        EXPECT_TRUE(unit_is(Op::both, {none, none}, "1"));
        EXPECT_TRUE(unit_is(Op::routine, {none, none}, "1"));
    }
    TEST(Operations, TellOperandsThatDoNotFit)
    {
        EXPECT_EQ(unit_of(Op::add, {token, second}).misfits, (std::vector<int>{0, 1}));
        EXPECT_EQ(unit_of(Op::select, {none, token, second}).misfits, (std::vector<int>{1, 2}));
        EXPECT_EQ(unit_of(Op::equal, {none, second}).misfits, (std::vector<int>{0, 1}));
        EXPECT_EQ(unit_of(Op::exp, {second}).misfits, std::vector<int>{0});
        EXPECT_EQ(unit_of(Op::pow, {none, second}).misfits, std::vector<int>{1});
        EXPECT_EQ(unit_of(Op::routine, {token, none}).misfits, std::vector<int>{0});
        EXPECT_THROW((void)unit_of(Op::sqrt, {unit("s") * power(second, 1, 2)}), Error);
        EXPECT_THROW((void)unit_of(Op::mul, {power(second, 4, 1), second}), Error);
    }
    TEST(Operations, LetLiteralsFit)
    {
        const Dimension zero = marked(none, true, true), number = marked(none, false, true);
        EXPECT_TRUE(same_unit(unit_of(Op::add, {zero, second}).unit, second));
        EXPECT_TRUE(same_unit(unit_of(Op::max, {token, number}).unit, token));
        EXPECT_TRUE(same_unit(unit_of(Op::min, {number, token}).unit, token));
        EXPECT_FALSE(unit_of(Op::add, {number, second}).misfits.empty());
        EXPECT_TRUE(unit_of(Op::exp, {marked(second, true, true)}).misfits.empty());
        EXPECT_TRUE(unit_of(Op::add, {zero, number}).unit.written);
        EXPECT_FALSE(unit_of(Op::add, {zero, number}).unit.any);
        EXPECT_TRUE(unit_of(Op::mul, {zero, second}).unit.any);
        EXPECT_FALSE(unit_of(Op::mul, {zero, second}).unit.written);
    }
}
