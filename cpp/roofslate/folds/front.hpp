// The points that no other point beats, as they come in any order.
#pragma once
#include "roofslate/folds/folds.hpp"
#include <array>
#include <vector>

namespace roofslate
{
    // A point beats another where it is nowhere larger and, in one value, smaller or, of equals, earlier.
    struct Member
    {
        std::array<double, most_objectives> value{}; // no NaN; those that are not asked for are 0
        std::int64_t where = nowhere;
    };

    // Members in an order in which one that beats a point is found at once: of two values a line of them is searched,
    // of more a tree of boxes. None beats another.
    class SearchedMembers
    {
    public:
        SearchedMembers(std::vector<Member> members, std::size_t values);
        // Does one beat all that is nowhere smaller than `value`, and not earlier than `first`?
        bool beat(const std::array<double, most_objectives>& value, std::int64_t first) const;
        const std::vector<Member>& members() const { return members_; }

    private:
        static constexpr std::size_t leaf = 8; // members
        void lay_out(std::size_t node, std::size_t begin, std::size_t end, std::size_t split);
        bool beat_within(std::size_t node, std::size_t begin, std::size_t end, const Member& point) const;

        std::size_t n_;
        std::vector<Member> members_;
        std::vector<std::array<double, most_objectives>>
            least_; // least values in a box, whose halves are 2 k and 2 k + 1
    };

    // Points wait in groups, each at least four times as large as the next, so that each is sorted few times. Of what a
    // later point beats some stays until its group is merged.
    class Front
    {
    public:
        explicit Front(std::size_t values) : n_(values) {}
        bool beats(const std::array<double, most_objectives>& value, std::int64_t first) const;
        void add(const Member& one);
        // All that no other beats, the smallest first value first, of equals the smallest next one.
        std::vector<Member> members() const;

    private:
        static constexpr std::size_t most_in_line = 256, most_recent = 32;
        SearchedMembers merged(const std::vector<Member>& a, const SearchedMembers& b) const;
        void merge_recent();

        std::size_t n_;
        std::vector<SearchedMembers> groups_; // the largest first
        std::vector<Member> recent_; // of two values in order
    };
}
