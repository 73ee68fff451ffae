// Units as types and values, and properties read off a declaration.
#include "roofslate/language/error.hpp"
#include "roofslate/language/quantity.hpp"
#include "roofslate/language/registry.hpp"
#include <gtest/gtest.h>
#include <string>

namespace roofslate::quantities
{
    struct thing_count
    { static constexpr Spec spec = Spec("n", "token", "", "").positive(10).by_default(3); };
    struct thing_time
    {
        static constexpr Spec spec =
            Spec("t", "s", "", "").range(0, infinite).otherwise<thing_count>().at_most<thing_count>();
    };
    struct thing_kind
    { static constexpr Spec spec = Spec("k", "1", "", "").one_of("one", "two", "three"); };
    struct thing_rate
    {
        static constexpr Spec spec = Spec("r", "token/s", "", "");
        template <class T> static constexpr T formula(in<thing_kind, T> k, in<thing_count, T> n, in<thing_time, T> t)
        { return choose(k, n / t, 2.0 * n / t, T(0.0)); }
    };
}

namespace
{
    using namespace roofslate;

    constexpr Dimension token = unit("token"), second = unit("s"), none = unit("1");

    TEST(Unit, IsReadFromLeftToRight)
    {
        static_assert(same_unit(unit("FLOP/s/chip"), unit("FLOP") / (unit("s") * unit("chip"))));
        static_assert(same_unit(unit("byte*token"), unit("byte") * token));
        static_assert(same_unit(unit("1/s"), none / second));
        static_assert(!same_unit(unit("byte/token"), unit("token/byte")));
        const std::string text = "FLOP/s*byte/token"; // also while the program runs
        EXPECT_TRUE(same_unit(unit(text), unit("FLOP") / second * unit("byte") / token));
        EXPECT_THROW((void)unit("meter"), const char*);
        EXPECT_THROW((void)unit("tok"), const char*);
    }
    TEST(Unit, FollowsTheOperations)
    {
        static_assert(same_unit(token * second / second, token));
        static_assert(same_unit(sqrt(token * token), token));
        static_assert(sqrt(token).halves[2] == 1);
        static_assert(same_unit(-ceil(floor(token)), token));
        static_assert(same_unit(min(token, token), token) && !min(token, token).mixed);
        static_assert(
            same_unit(exp(none), none) && same_unit(log(token / token), none) && same_unit(pow(none, none), none));
        static_assert(same_unit(count(token), none) && !count(token).mixed);
        static_assert(
            same_unit(count(unit("sequence")), none) && same_unit(count(unit("chip")), none)
            && same_unit(count(unit("parameter")), none));
    }
    TEST(Unit, UnlikeUnitsAreFound)
    {
        static_assert(
            (token + second).mixed && (token - second).mixed && min(token, second).mixed && max(token, second).mixed);
        static_assert(
            ((token + second) * second).mixed && (second / (token + second)).mixed && (-(token + second)).mixed
            && sqrt(token + second).mixed && floor(token - second).mixed);
        static_assert(exp(second).mixed && log(token).mixed && pow(token, none).mixed && pow(none, token).mixed);
        static_assert(count(unit("byte")).mixed && count(second).mixed && count(token / second).mixed);
        static_assert(select(token < second, none, none).mixed && select(token < token, none, second).mixed);
        static_assert(
            select((token < token) && (second == token), none, none).mixed
            && select((token >= second) || (token > token), none, none).mixed);
        static_assert(!select((token <= token) || (second == second), token, token).mixed);
    }
    TEST(Unit, ZeroAndInfinityFitAll)
    {
        static_assert(!(token + Dimension(0.0)).mixed && same_unit(Dimension(0.0) + token, token));
        static_assert(!max(token, Dimension(infinite)).mixed && !max(token, Dimension(-infinite)).mixed);
        static_assert((token + Dimension(1.0)).mixed && (Dimension(2.0) + token).mixed);
        static_assert((Dimension(0.0) * second).any);
        static_assert(!select(token < Dimension(0.0), second, Dimension(infinite)).mixed);
    }
    TEST(Unit, IsSpelledAtRunTime)
    {
        EXPECT_EQ(spell(none), "1");
        EXPECT_EQ(spell(unit("s/token")), "s/token");
        EXPECT_EQ(spell(unit("FLOP/token/parameter")), "FLOP/parameter/token");
        EXPECT_EQ(spell(unit("1/chip/s")), "1/s/chip");
        EXPECT_EQ(spell(power(unit("byte*s"), 3, 2)), "byte^1.5*s^1.5");
        EXPECT_EQ(spell(root(unit("byte"))), "byte^0.5");
        EXPECT_THROW((void)root(power(token, 1, 2)), Error);
        EXPECT_NO_THROW((void)require_readable(power(second, -4, 1)));
        EXPECT_THROW((void)require_readable(power(second, -9, 2)), Error);
    }
    TEST(Unit, HasPowersThatAreMultiplesOfHalves)
    {
        static_assert(sqrt(power(token, 1, 2)).mixed && power(token, 1, 3).mixed);
        static_assert(same_unit(power(power(token, 3, 2), 2, 3), token) && !power(token, 3, 2).mixed);
        static_assert(power(token, 1LL << 40, 1).mixed && !power(none, 1LL << 40, 3).mixed);
    }
    TEST(Unit, IsSpelledForTheCompilersMessage)
    {
        using quantities::thing_rate;
        static_assert(std::is_same_v<
                      spelled::build<detail::declared_halves<thing_rate>>::type,
                      spelled::unit<spelled::power<spelled::token, 1>, spelled::power<spelled::s, -1>>>);
        static_assert(std::is_same_v<
                      spelled::build<detail::found_halves<thing_rate>>::type,
                      spelled::unit<spelled::power<spelled::token, 1>, spelled::power<spelled::s, -1>>>);
        static_assert(std::is_same_v<
                      spelled::append<spelled::unit<>, spelled::byte, 1>::type,
                      spelled::unit<spelled::root<spelled::byte, 1>>>);
        static_assert(check_unit<thing_rate>());
    }
    TEST(Declaration, IsReadOffTheStruct)
    {
        using namespace quantities;
        static_assert(name_of<thing_rate>() == "thing_rate");
        static_assert(std::is_same_v<formula_of<thing_rate>::needs, list<thing_kind, thing_count, thing_time>>);
        static_assert(formula_of<thing_rate>::exists && !formula_of<thing_count>::exists);
        static_assert(
            thing_count::spec.low == 0 && thing_count::spec.above_low && thing_count::spec.high == 10
            && thing_count::spec.has_default && thing_count::spec.default_value == 3);
        static_assert(
            thing_time::spec.high == infinite && !thing_time::spec.above_low
            && thing_time::spec.fallback == "thing_count" && thing_time::spec.bound == "thing_count");
        static_assert(thing_kind::spec.is_choice() && thing_kind::spec.high == 2 && !thing_count::spec.is_choice());
    }
    TEST(Declaration, FormulaOnDoublesChooses)
    {
        using quantities::thing_rate;
        EXPECT_EQ(thing_rate::formula<double>(0, 6, 3), 2);
        EXPECT_EQ(thing_rate::formula<double>(1, 6, 3), 4);
        EXPECT_EQ(thing_rate::formula<double>(2, 6, 3), 0);
    }

