#include "roofslate/folds/front.hpp"
#include <algorithm>
#include <cmath>
#include <iterator>

namespace roofslate
{
    namespace
    {
        using Values = std::array<double, most_objectives>;

        bool beats(const Member& m, const Values& value, std::int64_t first, std::size_t n)
        {
            bool smaller = m.where < first;
            for (std::size_t k = 0; k < n; ++k)
            {
                if (!(m.value[k] <= value[k]))
                    return false;
                smaller = smaller || m.value[k] < value[k];
            }
            return smaller;
        }
        bool before(const Member& a, const Member& b)
        { return a.value < b.value || (!(b.value < a.value) && a.where < b.where); }

        // Of members in order, those that none before them beats; of two values.
        void drop_beaten(std::vector<Member>& members)
        {
            double least = HUGE_VAL;
            bool first = true; // it stays even where it is infinite
            const auto end = std::remove_if(members.begin(), members.end(), [&](const Member& m) {
                const bool stays = first || m.value[1] < least;
                if (stays)
                    least = m.value[1], first = false;
                return !stays;
            });
            members.erase(end, members.end());
        }
        // The non-dominated values of `all`, if there are many.
        std::vector<Member> unbeaten(const std::vector<Member>& all, std::size_t n)
        {
            std::vector<Member> stay;
            std::copy_if(all.begin(), all.end(), std::back_inserter(stay), [&](const Member& m) {
                return std::none_of(all.begin(), all.end(), [&](const Member& o) {
                    return beats(o, m.value, m.where, n);
                });
            });
            return stay;
        }
        // Of two values, members in order: the one before a value has the smallest second value of those.
        bool line_beats(const std::vector<Member>& line, const Values& value, std::int64_t first, std::size_t n)
        {
            const auto next = std::upper_bound(line.begin(), line.end(), value[0], [](double x, const Member& m) {
                return x < m.value[0];
            });
            return next != line.begin() && beats(*std::prev(next), value, first, n);
        }
        // ... and puts one that none beats in its place; those that it beats follow it.
        void put_into_line(std::vector<Member>& line, const Member& one, std::size_t n)
        {
            const auto at = std::lower_bound(line.begin(), line.end(), one, before);
            const auto end =
                std::find_if(at, line.end(), [&](const Member& m) { return !beats(one, m.value, m.where, n); });
            if (at == end)
                line.insert(at, one);
            else
            {
                *at = one;
                line.erase(std::next(at), end);
            }
        }
    }

    SearchedMembers::SearchedMembers(std::vector<Member> members, std::size_t values)
        : n_(values), members_(std::move(members))
    {
        if (n_ <= 2)
            return;
        std::size_t nodes = 2;
        for (std::size_t n = members_.size(); n > leaf; n = (n + 1) / 2)
            nodes *= 2;
        least_.resize(nodes);
        lay_out(1, 0, members_.size(), 0);
    }
    void SearchedMembers::lay_out(std::size_t node, std::size_t begin, std::size_t end, std::size_t split)
    {
        Values& least = least_[node];
        least.fill(HUGE_VAL);
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t k = 0; k < n_; ++k)
                least[k] = std::min(least[k], members_[i].value[k]);
        if (end - begin <= leaf)
            return;
        const std::size_t middle = begin + (end - begin + 1) / 2;
        const auto at = [&](std::size_t i) { return members_.begin() + std::ptrdiff_t(i); };
        std::nth_element(at(begin), at(middle), at(end), [&](const Member& a, const Member& b) {
            return a.value[split] < b.value[split];
        });
        lay_out(2 * node, begin, middle, (split + 1) % n_);
        lay_out(2 * node + 1, middle, end, (split + 1) % n_);
    }
    bool SearchedMembers::beat_within(std::size_t node, std::size_t begin, std::size_t end, const Member& point) const
    {
        for (std::size_t k = 0; k < n_; ++k)
            if (!(least_[node][k] <= point.value[k]))
                return false;
        if (end - begin <= leaf)
            return std::any_of(
                members_.begin() + std::ptrdiff_t(begin),
                members_.begin() + std::ptrdiff_t(end),
                [&](const Member& m) { return beats(m, point.value, point.where, n_); });
        const std::size_t middle = begin + (end - begin + 1) / 2;
        return beat_within(2 * node, begin, middle, point) || beat_within(2 * node + 1, middle, end, point);
    }
    bool SearchedMembers::beat(const Values& value, std::int64_t first) const
    {
        if (n_ > 2)
            return beat_within(1, 0, members_.size(), {value, first});
        return line_beats(members_, value, first, n_);
    }

    bool Front::beats(const Values& value, std::int64_t first) const
    {
        const auto some = [&](const SearchedMembers& group) { return group.beat(value, first); };
        if (std::any_of(groups_.begin(), groups_.end(), some))
            return true;
        if (n_ <= 2)
            return line_beats(recent_, value, first, n_);
        return std::any_of(recent_.begin(), recent_.end(), [&](const Member& m) {
            return roofslate::beats(m, value, first, n_);
        });
    }
    void Front::add(const Member& one)
    {
        if (beats(one.value, one.where))
            return;
        if (n_ <= 2)
            put_into_line(recent_, one, n_);
        else
            recent_.push_back(one);
        if (recent_.size() >= (n_ <= 2 ? most_in_line : most_recent))
            merge_recent();
    }
    // Members of both that none of the other beats; `a` in order where there are two values.
    SearchedMembers Front::merged(const std::vector<Member>& a, const SearchedMembers& b) const
    {
        std::vector<Member> all;
        all.reserve(a.size() + b.members().size());
        if (n_ <= 2)
        {
            std::merge(a.begin(), a.end(), b.members().begin(), b.members().end(), std::back_inserter(all), before);
            drop_beaten(all);
            return {std::move(all), n_};
        }
        std::copy_if(a.begin(), a.end(), std::back_inserter(all), [&](const Member& m) {
            return !b.beat(m.value, m.where);
        });
        const SearchedMembers searched(a, n_);
        std::copy_if(b.members().begin(), b.members().end(), std::back_inserter(all), [&](const Member& m) {
            return !searched.beat(m.value, m.where);
        });
        return {std::move(all), n_};
    }
    void Front::merge_recent()
    {
        groups_.emplace_back(n_ <= 2 ? std::move(recent_) : unbeaten(recent_, n_), n_);
        recent_.clear();
        while (groups_.size() > 1 && groups_[groups_.size() - 2].members().size() < 4 * groups_.back().members().size())
        {
            SearchedMembers both = merged(groups_.back().members(), groups_[groups_.size() - 2]);
            groups_.pop_back();
            groups_.back() = std::move(both);
        }
    }
    std::vector<Member> Front::members() const
    {
        Front merging = *this;
        merging.merge_recent();
        while (merging.groups_.size() > 1)
        {
            SearchedMembers both =
                merged(merging.groups_.back().members(), merging.groups_[merging.groups_.size() - 2]);
            merging.groups_.pop_back();
            merging.groups_.back() = std::move(both);
        }
        std::vector<Member> all = merging.groups_.front().members();
        std::sort(all.begin(), all.end(), before);
        return all;
    }
}
