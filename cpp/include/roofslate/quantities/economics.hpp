// Chapter 1: what a token costs, and how many a cell makes.
#pragma once
#include <roofslate/quantities/serving.hpp>

namespace roofslate::quantities
{
    struct round_passes
    {
        static constexpr Spec spec = Spec("r", "1", "length of a round, in which every batch in flight gets its pass, in passes", "R3.2");
        template <class T> static constexpr T formula(in<microbatches, T> n, in<pipeline_stages, T> P) { return max(n / P, 1.0); }
    };
    struct round_tokens
    {
        static constexpr Spec spec = Spec("n_\\mu B\\ell", "token", "new tokens of a round", "R3.2");
        template <class T> static constexpr T formula(in<microbatches, T> n, in<pass_tokens, T> tokens) { return n * tokens; }
    };
    struct cost_per_token
    {
        static constexpr Spec spec = Spec("c", "USD/token", "price of the cell over the tokens that it makes", "R1.5");
        template <class T> static constexpr T formula(in<pass_time, T> t, in<cell_price, T> p, in<round_passes, T> r, in<round_tokens, T> tokens) { return t * (p * r / tokens); }
    };
    struct cell_throughput
    {
        static constexpr Spec spec = Spec("R", "token/s", "tokens that the cell makes in a second", "R1.14");
        template <class T> static constexpr T formula(in<round_tokens, T> tokens, in<round_passes, T> r, in<pass_time, T> t) { return (tokens / r) / t; }
    };

    using economics = list<round_passes, round_tokens, cost_per_token, cell_throughput>;
}
