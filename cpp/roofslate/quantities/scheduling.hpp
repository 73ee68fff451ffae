// Chapter 1: the start of a pass, the wait for it, and the batch that fills it.
#pragma once
#include "roofslate/quantities/economics.hpp"
#include <cfloat>
#include <limits>

namespace roofslate::quantities
{
    // Share of the arrivals that find all `batch_slots` occupied (M/M/c, Erlang's C), for any number of slots from one
    // up, whole or not. The reciprocal of Erlang's B is e^a a^-c times the upper incomplete gamma function of (c + 1,
    // a), with a = load c: the whole gamma function less the lower part, an integral over a falling exponential, by a
    // double-exponential rule of fixed length.
    struct erlang_c
    {
        static constexpr const char* name = "erlang_c";
        static constexpr const char* latex = "C";
        static constexpr int arity = 2;
        static constexpr std::array<signed char, 3> directions{-1, 1};
        static constexpr std::array<double, 3> least{1, -HUGE_VAL, 0};
        struct by_load;
        using partials = list<no_partial, by_load>; // the derivative by the slots has no short formula
        static constexpr Dimension dimension(const Dimension& batch_slots, const Dimension& load)
        { return roofslate::count(batch_slots) * load; }

        static double value(double batch_slots, double load)
        {
            if (!(batch_slots >= 1) || load != load)
                return std::numeric_limits<double>::quiet_NaN();
            if (load >= 1)
                return 1;
            if (load <= 0 || batch_slots > DBL_MAX)
                return 0;
            return 1 / (load + (1 - load) * per_b(batch_slots, load));
        }

