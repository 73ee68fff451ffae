// Chapter 6: what a price list gives away, and what its prices would have to be.
#pragma once
#include <roofslate/quantities/context.hpp>
#include <roofslate/quantities/storage.hpp>

namespace roofslate::quantities
{
    // --- a price list ---

    struct input_price { static constexpr Spec spec = Spec("p_i", "USD/token", "list price of a token of a prompt", "R6.5").positive(); };
    struct output_price { static constexpr Spec spec = Spec("p_o", "USD/token", "list price of a token of an answer", "R6.5").positive(); };
    struct longest_context { static constexpr Spec spec = Spec("L_m", "token/sequence", "longest context in use", "R6.2").positive(); };
    struct long_context_threshold { static constexpr Spec spec = Spec("L_t", "token/sequence", "context beyond which tokens have another list price", "R6.2").positive().at_most<longest_context>(); };
    struct long_input_price { static constexpr Spec spec = Spec("p_i'", "USD/token", "list price of a token of a prompt beyond the threshold", "R6.2").positive(); };
    struct long_output_price { static constexpr Spec spec = Spec("p_o'", "USD/token", "list price of a token of an answer beyond the threshold", "R6.2").positive(); };
    struct cache_read_price { static constexpr Spec spec = Spec("p_r", "USD/token", "list price of a token of a prompt that is found in the cache", "R6.7").positive(); };
    struct cache_write_price { static constexpr Spec spec = Spec("p_w", "USD/token", "list price of a token of a prompt that is then kept for the short time", "R6.7").positive(); };
    struct cache_write_time { static constexpr Spec spec = Spec("T_w", "s", "the short time for which a written token is kept", "R6.7").positive(); };
    struct long_cache_write_price { static constexpr Spec spec = Spec("p_w'", "USD/token", "list price of a token of a prompt that is then kept for the long time", "R6.7").positive(); };
    struct long_cache_write_time { static constexpr Spec spec = Spec("T_w'", "s", "the long time for which a written token is kept", "R6.7").positive(); };
    struct cache_storage_price { static constexpr Spec spec = Spec("p_s", "USD/token/s", "list price of keeping a token in the cache for a second", "R6.7").positive(); };

    // --- its ratios ---

    struct output_input_ratio_from_prices
    {
        static constexpr Spec spec = Spec("p_o/p_i", "1", "list price of a token of an answer over that of a prompt, from both", "R6.5");
        template <class T> static constexpr T formula(in<output_price, T> p_o, in<input_price, T> p_i) { return p_o / p_i; }
    };
    struct output_input_ratio { static constexpr Spec spec = Spec("\\varrho", "1", "list price of a token of an answer over that of a prompt", "R6.5").positive().otherwise<output_input_ratio_from_prices>(); };
    struct long_context_premium_from_prices
    {
        static constexpr Spec spec = Spec("p_o'/p_o", "1", "list price of a token of an answer beyond the threshold over that below, from both", "R6.2");
        template <class T> static constexpr T formula(in<long_output_price, T> p_l, in<output_price, T> p_o) { return p_l / p_o; }
    };
    struct long_context_premium { static constexpr Spec spec = Spec("\\pi", "1", "list price of a token of an answer beyond the threshold over that below", "R6.2").positive().otherwise<long_context_premium_from_prices>(); };
    struct long_input_premium_from_prices
    {
        static constexpr Spec spec = Spec("p_i'/p_i", "1", "list price of a token of a prompt beyond the threshold over that below, from both", "Q11");
        template <class T> static constexpr T formula(in<long_input_price, T> p_l, in<input_price, T> p_i) { return p_l / p_i; }
    };
    struct long_input_premium { static constexpr Spec spec = Spec("\\pi_i", "1", "list price of a token of a prompt beyond the threshold over that below", "Q11").positive().otherwise<long_input_premium_from_prices>(); };
    struct cache_write_factor
    {
        static constexpr Spec spec = Spec("p_w/p_i", "1", "list price of a token that is kept for the short time over that of one that is not", "R6.7");
        template <class T> static constexpr T formula(in<cache_write_price, T> p_w, in<input_price, T> p_i) { return p_w / p_i; }
    };
    struct long_cache_write_factor
    {
        static constexpr Spec spec = Spec("p_w'/p_i", "1", "list price of a token that is kept for the long time over that of one that is not", "R6.7");
        template <class T> static constexpr T formula(in<long_cache_write_price, T> p_w, in<input_price, T> p_i) { return p_w / p_i; }
    };
    struct cache_read_factor
    {
        static constexpr Spec spec = Spec("p_r/p_i", "1", "list price of a token found in the cache over that of a fresh one", "R6.7");
        template <class T> static constexpr T formula(in<cache_read_price, T> p_r, in<input_price, T> p_i) { return p_r / p_i; }
    };
    struct cache_write_read_ratio
    {
        static constexpr Spec spec = Spec("p_w/p_r", "1", "list price of a token that is written to the cache over that of one found there", "R6.7");
        template <class T> static constexpr T formula(in<cache_write_price, T> p_w, in<cache_read_price, T> p_r) { return p_w / p_r; }
    };

