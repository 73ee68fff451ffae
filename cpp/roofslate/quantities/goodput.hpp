// Promises of a service under load: the share of the requests that keep them, the requests that are refused, and the
// cost of a day whose rate varies.
#pragma once
#include "roofslate/quantities/latency.hpp"

namespace roofslate::quantities
{
    // --- requests within a target ---

    struct time_to_first_token_target
    { static constexpr Spec spec = Spec("\\hat T_f", "s", "target time to first token (TTFT), SLO", "Q6").positive(); };
    struct time_to_first_token_p1
    {
        static constexpr Spec spec =
            Spec("T_{f1}", "s", "time to first token (TTFT), 1st percentile", "Q6")
                .value_of<time_to_first_token_quantile>()
                .where<latency_quantile>(0.01);
    };
    struct time_to_first_token_p10
    {
        static constexpr Spec spec =
            Spec("T_{f10}", "s", "time to first token (TTFT), 10th percentile", "Q6")
                .value_of<time_to_first_token_quantile>()
                .where<latency_quantile>(0.1);
    };
    struct time_to_first_token_p25
    {
        static constexpr Spec spec =
            Spec("T_{f25}", "s", "time to first token (TTFT), 25th percentile", "Q6")
                .value_of<time_to_first_token_quantile>()
                .where<latency_quantile>(0.25);
    };
    struct time_to_first_token_p60
    {
        static constexpr Spec spec =
            Spec("T_{f60}", "s", "time to first token (TTFT), 60th percentile", "Q6")
                .value_of<time_to_first_token_quantile>()
                .where<latency_quantile>(0.6);
    };
    struct time_to_first_token_p75
    {
        static constexpr Spec spec =
            Spec("T_{f75}", "s", "time to first token (TTFT), 75th percentile", "Q6")
                .value_of<time_to_first_token_quantile>()
                .where<latency_quantile>(0.75);
    };
    struct time_to_first_token_p999
    {
        static constexpr Spec spec =
            Spec("T_{f999}", "s", "time to first token (TTFT), 99.9th percentile", "Q6")
                .value_of<time_to_first_token_quantile>()
                .where<latency_quantile>(0.999);
    };
    struct attainment_depth
    {
        // Linear interpolation between nine percentiles, and extrapolation beyond the last from the last two: along
        // -ln(1 - share) exponential tails are straight.
        static constexpr Spec spec =
            Spec("\\delta_f", "1", "negative log fraction of requests above the TTFT target", "Q6");
        template <class T> static constexpr T formula(
            in<time_to_first_token_target, T> time,
            in<time_to_first_token_p1, T> p_1,
            in<time_to_first_token_p10, T> p_10,
            in<time_to_first_token_p25, T> p_25,
            in<time_to_first_token_p50, T> p_50,
            in<time_to_first_token_p60, T> p_60,
            in<time_to_first_token_p75, T> p_75,
            in<time_to_first_token_p90, T> p_90,
            in<time_to_first_token_p99, T> p_99,
            in<time_to_first_token_p999, T> p_999)
        {
            const auto position = [&](const T& from, const T& to) {
                return min(max((time - from) / max(to - from, 1e-9 * to), 0.0), 1.0);
            };
            const T beyond = max(time - p_999, 0.0 * time) / max(p_999 - p_99, 1e-9 * p_999);
            return min(time / max(p_1, 1e-9 * p_50), 1.0) * 0.010050335853501442
                + position(p_1, p_10) * 0.09531017980432487 + position(p_10, p_25) * 0.1823215567939546
                + position(p_25, p_50) * 0.4054651081081644 + position(p_50, p_60) * 0.2231435513142097
                + position(p_60, p_75) * 0.4700036292457356 + position(p_75, p_90) * 0.9162907318741553
                + position(p_90, p_99) * 2.302585092994044 + position(p_99, p_999) * 2.302585092994046
                + min(beyond * 2.302585092994046, 30.0);
        }
    };
    struct time_to_first_token_attainment
    {
        static constexpr Spec spec = Spec("f_f", "1", "SLO attainment, time to first token (TTFT)", "Q6");
        template <class T> static constexpr T formula(in<attainment_depth, T> depth, in<service_load, T> load)
        { return select(load < 1.0, 1.0 - exp(-depth), T(0.0)); }
    };
    struct time_per_output_token_attainment
    {
        // The inverse of the percentile, with each of its limits.
        static constexpr Spec spec = Spec("f_{oo}", "1", "SLO attainment, time per output token (TPOT)", "Q6");
        template <class T> static constexpr T formula(
            in<quick_answer_share, T> quick,
            in<time_per_output_token_target, T> target,
            in<token_time_floor, T> least,
            in<token_time_excess, T> excess,
            in<prompt_token_delay, T> delay,
            in<full_token_time_excess, T> mean,
            in<full_token_time_variance, T> variance,
            in<decode_step_slope, T> b,
            in<loaded_running_sequences, T> B,
            in<running_variance, T> v_B,
            in<full_decode_token_time, T> most,
            in<prompt_gap_limit, T> gap,
            in<sampled_length, T> single,
            in<single_sequence, T> one,
            in<service_load, T> load)
        {
            const T above = max(target - least, 1e-9 * least);
            const T full = routine<gamma_share>(T(above), T(mean), T(variance));
            const T calm = max(target - gap / single, 0.0 * target), some = max(B, 1e-6 * one);
            const T concurrent = max(calm - least, 1e-9 * least) / b;
            const T steady = select(
                calm < max(most, least),
                routine<gamma_share>(T(concurrent), T(some), T(max(v_B, 1e-9 * (some * some)))),
                T(1.0));
            const T rare = max(1.0 - (excess + delay) / above, 0.0);
            return select(load < 1.0, max(max(quick, full), max(steady, rare)), T(0.0));
        }
    };
    struct request_attainment
    {
        static constexpr Spec spec = Spec(
            "f_r",
            "1",
            "SLO attainment, TTFT and TPOT together, assumed independent",
            "DistServe, arXiv 2401.09670");
        template <class T> static constexpr T formula(
            in<time_to_first_token_attainment, T> first,
            in<time_per_output_token_attainment, T> each)
        { return first * each; }
    };