    private:
        static double per_b(double batch_slots, double load)
        {
            const double complete =
                sqrt(6.283185307179586 * batch_slots) * exp(stirling_error(batch_slots) + batch_slots * excess(load));
            return complete - lower_part(batch_slots * load, batch_slots * (1 - load));
        }
        // ln Gamma(c + 1) less Stirling's formula.
        static double stirling_error(double c)
        {
            double shift = 0;
            for (; c < 12; c += 1)
                shift += (c + 0.5) * log(1 + 1 / c) - 1;
            const double r = 1 / (c * c);
            return shift
                + (1.0 / 12
                   - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r * (1.0 / 1188 - r * (691.0 / 360360))))))
                / c;
        }
        // load - 1 - ln(load), without cancellation near 1.
        static double excess(double load)
        {
            const double v = 1 - load;
            if (v > 0.1)
                return -v - log(load);
            double sum = 0;
            for (int n = 18; n >= 2; --n)
                sum = sum * v + 1.0 / n;
            return sum * v * v;
        }
        // y - 1 + e^-y, without cancellation near 0.
        static double bend(double y)
        {
            if (y > 0.5)
                return y - 1 + exp(-y);
            double sum = 1;
            for (int n = 15; n >= 3; --n)
                sum = 1 - y / n * sum;
            return 0.5 * y * y * sum;
        }
        // a times the integral of exp(-(1 + spare) y - a bend(y)) over y from 0.
        static double lower_part(double a, double spare)
        {
            static const Rule rule;
            const double scale = 1 / (1 + spare + sqrt(a));
            double sum = 0;
            for (int i = 0; i < Rule::points; ++i)
            {
                const double y = scale * rule.at[i];
                sum += rule.weight[i] * exp(-(1 + spare) * y - a * bend(y));
            }
            return a * scale * sum;
        }
        struct Rule // x = exp(s - exp(-s)) in equal steps of s
        {
            static constexpr int points = 113;
            double at[points], weight[points];
            Rule()
            {
                for (int i = 0; i < points; ++i)
                {
                    const double s = (i - 54) / 15.0, e = exp(-s);
                    at[i] = exp(s - e);
                    weight[i] = at[i] * (1 + e) / 15.0;
                }
            }
        };
    };
    struct erlang_c::by_load // 0 at a load of one or more, at which all wait
    {
        static constexpr const char* name = "erlang_c_by_load";
        static constexpr const char* latex = "\\partial C/\\partial\\varrho";
        static constexpr int arity = 2;

        static double value(double batch_slots, double load)
        {
            if (!(batch_slots >= 1) || load != load)
                return std::numeric_limits<double>::quiet_NaN();
            if (load >= 1 || load < 0 || batch_slots > DBL_MAX)
                return 0;
            if (load == 0)
                return batch_slots > 1 ? 0 : 1;
            const double b = per_b(batch_slots, load), c = 1 / (load + (1 - load) * b);
            return c * (batch_slots * ((1 - load) / load) + c * (b - 1));
        }
    };

    // --- fixed-interval batching: a pass starts each interval with the requests present ---

    struct batch_interval
    {
        static constexpr Spec spec =
            Spec("T", "s", "batch interval, time between pass starts", "R1.13").positive().otherwise<hbm_drain_time>();
    };
    struct interval_mean_wait
    {
        static constexpr Spec spec =
            Spec("T_w", "s", "mean wait for the next batch, fixed interval, free slots", "R1.13");
        template <class T> static constexpr T formula(in<batch_interval, T> T_p) { return 0.5 * T_p; }
    };
    struct interval_mean_latency
    {
        static constexpr Spec spec =
            Spec("\\bar T", "s", "mean token latency, wait included, fixed interval, free slots", "R1.13");
        template <class T> static constexpr T formula(in<batch_interval, T> T_p) { return 1.5 * T_p; }
    };
    struct interval_max_latency
    {
        static constexpr Spec spec =
            Spec("T_\\mathrm{max}", "s", "maximum token latency, fixed interval, free slots", "R1.13");
        template <class T> static constexpr T formula(in<batch_interval, T> T_p) { return 2.0 * T_p; }
    };
    struct turn_rate;
    struct arrival_rate
    {
        static constexpr Spec spec =
            Spec("\\Lambda", "sequence/s", "arrival rate of requests", "Q6").range(0).otherwise<turn_rate>();
    };
    struct batch_slots
    { static constexpr Spec spec = Spec("c_s", "sequence", "batch slots, sequences per pass", "R1.13").range(1); };
    struct interval_load
    {
        static constexpr Spec spec =
            Spec("\\Lambda T/c_s", "1", "ratio of arrivals per interval to batch slots", "R1.13");
        template <class T> static constexpr T formula(
            in<arrival_rate, T> a,
            in<batch_interval, T> T_p,
            in<batch_slots, T> c)
        { return a * (T_p / c); }
    };

    // --- back-to-back batching: a pass starts as soon as the previous one ends ---

    struct idle_dispatch_period
    {
        static constexpr Spec spec =
            Spec("T_i", "s", "steady-state pass time, back-to-back batching, inf if overloaded", "Q6");
        template <class T> static constexpr T formula(
            in<fixed_pass_time, T> W,
            in<arrival_rate, T> a,
            in<pass_time_per_sequence, T> k)
        { return select(a * k >= 1.0, T(infinite), W / (1.0 - a * k)); }
    };
    struct idle_dispatch_batch
    {
        static constexpr Spec spec =
            Spec("B_i", "sequence", "steady-state batch size, back-to-back batching, inf if overloaded", "Q6");
        template <class T> static constexpr T formula(in<arrival_rate, T> a, in<idle_dispatch_period, T> T_i)
        { return a * T_i; }
    };
    struct idle_dispatch_time
    {
        static constexpr Spec spec =
            Spec("\\bar T_i", "s", "mean token latency, back-to-back batching, inf if overloaded", "Q6");
        template <class T> static constexpr T formula(in<idle_dispatch_period, T> T_i) { return 1.5 * T_i; }
    };

    // --- batch slots: a sequence keeps its slot until its answer is complete ---

    struct slot_time
    {
        static constexpr Spec spec = Spec("\\tau_s", "s", "batch-slot time per sequence", "Q6");
        template <class T> static constexpr T formula(
            in<output_tokens, T> L_r,
            in<pass_length, T> l,
            in<batch_interval, T> T_p)
        { return L_r / l * T_p; }
    };
    struct slot_rate
    {
        static constexpr Spec spec = Spec("\\mu_s", "sequence/s", "maximum service rate of the batch slots", "Q6");
        template <class T> static constexpr T formula(in<batch_slots, T> c, in<slot_time, T> t) { return c / t; }
    };
    struct slot_utilization
    {
        static constexpr Spec spec = Spec("\\varrho", "1", "batch-slot utilization", "Q6").range(0, 1);
        template <class T> static constexpr T formula(in<arrival_rate, T> a, in<slot_rate, T> m) { return a / m; }
    };
    struct waiting_probability
    {
        static constexpr Spec spec = Spec("P_w", "1", "probability of waiting for a batch slot (Erlang C)", "Q6");
        template <class T> static constexpr T formula(in<batch_slots, T> c, in<slot_utilization, T> r)
        { return routine<erlang_c>(c, r); }
    };
    struct mean_queue_wait
    {
        static constexpr Spec spec = Spec("T_s", "s", "mean wait for a batch slot (Erlang C), inf if overloaded", "Q6");
        template <class T> static constexpr T formula(
            in<batch_slots, T> c,
            in<slot_utilization, T> r,
            in<waiting_probability, T> P_w,
            in<slot_time, T> t)
        { return select(r >= 1.0, T(infinite), P_w * (t / (count(c) * (1.0 - r)))); }
    };

    // --- batch, interval and replica: two of them fix the third ---

    struct compute_bound_batch
    {
        static constexpr Spec spec =
            Spec("B_T", "sequence", "batch size at which compute takes one batch interval", "R1.15");
        template <class T> static constexpr T formula(in<batch_interval, T> T_p, in<compute_time_per_sequence, T> k_c)
        { return T_p / k_c; }
    };
    struct interval_batch
    {
        static constexpr Spec spec =
            Spec("B_\\mathrm{train}", "sequence", "maximum batch size with a pass within the batch interval", "R1.13");
        template <class T> static constexpr T formula(
            in<overlap, T> o,
            in<batch_interval, T> T_p,
            in<fixed_pass_time, T> W,
            in<kv_fetch_time_per_sequence, T> k_kv,
            in<compute_time_per_sequence, T> k_c,
            in<compute_bound_batch, T> B_T)
        {
            return choose(
                o,
                min(max(T_p - W, 0.0) / k_kv, B_T),
                min(max(T_p - W, 0.0) / k_kv, T_p / (k_kv + k_c)),
                max(T_p - W, 0.0) / (k_kv + k_c));
        }
    };
    struct full_memory_kv_bytes
    {
        static constexpr Spec spec =
            Spec("K_\\mathrm{full}", "byte/sequence", "KV-cache size per sequence filling the HBM", "R1.15");
        template <class T> static constexpr T formula(
            in<kv_cache_memory_share, T> eta,
            in<kv_cache_capacity, T> capacity,
            in<kv_cache_copies, T> copies,
            in<sequences_in_flight, T> B)
        { return select(B == T(0.0), T(0.0), room_for_caches<T>(eta, capacity, copies) / B); }
    };
    struct full_memory_context
    {
        static constexpr Spec spec = Spec(
            "L_\\mathrm{full}",
            "token/sequence",
            "context length filling the HBM at the given batch size",
            "R1.15");
        template <class T> static constexpr T formula(
            in<full_memory_kv_bytes, T> bytes,
            in<kv_bytes_per_token, T> q,
            in<kv_stored_factor, T> k,
            in<windowed_kv_share, T> share,
            in<attention_window, T> w,
            in<index_bytes_per_token, T> q_i,
            in<recurrent_state_bytes, T> S_0,
            in<cache_allocation, T> which,
            in<in_flight_tokens, T> ahead,
            in<padded_block_size, T> b,
            in<global_page_padding, T> of_global,
            in<windowed_page_padding, T> of_windowed,
            in<reserved_state_bytes, T> S_p)
        {
            const T exact = select(
                stores_all_alike<T>(share, q_i, S_0),
                bytes / (q * k),
                context_storing<T>(bytes, q, k, share, w, q_i, S_0));
            return choose(
                which,
                exact,
                context_in_pages<T>(bytes, q, k, share, w, ahead, b, of_global, of_windowed, q_i, S_p));
        }
    };
    struct full_memory_utilization
    {
        static constexpr Spec spec =
            Spec("u_\\mathrm{full}", "1", "compute utilization of a pass reading the full HBM", "R1.15");
        template <class T> static constexpr T formula(in<compute_time, T> t_c, in<hbm_drain_time, T> t_d)
        { return t_c / max(t_d, t_c); }
    };

    using scheduling = list<
        batch_interval,
        interval_mean_wait,
        interval_mean_latency,
        interval_max_latency,
        arrival_rate,
        batch_slots,
        interval_load,
        idle_dispatch_period,
        idle_dispatch_batch,
        idle_dispatch_time,
        slot_time,
        slot_rate,
        slot_utilization,
        waiting_probability,
        mean_queue_wait,
        compute_bound_batch,
        interval_batch,
        full_memory_kv_bytes,
        full_memory_context,
        full_memory_utilization>;
}