    // --- two tiers of context ---

    struct price_margin { static constexpr Spec spec = Spec("\\mu_p", "1", "price over cost, less one, where arithmetic is all that costs", "R6.2").range(0); };
    struct cost_plus_price
    {
        static constexpr Spec spec = Spec("(1 + \\mu_p) c_r", "USD/token", "price of a token up to the threshold that covers its arithmetic and leaves the margin", "R6.2");
        template <class T> static constexpr T formula(in<recompute_cost, T> c, in<price_margin, T> mu) { return c * (1.0 + mu); }
    };
    struct long_cost_plus_price
    {
        static constexpr Spec spec = Spec("\\pi (1 + \\mu_p) c_r", "USD/token", "price of a token beyond the threshold: that of the first tier at the premium", "R6.2");
        template <class T> static constexpr T formula(in<cost_plus_price, T> p, in<long_context_premium, T> pi) { return p * pi; }
    };
    struct break_even_context
    {
        static constexpr Spec spec = Spec("L_e", "token/sequence", "context beyond which a token of the second tier costs more than its price", "R6.2");
        template <class T> static constexpr T formula(in<balance_context, T> L_0, in<long_context_premium, T> pi, in<price_margin, T> mu, in<weight_fetch_ratio, T> w) { return L_0 * max(pi * (1.0 + mu) - w, 0.0); }
    };
    struct context_distribution { static constexpr Spec spec = Spec("\\Phi_L", "1", "how the contexts beyond the threshold are spread up to the longest", "R6.2").one_of("uniform", "log_uniform"); };
    struct mean_long_context
    {
        static constexpr Spec spec = Spec("\\bar L", "token/sequence", "mean context beyond the threshold", "R6.2");
        template <class T> static constexpr T formula(in<context_distribution, T> which, in<long_context_threshold, T> a, in<longest_context, T> b)
        { return choose(which, 0.5 * (a + b), select(a == b, a, (b - a) / log(b / a))); }
    };
    struct fair_long_context_premium
    {
        static constexpr Spec spec = Spec("\\bar L/L_0", "1", "premium at which the second tier earns what the first does, if its threshold is the balance context or more", "Q11");
        template <class T> static constexpr T formula(in<mean_long_context, T> L, in<balance_context, T> L_0) { return L / L_0; }
    };
    struct attention_balance_from_premium
    {
        static constexpr Spec spec = Spec("L_a(\\pi_i)", "token/sequence", "context at which attention multiplies as much as the weights, if it is what makes prompts at the threshold dearer; inf: they are not", "Q11");
        template <class T> static constexpr T formula(in<long_context_threshold, T> L, in<long_input_premium, T> pi) { return select(pi > T(1.0), L / (2.0 * (pi - 1.0)), T(infinite)); }
    };
    struct hidden_size_from_premium
    {
        static constexpr Spec spec = Spec("d(\\pi_i)", "1", "width of the residual stream that goes with it", "Q11");
        template <class T> static constexpr T formula(in<attention_balance_from_premium, T> L_a, in<balance_context_per_width, T> eight) { return L_a / eight; }
    };

    // --- what the kink tells of the cache, and the answer's price of the batch ---

    struct kv_bytes_from_kink
    {
        static constexpr Spec spec = Spec("q_k", "byte/token", "cache of a token with which memory takes as long as compute at the threshold", "R6.3");
        template <class T> static constexpr T formula(in<flops_per_token, T> f, in<pass_length, T> l, in<weight_bytes, T> w, in<flops_per_parameter_token, T> two, in<weight_balance, T> A, in<long_context_threshold, T> L_t, in<weight_fetch_ratio, T> omega)
        { return f * l * (w / (two * A * L_t)) * max(1.0 - omega, 0.0); }
    };
    struct batch_from_prices
    {
        static constexpr Spec spec = Spec("B(\\varrho)", "sequence", "batch at which a decoded token costs as much more than one of a prompt as it is priced; inf: the cache alone costs more", "R6.5");
        template <class T> static constexpr T formula(in<output_input_ratio, T> rho, in<context_length, T> L, in<balance_context, T> L_0, in<balance_batch, T> B_0) { return select(rho > L / L_0, B_0 / (rho - L / L_0), T(infinite)); }
    };
    struct context_from_prices
    {
        static constexpr Spec spec = Spec("L(\\varrho)", "token/sequence", "context at which a decoded token costs as much more than one of a prompt as it is priced", "R6.5");
        template <class T> static constexpr T formula(in<balance_context, T> L_0, in<output_input_ratio, T> rho, in<weight_fetch_ratio, T> w) { return L_0 * max(rho - w, 0.0); }
    };

    // --- what keeping a token costs ---

