// Sequences that run under load: as many as arrive while a step with this many takes its time. The step is a line
// near them.
#pragma once
#include "roofslate/quantities/arrivals.hpp"
#include <initializer_list>

namespace roofslate::quantities
{
    // Of B sequences that a request runs with, itself included, the ratio to B of those that would run at these times,
    // 1 + D t + p (B - 1) per interarrival time: it falls with B, and is one at the sequences that run.
    template <class T>
    constexpr T running_ratio_of(
        const T& B,
        in<replica_arrival_rate, T> rate,
        in<decoded_tokens, T> D,
        const T& t,
        const T& prompt,
        in<single_sequence, T> one)
    { return (one + rate * (D * t + prompt * (B - one))) / B; }
    struct full_running_ratio
    {
        static constexpr Spec spec =
            Spec("f_N", "1", "implied running sequences relative to the slots, all taken", "Q6");
        template <class T> static constexpr T formula(
            in<sequence_slots, T> N,
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<full_decode_token_time, T> t,
            in<full_prompt_step_time, T> prompt,
            in<full_prompt_overhead_time, T> p_0,
            in<single_sequence, T> one)
        { return running_ratio_of<T>(N, rate, D, t, p_0 + prompt, one); }
    };

    struct lone_running_ratio
    {
        static constexpr Spec spec = Spec("f_0", "1", "implied running sequences at the step time of one", "Q6");
        template <class T> static constexpr T formula(
            in<single_sequence, T> one,
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<lone_decode_token_time, T> t)
        { return 1.0 + rate * D * t / one; }
    };

    // --- estimates, each closer ---

