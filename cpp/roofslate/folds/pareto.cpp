#include "roofslate/folds/front.hpp"
#include "roofslate/folds/search.hpp"

namespace roofslate
{
    namespace
    {
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
            double width(const Boxes::Ends& lines, std::size_t i) const
            {
                double all = 0;
                for (std::size_t k = 0; k < n; ++k)
                    all += relative_width(lines.low(k, i), lines.high(k, i));
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