    struct implied_storage_price
    {
        static constexpr Spec spec = Spec("\\Delta p_w/\\Delta T_w", "USD/token/s", "price of keeping a token for a second longer, from the two prices of a write", "R6.7");
        template <class T> static constexpr T formula(in<long_cache_write_price, T> p_l, in<cache_write_price, T> p_w, in<long_cache_write_time, T> T_l, in<cache_write_time, T> T_w) { return (p_l - p_w) / (T_l - T_w); }
    };
    struct implied_write_price
    {
        static constexpr Spec spec = Spec("p_{w0}", "USD/token", "price of writing a token that is kept for no time, from the two prices of a write", "R6.7");
        template <class T> static constexpr T formula(in<cache_write_price, T> p_w, in<input_price, T> p_i, in<cache_write_time, T> T_w, in<implied_storage_price, T> p_s) { return (p_w - p_i) - T_w * p_s; }
    };
    struct storage_price_per_byte
    {
        static constexpr Spec spec = Spec("p_s/q", "USD/byte/s", "list price of keeping a byte for a second", "R6.7");
        template <class T> static constexpr T formula(in<cache_storage_price, T> p_s, in<kv_bytes_per_token, T> q) { return p_s / q; }
    };
    struct storage_price_factor
    {
        static constexpr Spec spec = Spec("p_s h/(q p)", "1", "list price of keeping a token over the rent of the HBM that it takes", "R6.7");
        template <class T> static constexpr T formula(in<storage_price_per_byte, T> p_b, in<hbm_rent, T> r) { return p_b / r; }
    };
    struct kv_bytes_from_storage_price
    {
        static constexpr Spec spec = Spec("q_s", "byte/token", "cache of a token that would be worth its list price of storage, were it kept in HBM", "R6.7");
        template <class T> static constexpr T formula(in<cache_storage_price, T> p_s, in<hbm_rent, T> r) { return p_s / r; }
    };
    struct input_price_factor
    {
        static constexpr Spec spec = Spec("p_i/c_r", "1", "list price of a token of a prompt over the price of its arithmetic", "R6.7");
        template <class T> static constexpr T formula(in<input_price, T> p_i, in<recompute_cost, T> c) { return p_i / c; }
    };

    // --- what a tariff brings ---

    struct served_input_tokens { static constexpr Spec spec = Spec("D_i", "token", "tokens of prompts that are paid in full", "definition").range(0); };
    struct cached_input_tokens { static constexpr Spec spec = Spec("D_r", "token", "tokens of prompts that are found in the cache", "definition").range(0); };
    struct served_output_tokens { static constexpr Spec spec = Spec("D_o", "token", "tokens of answers that are paid", "definition").range(0); };
    struct served_time { static constexpr Spec spec = Spec("T_D", "s", "time in which they are served", "definition").positive(); };
    struct token_revenue
    {
        static constexpr Spec spec = Spec("E_p", "USD", "what the served tokens bring at list prices", "definition");
        template <class T> static constexpr T formula(in<served_input_tokens, T> D_i, in<input_price, T> p_i, in<cached_input_tokens, T> D_r, in<cache_read_price, T> p_r, in<served_output_tokens, T> D_o, in<output_price, T> p_o)
        { return D_i * p_i + D_r * p_r + D_o * p_o; }
    };
    struct serving_cost
    {
        static constexpr Spec spec = Spec("p_G T_D", "USD", "rent of the chips for the time in which tokens are served", "definition");
        template <class T> static constexpr T formula(in<cell_price, T> p_G, in<served_time, T> T_D) { return p_G * T_D; }
    };
    struct serving_margin
    {
        static constexpr Spec spec = Spec("E_p/(p_G T_D) - 1", "1", "what served tokens bring over the rent of the chips, less one", "definition");
        template <class T> static constexpr T formula(in<token_revenue, T> E, in<serving_cost, T> c) { return E / c - 1.0; }
    };

    using pricing = list<input_price, output_price, longest_context, long_context_threshold, long_input_price, long_output_price, cache_read_price, cache_write_price, cache_write_time, long_cache_write_price, long_cache_write_time,
        cache_storage_price, output_input_ratio_from_prices, output_input_ratio, long_context_premium_from_prices, long_context_premium, long_input_premium_from_prices, long_input_premium, cache_write_factor,
        long_cache_write_factor, cache_read_factor, cache_write_read_ratio, price_margin, cost_plus_price, long_cost_plus_price, break_even_context, context_distribution, mean_long_context, fair_long_context_premium,
        attention_balance_from_premium, hidden_size_from_premium, kv_bytes_from_kink, batch_from_prices, context_from_prices, implied_storage_price, implied_write_price, storage_price_per_byte, storage_price_factor,
        kv_bytes_from_storage_price, input_price_factor, served_input_tokens, cached_input_tokens, served_output_tokens, served_time, token_revenue, serving_cost, serving_margin>;
}
