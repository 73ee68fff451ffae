// Chapter 6: quantities implied by a price list, and prices implied by costs.
#pragma once
#include "roofslate/quantities/context.hpp"
#include "roofslate/quantities/storage.hpp"

namespace roofslate::quantities
{
    // --- a price list ---

    struct input_price
    { static constexpr Spec spec = Spec("p_i", "USD/token", "list price per input token", "R6.5").positive(); };
    struct output_price
    { static constexpr Spec spec = Spec("p_o", "USD/token", "list price per output token", "R6.5").positive(); };
    struct longest_context
    { static constexpr Spec spec = Spec("L_m", "token/sequence", "maximum context length in use", "R6.2").positive(); };
    struct long_context_threshold
    {
        static constexpr Spec spec =
            Spec("L_t", "token/sequence", "long-context threshold, other list prices above it", "R6.2")
                .positive()
                .at_most<longest_context>();
    };
    struct long_input_price
    {
        static constexpr Spec spec =
            Spec("p_i'", "USD/token", "list price per input token above the long-context threshold", "R6.2").positive();
    };
    struct long_output_price
    {
        static constexpr Spec spec =
            Spec("p_o'", "USD/token", "list price per output token above the long-context threshold", "R6.2")
                .positive();
    };
    struct cache_read_price
    { static constexpr Spec spec = Spec("p_r", "USD/token", "list price per cached input token", "R6.7").positive(); };
    struct long_cache_read_price
    {
        static constexpr Spec spec =
            Spec("p_r'", "USD/token", "list price per cached input token above the long-context threshold", "R6.7")
                .positive();
    };
    struct cache_write_price
    {
        static constexpr Spec spec =
            Spec("p_w", "USD/token", "list price per input token written to prompt cache, short TTL", "R6.7")
                .positive();
    };
    struct cache_write_time
    {
        static constexpr Spec spec =
            Spec("T_w", "s", "short time to live (TTL) of a prompt-cache write", "R6.7").positive();
    };
    struct long_cache_write_price
    {
        static constexpr Spec spec =
            Spec("p_w'", "USD/token", "list price per input token written to prompt cache, long TTL", "R6.7")
                .positive();
    };
    struct long_cache_write_time
    {
        static constexpr Spec spec =
            Spec("T_w'", "s", "long time to live (TTL) of a prompt-cache write", "R6.7").positive();
    };
    struct cache_storage_price
    {
        static constexpr Spec spec =
            Spec("p_s", "USD/token/s", "list price of prompt-cache storage, per token and time", "R6.7").positive();
    };

    // --- its ratios ---

    struct output_input_ratio
    {
        static constexpr Spec spec =
            Spec("\\varrho", "1", "ratio of output-token to input-token list price", "R6.5").positive();
        template <class T> static constexpr T formula(in<output_price, T> p_o, in<input_price, T> p_i)
        { return p_o / p_i; }
    };
    struct long_context_premium
    {
        static constexpr Spec spec =
            Spec("\\pi", "1", "ratio of output-token prices above and below the threshold", "R6.2").positive();
        template <class T> static constexpr T formula(in<long_output_price, T> p_l, in<output_price, T> p_o)
        { return p_l / p_o; }
    };
    struct long_input_premium
    {
        static constexpr Spec spec =
            Spec("\\pi_i", "1", "ratio of input-token prices above and below the threshold", "Q11").positive();
        template <class T> static constexpr T formula(in<long_input_price, T> p_l, in<input_price, T> p_i)
        { return p_l / p_i; }
    };
    struct cache_write_factor
    {
        static constexpr Spec spec =
            Spec("p_w/p_i", "1", "ratio of prompt-cache write to input list price, short TTL", "R6.7");
        template <class T> static constexpr T formula(in<cache_write_price, T> p_w, in<input_price, T> p_i)
        { return p_w / p_i; }
    };
    struct long_cache_write_factor
    {
        static constexpr Spec spec =
            Spec("p_w'/p_i", "1", "ratio of prompt-cache write to input list price, long TTL", "R6.7");
        template <class T> static constexpr T formula(in<long_cache_write_price, T> p_w, in<input_price, T> p_i)
        { return p_w / p_i; }
    };
    struct cache_read_factor
    {
        static constexpr Spec spec = Spec("p_r/p_i", "1", "ratio of prompt-cache read to input list price", "R6.7");
        template <class T> static constexpr T formula(in<cache_read_price, T> p_r, in<input_price, T> p_i)
        { return p_r / p_i; }
    };
    struct cache_write_read_ratio
    {
        static constexpr Spec spec =
            Spec("p_w/p_r", "1", "ratio of prompt-cache write to read list price, short TTL", "R6.7");
        template <class T> static constexpr T formula(in<cache_write_price, T> p_w, in<cache_read_price, T> p_r)
        { return p_w / p_r; }
    };

