// Question 2: several tokens a pass. A draft proposes all tokens of the pass but the first, the pass verifies them, and
// those up to the first that is refused are emitted. The pass is an ordinary one: pass_length is one more than the
// length of the draft.
#pragma once
#include "roofslate/quantities/economics.hpp"

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
            Spec("\\gamma_d", "1", "tokens that are drafted for a pass: all but one of pass_length", "Q2");
        template <class T> static constexpr T formula(in<pass_length, T> l) { return count(l) - 1.0; }
    };
    struct accepted_length
    {
        static constexpr Spec spec = Spec("E_d", "1", "tokens that a pass emits for a sequence, in the mean", "Q2");
        template <class T> static constexpr T formula(in<acceptance_rate, T> a, in<draft_length, T> g)
        { return select(a < T(1.0), (1.0 - pow(a, g + 1.0)) / (1.0 - a), g + 1.0); }
    };
    struct drafting_factor
    {
        static constexpr Spec spec =
            Spec("1 + \\gamma_d c_d", "1", "time of draft and pass over that of the pass", "Q2");
        template <class T> static constexpr T formula(in<draft_length, T> g, in<draft_cost, T> c)
        { return 1.0 + g * c; }
    };
    struct speculation_speedup
    {
        static constexpr Spec spec =
            Spec("v_d", "1", "speed over that of single tokens while memory holds the pass up", "Q2");
        template <class T> static constexpr T formula(in<accepted_length, T> E, in<drafting_factor, T> d)
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
        template <class T> static constexpr T formula(in<draft_length, T> g, in<accepted_length, T> E)
        { return (g + 1.0) / E; }
    };
    struct emitted_length
    {
        static constexpr Spec spec =
            Spec("\\ell_d", "token/sequence", "tokens that a pass emits for a sequence, in the mean", "Q2");
        template <class T> static constexpr T formula(in<pass_length, T> l, in<speculation_compute_factor, T> waste)
        { return l / waste; }
    };
    struct speculative_token_time
    {
        static constexpr Spec spec =
            Spec("t_d", "s*sequence/token", "time between two emitted tokens of a sequence, draft included", "Q2");
        template <class T> static constexpr T formula(
            in<pass_time, T> t,
            in<drafting_factor, T> d,
            in<emitted_length, T> l)
        { return t * (d / l); }
    };
    struct speculative_cost_per_token
    {
        static constexpr Spec spec = Spec("c_e", "USD/token", "cost of an emitted token, draft included", "Q2");
        template <class T> static constexpr T formula(
            in<cost_per_token, T> c,
            in<drafting_factor, T> d,
            in<speculation_compute_factor, T> waste)
        { return c * (d * waste); }
    };
    struct speculative_throughput
    {
        static constexpr Spec spec =
            Spec("R_d", "token/s", "emitted tokens of the cell in a second, draft included", "Q2");
        template <class T> static constexpr T formula(
            in<cell_throughput, T> R,
            in<drafting_factor, T> d,
            in<speculation_compute_factor, T> waste)
        { return R / (d * waste); }
    };
    struct kv_bytes_per_emitted_token
    {
        static constexpr Spec spec = Spec("r/\\ell_d", "byte/token", "cache that is read for an emitted token", "Q2");
        template <class T> static constexpr T formula(in<kv_read_bytes, T> r, in<emitted_length, T> l) { return r / l; }
    };

    using speculation = list<
        acceptance_rate,
        draft_cost,
        draft_length,
        accepted_length,
        drafting_factor,
        speculation_speedup,
        speculation_compute_factor,
        emitted_length,
        speculative_token_time,
        speculative_cost_per_token,
        speculative_throughput,
        kv_bytes_per_emitted_token>;
}
