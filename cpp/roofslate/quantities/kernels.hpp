// Kernel efficiencies relative to a chip's data sheet: achieved fractions of its bandwidth and of its peak by number
// format, the time of minimal kernels, and the speedup from release to release. Ideal kernels reach all of it.
#pragma once
#include "roofslate/quantities/weights.hpp"

namespace roofslate::quantities
{
    struct kernel_shares
    {
        static constexpr Spec spec =
            Spec("\\kappa", "1", "kernel efficiencies (ideal data sheet, measured kernel table)", "kernel table")
                .one_of("ideal", "measured")
                .by_default(0)
                .ideal(0);
    };

    // --- shares of the memory bandwidth and of the peak, by number format ---

    struct dense_bandwidth_share_bf16
    {
        static constexpr Spec spec =
            Spec(
                "s_{d,\\mathrm{bf16}}",
                "1",
                "achieved fraction of HBM bandwidth, dense GEMM, BF16 weights",
                "kernel table")
                .positive(1)
                .by_default(0.8);
    };
    struct dense_bandwidth_share_fp8
    {
        static constexpr Spec spec =
            Spec(
                "s_{d,\\mathrm{fp8}}",
                "1",
                "achieved fraction of HBM bandwidth, dense GEMM, FP8 or INT8 weights",
                "kernel table")
                .positive(1)
                .by_default(0.76);
    };
    struct dense_bandwidth_share_fp4
    {
        static constexpr Spec spec =
            Spec(
                "s_{d,\\mathrm{fp4}}",
                "1",
                "achieved fraction of HBM bandwidth, dense GEMM, 4-bit weights",
                "kernel table")
                .positive(1)
                .by_default(0.62);
    };
    struct expert_bandwidth_share_bf16
    {
        static constexpr Spec spec =
            Spec(
                "s_{x,\\mathrm{bf16}}",
                "1",
                "achieved fraction of HBM bandwidth, expert GEMM, BF16 weights",
                "kernel table")
                .positive(1)
                .by_default(0.94);
    };
    struct expert_bandwidth_share_fp8
    {
        static constexpr Spec spec =
            Spec(
                "s_{x,\\mathrm{fp8}}",
                "1",
                "achieved fraction of HBM bandwidth, expert GEMM, FP8 or INT8 weights",
                "kernel table")
                .positive(1)
                .by_default(0.89);
    };
    struct expert_bandwidth_share_nvfp4
    {
        static constexpr Spec spec =
            Spec(
                "s_{x,\\mathrm{nvfp4}}",
                "1",
                "achieved fraction of HBM bandwidth, expert GEMM, NVFP4 or FP4 weights",
                "kernel table")
                .positive(1)
                .by_default(0.87);
    };
    struct expert_bandwidth_share_mxfp4
    {
        static constexpr Spec spec =
            Spec(
                "s_{x,\\mathrm{mxfp4}}",
                "1",
                "achieved fraction of HBM bandwidth, expert GEMM, MXFP4 weights",
                "kernel table")
                .positive(1)
                .by_default(0.8);
    };
    struct expert_bandwidth_share_int4
    {
        static constexpr Spec spec =
            Spec(
                "s_{x,\\mathrm{int4}}",
                "1",
                "achieved fraction of HBM bandwidth, expert GEMM, INT4 weights",
                "kernel table")
                .positive(1)
                .by_default(0.7);
    };
    struct attention_bandwidth_share_bf16
    {
        static constexpr Spec spec =
            Spec(
                "s_{a,\\mathrm{bf16}}",
                "1",
                "achieved fraction of HBM bandwidth, attention, BF16 KV cache",
                "kernel table")
                .positive(1)
                .by_default(0.8);
    };
    struct attention_bandwidth_share_fp8
    {
        static constexpr Spec spec =
            Spec(
                "s_{a,\\mathrm{fp8}}",
                "1",
                "achieved fraction of HBM bandwidth, attention, KV cache up to 8 bits",
                "kernel table")
                .positive(1)
                .by_default(0.73);
    };
    struct dense_peak_share_bf16
    {
        static constexpr Spec spec =
            Spec("p_{d,\\mathrm{bf16}}", "1", "achieved fraction of peak compute, dense GEMM in BF16", "kernel table")
                .positive(1)
                .by_default(0.75);
    };
    struct dense_peak_share_fp8
    {
        static constexpr Spec spec =
            Spec(
                "p_{d,\\mathrm{fp8}}",
                "1",
                "achieved fraction of peak compute, dense GEMM in FP8 or INT8",
                "kernel table")
                .positive(1)
                .by_default(0.56);
    };
    struct dense_peak_share_fp4
    {
        static constexpr Spec spec =
            Spec("p_{d,\\mathrm{fp4}}", "1", "achieved fraction of peak compute, dense GEMM in FP4", "kernel table")
                .positive(1)
                .by_default(0.43);
    };
    struct expert_peak_share_bf16
    {
        static constexpr Spec spec =
            Spec(
                "p_{x,\\mathrm{bf16}}",
                "1",
                "achieved fraction of peak compute, expert GEMM, BF16 weights",
                "kernel table")
                .positive(1)
                .by_default(0.42);
    };
    struct expert_peak_share_fp8
    {
        static constexpr Spec spec =
            Spec(
                "p_{x,\\mathrm{fp8}}",
                "1",
                "achieved fraction of peak compute, expert GEMM, FP8 or INT8 weights",
                "kernel table")
                .positive(1)
                .by_default(0.22);
    };
    struct expert_peak_share_nvfp4
    {
        static constexpr Spec spec =
            Spec(
                "p_{x,\\mathrm{nvfp4}}",
                "1",
                "achieved fraction of peak compute, expert GEMM, NVFP4 or FP4 weights",
                "kernel table")
                .positive(1)
                .by_default(0.25);
    };
    struct expert_peak_share_mxfp4
    {
        static constexpr Spec spec =
            Spec(
                "p_{x,\\mathrm{mxfp4}}",
                "1",
                "achieved fraction of peak compute, expert GEMM, MXFP4 weights",
                "kernel table")
                .positive(1)
                .by_default(0.17);
    };
    struct expert_peak_share_int4
    {
        static constexpr Spec spec =
            Spec(
                "p_{x,\\mathrm{int4}}",
                "1",
                "achieved fraction of peak compute, expert GEMM, INT4 weights",
                "kernel table")
                .positive(1)
                .by_default(0.25);
    };
    struct attention_peak_share_bf16
    {
        static constexpr Spec spec =
            Spec(
                "p_{a,\\mathrm{bf16}}",
                "1",
                "achieved fraction of peak BF16 compute, attention, kernel table",
                "kernel table")
                .positive(1)
                .by_default(0.58);
    };