    // --- two tiers of context ---

    struct price_margin
    {
        static constexpr Spec spec =
            Spec("\\mu_p", "1", "markup, price relative to compute cost, less 1", "R6.2").range(0);
    };
    struct cost_plus_price
    {
        static constexpr Spec spec = Spec(
            "(1 + \\mu_p) c_r",
            "USD/token",
            "cost-plus price per token below the threshold, markup included",
            "R6.2");
        template <class T> static constexpr T formula(in<recompute_cost, T> c, in<price_margin, T> mu)
        { return c * (1.0 + mu); }
    };
    struct long_cost_plus_price
    {
        static constexpr Spec spec = Spec(
            "\\pi (1 + \\mu_p) c_r",
            "USD/token",
            "cost-plus price per token above the threshold, premium included",
            "R6.2");
        template <class T> static constexpr T formula(in<cost_plus_price, T> p, in<long_context_premium, T> pi)
        { return p * pi; }
    };
    struct break_even_context
    {
        static constexpr Spec spec =
            Spec("L_e", "token/sequence", "break-even context, cost per token equal to long-context price", "R6.2");
        template <class T> static constexpr T formula(
            in<balance_context, T> L_0,
            in<long_context_premium, T> pi,
            in<price_margin, T> mu,
            in<weight_fetch_ratio, T> w,
            in<hidden_kv_bytes, T> Y,
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<windowed_kv_share, T> share,
            in<attention_window, T> window,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0)
        { return context_at_ratio<T>(max(pi * (1.0 + mu) - w, 0.0), L_0, Y, q, k, share, window, K, q_i, S_0); }
    };
    struct context_distribution
    {
        static constexpr Spec spec =
            Spec("\\Phi_L", "1", "context-length distribution (uniform, log_uniform, power_law)", "R6.2")
                .one_of("uniform", "log_uniform", "power_law");
    };
    struct traffic_exponent
    {
        static constexpr Spec spec =
            Spec("\\gamma", "1", "context-length power-law exponent, 0 uniform, 1 log-uniform", "Q11").range(0, 4);
    };
    struct shortest_context
    {
        static constexpr Spec spec =
            Spec("L_s", "token/sequence", "minimum context length in use", "Q11")
                .positive()
                .at_most<long_context_threshold>();
    };