    // --- refusals ---

    struct queue_room
    {
        static constexpr Spec spec =
            Spec("n_q", "sequence", "maximum queue length per replica, further requests refused", "Q6")
                .range(0, infinite)
                .by_default(infinite);
    };
    // Share of the time in which all n slots are taken where none can wait: Erlang's B for a batch. With the shape and
    // the odds of the line, any odds: 1/B = 1 + n/(r (n + s)) (1 + (n - 1)/(r (n - 1 + s)) (1 + ...)).
    struct batch_loss
    {
        static constexpr const char* name = "batch_loss";
        static constexpr const char* latex = "B_{NB}";
        static constexpr const char* slope_names[] =
            {"batch_loss_by_number", "batch_loss_by_shape", "batch_loss_by_odds"};
        static constexpr int arity = 3;
        static constexpr std::array<double, 3> least{0, 0, 0};
        using partials = list<slope_by<batch_loss, 0>, slope_by<batch_loss, 1>, slope_by<batch_loss, 2>>;
        static constexpr Dimension dimension(const Dimension& n, const Dimension& shape, const Dimension& odds)
        { return n * shape * odds; }

        static constexpr double many = 1e6, together = 0.02;
        static double plain(double x) { return x; }
        static double plain(const sloped::Sloped<double>& x) { return x.value; }
        template <class T> static T of(const T& n, const T& shape, const T& odds)
        {
            if (std::isnan(plain(n)) || std::isnan(plain(shape)) || std::isnan(plain(odds)))
                return T(NAN);
            if (!(plain(odds) > 0))
                return T(0.0);
            if (!(plain(n) <= DBL_MAX && plain(shape) <= DBL_MAX)) // of endless slots each step down has the same odds
                return plain(shape) <= DBL_MAX ? max(T(1.0) - T(1.0) / odds, T(0.0)) : T(NAN);
            T all(1.0), term(1.0), remaining = n;
            while (plain(remaining) > 0)
            {
                // of very many, so many together that their ratios hardly differ
                const int doublings = plain(remaining) > many ? std::ilogb(together * std::sqrt(plain(remaining))) : 0;
                const double steps = std::ldexp(1.0, doublings);
                const T middle = remaining - T((steps - 1.0) / 2.0),
                        ratio = middle / (odds * (middle + shape - T(1.0)));
                T sum = ratio, power = ratio;
                for (int k = 0; k < doublings; ++k)
                    sum = sum + sum * power, power = power * power;
                all = all + term * sum;
                term = term * power;
                if (!(plain(all) <= 1e250))
                    return T(0.0);
                if (plain(ratio) < 1 && plain(term) < 1e-17 * (1 - plain(ratio)) * plain(all))
                    break;
                remaining = remaining - T(steps);
            }
            return T(1.0) / all;
        }
        static double value(double n, double shape, double odds) { return of(n, shape, odds); }
    };
    struct decoding_time_left
    {
        // Above capacity, prefill takes only the time of the admitted requests.
        static constexpr Spec spec =
            Spec("1 - u_q", "1", "fraction of time left for decode after prefill, refusals included", "Q6");
        template <class T> static constexpr T formula(
            in<prompt_time_share, T> u,
            in<decode_load, T> decode,
            in<slot_load, T> load)
        { return max(max(1.0 - u, decode / max(load, 1e-9)), 1e-9); }
    };
    struct slots_taken_share
    {
        static constexpr Spec spec = Spec("B_N", "1", "fraction of time with all slots taken, no queue allowed", "Q6");
        template <class T> static constexpr T formula(
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<slot_line_slope, T> b,
            in<decoding_time_left, T> decode_share,
            in<decoding_slots, T> N,
            in<slot_line_shape, T> shape,
            in<pooled_replicas, T> R,
            in<peakedness, T> z)
        {
            const T odds = max(rate * D * b / decode_share, 1e-100);
            return max(routine<batch_loss>(max(count(N) * R / z, 0.5), (shape - 1.0) * R / z + 1.0, odds), 1e-300);
        }
    };
    // (1 - e^-x) / x, by its series near 0
    template <class T> constexpr T mean_decay(const T& x)
    {
        const T near = x * x, far = select(near < 1e-6, T(1.0), x);
        const T series = 1.0 - x / 2.0 + near / 6.0 - near * x / 24.0 + near * near / 120.0;
        return select(near < 1e-6, series, (1.0 - exp(-far)) / far);
    }
    struct refused_share
    {
        static constexpr Spec spec = Spec("f_q", "1", "fraction of requests refused, queue full", "Q6");
        template <class T> static constexpr T formula(
            in<slots_taken_share, T> full,
            in<decode_load, T> decode,
            in<decoding_time_left, T> decode_share,
            in<queue_room, T> queue_limit,
            in<pooled_replicas, T> R,
            in<service_load, T> load)
        {
            // a queue whose states have weights 1, e^x, ... e^qx, after slots that are full with the weight 1
            const T q = named("room", "q", min(count(queue_limit) * R, 1e9));
            const T x = named("growth", "x", log(max(decode / decode_share, 1e-9)));
            const T waiting = (q + 1.0) * (mean_decay<T>((q + 1.0) * x) / mean_decay<T>(x));
            const T before = (1.0 / full - 1.0) * exp(-(q * x));
            const T share = max(1.0 / (before + waiting), 1.0 - 1.0 / max(load, 1.0));
            return select(count(queue_limit) < infinite, share, T(0.0));
        }
    };
    struct request_goodput
    {
        static constexpr Spec spec = Spec(
            "\\Lambda_g",
            "sequence/s",
            "goodput, request throughput within TTFT and TPOT targets",
            "DistServe, arXiv 2401.09670");
        template <class T> static constexpr T formula(
            in<arrival_rate, T> rate,
            in<refused_share, T> refused,
            in<request_attainment, T> attained)
        { return rate * ((1.0 - refused) * attained); }
    };