    // Of weights in a format, by how wide it is; `first` is the place of bf16 among the format's words.
    template <class T> constexpr T of_width(const T& format, int first, const T& b16, const T& b8, const T& b4)
    { return by_kernels<T>(format, first, b16, b8, b4, b4, b4); }

    struct dense_bandwidth_share
    {
        static constexpr Spec spec =
            Spec("s_d", "1", "achieved fraction of HBM bandwidth, dense GEMM", "kernel table").positive(1);
        template <class T> static constexpr T formula(
            in<kernel_shares, T> which,
            in<dense_format, T> f_d,
            in<weight_format, T> f,
            in<dense_bandwidth_share_bf16, T> b16,
            in<dense_bandwidth_share_fp8, T> b8,
            in<dense_bandwidth_share_fp4, T> b4)
        {
            const T same = of_width<T>(f, 0, b16, b8, b4);
            return choose(which, T(1.0), select(is<dense_format>(f_d, "same"), same, of_width<T>(f_d, 1, b16, b8, b4)));
        }
    };
    struct expert_bandwidth_share
    {
        static constexpr Spec spec =
            Spec("s_x", "1", "achieved fraction of HBM bandwidth, expert GEMM", "kernel table").positive(1);
        template <class T> static constexpr T formula(
            in<kernel_shares, T> which,
            in<weight_format, T> f,
            in<expert_bandwidth_share_bf16, T> b16,
            in<expert_bandwidth_share_fp8, T> b8,
            in<expert_bandwidth_share_nvfp4, T> nv,
            in<expert_bandwidth_share_mxfp4, T> mx,
            in<expert_bandwidth_share_int4, T> i4)
        { return choose(which, T(1.0), by_kernels<T>(f, 0, b16, b8, nv, mx, i4)); }
    };
    struct attention_bandwidth_share
    {
        static constexpr Spec spec =
            Spec("s_a", "1", "achieved fraction of HBM bandwidth, attention", "kernel table").positive(1);
        template <class T> static constexpr T formula(
            in<kernel_shares, T> which,
            in<kv_format, T> f,
            in<attention_bandwidth_share_bf16, T> b16,
            in<attention_bandwidth_share_fp8, T> b8)
        { return choose(which, T(1.0), choose(f, b16, b8)); }
    };
    struct dense_peak_share
    {
        static constexpr Spec spec =
            Spec("p_d", "1", "achieved fraction of peak compute in its format, dense GEMM", "kernel table").positive(1);
        template <class T> static constexpr T formula(
            in<kernel_shares, T> which,
            in<dense_format, T> f_d,
            in<compute_format, T> f,
            in<dense_peak_share_bf16, T> b16,
            in<dense_peak_share_fp8, T> b8,
            in<dense_peak_share_fp4, T> b4)
        {
            const T same = by_peak<T, plain_formats>(f, 0, b16, b8, b8, b4);
            return choose(
                which,
                T(1.0),
                select(is<dense_format>(f_d, "same"), same, by_peak<T>(f_d, 1, b16, b8, b8, b4)));
        }
    };
    struct expert_peak_share
    {
        static constexpr Spec spec =
            Spec("p_x", "1", "achieved fraction of peak compute in its format, expert GEMM", "kernel table")
                .positive(1);
        template <class T> static constexpr T formula(
            in<kernel_shares, T> which,
            in<weight_format, T> f,
            in<expert_peak_share_bf16, T> b16,
            in<expert_peak_share_fp8, T> b8,
            in<expert_peak_share_nvfp4, T> nv,
            in<expert_peak_share_mxfp4, T> mx,
            in<expert_peak_share_int4, T> i4)
        { return choose(which, T(1.0), by_kernels<T>(f, 0, b16, by_peak<T>(f, 0, i4, b8, b8, b8), nv, mx, i4)); }
    };
    struct attention_peak_share
    {
        static constexpr Spec spec =
            Spec("p_a", "1", "achieved fraction of peak BF16 compute, attention", "kernel table").positive(1);
        template <class T> static constexpr T formula(in<kernel_shares, T> which, in<attention_peak_share_bf16, T> p)
        { return choose(which, T(1.0), p); }
    };