    // The inverse of a number of sequences, and by how much their ratio exceeds one: on a line if the step is one.
    template <class T> struct RunningPoint
    {
        T at, excess;
    };
    template <class T>
    constexpr RunningPoint<T> running_point_of(const T& B, const T& ratio, in<single_sequence, T> one)
    { return {one / B, ratio - 1.0}; }
    template <class T> constexpr T rise_between(const RunningPoint<T>& more, const RunningPoint<T>& fewer)
    { return max((fewer.excess - more.excess) / max(fewer.at - more.at, 1e-12), T(0.01)); }
    // The zero of a parabola through the last point and those that enclose the root. Where a step bends from memory to
    // compute, a line through the last two points of memory is nearer: halfway to it, if it ends inside.
    template <class T>
    constexpr T closer_estimate_of(
        in<sequence_slots, T> N,
        in<single_sequence, T> one,
        in<full_running_ratio, T> full,
        RunningPoint<T> fewer,
        RunningPoint<T> last,
        std::initializer_list<RunningPoint<T>> earlier)
    {
        RunningPoint<T> more = running_point_of<T>(N, full, one);
        const auto nearer =
            [](const auto& which, const RunningPoint<T>& a, const RunningPoint<T>& b) -> RunningPoint<T> {
            return {select(which, a.at, b.at), select(which, a.excess, b.excess)};
        };
        for (const RunningPoint<T>& point : earlier)
        {
            fewer = nearer(point.excess > 0.0, point, fewer);
            more = nearer(point.excess <= 0.0, point, more);
        }
        more = {named("more", "z_+", more.at), named("excess_more", "e_+", more.excess)};
        fewer = {named("fewer", "z_-", fewer.at), named("excess_fewer", "e_-", fewer.excess)};
        last = {named("last", "z", last.at), named("excess", "e", last.excess)};
        const auto beyond = last.excess > 0.0;
        const T before = named("rise_before", "s_+", rise_between(more, last));
        const T after = named("rise_after", "s_-", rise_between(last, fewer));
        const T bend = named("bend", "q", (after - before) / max(fewer.at - more.at, 1e-12));
        const T rise = named("rise", "s", before + bend * max(last.at - more.at, T(0.0)));
        const T root = sqrt(max(rise * rise - 4.0 * bend * last.excess, 1e-6));
        const T low = named("low", "\\bar{z}", select(beyond, more.at, last.at));
        const T high = named("high", "\\hat{z}", select(beyond, last.at, fewer.at));
        const T next = last.at - 2.0 * last.excess / max(rise + root, 0.01 / last.at);
        const T parabola = named("parabola", "z_p", min(max(next, low), high));
        const T line = named("line", "z_l", min(max(last.at - last.excess / after, more.at), last.at));
        const T part = named("part", "u", min(max((line - more.at) / max(last.at - more.at, 1e-12), 0.0), 1.0));
        const T weight = 0.5 * min(8.0 * part * (1.0 - part), 1.0);
        const T middle = parabola + select(beyond, weight * (line - parabola), T(0.0));
        const T zero = min(max(middle, low), high); // as it is, also where bounds lose sight of it
        return select(full < 1.0, one / zero, T(N));
    }
    struct first_batch
    {
        static constexpr Spec spec =
            Spec("B_1", "sequence", "batch size under load, first estimate, line from one to all slots", "Q6");
        template <class T> static constexpr T formula(
            in<sequence_slots, T> N,
            in<single_sequence, T> one,
            in<lone_running_ratio, T> lone,
            in<full_running_ratio, T> full,
            in<microbatches, T> n)
        {
            const RunningPoint<T> more = running_point_of<T>(N, full, one), fewer = running_point_of<T>(one, lone, one);
            const T zero = max(more.at - more.excess / rise_between(more, fewer), more.at);
            return select(full < 1.0, one / zero, T(N)) / n;
        }
    };
    struct first_decode_token_time
    {
        static constexpr Spec spec =
            Spec("t(B_1)", "s*sequence/token", "time per output token (TPOT) at the first estimate", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, first_batch>();
    };
    struct first_prompt_busy_time
    {
        static constexpr Spec spec =
            Spec("p(B_1)", "s/sequence", "replica time per prompt at the first estimate", "Q6")
                .value_of<prompt_busy_time>()
                .where<batch_size, first_batch>();
    };
    struct first_running_ratio
    {
        static constexpr Spec spec = Spec("f_1", "1", "implied running sequences relative to the first estimate", "Q6");
        template <class T> static constexpr T formula(
            in<first_batch, T> B,
            in<microbatches, T> n,
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<first_decode_token_time, T> t,
            in<first_prompt_busy_time, T> prompt,
            in<single_sequence, T> one)
        { return running_ratio_of<T>(n * B, rate, D, t, prompt, one); }
    };
    struct second_batch
    {
        static constexpr Spec spec = Spec("B_2", "sequence", "batch size under load, second estimate", "Q6");
        template <class T> static constexpr T formula(
            in<sequence_slots, T> N,
            in<single_sequence, T> one,
            in<lone_running_ratio, T> lone,
            in<full_running_ratio, T> full,
            in<microbatches, T> n,
            in<first_batch, T> B_1,
            in<first_running_ratio, T> f_1)
        {
            return closer_estimate_of<
                       T>(N, one, full, running_point_of<T>(one, lone, one), running_point_of<T>(n * B_1, f_1, one), {})
                / n;
        }
    };
    struct second_decode_token_time
    {
        static constexpr Spec spec =
            Spec("t(B_2)", "s*sequence/token", "time per output token (TPOT) at the second estimate", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, second_batch>();
    };
    struct second_prompt_busy_time
    {
        static constexpr Spec spec =
            Spec("p(B_2)", "s/sequence", "replica time per prompt at the second estimate", "Q6")
                .value_of<prompt_busy_time>()
                .where<batch_size, second_batch>();
    };
    struct second_running_ratio
    {
        static constexpr Spec spec =
            Spec("f_2", "1", "implied running sequences relative to the second estimate", "Q6");
        template <class T> static constexpr T formula(
            in<second_batch, T> B,
            in<microbatches, T> n,
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<second_decode_token_time, T> t,
            in<second_prompt_busy_time, T> prompt,
            in<single_sequence, T> one)
        { return running_ratio_of<T>(n * B, rate, D, t, prompt, one); }
    };
    struct third_batch
    {
        static constexpr Spec spec = Spec("B_3", "sequence", "batch size under load, third estimate", "Q6");
        template <class T> static constexpr T formula(
            in<sequence_slots, T> N,
            in<single_sequence, T> one,
            in<lone_running_ratio, T> lone,
            in<full_running_ratio, T> full,
            in<microbatches, T> n,
            in<first_batch, T> B_1,
            in<first_running_ratio, T> f_1,
            in<second_batch, T> B_2,
            in<second_running_ratio, T> f_2)
        {
            return closer_estimate_of<T>(
                       N,
                       one,
                       full,
                       running_point_of<T>(one, lone, one),
                       running_point_of<T>(n * B_2, f_2, one),
                       {running_point_of<T>(n * B_1, f_1, one)})
                / n;
        }
    };
    struct third_decode_token_time
    {
        static constexpr Spec spec =
            Spec("t(B_3)", "s*sequence/token", "time per output token (TPOT) at the third estimate", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, third_batch>();
    };
    struct third_prompt_busy_time
    {
        static constexpr Spec spec =
            Spec("p(B_3)", "s/sequence", "replica time per prompt at the third estimate", "Q6")
                .value_of<prompt_busy_time>()
                .where<batch_size, third_batch>();
    };
    struct third_running_ratio
    {
        static constexpr Spec spec = Spec("f_3", "1", "implied running sequences relative to the third estimate", "Q6");
        template <class T> static constexpr T formula(
            in<third_batch, T> B,
            in<microbatches, T> n,
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<third_decode_token_time, T> t,
            in<third_prompt_busy_time, T> prompt,
            in<single_sequence, T> one)
        { return running_ratio_of<T>(n * B, rate, D, t, prompt, one); }
    };
    struct fourth_batch
    {
        static constexpr Spec spec = Spec("B_4", "sequence", "batch size under load, fourth estimate", "Q6");
        template <class T> static constexpr T formula(
            in<sequence_slots, T> N,
            in<single_sequence, T> one,
            in<lone_running_ratio, T> lone,
            in<full_running_ratio, T> full,
            in<microbatches, T> n,
            in<first_batch, T> B_1,
            in<first_running_ratio, T> f_1,
            in<second_batch, T> B_2,
            in<second_running_ratio, T> f_2,
            in<third_batch, T> B_3,
            in<third_running_ratio, T> f_3)
        {
            return closer_estimate_of<T>(
                       N,
                       one,
                       full,
                       running_point_of<T>(one, lone, one),
                       running_point_of<T>(n * B_3, f_3, one),
                       {running_point_of<T>(n * B_1, f_1, one), running_point_of<T>(n * B_2, f_2, one)})
                / n;
        }
    };
    struct fourth_decode_token_time
    {
        static constexpr Spec spec =
            Spec("t(B_4)", "s*sequence/token", "time per output token (TPOT) at the fourth estimate", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, fourth_batch>();
    };
    struct fourth_prompt_busy_time
    {
        static constexpr Spec spec =
            Spec("p(B_4)", "s/sequence", "replica time per prompt at the fourth estimate", "Q6")
                .value_of<prompt_busy_time>()
                .where<batch_size, fourth_batch>();
    };
    struct fourth_running_ratio
    {
        static constexpr Spec spec =
            Spec("f_4", "1", "implied running sequences relative to the fourth estimate", "Q6");
        template <class T> static constexpr T formula(
            in<fourth_batch, T> B,
            in<microbatches, T> n,
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<fourth_decode_token_time, T> t,
            in<fourth_prompt_busy_time, T> prompt,
            in<single_sequence, T> one)
        { return running_ratio_of<T>(n * B, rate, D, t, prompt, one); }
    };
    struct fifth_batch
    {
        static constexpr Spec spec = Spec("B_5", "sequence", "batch size under load, fifth estimate", "Q6");
        template <class T> static constexpr T formula(
            in<sequence_slots, T> N,
            in<single_sequence, T> one,
            in<lone_running_ratio, T> lone,
            in<full_running_ratio, T> full,
            in<microbatches, T> n,
            in<first_batch, T> B_1,
            in<first_running_ratio, T> f_1,
            in<second_batch, T> B_2,
            in<second_running_ratio, T> f_2,
            in<third_batch, T> B_3,
            in<third_running_ratio, T> f_3,
            in<fourth_batch, T> B_4,
            in<fourth_running_ratio, T> f_4)
        {
            return closer_estimate_of<T>(
                       N,
                       one,
                       full,
                       running_point_of<T>(one, lone, one),
                       running_point_of<T>(n * B_4, f_4, one),
                       {running_point_of<T>(n * B_1, f_1, one),
                        running_point_of<T>(n * B_2, f_2, one),
                        running_point_of<T>(n * B_3, f_3, one)})
                / n;
        }
    };
    struct fifth_decode_token_time
    {
        static constexpr Spec spec =
            Spec("t(B_5)", "s*sequence/token", "time per output token (TPOT) at the fifth estimate", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, fifth_batch>();
    };
    struct fifth_prompt_busy_time
    {
        static constexpr Spec spec =
            Spec("p(B_5)", "s/sequence", "replica time per prompt at the fifth estimate", "Q6")
                .value_of<prompt_busy_time>()
                .where<batch_size, fifth_batch>();
    };
    struct fifth_running_ratio
    {
        static constexpr Spec spec = Spec("f_5", "1", "implied running sequences relative to the fifth estimate", "Q6");
        template <class T> static constexpr T formula(
            in<fifth_batch, T> B,
            in<microbatches, T> n,
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<fifth_decode_token_time, T> t,
            in<fifth_prompt_busy_time, T> prompt,
            in<single_sequence, T> one)
        { return running_ratio_of<T>(n * B, rate, D, t, prompt, one); }
    };
    struct sixth_batch
    {
        static constexpr Spec spec = Spec("B_6", "sequence", "batch size under load, sixth estimate", "Q6");
        template <class T> static constexpr T formula(
            in<sequence_slots, T> N,
            in<single_sequence, T> one,
            in<lone_running_ratio, T> lone,
            in<full_running_ratio, T> full,
            in<microbatches, T> n,
            in<first_batch, T> B_1,
            in<first_running_ratio, T> f_1,
            in<second_batch, T> B_2,
            in<second_running_ratio, T> f_2,
            in<third_batch, T> B_3,
            in<third_running_ratio, T> f_3,
            in<fourth_batch, T> B_4,
            in<fourth_running_ratio, T> f_4,
            in<fifth_batch, T> B_5,
            in<fifth_running_ratio, T> f_5)
        {
            return closer_estimate_of<T>(
                       N,
                       one,
                       full,
                       running_point_of<T>(one, lone, one),
                       running_point_of<T>(n * B_5, f_5, one),
                       {running_point_of<T>(n * B_1, f_1, one),
                        running_point_of<T>(n * B_2, f_2, one),
                        running_point_of<T>(n * B_3, f_3, one),
                        running_point_of<T>(n * B_4, f_4, one)})
                / n;
        }
    };
    struct sixth_decode_token_time
    {
        static constexpr Spec spec =
            Spec("t(B_6)", "s*sequence/token", "time per output token (TPOT) at the sixth estimate", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, sixth_batch>();
    };
    struct sixth_prompt_busy_time
    {
        static constexpr Spec spec =
            Spec("p(B_6)", "s/sequence", "replica time per prompt at the sixth estimate", "Q6")
                .value_of<prompt_busy_time>()
                .where<batch_size, sixth_batch>();
    };
    struct sixth_running_ratio
    {
        static constexpr Spec spec = Spec("f_6", "1", "implied running sequences relative to the sixth estimate", "Q6");
        template <class T> static constexpr T formula(
            in<sixth_batch, T> B,
            in<microbatches, T> n,
            in<replica_arrival_rate, T> rate,
            in<decoded_tokens, T> D,
            in<sixth_decode_token_time, T> t,
            in<sixth_prompt_busy_time, T> prompt,
            in<single_sequence, T> one)
        { return running_ratio_of<T>(n * B, rate, D, t, prompt, one); }
    };
    struct running_estimate
    {
        static constexpr Spec spec =
            Spec("B_r", "sequence", "running sequences seen by a request, itself included", "Q6");
        template <class T> static constexpr T formula(
            in<sequence_slots, T> N,
            in<single_sequence, T> one,
            in<lone_running_ratio, T> lone,
            in<full_running_ratio, T> full,
            in<microbatches, T> n,
            in<first_batch, T> B_1,
            in<first_running_ratio, T> f_1,
            in<second_batch, T> B_2,
            in<second_running_ratio, T> f_2,
            in<third_batch, T> B_3,
            in<third_running_ratio, T> f_3,
            in<fourth_batch, T> B_4,
            in<fourth_running_ratio, T> f_4,
            in<fifth_batch, T> B_5,
            in<fifth_running_ratio, T> f_5,
            in<sixth_batch, T> B_6,
            in<sixth_running_ratio, T> f_6)
        {
            return closer_estimate_of<T>(
                N,
                one,
                full,
                running_point_of<T>(one, lone, one),
                running_point_of<T>(n * B_6, f_6, one),
                {running_point_of<T>(n * B_1, f_1, one),
                 running_point_of<T>(n * B_2, f_2, one),
                 running_point_of<T>(n * B_3, f_3, one),
                 running_point_of<T>(n * B_4, f_4, one),
                 running_point_of<T>(n * B_5, f_5, one)});
        }
    };