    // not max(x, -x), whose range may be negative
    template <class T> constexpr T magnitude(T x) { return max(x, T(0.0)) + max(0.0 - x, T(0.0)); }
    // sinh(z / 2) / (z / 2), which is 1 at 0, for z >= 0. No range of z makes a divisor that may be 0: bounds are
    // finite.
    template <class T> constexpr T half_sinh_ratio(T z)
    {
        const T least = 1e-3, far = max(z, least);
        return select(z < least, 1.0 + z * z / 24.0, (exp(far / 2.0) - exp(0.0 - far / 2.0)) / far);
    }
    // Of contexts that get rarer with the power gamma, from a to b, about their geometric mean.
    template <class T> constexpr T mean_context(
        in<context_distribution, T> which,
        in<traffic_exponent, T> gamma,
        const T& a,
        const T& b)
    {
        const T width = log(b / a), middle = sqrt(a * b);
        return choose(
            which,
            0.5 * (a + b),
            middle * half_sinh_ratio<T>(width),
            middle
                * (half_sinh_ratio<T>(magnitude<T>(2.0 - gamma) * width)
                   / half_sinh_ratio<T>(magnitude<T>(1.0 - gamma) * width)));
    }
    struct mean_short_context
    {
        static constexpr Spec spec =
            Spec("\\bar L_s", "token/sequence", "mean context length below the threshold", "Q11");
        template <class T> static constexpr T formula(
            in<context_distribution, T> which,
            in<traffic_exponent, T> gamma,
            in<shortest_context, T> a,
            in<long_context_threshold, T> b)
        { return mean_context<T>(which, gamma, a, b); }
    };
    struct mean_long_context
    {
        static constexpr Spec spec =
            Spec("\\bar L", "token/sequence", "mean context length above the threshold", "R6.2");
        template <class T> static constexpr T formula(
            in<context_distribution, T> which,
            in<traffic_exponent, T> gamma,
            in<long_context_threshold, T> a,
            in<longest_context, T> b)
        { return mean_context<T>(which, gamma, a, b); }
    };
    struct fair_long_context_premium
    {
        static constexpr Spec spec =
            Spec("\\bar L/L_0", "1", "fair long-context premium, threshold at or above balance context", "Q11");
        template <class T> static constexpr T formula(in<mean_long_context, T> L, in<balance_context, T> L_0)
        { return L / L_0; }
    };
    struct attention_balance_from_premium
    {
        static constexpr Spec spec = Spec(
            "L_a(\\pi_i)",
            "token/sequence",
            "context at which attention and weight FLOPs match, from input prices",
            "Q11");
        template <class T> static constexpr T formula(in<long_context_threshold, T> L, in<long_input_premium, T> pi)
        { return select(pi > T(1.0), L / (2.0 * (pi - 1.0)), T(infinite)); }
    };
    struct hidden_size_from_premium
    {
        static constexpr Spec spec =
            Spec("d(\\pi_i)", "1", "hidden size implied by the long-context input premium", "Q11");
        template <class T> static constexpr T formula(
            in<attention_balance_from_premium, T> L_a,
            in<balance_context_per_width, T> eight)
        { return L_a / eight; }
    };

    // --- KV cache implied by the kink, batch size implied by the output price ---

    struct kv_bytes_from_kink
    {
        static constexpr Spec spec =
            Spec("q_k", "byte/token", "KV cache per token implied by compute-memory balance at threshold", "R6.3");
        template <class T> static constexpr T formula(
            in<flops_per_token, T> f,
            in<pass_length, T> l,
            in<bytes_per_weight, T> w,
            in<flops_per_parameter_token, T> two,
            in<balance_tokens, T> A,
            in<long_context_threshold, T> L_t,
            in<weight_fetch_ratio, T> omega)
        { return f * l * (w / (two * A * L_t)) * max(1.0 - omega, 0.0); }
    };
    struct kv_bytes_from_balance_context
    {
        static constexpr Spec spec = Spec(
            "q(L_0)",
            "byte/token",
            "KV cache per token implied by the balance context, 0 if never reached",
            "R6.3");
        template <class T> static constexpr T formula(
            in<flops_per_token, T> f,
            in<pass_length, T> l,
            in<bytes_per_weight, T> w,
            in<flops_per_parameter_token, T> two,
            in<balance_tokens, T> A,
            in<balance_context, T> L_0)
        { return f * l * (w / (two * A * L_0)); }
    };
    struct batch_from_prices
    {
        static constexpr Spec spec =
            Spec("B(\\varrho)", "sequence", "batch size implied by output and input prices, inf if KV-bound", "R6.5");
        template <class T> static constexpr T formula(
            in<output_input_ratio, T> rho,
            in<kv_compute_ratio, T> r,
            in<balance_batch, T> B_0)
        { return select(rho > r, B_0 / (rho - r), T(infinite)); }
    };
    struct context_from_prices
    {
        static constexpr Spec spec =
            Spec("L(\\varrho)", "token/sequence", "context length implied by output and input prices", "R6.5");
        template <class T> static constexpr T formula(
            in<balance_context, T> L_0,
            in<output_input_ratio, T> rho,
            in<weight_fetch_ratio, T> w,
            in<hidden_kv_bytes, T> Y,
            in<kv_bytes_per_token, T> q,
            in<kv_read_factor, T> k,
            in<windowed_kv_share, T> share,
            in<attention_window, T> window,
            in<selected_tokens, T> K,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0)
        { return context_at_ratio<T>(max(rho - w, 0.0), L_0, Y, q, k, share, window, K, q_i, S_0); }
    };

