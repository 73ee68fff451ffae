#include "roofslate/folds/search.hpp"
#include <map>

namespace roofslate
{
    namespace
    {
        using Values = std::array<double, most_objectives>;
        struct Member
        {
            Values value{};
            std::int64_t where = nowhere;
        };

        // No member beats another. Of two values a sorted list is searched, of more all members are.
        class Front
        {
        public:
            explicit Front(std::size_t values) : n_(values) {}
            // Is everything beaten that is nowhere smaller than `value`, and not earlier than `first`?
            bool beats(const Values& value, std::int64_t first) const
            {
                const auto beaten_by = [&](const Member& m) { return beats(m, value, first); };
                if (n_ != 2)
                    return std::any_of(members_.begin(), members_.end(), beaten_by);
                const auto next =
                    std::upper_bound(members_.begin(), members_.end(), value[0], [](double x, const Member& m) {
                        return x < m.value[0];
                    });
                // it has the smallest second value of those before
                return next != members_.begin() && beaten_by(*std::prev(next));
            }
            void add(const Member& one)
            {
                if (beats(one.value, one.where))
                    return;
                members_.erase(
                    std::remove_if(
                        members_.begin(),
                        members_.end(),
                        [&](const Member& m) { return beats(one, m.value, m.where); }),
                    members_.end());
                members_.insert(
                    std::upper_bound(
                        members_.begin(),
                        members_.end(),
                        one,
                        [](const Member& a, const Member& b) { return a.value < b.value; }),
                    one);
            }
            const std::vector<Member>& members() const { return members_; }

        private:
            bool beats(const Member& m, const Values& value, std::int64_t first) const
            {
                bool smaller = m.where < first;
                for (std::size_t k = 0; k < n_; ++k)
                {
                    if (!(m.value[k] <= value[k]))
                        return false;
                    smaller = smaller || m.value[k] < value[k];
                }
                return smaller;
            }
            std::size_t n_;
            std::vector<Member> members_; // sorted by their values
        };

        struct ParetoGoal
        {
            static constexpr bool ordered = true;
            explicit ParetoGoal(const Question& question) : n(question.values.size()), requirements(question), front(n)
            {
            }
            bool hopeless(const Waiting& w) const { return front.beats(w.bound, w.first); }
            bool wants(const Boxes& boxes, std::size_t i, Waiting& w) const
            {
                for (std::size_t k = 0; k < n; ++k)
                    w.bound[k] = std::isnan(boxes.low(k, i)) ? -HUGE_VAL : boxes.low(k, i);
                return !front.beats(w.bound, w.first) && requirements.possible(boxes, i);
            }
            double width(const Boxes& boxes, std::size_t i) const
            {
                double all = 0;
                for (std::size_t k = 0; k < n; ++k)
                    all += relative_width(boxes.low(k, i), boxes.high(k, i));
                return all;
            }
            template <class Index> void take(
                const Boxes& boxes,
                std::size_t first,
                std::size_t points,
                const Index& index)
            {
                for (std::size_t i = 0; i < points; ++i)
                {
                    Member one;
                    bool numbers = true;
                    for (std::size_t k = 0; k < n; ++k)
                    {
                        one.value[k] = boxes.values(k)[first + i];
                        numbers = numbers && one.value[k] == one.value[k];
                    }
                    if (!numbers || !requirements.met(boxes, first + i))
                        continue;
                    one.where = index(i);
                    front.add(one);
                }
            }
            std::size_t n;
            Requirements requirements;
            Front front;
        };
        template <class Goal> std::vector<std::int64_t> front_of(const Question& question, const Options& options)
        {
            std::vector<std::int64_t> where;
            search_kept_points(
                question,
                options,
                [&] { return Goal(question); },
                [&](std::size_t, const Goal& goal) {
                    for (const Member& m : goal.front.members())
                        where.push_back(m.where);
                });
            return where;
        }
    }

    std::vector<std::int64_t> pareto(const Question& question, const Options& options, bool prune)
    { return prune ? front_of<ParetoGoal>(question, options) : front_of<Unpruned<ParetoGoal>>(question, options); }
}