    // Every entry: its tape, evaluated operation by operation, is its formula on doubles.
    TEST(Registry, TapesMeanTheirFormulas)
    {
        for (int q = 0; q < registry().size(); ++q)
        {
            const Entry& e = registry()[q];
            EXPECT_EQ(registry().find(e.name), q);
            if (!e.computed())
                continue;
            EXPECT_EQ(e.needs.size(), e.need_names.size());
            for (int round = 0; round < 40; ++round)
            {
                std::vector<double> needs;
                for (std::size_t k = 0; k < e.needs.size(); ++k)
                {
                    const Spec& s = *registry()[e.needs[k]].spec;
                    needs.push_back(
                        s.is_choice() ? double((round + int(k)) % (int(s.high) + 1))
                                      : 0.25 * double(1 + (round * 7 + int(k) * 13) % 37));
                }
                std::vector<double> value;
                for (const Operation& o : e.tape.operations)
                {
                    double x[3] = {o.value, 0, 0};
                    for (int k = 0; k < 3 && o.op != Op::input && o.argument[k] >= 0; ++k)
                        x[k] = value[std::size_t(o.argument[k])];
                    value.push_back(
                        o.op == Op::input ? needs[std::size_t(o.argument[0])] : evaluate(o.op, o.routine, x));
                }
                const double by_tape = value[std::size_t(e.root)], by_formula = e.formula(needs.data());
                EXPECT_TRUE(by_tape == by_formula || (by_tape != by_tape && by_formula != by_formula))
                    << e.name << ": " << by_tape << " and " << by_formula;
            }
        }
    }
    TEST(Registry, NamesWhatItDoesNotKnow)
    {
        EXPECT_EQ(registry().find("no_such_quantity"), -1);
        try
        {
            (void)registry().at("no_such_quantity");
            FAIL();
        }
        catch (const Error& e)
        {
            EXPECT_STREQ(e.kind(), "UnknownName");
            EXPECT_NE(std::string(e.what()).find("'no_such_quantity'"), std::string::npos);
        }
    }
}
