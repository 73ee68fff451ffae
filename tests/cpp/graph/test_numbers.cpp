// Numbers without a graph: the same bits as a folded closure, and missing inputs.
#include "roofslate/graph/numbers.hpp"
#include "roofslate/language/error.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sstream>

namespace
{
    using namespace support;

    std::optional<double> by_graph(const std::vector<Supplied>& supplied, int quantity)
    {
        Graph graph({});
        Closure closure(registry(), graph, supplied, Closure::Visits::all);
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
    // The operations that a closure makes of a quantity, without constants that nothing takes.
    std::string described(Closure& closure, const Graph& graph, const std::vector<Supplied>& supplied, int quantity)
    {
        std::ostringstream text;
        text << std::hexfloat;
        try
        {
            const int root = closure.node(quantity);
            std::map<int, int> numbering;
            for (const int i : in_order(graph, {root}, [](int) { return false; }))
            {
                const Node& n = graph[i];
                if (n.is_literal() && i != root)
                    continue;
                numbering.emplace(i, int(numbering.size()));
                text << int(n.op) << ' ' << n.axes << ' ' << math::bits(n.value) << ' ' << n.routine;
                for (std::size_t k = 0; k < std::size_t(n.arity()); ++k)
                    text << (graph[n.argument[k]].is_literal() ? " = " : " ")
                         << (graph[n.argument[k]].is_literal()
                                 ? std::int64_t(math::bits(graph[n.argument[k]].value))
                                 : numbering.at(n.argument[k]));
                text << '\n';
            }
        }
        catch (const Error& error)
        {
            text << error.what();
        }
        for (const Supplied& s : supplied)
            text << closure.was_used(s.quantity);
        return text.str();
    }
    TEST(Closure, OfWhatRestsOnDefaultsAloneIsAConstant)
    {
        std::mt19937 random(8);
        const double some[] = {0, 1, 2, 0.5, 3e-6, 61, 72, 1e15}, row[] = {1, 2, 4};
        std::size_t nodes = 0, nodes_of_all = 0;
        for (int round = 0; round < 60; ++round)
        {
            const unsigned share = round % 3 == 0 ? 2 : round % 3 == 1 ? 10 : 40; // of a hundred quantities
            std::vector<double> values(std::size_t(registry().size()));
            std::vector<Supplied> supplied;
            for (int q = 0; q < registry().size(); ++q)
            {
                const Spec& spec = *registry()[q].spec;
                double& x = values[std::size_t(q)];
                x = spec.is_choice() ? double(random() % 2) : some[random() % std::size(some)];
                if (random() % 100 >= share || !spec.admits(x))
                    continue;
                if (random() % 3 == 0 && !spec.is_choice() && spec.admits(row[0]) && spec.admits(row[2]))
                    supplied.push_back({q, {row, 1, {1}}});
                else
                    supplied.push_back({q, {&x, 0, {}}});
            }
            for (int q = round % 7; q < registry().size(); q += 7)
            {
                Graph graph({3}), graph_of_all({3});
                Closure closure(registry(), graph, supplied),
                    all(registry(), graph_of_all, supplied, Closure::Visits::all);
                ASSERT_EQ(described(closure, graph, supplied, q), described(all, graph_of_all, supplied, q))
                    << registry()[q].name << " in round " << round;
                nodes += std::size_t(graph.size()), nodes_of_all += std::size_t(graph_of_all.size());
            }
        }
        EXPECT_LT(nodes, nodes_of_all);
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
