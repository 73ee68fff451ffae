#include "roofslate/folds/order_statistics.hpp"
#include <algorithm>
#include <cmath>

namespace roofslate
{
    namespace
    {
        constexpr std::int64_t most_collected = 1 << 22; // values in one pass
        constexpr std::size_t most_counts = 1 << 20, most_parts = 1 << 14, fewest_parts = 64;

        std::uint64_t width(double low, double high)
        { return std::uint64_t(key_of(high)) - std::uint64_t(key_of(low)); }
    }

    OrderStatistics::OrderStatistics(std::size_t rows, std::vector<double> q, std::int64_t repeats)
        : q_(std::move(q)), repeats_(repeats), values_(rows, -1), found_(3 * rows * q_.size(), NAN)
    {
    }

    // Positions of the values of each rank among so many sorted ones.
    std::vector<std::int64_t> OrderStatistics::ranks(std::size_t row, std::int64_t values)
    {
        values_[row] = values;
        std::vector<std::int64_t> all;
        const std::int64_t last = values * repeats_ - 1;
        for (std::size_t k = 0; k < q_.size(); ++k)
        {
            const double rank = q_[k] * double(last), before = std::floor(rank);
            const std::int64_t low = std::min(std::int64_t(before), last);
            all.insert(all.end(), {low / repeats_, std::min(low + 1, last) / repeats_});
            found_[3 * (row * q_.size() + k) + 2] = values ? rank - before : NAN;
        }
        return all;
    }

    void OrderStatistics::hint(std::size_t row, std::vector<double> some, double draws, std::int64_t all)
    {
        const std::size_t given = some.size();
        some.erase(std::remove_if(some.begin(), some.end(), [](double x) { return x != x; }), some.end());
        std::sort(some.begin(), some.end());
        const bool complete = std::int64_t(given) == all;
        const std::vector<std::int64_t> at =
            complete ? ranks(row, std::int64_t(some.size())) : std::vector<std::int64_t>();
        for (std::size_t index = 0; index < 2 * q_.size(); ++index)
            if (complete && !some.empty())
                settle({row, 0, 0, 0, {}}, index, some[std::size_t(at[index])]);
            else if (!complete)
            {
                // twice the error that independent draws would have
                const double q = q_[index / 2], middle = q * double(some.size()),
                             off = (2 * std::sqrt(draws * q * (1 - q)) + 2) * double(some.size()) / draws;
                const bool below = some.empty() || middle - off < 0, above = middle + off >= double(some.size());
                const double low = below ? -HUGE_VAL : some[std::size_t(middle - off)],
                             high = above ? HUGE_VAL : some[std::size_t(middle + off)];
                const auto inside =
                    std::upper_bound(some.begin(), some.end(), high) - std::lower_bound(some.begin(), some.end(), low);
                seek(
                    row,
                    {low, high},
                    std::int64_t(double(all) * double(inside) / double(std::max<std::size_t>(given, 1))) + 1,
                    index);
            }
    }

    void OrderStatistics::seek(
        std::size_t row,
        std::pair<double, double> ends,
        std::int64_t expected,
        std::size_t index)
    {
        for (Stretch& s : next_)
            if (s.row == row && s.low == ends.first && s.high == ends.second)
            {
                s.places.push_back(index);
                return;
            }
        next_.push_back({row, ends.first, ends.second, expected, {index}});
    }

    // Chooses the work of a pass: few values are collected, many are only counted by part.
    void OrderStatistics::prepare(std::vector<Stretch> stretches)
    {
        stretches_ = std::move(stretches);
        next_.clear();
        std::stable_sort(stretches_.begin(), stretches_.end(), [](const Stretch& a, const Stretch& b) {
            return a.row < b.row;
        });
        std::int64_t collected = 0;
        std::size_t counted = 0;
        for (Stretch& s : stretches_)
        {
            s.collected = s.low < s.high && collected + s.expected <= most_collected;
            collected += s.collected ? s.expected : 0;
            counted += !s.collected;
        }
        const std::size_t parts =
            std::min(std::max(most_counts / std::max<std::size_t>(counted, 1), fewest_parts), most_parts);
        first_.assign(values_.size() + 1, 0);
        for (Stretch& s : stretches_)
        {
            ++first_[s.row + 1];
            while (!s.collected && width(s.low, s.high) >> s.shift >= parts)
                ++s.shift;
        }
        for (std::size_t row = 0; row < values_.size(); ++row)
            first_[row + 1] += first_[row];
    }