    // --- prices as costs: all items of a list are marked up alike, but for a factor that has a range ---

    struct relative_markup
    {
        static constexpr Spec spec =
            Spec("\\lambda_p", "1", "markup of a price-list item relative to input tokens", "R6.7").positive();
    };
    struct decode_cost_ratio
    {
        static constexpr Spec spec =
            Spec("\\varrho/\\lambda_p", "1", "ratio of output-token to input-token cost, from list prices", "R6.5");
        template <class T> static constexpr T formula(in<output_input_ratio, T> rho, in<relative_markup, T> lambda)
        { return rho / lambda; }
    };
    struct decode_prefill_utilization
    {
        static constexpr Spec spec = Spec(
            "\\lambda_p/\\varrho",
            "1",
            "ratio of decode to prefill compute utilization, from list prices",
            "R6.5");
        template <class T> static constexpr T formula(in<decode_cost_ratio, T> r) { return 1.0 / r; }
    };
    struct long_decode_cost_ratio
    {
        static constexpr Spec spec = Spec(
            "p_o'/(\\lambda_p p_i)",
            "1",
            "ratio of long-context output to input token cost, from list prices",
            "R6.2");
        template <class T> static constexpr T formula(
            in<long_output_price, T> p_l,
            in<input_price, T> p_i,
            in<relative_markup, T> lambda)
        { return p_l / (p_i * lambda); }
    };
    struct decode_cost_step
    {
        static constexpr Spec spec = Spec(
            "(p_o' - p_o)/(\\lambda_p p_i)",
            "1",
            "output cost step at the threshold relative to input, from prices",
            "R6.2");
        template <class T> static constexpr T formula(
            in<long_output_price, T> p_l,
            in<output_price, T> p_o,
            in<input_price, T> p_i,
            in<relative_markup, T> lambda)
        { return (p_l - p_o) / (p_i * lambda); }
    };
    struct balance_context_from_step
    {
        static constexpr Spec spec = Spec(
            "L_0(\\Delta p_o)",
            "token/sequence",
            "balance context from the output price step, memory-bound throughout",
            "R6.2");
        template <class T> static constexpr T formula(
            in<mean_long_context, T> L_l,
            in<mean_short_context, T> L_s,
            in<decode_cost_step, T> step)
        { return select(step > T(0.0), (L_l - L_s) / step, T(infinite)); }
    };
    struct threshold_alignment
    {
        static constexpr Spec spec =
            Spec("a_t", "1", "ratio of price threshold to kink, compute and memory time equal", "R6.2").positive();
    };
    struct kink_from_threshold
    {
        static constexpr Spec spec = Spec(
            "L_t/a_t",
            "token/sequence",
            "kink context, compute and memory time equal, from the threshold",
            "R6.2");
        template <class T> static constexpr T formula(in<long_context_threshold, T> L_t, in<threshold_alignment, T> a)
        { return L_t / a; }
    };
    struct balance_context_from_premium
    {
        static constexpr Spec spec = Spec(
            "L_0(p_o')",
            "token/sequence",
            "balance context from long output price, memory-bound above the kink",
            "R6.2");
        template <class T> static constexpr T formula(
            in<mean_long_context, T> L_l,
            in<kink_from_threshold, T> L_k,
            in<long_decode_cost_ratio, T> r)
        { return select(r > T(1.0), (L_l - L_k) / (r - 1.0), T(infinite)); }
    };

    // --- cost of KV-cache storage ---

