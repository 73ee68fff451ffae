// Failures and checkpoints of a training run: which share of its time steps advance. Without failures and checkpoints,
// all of it.
#pragma once
#include "roofslate/quantities/training_run.hpp"

namespace roofslate::quantities
{
    struct chip_time_between_failures
    {
        static constexpr Spec spec =
            Spec("M_1", "chip*s", "mean chip time between failures, inf for none", "Llama 3 report, arXiv 2407.21783")
                .positive(infinite)
                .by_default(infinite);
    };
    struct time_between_failures
    {
        static constexpr Spec spec = Spec("M", "s", "mean time between failures (MTBF) of a run", "Daly 2006");
        template <class T> static constexpr T formula(in<chip_time_between_failures, T> M_1, in<chips, T> G)
        { return select(M_1 == T(infinite), T(infinite), M_1 / G); }
    };
    struct checkpoint_bytes
    {
        static constexpr Spec spec =
            Spec("S_c", "byte", "checkpoint size, trained weights and optimizer states", "arXiv 2104.04473").range(0);
        template <class T> static constexpr T formula(
            in<trained_weights, T> trained,
            in<total_parameters, T> N,
            in<adapter_parameters, T> N_L,
            in<training_bytes_per_weight, T> w,
            in<optimizer_bytes_per_weight, T> w_o)
        { return choose(trained, N, N_L) * (w + w_o); }
    };
    struct checkpoint_bandwidth
    {
        static constexpr Spec spec =
            Spec("u_c", "byte/s", "checkpoint write bandwidth, all chips together", "definition").positive();
    };
    struct checkpoint_overlap
    {
        static constexpr Spec spec =
            Spec("o_c", "1", "fraction of a checkpoint write overlapped with steps", "definition")
                .range(0, 1)
                .by_default(0);
    };
    struct checkpoint_time
    {
        static constexpr Spec spec =
            Spec("t_w", "s", "exposed checkpoint write time, training paused", "Daly 2006").range(0);
        template <class T> static constexpr T formula(
            in<checkpoint_bytes, T> S,
            in<checkpoint_bandwidth, T> u,
            in<checkpoint_overlap, T> o)
        { return S / u * (1.0 - o); }
    };
    struct checkpoint_interval
    {
        static constexpr Spec spec =
            Spec(
                "t_i",
                "s",
                "training time between checkpoints, Young's optimum, inf for none",
                "Young 1974, CACM 17(9)")
                .positive(infinite);
        template <class T> static constexpr T formula(in<time_between_failures, T> M, in<checkpoint_time, T> t_w)
        { return select(M == T(infinite), T(infinite), sqrt(2.0 * t_w * M)); }
    };
    struct restart_time
    {
        static constexpr Spec spec =
            Spec("t_s", "s", "restart time after a failure, repeated steps excluded", "Daly 2006")
                .range(0)
                .by_default(0);
    };
    struct training_goodput
    {
        // Failures at random: Daly 2006, Future Generation Computer Systems 22(3), equation 20.
        static constexpr Spec spec =
            Spec("\\eta_g", "1", "fraction of wall-clock time spent on training progress", "Daly 2006").positive(1);
        template <class T> static constexpr T formula(
            in<time_between_failures, T> M,
            in<checkpoint_interval, T> t_i,
            in<checkpoint_time, T> t_w,
            in<restart_time, T> t_s)
        {
            const T writing =
                select(t_i == T(infinite), T(1.0), select(t_w == T(0.0), T(1.0), 1.0 / (1.0 + t_w / t_i)));
            const T span = (t_i + t_w) / M;
            const T series = 1.0 - span * (0.5 - span / 12.0); // for spans whose exp rounds to 1
            const T inside = select(span > 700.0, T(0.0), span / (exp(span) - 1.0)); // e^700 is near the largest number
            const T repeated = select(span < 1e-3, series, inside);
            return select(M == T(infinite), writing, writing * (repeated * exp(-(t_s / M))));
        }
    };

    using training_failures = list<
        chip_time_between_failures,
        time_between_failures,
        checkpoint_bytes,
        checkpoint_bandwidth,
        checkpoint_overlap,
        checkpoint_time,
        checkpoint_interval,
        restart_time,
        training_goodput>;
}