    OrderStatistics::Tally::Tally(const OrderStatistics& of)
        : of_(of), set_(instruction_set()), counts_(of.stretches_.size()), defined_(of.values_.size(), 0)
    {
        for (std::size_t k = 0; k < counts_.size(); ++k)
            if (const Stretch& s = of.stretches_[k]; !s.collected)
                counts_[k].parts.assign(std::size_t(width(s.low, s.high) >> s.shift) + 1, 0);
    }

    std::size_t append_within(
        const InstructionSet& set,
        const double* values,
        std::size_t n,
        double low,
        double high,
        std::vector<double>& to)
    {
        constexpr std::size_t at_once = 1024;
        double buffer[at_once + widest_strip];
        std::size_t below = 0;
        for (std::size_t done = 0; done < n; done += at_once)
        {
            std::size_t inside;
            below += set.within(values + done, std::min(at_once, n - done), low, high, buffer, &inside);
            to.insert(to.end(), buffer, buffer + inside);
        }
        return below;
    }
    void OrderStatistics::Tally::take(std::size_t row, const double* values, std::size_t n)
    {
        if (of_.values_[row] < 0)
        {
            std::int64_t defined = 0;
            for (std::size_t i = 0; i < n; ++i)
                defined += values[i] == values[i];
            defined_[row] += defined;
        }
        for (std::size_t k = of_.first_[row]; k < of_.first_[row + 1]; ++k)
        {
            const Stretch& s = of_.stretches_[k];
            const double low = s.low, high = s.high;
            Counts& c = counts_[k];
            if (s.collected)
                c.below += std::int64_t(append_within(set_, values, n, low, high, c.values));
            else
            {
                c.below += std::int64_t(set_.below(values, n, low));
                const std::uint64_t first = std::uint64_t(key_of(low));
                for (std::size_t i = 0; i < n; ++i)
                    if (values[i] >= low && values[i] <= high)
                        ++c.parts[std::size_t((std::uint64_t(key_of(values[i])) - first) >> s.shift)];
            }
        }
    }

    void OrderStatistics::end_pass(std::vector<Tally*> tallies)
    {
        std::vector<std::vector<std::int64_t>> at;
        for (std::size_t row = 0; row < values_.size(); ++row)
        {
            std::int64_t defined = values_[row];
            if (defined < 0)
            {
                defined = 0;
                for (const Tally* t : tallies)
                    defined += t->defined_[row];
            }
            at.push_back(ranks(row, defined));
        }
        const std::vector<Stretch> stretches = std::move(stretches_);
        for (std::size_t k = 0; k < stretches.size(); ++k)
        {
            Tally::Counts& all = tallies.front()->counts_[k];
            for (std::size_t t = 1; t < tallies.size(); ++t)
            {
                const Tally::Counts& c = tallies[t]->counts_[k];
                all.below += c.below;
                all.values.insert(all.values.end(), c.values.begin(), c.values.end());
                for (std::size_t i = 0; i < c.parts.size(); ++i)
                    all.parts[i] += c.parts[i];
            }
            if (values_[stretches[k].row])
                narrow(stretches[k], all, at[stretches[k].row]);
        }
        prepare(std::move(next_));
    }

    void OrderStatistics::narrow(const Stretch& s, Tally::Counts& counts, const std::vector<std::int64_t>& at)
    {
        std::int64_t inside = std::int64_t(counts.values.size());
        for (const std::uint32_t n : counts.parts)
            inside += n;
        for (const std::size_t index : s.places)
        {
            std::int64_t rank = at[index] - counts.below;
            if (rank < 0) // the hint was wrong
                seek(s.row, {-HUGE_VAL, value_of(key_of(s.low) - 1)}, counts.below, index);
            else if (rank >= inside)
                seek(s.row, {value_of(key_of(s.high) + 1), HUGE_VAL}, values_[s.row] - counts.below - inside, index);
            else if (s.collected)
            {
                const auto at_rank = counts.values.begin() + rank;
                std::nth_element(counts.values.begin(), at_rank, counts.values.end());
                settle(s, index, *at_rank);
            }
            else
            {
                std::size_t part = 0;
                while (rank >= std::int64_t(counts.parts[part]))
                    rank -= counts.parts[part++];
                const std::uint64_t low = std::uint64_t(key_of(s.low)) + (std::uint64_t(part) << s.shift);
                const std::uint64_t high =
                    low + std::min((std::uint64_t(1) << s.shift) - 1, std::uint64_t(key_of(s.high)) - low);
                if (low == high)
                    settle(s, index, value_of(std::int64_t(low)));
                else
                    seek(s.row, {value_of(std::int64_t(low)), value_of(std::int64_t(high))}, counts.parts[part], index);
            }
        }
    }
}
