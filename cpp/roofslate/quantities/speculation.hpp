// Question 2: several tokens a pass. A draft proposes all tokens of the pass but the first, the pass verifies them, and
// those up to the first that is refused are emitted.
#pragma once
#include "roofslate/quantities/cache.hpp"

namespace roofslate::quantities
{
    struct acceptance_rate
    {
        static constexpr Spec spec =
            Spec("\\alpha_d", "1", "chance that a drafted token is accepted when those before it are", "Q2")
                .range(0, 1);
    };
    struct draft_cost
    {
        static constexpr Spec spec =
            Spec("c_d", "1", "time of a drafted token over the time of the pass that verifies it", "Q2").range(0);
    };
    struct draft_length
    {
        static constexpr Spec spec =
            Spec("\\gamma_d", "token/sequence", "tokens that are drafted for a sequence in a pass; 0: no draft", "Q2")
                .range(0)
                .by_default(0);
    };
    struct sampled_length
    {
        static constexpr Spec spec =
            Spec("1", "token/sequence", "tokens that a pass samples for a sequence, drafted ones left out", "R6.5")
                .positive()
                .by_default(1);
    };
    struct pass_length
    {
        static constexpr Spec spec =
            Spec("\\ell", "token/sequence", "new tokens of a sequence in one pass; 1 is decode without drafts", "R6.5")
                .range(1);
        template <class T> static constexpr T formula(in<sampled_length, T> one, in<draft_length, T> g)
        { return one + g; }
    };
    struct acceptance_length
    {
        static constexpr Spec spec = Spec("E_d", "1", "tokens that a pass emits for a sequence, in the mean", "Q2");
        template <class T> static constexpr T formula(in<acceptance_rate, T> a, in<draft_length, T> g)
        {
            const T most = count(g) + 1.0;
            return select(a < T(1.0), (1.0 - pow(a, most)) / (1.0 - a), most);
        }
    };
    struct drafting_factor
    {
        static constexpr Spec spec =
            Spec("1 + \\gamma_d c_d", "1", "time of draft and pass over that of the pass", "Q2");
        template <class T> static constexpr T formula(in<draft_length, T> g, in<draft_cost, T> c)
        { return spend_beside(T(1.0), count(g), c); }
    };
    struct speculation_speedup
    {
        static constexpr Spec spec =
            Spec("v_d", "1", "speed over that of single tokens while memory holds the pass up", "Q2");
        template <class T> static constexpr T formula(in<acceptance_length, T> E, in<drafting_factor, T> d)
        { return E / d; }
    };
    struct speculation_compute_factor
    {
        static constexpr Spec spec = Spec(
            "(\\gamma_d + 1)/E_d",
            "1",
            "arithmetic of an emitted token over that of a single one: what speculation costs when compute holds the "
            "pass up",
            "Q2");
        template <class T> static constexpr T formula(in<draft_length, T> g, in<acceptance_length, T> E)
        { return (count(g) + 1.0) / E; }
    };
    struct emitted_length
    {
        static constexpr Spec spec =
            Spec("\\ell_d", "token/sequence", "tokens that a pass emits for a sequence, in the mean", "Q2").positive();
        template <class T> static constexpr T formula(
            in<pass_length, T> l,
            in<draft_length, T> g,
            in<speculation_compute_factor, T> waste)
        { return select(count(g) == T(0.0), l, l / waste); }
    };

    using speculation = list<
        acceptance_rate,
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