    struct implied_storage_price
    {
        static constexpr Spec spec = Spec(
            "\\Delta p_w/\\Delta T_w",
            "USD/token/s",
            "implied prompt-cache storage price, from short and long TTL writes",
            "R6.7");
        template <class T> static constexpr T formula(
            in<long_cache_write_price, T> p_l,
            in<cache_write_price, T> p_w,
            in<long_cache_write_time, T> T_l,
            in<cache_write_time, T> T_w)
        { return (p_l - p_w) / (T_l - T_w); }
    };
    struct implied_write_price
    {
        static constexpr Spec spec =
            Spec("p_{w0}", "USD/token", "implied prompt-cache write surcharge, storage excluded", "R6.7");
        template <class T> static constexpr T formula(
            in<cache_write_price, T> p_w,
            in<input_price, T> p_i,
            in<cache_write_time, T> T_w,
            in<implied_storage_price, T> p_s)
        { return (p_w - p_i) - T_w * p_s; }
    };
    struct storage_price_per_byte
    {
        static constexpr Spec spec =
            Spec("p_s/q", "USD/byte/s", "list price of prompt-cache storage, per byte and time", "R6.7");
        template <class T> static constexpr T formula(
            in<cache_storage_price, T> p_s,
            in<stored_kv_bytes_per_token, T> q)
        { return p_s / q; }
    };
    struct storage_price_factor
    {
        static constexpr Spec spec =
            Spec("p_s h/(q p)", "1", "ratio of prompt-cache storage price to HBM cost, per byte", "R6.7");
        template <class T> static constexpr T formula(in<storage_price_per_byte, T> p_b, in<hbm_rent, T> r)
        { return p_b / r; }
    };
    struct kv_bytes_from_storage_price
    {
        static constexpr Spec spec =
            Spec("q_s", "byte/token", "KV cache per token implied by storage price, if kept in HBM", "R6.7");
        template <class T> static constexpr T formula(in<cache_storage_price, T> p_s, in<hbm_rent, T> r)
        { return p_s / r; }
    };
    struct paying_hold_time
    {
        static constexpr Spec spec =
            Spec("(p_i - p_r)/p_s", "s", "break-even storage time of a cached token relative to resending it", "R6.8");
        template <class T> static constexpr T formula(
            in<input_price, T> p_i,
            in<cache_read_price, T> p_r,
            in<cache_storage_price, T> p_s)
        { return max(p_i - p_r, 0.0) / p_s; }
    };
    struct input_price_factor
    {
        static constexpr Spec spec = Spec("p_i/c_r", "1", "ratio of input list price to compute cost", "R6.7");
        template <class T> static constexpr T formula(in<input_price, T> p_i, in<recompute_cost, T> c)
        { return p_i / c; }
    };

    struct hold_cost_from_prices
    {
        static constexpr Spec spec = Spec(
            "p_s c_r/(\\lambda_p p_i)",
            "USD/token/s",
            "prompt-cache storage cost per token and time, from list prices",
            "R6.7");
        template <class T> static constexpr T formula(
            in<cache_storage_price, T> p_s,
            in<input_price_factor, T> mu,
            in<relative_markup, T> lambda)
        { return p_s / (mu * lambda); }
    };
    struct kv_bytes_from_hold_price
    {
        static constexpr Spec spec =
            Spec("q_h", "byte/token", "KV cache per token implied by storage cost in a storage tier", "R6.8");
        template <class T> static constexpr T formula(in<hold_cost_from_prices, T> c, in<tier_rent, T> r)
        { return c / r; }
    };
    struct read_cost_from_prices
    {
        static constexpr Spec spec =
            Spec("p_r c_r/(\\lambda_p p_i)", "USD/token", "prompt-cache read cost per token, from list prices", "R6.7");
        template <class T> static constexpr T formula(
            in<cache_read_price, T> p_r,
            in<input_price_factor, T> mu,
            in<relative_markup, T> lambda)
        { return p_r / (mu * lambda); }
    };
    struct kv_bytes_from_read_price
    {
        static constexpr Spec spec =
            Spec("q_r", "byte/token", "KV cache per token implied by read cost from a storage tier", "R6.8");
        template <class T> static constexpr T formula(in<read_cost_from_prices, T> c, in<tier_retrieve_price, T> r)
        { return c / r; }
    };

    // --- revenue at list prices ---