    // --- a day: a fleet for the peak, and one that follows ---

    struct peak_to_mean_load
    {
        static constexpr Spec spec =
            Spec("k", "1", "ratio of peak to mean arrival rate", "definition").range(1).by_default(1);
    };
    struct target_load
    {
        static constexpr Spec spec =
            Spec("\\hat\\varrho", "1", "target load for fleet sizing", "definition").positive(1).by_default(1);
    };
    struct replica_start_time
    {
        static constexpr Spec spec =
            Spec("t_u", "s", "replica start-up time, paid for", "definition").range(0).by_default(0);
    };
    struct load_cycle_time
    {
        static constexpr Spec spec =
            Spec("t_k", "s", "period of the arrival-rate cycle", "definition").positive().by_default(86400);
    };
    struct load_rise
    {
        // From a trough as far below the mean as the peak is above it, or from nothing.
        static constexpr Spec spec = Spec("k_u", "1", "arrival-rate rise per cycle relative to the mean", "definition");
        template <class T> static constexpr T formula(in<peak_to_mean_load, T> k) { return min(2.0 * (k - 1.0), k); }
    };
    struct starting_replica_share
    {
        static constexpr Spec spec =
            Spec("f_u", "1", "starting replicas relative to mean serving replicas", "definition");
        template <class T> static constexpr T formula(
            in<load_rise, T> rise,
            in<replica_start_time, T> start,
            in<load_cycle_time, T> period)
        { return rise * (start / period); }
    };
    struct fixed_fleet_cost_factor
    {
        static constexpr Spec spec =
            Spec("\\kappa_f", "1", "cost of a fleet fixed at the peak relative to full utilization", "definition");
        template <class T> static constexpr T formula(in<peak_to_mean_load, T> k, in<target_load, T> load)
        { return k / load; }
    };
    struct following_fleet_cost_factor
    {
        static constexpr Spec spec =
            Spec("\\kappa_a", "1", "cost of an autoscaled fleet relative to full utilization", "definition");
        template <class T> static constexpr T formula(in<starting_replica_share, T> starting, in<target_load, T> load)
        { return (1.0 + starting) / load; }
    };
    struct autoscaling_saving_factor
    {
        static constexpr Spec spec =
            Spec("\\kappa_f/\\kappa_a", "1", "ratio of fixed-fleet to autoscaled-fleet cost", "definition");
        template <class T> static constexpr T formula(
            in<fixed_fleet_cost_factor, T> fixed,
            in<following_fleet_cost_factor, T> following)
        { return fixed / following; }
    };
    struct full_load_cost_per_output_token
    {
        static constexpr Spec spec =
            Spec("c_{O1}", "USD/token", "cost per output token at load 1, prompts included", "R1.5");
        template <class T> static constexpr T formula(in<cost_per_output_token, T> cost, in<service_load, T> load)
        { return cost * min(load, 1.0); }
    };
    struct fixed_fleet_cost_per_output_token
    {
        static constexpr Spec spec =
            Spec("c_{Of}", "USD/token", "cost per output token, fleet fixed at the peak", "R1.5");
        template <class T> static constexpr T formula(
            in<full_load_cost_per_output_token, T> full,
            in<fixed_fleet_cost_factor, T> factor)
        { return full * factor; }
    };
    struct following_fleet_cost_per_output_token
    {
        static constexpr Spec spec = Spec("c_{Oa}", "USD/token", "cost per output token, autoscaled fleet", "R1.5");
        template <class T> static constexpr T formula(
            in<full_load_cost_per_output_token, T> full,
            in<following_fleet_cost_factor, T> factor)
        { return full * factor; }
    };

    using goodput = list<
        time_to_first_token_target,
        time_to_first_token_p1,
        time_to_first_token_p10,
        time_to_first_token_p25,
        time_to_first_token_p60,
        time_to_first_token_p75,
        time_to_first_token_p999,
        attainment_depth,
        time_to_first_token_attainment,
        time_per_output_token_attainment,
        request_attainment,
        queue_room,
        decoding_time_left,
        slots_taken_share,
        refused_share,
        request_goodput,
        peak_to_mean_load,
        target_load,
        replica_start_time,
        load_cycle_time,
        load_rise,
        starting_replica_share,
        fixed_fleet_cost_factor,
        following_fleet_cost_factor,
        autoscaling_saving_factor,
        full_load_cost_per_output_token,
        fixed_fleet_cost_per_output_token,
        following_fleet_cost_per_output_token>;
}
