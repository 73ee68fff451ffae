// Order statistics of values that come in blocks equal the sorted values', whatever was hinted, and however many
// threads counted.
#include "roofslate/folds/order_statistics.hpp"
#include "support.hpp"
#include <gtest/gtest.h>
#include <functional>
#include <memory>

namespace
{
    using namespace support;
    using Row = std::vector<double>;

    const Row quantiles{0, 0.001, 0.25, 0.5, 0.75, 0.9, 1};
    // values that a hint promises: collected, and counted in parts
    constexpr std::int64_t few = 0, many = std::int64_t(1) << 40;

    // Passes over the rows until all is found; the values come in blocks, each to the tally of another thread.
    Row computed(
        const std::vector<Row>& rows,
        const std::vector<Row>& hints,
        std::int64_t promised,
        std::int64_t repeats,
        std::size_t threads,
        int* passes = nullptr)
    {
        OrderStatistics statistics(rows.size(), quantiles, repeats);
        for (std::size_t r = 0; r < rows.size(); ++r)
            statistics
                .hint(r, hints[r], double(hints[r].size()) / 3 + 1, std::max(promised, std::int64_t(rows[r].size())));
        statistics.begin();
        int passed = 0;
        for (; statistics.open(); ++passed)
        {
            std::vector<std::unique_ptr<OrderStatistics::Tally>> tallies;
            std::vector<OrderStatistics::Tally*> all;
            for (std::size_t t = 0; t < threads; ++t)
                tallies.push_back(std::make_unique<OrderStatistics::Tally>(statistics)),
                    all.push_back(tallies.back().get());
            for (std::size_t r = 0; r < rows.size(); ++r)
                for (std::size_t at = 0, block = 0; at < rows[r].size(); at += 700, ++block)
                    all[block % threads]->take(r, rows[r].data() + at, std::min<std::size_t>(700, rows[r].size() - at));
            statistics.end_pass(all);
            if (passed > 50)
                throw std::logic_error("there is no end to it");
        }
        if (passes)
            *passes = passed;
        return statistics.found();
    }
    Row expected(const std::vector<Row>& rows, std::int64_t repeats)
    {
        Row all;
        for (Row row : rows)
        {
            row.erase(std::remove_if(row.begin(), row.end(), [](double x) { return x != x; }), row.end());
            std::sort(row.begin(), row.end());
            const std::int64_t last = std::int64_t(row.size()) * repeats - 1;
            for (const double q : quantiles)
            {
                const double rank = q * double(last);
                const auto at = [&](std::int64_t k) {
                    return row.empty() ? undefined : row[std::size_t(std::min(k, last) / repeats)];
                };
                all.insert(
                    all.end(),
                    {at(std::int64_t(rank)),
                     at(std::int64_t(rank) + 1),
                     row.empty() ? undefined : rank - std::floor(rank)});
            }
        }
        return all;
    }
    Row drawn(Random& random, std::size_t n, double low, double high)
    {
        Row row(n);
        for (double& x : row)
            x = uniform(random, low, high);
        return row;
    }
    Row every(const Row& row, std::size_t step)
    {
        Row some;
        for (std::size_t i = 0; i < row.size(); i += step)
            some.push_back(row[i]);
        return some;
    }
    // Values of many kinds, of few kinds, all in a hair's breadth, hard ones, gaps, and none.
    std::vector<Row> rows_of_all_kinds()
    {
        Random random(7);
        std::vector<Row> rows{
            drawn(random, 5000, -3, 40),
            drawn(random, 5000, 0, 4),
            drawn(random, 5000, 1, 1 + 4e-13),
            drawn(random, 5000, 0, 1),
            drawn(random, 5000, 2, 3),
            {}};
        for (double& x : rows[1])
            x = std::floor(x);
        for (double& x : rows[3])
            x = hard_numbers()[std::size_t(below(random, int(hard_numbers().size())))];
        for (std::size_t i = 0; i < rows[4].size(); i += 3)
            rows[4][i] = undefined;
        return rows;
    }

    // Whether few or many values are promised, each counts once or more often, and one thread or more counts.
    void expect_those_of_sorted_values(const std::vector<Row>& rows, const std::vector<Row>& hints)
    {
        for (const std::int64_t repeats : {1, 3})
        {
            const Row reference = expected(rows, repeats);
            for (const std::int64_t promised : {few, many})
                for (const std::size_t threads : {1, 3})
                {
                    const Row got = computed(rows, hints, promised, repeats, threads);
                    ASSERT_EQ(got.size(), reference.size());
                    for (std::size_t k = 0; k < got.size(); ++k)
                        ASSERT_TRUE(got[k] == reference[k] || same_bits(got[k], reference[k])) // -0 == 0
                            << got[k] << " is not " << reference[k] << " at " << k << " of " << got.size() << ": "
                            << promised << " promised, " << repeats << " times, " << threads << " threads";
                }
        }
    }
    std::vector<Row> hints_of(const std::vector<Row>& rows, const std::function<Row(const Row&)>& hint)
    {
        std::vector<Row> all;
        std::transform(rows.begin(), rows.end(), std::back_inserter(all), hint);
        return all;
    }

    TEST(OrderStatistics, AreThoseOfTheSortedValues)
    {
        const std::vector<Row> rows = rows_of_all_kinds();
        expect_those_of_sorted_values(rows, hints_of(rows, [](const Row& row) { return every(row, 50); }));
    }
    TEST(OrderStatistics, WrongHintsCostPassesOnly)
    {
        const std::vector<Row> rows = rows_of_all_kinds();
        for (const double wrong : {-1e9, 1.5, 1e9, undefined})
            expect_those_of_sorted_values(rows, hints_of(rows, [&](const Row&) { return Row(200, wrong); }));
        expect_those_of_sorted_values(rows, hints_of(rows, [](const Row&) { return Row(); }));
    }
    TEST(OrderStatistics, AHintOfAllValuesIsEnough)
    {
        const std::vector<Row> rows = rows_of_all_kinds();
        int passes = -1;
        const Row got = computed(rows, rows, few, 1, 1, &passes), reference = expected(rows, 1);
        EXPECT_EQ(passes, 0);
        EXPECT_TRUE(std::equal(got.begin(), got.end(), reference.begin(), reference.end(), [](double a, double b) {
            return a == b || same_bits(a, b);
        }));
    }
}
