// Registries with definitions on top of the built-in quantities.
#include "roofslate/graph/closure.hpp"
#include "roofslate/language/error.hpp"
#include "roofslate/language/registry.hpp"
#include "roofslate/quantities/scheduling.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <memory>

namespace
{
    using namespace support;

    Definition times(const std::string& name, const std::string& need, double factor)
    {
        Definition d{name, "t_" + name, "s", "what " + name + " takes", "a test", {need}, {}, -1};
        const int a = d.tape.push({Op::input, {0, -1, -1}});
        const int b = d.tape.push({Op::constant, {-1, -1, -1}, factor});
        d.root = d.tape.push({Op::mul, {a, b, -1}});
        return d;
    }
    double value(const Registry& known, const char* name, const char* given, double x)
    {
        Graph graph({});
        Closure closure(known, graph, {{known.at(given), {&x, 0, {}}}});
        return graph[closure.node(known.at(name))].value;
    }

    TEST(Definitions, StandOnTopOfTheBuiltInQuantities)
    {
        const int built_in = registry().size();
        const Registry known(registry(), {times("twice", "pass_time", 2), times("six_times", "twice", 3)});
        EXPECT_EQ(known.size(), built_in + 2);
        EXPECT_EQ(registry().size(), built_in);
        EXPECT_EQ(registry().find("twice"), -1);
        for (int i = 0; i < built_in; ++i)
            EXPECT_EQ(&known[i], &registry()[i]); // shared, not copied
        const Entry& e = known[known.at("six_times")];
        EXPECT_EQ(e.name, "six_times");
        EXPECT_EQ(e.theme, "defined");
        EXPECT_TRUE(e.computed());
        EXPECT_EQ(e.formula, nullptr);
        EXPECT_STREQ(e.spec->symbol, "t_six_times");
        EXPECT_STREQ(e.spec->unit, "s");
        EXPECT_STREQ(e.spec->brief, "what six_times takes");
        EXPECT_STREQ(e.spec->source, "a test");
        ASSERT_EQ(e.needs.size(), 1u);
        EXPECT_EQ(e.needs[0], known.at("twice"));
        EXPECT_EQ(formula_of_entry(known, e, Notation::text), "six_times = twice * 3");
        EXPECT_EQ(formula_of_entry(known, e, Notation::latex), "t_six_times = t_twice \\, 3");
        EXPECT_EQ(apply_formula(known, e, {2}, {"x"}, Notation::text).formula, "x * 3");
    }
    TEST(Definitions, AreComputedLikeTheOthers)
    {
        const Registry known(registry(), {times("twice", "pass_time", 2), times("six_times", "twice", 3)});
        EXPECT_EQ(value(known, "six_times", "pass_time", 5), 30);
        EXPECT_EQ(value(known, "six_times", "twice", 5), 15); // supplied, it cuts the graph
        const double x = 1;
        Graph graph({});
        Closure closure(known, graph, {{known.at("chips"), {&x, 0, {}}}});
        try
        {
            closure.node(known.at("six_times"));
            FAIL();
        }
        catch (const Error& e)
        {
            EXPECT_NE(std::string(e.what()).find("pass_time <- twice <- six_times"), std::string::npos) << e.what();
        }
    }
    TEST(Definitions, OutliveTheRegistryThatTheyCameFrom)
    {
        auto first = std::make_unique<Registry>(
            registry(),
            std::vector<Definition>{times("a_name_that_is_too_long_to_be_stored_in_place", "pass_time", 2)});
        const Registry second(*first, {times("b", "a_name_that_is_too_long_to_be_stored_in_place", 10)});
        const Registry copy = second;
        first.reset();
        EXPECT_EQ(value(second, "b", "pass_time", 1), 20);
        EXPECT_EQ(copy.at("b"), second.at("b"));
        EXPECT_STREQ(copy[copy.at("a_name_that_is_too_long_to_be_stored_in_place")].spec->unit, "s");
    }
    TEST(Definitions, NeedWhatIsThereBefore)
    {
        EXPECT_THROW(Registry(registry(), {times("six_times", "twice", 3), times("twice", "pass_time", 2)}), Error);
        EXPECT_THROW(Registry(registry(), {times("itself", "itself", 3)}), Error);
        EXPECT_THROW(Registry(registry(), {times("pass_time", "chips", 3)}), std::logic_error);
        EXPECT_THROW(Registry(registry(), {times("a", "chips", 3), times("a", "chips", 3)}), std::logic_error);
    }
    TEST(Definitions, FindRoutinesByTheirNames)
    {
        const Routine* const waiting = registry().routine("erlang_c");
        ASSERT_NE(waiting, nullptr);
        const double x[]{3, 0.5};
        EXPECT_EQ(waiting->value(x), quantities::erlang_c::value(3, 0.5));
        EXPECT_EQ(registry().routine("no_such_routine"), nullptr);
        EXPECT_EQ(Registry(registry(), std::vector<Definition>{}).routine("erlang_c"), waiting);
    }
}
