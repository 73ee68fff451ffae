// Numbers without a graph: the same bits as a folded closure, and missing inputs.
#include "roofslate/graph/numbers.hpp"
#include "roofslate/language/error.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <random>

namespace
{
    using namespace support;

    std::optional<double> by_graph(const std::vector<Supplied>& supplied, int quantity)
    {
        Graph graph({});
        Closure closure(registry(), graph, supplied);
        try
        {
            return graph[closure.node(quantity)].value;
        }
        catch (const Error&)
        {
            return {};
        }
    }

    TEST(Numbers, AreThoseOfAClosure)
    {
        std::mt19937 random(7);
        const double some[] = {0, 1, 2, 0.5, 3e-6, 61, 72, 1e15, std::numeric_limits<double>::infinity()};
        int present = 0, missing = 0;
        for (int round = 0; round < 60; ++round)
        {
            const unsigned share = round % 3 == 0 ? 3 : round % 3 == 1 ? 30 : 90; // of a hundred quantities
            std::vector<double> values(std::size_t(registry().size()));
            std::vector<Supplied> supplied;
            std::vector<Given> given;
            for (int q = 0; q < registry().size(); ++q)
            {
                const Spec& spec = *registry()[q].spec;
                double& x = values[std::size_t(q)];
                x = spec.is_choice() ? double(random() % 2) : some[random() % std::size(some)];
                if (random() % 100 < share && spec.admits(x))
                    supplied.push_back({q, {&x, 0, {}}}), given.push_back({q, x});
            }
            Numbers numbers(registry(), given);
            for (int q = 0; q < registry().size(); ++q)
            {
                const std::optional<double> expected = by_graph(supplied, q), found = numbers.find(q);
                ASSERT_EQ(found.has_value(), expected.has_value()) << registry()[q].name << " in round " << round;
                ++(found ? present : missing);
                ASSERT_TRUE(!found || same_bits(*found, *expected)) << registry()[q].name << " in round " << round;
            }
        }
        EXPECT_GT(present, 10000);
        EXPECT_GT(missing, 2000);
    }
    TEST(Numbers, SayWhatIsMissing)
    {
        const std::vector<Given> nothing;
        Numbers numbers(registry(), nothing);
        try
        {
            numbers[registry().at("hbm_drain_time")];
            FAIL();
        }
        catch (const Error& error)
        {
            EXPECT_NE(std::string(error.what()).find("'hbm_capacity'"), std::string::npos);
        }
        EXPECT_FALSE(numbers.find(registry().at("hbm_drain_time")));
    }
}