    struct dense_product_flops
    {
        static constexpr Spec spec =
            Spec("F_d p_d", "FLOP/s/chip", "achieved compute per chip, dense GEMM", "kernel table");
        template <class T> static constexpr T formula(in<dense_peak_flops, T> F, in<dense_peak_share, T> p)
        { return F * p; }
    };
    struct expert_product_flops
    {
        static constexpr Spec spec =
            Spec("F p_x", "FLOP/s/chip", "achieved compute per chip, expert GEMM", "kernel table");
        template <class T> static constexpr T formula(in<peak_flops, T> F, in<expert_peak_share, T> p) { return F * p; }
    };
    struct attention_product_flops
    {
        static constexpr Spec spec =
            Spec("F_{16} p_a", "FLOP/s/chip", "achieved BF16 compute per chip, attention", "kernel table");
        template <class T> static constexpr T formula(in<peak_flops_bf16, T> F, in<attention_peak_share, T> p)
        { return F * p; }
    };

    // --- the smallest kernels, and all-reduces of few bytes ---

    struct small_product_time
    {
        static constexpr Spec spec =
            Spec("\\tau_1", "s", "time of a minimal dense BF16 GEMM on the reference chip", "kernel table")
                .range(0)
                .by_default(3.05e-6);
    };
    struct kernel_time_factor
    {
        static constexpr Spec spec =
            Spec("f_1", "1", "ratio of fixed kernel time to minimal GEMM time", "calibration").range(0).by_default(1);
    };
    struct small_all_reduce_time
    {
        static constexpr Spec spec =
            Spec("\\tau_8", "s", "small all-reduce time among eight chips", "kernel table").range(0).by_default(4.5e-6);
    };
    struct all_reduce_exponent
    {
        static constexpr Spec spec =
            Spec("\\gamma_r", "1", "scaling exponent of small all-reduce time by chip count", "kernel table")
                .range(0)
                .by_default(0.15);
    };

    // --- software: the same stack becomes quicker ---

    struct release_drift
    {
        static constexpr Spec spec =
            Spec("\\rho", "1", "monthly growth of kernel time and latency in older software", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct release_age
    {
        static constexpr Spec spec =
            Spec("T_v", "1", "serving-software age in months before March 2026, negative if newer", "calibration")
                .range(-120, 120)
                .by_default(0);
    };
    struct release_slowdown
    {
        static constexpr Spec spec = Spec(
            "(1 + \\rho)^{T_v}",
            "1",
            "kernel time and latency relative to the calibrated software",
            "calibration");
        template <class T> static constexpr T formula(in<release_drift, T> rate, in<release_age, T> months)
        { return select(rate == T(0.0), T(1.0), pow(1.0 + rate, months)); }
    };

    using kernels = list<
        kernel_shares,
        dense_bandwidth_share_bf16,
        dense_bandwidth_share_fp8,
        dense_bandwidth_share_fp4,
        expert_bandwidth_share_bf16,
        expert_bandwidth_share_fp8,
        expert_bandwidth_share_nvfp4,
        expert_bandwidth_share_mxfp4,
        expert_bandwidth_share_int4,
        attention_bandwidth_share_bf16,
        attention_bandwidth_share_fp8,
        dense_peak_share_bf16,
        dense_peak_share_fp8,
        dense_peak_share_fp4,
        expert_peak_share_bf16,
        expert_peak_share_fp8,
        expert_peak_share_nvfp4,
        expert_peak_share_mxfp4,
        expert_peak_share_int4,
        attention_peak_share_bf16,
        dense_bandwidth_share,
        expert_bandwidth_share,
        attention_bandwidth_share,
        dense_peak_share,
        expert_peak_share,
        attention_peak_share,
        dense_product_flops,
        expert_product_flops,
        attention_product_flops,
        small_product_time,
        kernel_time_factor,
        small_all_reduce_time,
        all_reduce_exponent,
        release_drift,
        release_age,
        release_slowdown>;
}
