// Fronts: the members and the order of a plain loop over all pairs, and no time that grows with their square.
#include "roofslate/folds/front.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <algorithm>
#include <chrono>

namespace
{
    using namespace support;

    bool beats(const Member& a, const Member& b, std::size_t n)
    {
        bool smaller = a.where < b.where;
        for (std::size_t k = 0; k < n; ++k)
        {
            if (a.value[k] > b.value[k])
                return false;
            smaller = smaller || a.value[k] < b.value[k];
        }
        return smaller;
    }
    std::vector<std::int64_t> places(const std::vector<Member>& members)
    {
        std::vector<std::int64_t> all;
        for (const Member& m : members)
            all.push_back(m.where);
        return all;
    }
    std::vector<std::int64_t> plain_front(const std::vector<Member>& points, std::size_t n)
    {
        std::vector<Member> stay;
        for (const Member& p : points)
            if (std::none_of(points.begin(), points.end(), [&](const Member& m) { return beats(m, p, n); }))
                stay.push_back(p);
        std::sort(stay.begin(), stay.end(), [](const Member& a, const Member& b) { return a.value < b.value; });
        return places(stay);
    }
    TEST(Front, IsThatOfAPlainLoop)
    {
        Random random{7};
        for (int round = 0; round < 400; ++round)
        {
            const std::size_t n = 1 + std::size_t(round) % most_objectives,
                              points = std::size_t(uniform(random, 0, 700));
            const double steps = round % 3 == 0 ? 5 : round % 3 == 1 ? 60 : 1e9; // few: many are equal
            std::vector<Member> all;
            Front front(n);
            for (std::size_t i = 0; i < points; ++i)
            {
                Member m;
                double remaining = steps;
                for (std::size_t k = 0; k < n; ++k)
                {
                    m.value[k] = std::floor(uniform(random, 0, steps));
                    if (round % 2 == 0 && n > 1) // near a plane on which none beats another
                        m.value[k] = k + 1 < n ? m.value[k] : remaining, remaining -= m.value[k];
                    if (uniform(random, 0, 1) < 0.01)
                        m.value[k] = uniform(random, 0, 1) < 0.5 ? HUGE_VAL : -0.0;
                }
                m.where = std::int64_t(i * 7919 % 1009); // in no order
                all.push_back(m);
                front.add(m);
            }
            ASSERT_EQ(places(front.members()), plain_front(all, n)) << n << " values, round " << round;
            for (int k = 0; k < 20 && !all.empty(); ++k)
            {
                Member corner = all[std::size_t(uniform(random, 0, double(points) - 0.5))];
                corner.where = std::int64_t(uniform(random, 0, 1100));
                EXPECT_EQ(
                    front.beats(corner.value, corner.where),
                    std::any_of(all.begin(), all.end(), [&](const Member& m) { return beats(m, corner, n); }));
            }
        }
    }
    TEST(Front, OfPointsThatAllStayTakesNoQuadraticTime)
    {
        Random random{3};
        for (const std::size_t n : {2, 3, 4})
        {
            const std::size_t points = n == 2 ? 300000 : 30000;
            const auto start = std::chrono::steady_clock::now();
            Front front(n);
            for (std::size_t i = 0; i < points; ++i)
            {
                Member m;
                double remaining = 1e15;
                for (std::size_t k = 0; k + 1 < n; ++k)
                    remaining -= m.value[k] = std::floor(uniform(random, 0, 1e15)) / 4;
                m.value[n - 1] = remaining;
                m.where = std::int64_t(i);
                front.add(m);
            }
            EXPECT_EQ(front.members().size(), points);
            if (!sanitized)
            {
                EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
            }
        }
    }
}