    struct served_input_tokens
    { static constexpr Spec spec = Spec("D_i", "token", "input tokens billed at full price", "definition").range(0); };
    struct cached_input_tokens
    {
        static constexpr Spec spec =
            Spec("D_r", "token", "input tokens billed as prompt-cache reads", "definition").range(0);
    };
    struct served_output_tokens
    { static constexpr Spec spec = Spec("D_o", "token", "output tokens billed", "definition").range(0); };
    struct served_time
    { static constexpr Spec spec = Spec("T_D", "s", "serving time of the billed tokens", "definition").positive(); };
    struct token_revenue
    {
        static constexpr Spec spec = Spec("E_p", "USD", "revenue from billed tokens at list prices", "definition");
        template <class T> static constexpr T formula(
            in<served_input_tokens, T> D_i,
            in<input_price, T> p_i,
            in<cached_input_tokens, T> D_r,
            in<cache_read_price, T> p_r,
            in<served_output_tokens, T> D_o,
            in<output_price, T> p_o)
        { return D_i * p_i + D_r * p_r + D_o * p_o; }
    };
    struct request_price
    {
        static constexpr Spec spec =
            Spec("p_q", "USD/sequence", "list price per request (uncached input, cached input, output)", "definition");
        template <class T> static constexpr T formula(
            in<fresh_input_tokens, T> I_f,
            in<prefix_length, T> L_p,
            in<output_tokens, T> O,
            in<input_price, T> p_i,
            in<cache_read_price, T> p_r,
            in<output_price, T> p_o)
        { return I_f * p_i + spend(L_p, p_r) + O * p_o; }
    };
    struct blended_price
    {
        static constexpr Spec spec =
            Spec("p_b", "USD/token", "blended list price per token, input and output", "definition");
        template <class T> static constexpr T formula(
            in<request_price, T> p,
            in<input_tokens, T> I,
            in<output_tokens, T> O)
        { return p / (I + O); }
    };
    struct serving_cost
    {
        static constexpr Spec spec = Spec("p_G T_D", "USD", "replica cost during the serving time", "definition");
        template <class T> static constexpr T formula(in<replica_price, T> p_G, in<served_time, T> T_D)
        { return p_G * T_D; }
    };
    struct serving_margin
    {
        static constexpr Spec spec =
            Spec("E_p/(p_G T_D) - 1", "1", "serving margin, revenue relative to replica cost, less 1", "definition");
        template <class T> static constexpr T formula(in<token_revenue, T> E, in<serving_cost, T> c)
        { return E / c - 1.0; }
    };

    using pricing = list<
        input_price,
        output_price,
        longest_context,
        long_context_threshold,
        long_input_price,
        long_output_price,
        cache_read_price,
        long_cache_read_price,
        cache_write_price,
        cache_write_time,
        long_cache_write_price,
        long_cache_write_time,
        cache_storage_price,
        output_input_ratio,
        long_context_premium,
        long_input_premium,
        cache_write_factor,
        long_cache_write_factor,
        cache_read_factor,
        cache_write_read_ratio,
        price_margin,
        cost_plus_price,
        long_cost_plus_price,
        break_even_context,
        context_distribution,
        traffic_exponent,
        shortest_context,
        mean_short_context,
        mean_long_context,
        fair_long_context_premium,
        attention_balance_from_premium,
        hidden_size_from_premium,
        kv_bytes_from_kink,
        kv_bytes_from_balance_context,
        batch_from_prices,
        context_from_prices,
        relative_markup,
        decode_cost_ratio,
        decode_prefill_utilization,
        long_decode_cost_ratio,
        decode_cost_step,
        balance_context_from_step,
        threshold_alignment,
        kink_from_threshold,
        balance_context_from_premium,
        implied_storage_price,
        implied_write_price,
        storage_price_per_byte,
        storage_price_factor,
        kv_bytes_from_storage_price,
        paying_hold_time,
        input_price_factor,
        hold_cost_from_prices,
        kv_bytes_from_hold_price,
        read_cost_from_prices,
        kv_bytes_from_read_price,
        served_input_tokens,
        cached_input_tokens,
        served_output_tokens,
        served_time,
        token_revenue,
        request_price,
        blended_price,
        serving_cost,
        serving_margin>;
}
