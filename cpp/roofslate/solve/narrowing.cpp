// Narrows brackets around sign changes, then inspects the values found there.
#include "roofslate/solve/sign_changes.hpp"
#include <cfloat>
#include <numeric>

namespace roofslate
{
    namespace
    {
        constexpr int arrivals = 2;                        // without a bracket
        constexpr int halvings = 9; // of declared monotone sides, before slopes are used
        constexpr int far_steps = 2;                       // in one: by the whole logarithm
        constexpr int newton_steps = 10, most_steps = 600; // then every fourth one halves
        constexpr std::size_t fewest_lanes = 32;           // that are worth sorting out
        constexpr double nearer_share = 1e-4;              // of how far the sides are apart at the ends of a stretch
        constexpr double side_share = 32 * DBL_EPSILON;    // from a jump to its sides
    }

    void HalfLine::narrow()
    {
        while (turns_.to_come->size || edges_.to_come->size)
        {
            narrow(turns_);
            narrow(edges_);
        }
    }
    void HalfLine::narrow(Narrowing& narrowing)
    {
        std::swap(narrowing.brackets, narrowing.to_come);
        narrowing.to_come->size = 0;
        Brackets& k = *narrowing.brackets;
        const std::size_t n = k.size;
        if (n == 0)
            return;
        load(k.point.data(), n);
        std::copy_n(k.a.begin(), n, a_), std::copy_n(k.b.begin(), n, b_), std::copy_n(k.b.begin(), n, y_),
            std::copy_n(k.mark.begin(), n, mark_), std::copy_n(k.want.begin(), n, want_);
        std::array<Point, block> of = k.point, bracket; // of lanes
        std::iota(bracket.begin(), bracket.end(), Point(0));
        std::size_t lanes = n;
        const auto let_go = [&](const double* open) { // finished lanes make way
            const bool all_shut = set_.below(open, lanes, 0.5) == lanes;
            if (lanes == n)
                std::copy_n(y_, n, k.root.begin());
            if (lanes == n && all_shut)
            {
                lanes = 0;
                return;
            }
            std::size_t still = 0;
            for (std::size_t i = 0; i < lanes; ++i)
            {
                const Point j = bracket[i];
                k.root[j] = y_[i];
                bracket[still] = j, of[still] = of[i];
                a_[still] = a_[i], b_[still] = b_[i], y_[still] = y_[i], mark_[still] = mark_[i],
                want_[still] = want_[i];
                still += open[i] != 0;
            }
            lanes = still;
            load(of.data(), lanes);
        };
        const auto run = [&](Step& step) -> LaneProgram& {
            LaneProgram& program = program_of(step);
            program.run(lanes);
            std::copy_n(program[0], lanes, y_);
            return program;
        };
        if (&narrowing == &turns_ && !one_way_)
        {
            run(leap_), run(step_);
            for (int step = 0; step < arrivals && lanes; ++step)
                let_go(run(arrival_)[1]);
        }
        static constexpr Kind later[]{halving, far, returning, far}, halved[]{halving, far, halving, far};
        const Kind* const afterwards = one_way_ ? halved : later;
        const auto kind_of = [&](int step) {
            if (step < 0)
                return halving;
            return step < far_steps ? far : step < newton_steps ? near : afterwards[(step - newton_steps) % 4];
        };
        if (one_way_)
            for (std::size_t i = 0; i < lanes; ++i)
                y_[i] = std::sqrt(a_[i] * b_[i]);
        std::fill_n(open_, lanes, 1.0);
        for (int step = one_way_ ? -halvings : 0; step < most_steps && lanes; ++step)
        {
            const Kind kind = kind_of(step);
            LaneProgram& program = run(narrowing.steps[kind]);
            std::copy_n(program[1], lanes, open_), std::copy_n(program[2], lanes, a_),
                std::copy_n(program[3], lanes, b_);
            const std::size_t shut = set_.below(open_, lanes, 0.5);
            if (shut == lanes || (shut >= lanes / 2 && lanes >= fewest_lanes) || step + 1 == most_steps)
            {
                let_go(program[1]);
                std::fill_n(open_, lanes, 1.0);
            }
        }
        settle(k, &narrowing == &edges_);
    }
    LaneProgram& HalfLine::program_of(Step& step)
    {
        if (!step.program.compiled())
            step.program.compile(lanes_, step.nodes, set_);
        return step.program;
    }
    void HalfLine::settle(Brackets& k, bool edges)
    {
        if (!equal_)
            settle_inequality(k);
        else if (edges)
            settle_edges(k);
        else
            settle_turns(k);
    }
    // The side that meets the condition.
    void HalfLine::settle_inequality(const Brackets& k)
    {
        const std::size_t before = crossings_.size();
        crossings_.add_values(k.point.data(), k.root.data(), k.size);
        for (std::size_t i = 0; i < k.size; ++i)
            crossings_.flags[before + i] = std::uint8_t(k.mark[i] < 0 ? 0 : Crossings::begins);
    }
    // The ends of stretches on which both sides agree, and of stretches where they are defined.
    void HalfLine::settle_edges(const Brackets& k)
    {
        std::vector<Stretch> wholes;
        std::vector<double> roots;
        for (std::size_t i = 0; i < k.size; ++i)
        {
            const double root = k.root[i];
            const Stretch& full = k.full[i];
            if (state(full.at_a) == 0)
                crossings_.add(k.point[i], k.a[i], root, 0, 0);
            else if (state(full.at_b) == 0)
                crossings_.add(k.point[i], root, k.b[i], 0, 0);
            else
                wholes.push_back(full), roots.push_back(root);
        }
        std::array<Point, block> of{};
        for (std::size_t i = 0; i < roots.size(); ++i)
            of[i] = wholes[i].point, y_[i] = roots[i];
        evaluate(of.data(), roots.size());
        for (std::size_t i = 0; i < roots.size(); ++i)
        {
            const Stretch& s = wholes[i];
            const End at_y = end(i);
            if (at_y.state == 0 || values_[Look::agreed][i] != 0)
                crossings_.add(s.point, y_[i], y_[i], values_[Look::gap][i], 0);
            else if (state(s.at_a) == undefined_state && y_[i] < s.b)
                stack_[s.point].push_back({s.point, y_[i], s.b, at_y, s.at_b});
            else if (state(s.at_b) == undefined_state && y_[i] > s.a)
                stack_[s.point].push_back({s.point, s.a, y_[i], s.at_a, at_y});
        }
    }
    HalfLine::Meeting HalfLine::meeting(std::size_t lane, const Stretch& s) const
    {
        if (values_[Look::state][lane] == 0 || values_[Look::agreed][lane] != 0)
            return Meeting::root;
        if (values_[Look::explained][lane] == 0) // without a bound on rounding the neighbors decide
            return values_[Look::error][lane] <= DBL_MAX ? Meeting::jump : Meeting::hidden;
        const bool nearer =
            values_[Look::gap][lane] <= nearer_share * std::min(std::fabs(s.at_a.apart), std::fabs(s.at_b.apart));
        return values_[Look::close][lane] != 0 || nearer ? Meeting::root
            : values_[Look::near][lane] != 0 || values_[Look::hazy][lane] != 0
            ? Meeting::hidden
            : Meeting::jump;
    }
    // Newton's last word, if the sides agree there: else they may jump past one another.
    void HalfLine::settle_turns(const Brackets& k)
    {
        if (plain_)
        {
            crossings_.add_values(k.point.data(), k.root.data(), k.size);
            return;
        }
        std::copy_n(k.root.begin(), k.size, y_);
        evaluate(k.point.data(), k.size);
        std::vector<Stretch> jumps, level;
        std::vector<double> roots;
        std::vector<bool> sure;
        for (std::size_t i = 0; i < k.size; ++i)
        {
            const Stretch& s = k.full[i];
            const End at_y = end(i);
            if (meeting(i, s) != Meeting::root)
            {
                jumps.push_back(s), roots.push_back(y_[i]), sure.push_back(k.sure[i]);
                continue;
            }
            crossings_
                .add(s.point, y_[i], y_[i], values_[Look::gap][i], values_[Look::hazy][i] != 0 ? Crossings::hazy : 0);
            if (at_y.state == 0 && values_[Look::gap][i] <= DBL_MAX && s.a < y_[i] && y_[i] < s.b)
            {
                level.push_back({s.point, s.a, y_[i], s.at_a, at_y});
                level.push_back({s.point, y_[i], s.b, at_y, s.at_b});
            }
        }
        if (!jumps.empty())
            settle_by_sides(jumps, roots, sure);
        for (const Stretch& s : level) // around a root on a stretch of roots
        {
            if (edges_.to_come->size == block)
                narrow(edges_);
            add_bracket(edges_, s, 0, state(s.at_b) == 0, true);
        }
    }
    // Looks at both sides of places where the order of the sides changes and they do not agree: next to a kink they
    // may.
    void HalfLine::settle_by_sides(
        const std::vector<Stretch>& wholes,
        const std::vector<double>& roots,
        const std::vector<bool>& sure)
    {
        const std::size_t n = wholes.size();
        std::array<Point, block> of{};
        std::array<std::array<End, block>, 2> ends;
        Truths closed{}, hidden{};
        for (std::size_t i = 0; i < n; ++i)
            of[i] = wholes[i].point;
        for (const std::size_t side : {0, 1})
        {
            for (std::size_t i = 0; i < n; ++i)
                y_[i] = side
                    ? std::min(roots[i] * (1 + side_share), wholes[i].b)
                    : std::max(roots[i] * (1 - side_share), wholes[i].a);
            evaluate(of.data(), n);
            for (std::size_t i = 0; i < n; ++i)
            {
                ends[side][i] = end(i);
                const Meeting met = meeting(i, wholes[i]);
                hidden[i] |= met == Meeting::hidden;
                if (met == Meeting::root && !closed[i])
                {
                    closed[i] = true;
                    const int flag = values_[Look::hazy][i] != 0 ? Crossings::hazy : 0;
                    crossings_.add(of[i], y_[i], y_[i], values_[Look::gap][i], flag);
                }
            }
        }
        for (std::size_t i = 0; i < n; ++i)
        {
            const Stretch& s = wholes[i];
            const double below = roots[i] * (1 - side_share), above = roots[i] * (1 + side_share);
            if (!closed[i] && hidden[i])
                crossings_.add(s.point, roots[i], roots[i], HUGE_VAL, Crossings::hazy | Crossings::hidden);
            if (closed[i] || sure[i])
                continue;
            const Stretch lower{s.point, s.a, below, s.at_a, ends[0][i]},
                upper{s.point, above, s.b, ends[1][i], s.at_b};
            if (s.a < below && above < s.b)
                push(lower, upper);
            else if (s.a < below)
                stack_[s.point].push_back(lower);
            else if (above < s.b)
                stack_[s.point].push_back(upper);
        }
    }
}
