// Question 2: several tokens a pass. A draft proposes all tokens of the pass but the first, the pass verifies them, and
// those up to the first that is refused are emitted.
#pragma once
#include "roofslate/quantities/cache.hpp"

namespace roofslate::quantities
{
    // Tokens that a pass emits where the first of `drafts` is accepted at `rate`, and each after it, when those before
    // it are, `decay` times as often: 1 + sum_i rate^i decay^(i (i - 1)/2), drawn straight between whole numbers of
    // drafts. Drafts after the first 4,096 are left out.
    struct acceptance_curve
    {
        static constexpr const char* name = "acceptance_curve";
        static constexpr const char* latex = "E";
        static constexpr int arity = 3;
        static constexpr std::array<signed char, 3> directions{1, 1, 1};
        static constexpr std::array<double, 3> least{0, 0, 0};
        struct by_rate;
        struct by_decay;
        struct by_drafts;
        using partials = list<by_rate, by_decay, by_drafts>;
        static constexpr Dimension dimension(const Dimension& rate, const Dimension& decay, const Dimension& drafts)
        { return rate * decay * roofslate::count(drafts); }

        static double value(double rate, double decay, double drafts)
        {
            return 1 + sum(rate, decay, drafts, [](double, double reached) { return reached; });
        }

    private:
        // Sum of part(i, chance that draft i is accepted), each weighted by how much of it is drafted.
        template <class Part> static double sum(double rate, double decay, double drafts, const Part& part)
        {
            if (!(rate >= 0) || !(decay >= 0) || !(drafts >= 0))
                return std::numeric_limits<double>::quiet_NaN();
            double total = 0, reached = 1, accepted = rate;
            for (int i = 1; i <= 4096 && i - 1 < drafts && reached > 0; ++i)
            {
                reached *= accepted;
                accepted *= decay;
                const double drafted = drafts - (i - 1) < 1 ? drafts - (i - 1) : 1;
                total += drafted * part(double(i), reached);
            }
            return total;
        }
    };
    struct acceptance_curve::by_rate
    {
        static constexpr const char* name = "acceptance_curve_by_rate";
        static constexpr const char* latex = "\\partial E/\\partial\\alpha";
        static constexpr int arity = 3;
        static double value(double rate, double decay, double drafts)
        {
            if (rate == 0)
                return drafts < 1 ? drafts : 1;
            return sum(rate, decay, drafts, [](double i, double reached) { return i * reached; }) / rate;
        }
    };
    struct acceptance_curve::by_decay
    {
        static constexpr const char* name = "acceptance_curve_by_decay";
        static constexpr const char* latex = "\\partial E/\\partial f";
        static constexpr int arity = 3;
        static double value(double rate, double decay, double drafts)
        {
            return sum(rate, decay, drafts, [](double i, double reached) { return 0.5 * i * (i - 1) * reached; })
                / decay;
        }
    };
    struct acceptance_curve::by_drafts // the chance that the draft begun is accepted
    {
        static constexpr const char* name = "acceptance_curve_by_drafts";
        static constexpr const char* latex = "\\partial E/\\partial\\gamma";
        static constexpr int arity = 3;
        static double value(double rate, double decay, double drafts)
        {
            const double begun = floor(drafts);
            return acceptance_curve::value(rate, decay, begun + 1) - acceptance_curve::value(rate, decay, begun);
        }
    };

    struct acceptance_rate
    {
        static constexpr Spec spec =
            Spec("\\alpha_d", "1", "acceptance rate of the first draft token", "Q2").range(0, 1);
    };
    struct acceptance_decay
    {
        static constexpr Spec spec =
            Spec("f_d", "1", "acceptance rate of a draft token relative to the previous one", "Q2")
                .positive(1)
                .by_default(1);
    };
    struct draft_cost
    {
        static constexpr Spec spec =
            Spec("c_d", "1", "time per draft token relative to the verification pass", "Q2").range(0);
    };
    struct draft_length
    {
        static constexpr Spec spec =
            Spec("\\gamma_d", "token/sequence", "draft tokens per sequence and pass, 0 without speculation", "Q2")
                .range(0)
                .by_default(0);
    };
    struct sampled_length
    {
        static constexpr Spec spec =
            Spec("1", "token/sequence", "sampled tokens per sequence and pass, draft tokens excluded", "R6.5")
                .positive()
                .by_default(1);
    };
    struct pass_length
    {
        static constexpr Spec spec =
            Spec("\\ell", "token/sequence", "new tokens per sequence and pass, draft tokens included", "R6.5").range(1);
        template <class T> static constexpr T formula(in<sampled_length, T> one, in<draft_length, T> g)
        { return one + g; }
    };
    struct acceptance_length
    {
        static constexpr Spec spec = Spec("E_d", "1", "mean acceptance length, tokens emitted per pass", "Q2");
        template <class T> static constexpr T formula(
            in<acceptance_rate, T> a,
            in<acceptance_decay, T> f,
            in<draft_length, T> g)
        {
            const T most = count(g) + 1.0;
            const T alike = select(a < T(1.0), (1.0 - pow(a, most)) / (1.0 - a), most);
            return select(f == T(1.0), alike, routine<acceptance_curve>(a, f, count(g)));
        }
    };
    struct drafting_factor
    {
        static constexpr Spec spec =
            Spec("1 + \\gamma_d c_d", "1", "pass time with drafting relative to the verification pass", "Q2");
        template <class T> static constexpr T formula(in<draft_length, T> g, in<draft_cost, T> c)
        { return spend_beside(T(1.0), count(g), c); }
    };
    struct speculation_speedup
    {
        static constexpr Spec spec = Spec("v_d", "1", "speculative-decoding speedup, memory-bound", "Q2");
        template <class T> static constexpr T formula(in<acceptance_length, T> E, in<drafting_factor, T> d)
        { return E / d; }
    };
    struct speculation_compute_factor
    {
        static constexpr Spec spec =
            Spec("(\\gamma_d + 1)/E_d", "1", "FLOPs per emitted token relative to decode without drafts", "Q2");
        template <class T> static constexpr T formula(in<draft_length, T> g, in<acceptance_length, T> E)
        { return (count(g) + 1.0) / E; }
    };
    struct emitted_length
    {
        static constexpr Spec spec =
            Spec("\\ell_d", "token/sequence", "mean tokens emitted per sequence and pass", "Q2").positive();
        template <class T> static constexpr T formula(
            in<pass_length, T> l,
            in<draft_length, T> g,
            in<speculation_compute_factor, T> waste)
        { return select(count(g) == T(0.0), l, l / waste); }
    };

    using speculation = list<
        acceptance_rate,
        acceptance_decay,
        draft_cost,
        draft_length,
        sampled_length,
        pass_length,
        acceptance_length,
        drafting_factor,
        speculation_speedup,
        speculation_compute_factor,
        emitted_length>;
}