    // --- the step as a line: a + b B near the sequences that run ---

    struct running_batch
    {
        static constexpr Spec spec = Spec("B_r/n_\\mu", "sequence", "batch size of the running sequences", "Q6");
        template <class T> static constexpr T formula(in<running_estimate, T> B, in<microbatches, T> n)
        { return B / n; }
    };
    struct wider_running_batch
    {
        static constexpr Spec spec =
            Spec("1.1 B_r/n_\\mu", "sequence", "batch size 10% above the running sequences", "Q6");
        template <class T> static constexpr T formula(in<running_batch, T> B) { return 1.1 * B; }
    };
    struct running_token_time
    {
        static constexpr Spec spec =
            Spec("t(B_r)", "s*sequence/token", "time per output token (TPOT) of the running sequences", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, running_batch>();
    };
    struct wider_running_token_time
    {
        static constexpr Spec spec =
            Spec("t(1.1 B_r)", "s*sequence/token", "time per output token (TPOT) 10% above the running sequences", "Q6")
                .value_of<decode_token_time>()
                .where<batch_size, wider_running_batch>();
    };
    struct loaded_prompt_step_time
    {
        static constexpr Spec spec =
            Spec("c I(B_r)", "s/sequence", "prefill time per prompt within replica steps under load", "Q6")
                .value_of<prompt_step_time>()
                .where<batch_size, running_batch>();
    };
    // Of a line through (B, t) and (wider, t_w): its slope, not steeper than through the origin and not quite level.
    template <class T> constexpr T slope_of(const T& b, const T& t, const T& wider, const T& t_w)
    {
        const T slope = (t_w - t) / max(wider - b, 1e-9 * wider);
        return min(max(slope, 1e-6 * (t / wider)), t / b);
    }
    struct decode_step_slope
    {
        static constexpr Spec spec =
            Spec("b", "s/token", "time per output token (TPOT) added per running sequence", "Q6").range(0);
        template <class T> static constexpr T formula(
            in<running_estimate, T> B,
            in<running_token_time, T> t,
            in<wider_running_token_time, T> t_w)
        { return slope_of<T>(T(B), T(t), T(1.1 * B), T(t_w)); }
    };
    struct decode_step_base
    {
        static constexpr Spec spec =
            Spec("a", "s*sequence/token", "time per output token (TPOT) extrapolated to zero running sequences", "Q6")
                .range(0);
        template <class T> static constexpr T formula(
            in<running_estimate, T> B,
            in<running_token_time, T> t,
            in<decode_step_slope, T> b)
        { return max(t - b * B, 0.0 * t); }
    };

    using running = list<
        full_running_ratio,
        lone_running_ratio,
        first_batch,
        first_decode_token_time,
        first_prompt_busy_time,
        first_running_ratio,
        second_batch,
        second_decode_token_time,
        second_prompt_busy_time,
        second_running_ratio,
        third_batch,
        third_decode_token_time,
        third_prompt_busy_time,
        third_running_ratio,
        fourth_batch,
        fourth_decode_token_time,
        fourth_prompt_busy_time,
        fourth_running_ratio,
        fifth_batch,
        fifth_decode_token_time,
        fifth_prompt_busy_time,
        fifth_running_ratio,
        sixth_batch,
        sixth_decode_token_time,
        sixth_prompt_busy_time,
        sixth_running_ratio,
        running_estimate,
        running_batch,
        wider_running_batch,
        running_token_time,
        wider_running_token_time,
        loaded_prompt_step_time,
        decode_step_slope,
        decode_step_base>;
}
