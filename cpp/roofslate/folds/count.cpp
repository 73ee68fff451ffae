#include "roofslate/folds/search.hpp"

namespace roofslate
{
    namespace
    {
        struct CountGoal
        {
            static constexpr bool ordered = false;
            explicit CountGoal(const Question& question) : requirements(question) {}
            bool hopeless(const Waiting&) const { return false; }
            bool wants(const Boxes& boxes, std::size_t i, const Waiting& w)
            {
                if (!requirements.possible(boxes, i))
                    return false;
                if (!requirements.sure(boxes, i))
                    return true;
                matches += std::int64_t(boxes.points(w.box));
                return false;
            }
            double width(const Boxes::Ends& lines, std::size_t i) const { return requirements.width(lines, i); }
            template <class Index> void take(const Boxes& boxes, std::size_t first, std::size_t n, const Index&)
            {
                for (std::size_t i = 0; i < n; ++i)
                    matches += requirements.met(boxes, first + i);
            }
            Requirements requirements;
            std::int64_t matches = 0;
        };
        template <class Goal> std::vector<std::int64_t> count_of(const Question& question, const Options& options)
        {
            std::vector<std::int64_t> matches(question.graph.points(question.kept()));
            search_kept_points(
                question,
                options,
                [&] { return Goal(question); },
                [&](std::size_t kept_point, const Goal& goal) { matches[kept_point] += goal.matches; });
            return matches;
        }
    }

    std::vector<std::int64_t> count(const Question& question, const Options& options, bool prune)
    {
        std::vector<std::int64_t> matches =
            prune ? count_of<CountGoal>(question, options) : count_of<Unpruned<CountGoal>>(question, options);
        for (std::int64_t& n : matches)
            n *= question.repeats();
        return matches;
    }
}
