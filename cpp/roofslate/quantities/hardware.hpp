// Chips, their prices, and how many of them serve or train one model together.
#pragma once
#include "roofslate/quantities/formats.hpp"

namespace roofslate::quantities
{
    // --- number formats ---

    struct weight_format
    { static constexpr Spec spec = one_of_formats<all_formats>(Spec("f_w", "1", "weight format", "definition")); };
    struct compute_format
    {
        // Of a format with scales by blocks its elements are multiplied; other formats are turned into bf16.
        static constexpr Spec spec =
            one_of_formats<plain_formats>(Spec("f_c", "1", "compute format of weight products", "definition"));
        template <class T> static constexpr T formula(in<weight_format, T> f)
        {
            // The first formats are products themselves.
            const auto value_of = [](const NumberFormat& format) {
                const bool plain = &format < &number_formats[plain_formats];
                return T(double(plain ? &format - number_formats : int(format.peak)));
            };
            const auto is_bf16 = [](const NumberFormat& format) {
                return &format == number_formats
                    || (format.peak == Peak::bf16 && &format >= &number_formats[plain_formats]);
            };
            return by_format<all_formats>(f, 0, value_of, is_bf16, T(0.0));
        }
    };

    // --- one chip ---

    struct peak_flops_bf16
    {
        static constexpr Spec spec =
            Spec("F_{16}", "FLOP/s/chip", "peak dense BF16 compute, a multiply-add counts as 2 FLOP", "data sheet")
                .positive();
    };
    struct peak_flops_fp8
    {
        static constexpr Spec spec =
            Spec("F_{8}", "FLOP/s/chip", "peak dense FP8 compute", "data sheet")
                .positive()
                .otherwise<peak_flops_bf16>();
    };
    struct peak_flops_int8
    {
        static constexpr Spec spec =
            Spec("F_{i8}", "FLOP/s/chip", "peak dense INT8 compute", "data sheet")
                .positive()
                .otherwise<peak_flops_bf16>();
    };
    struct peak_flops_fp4
    {
        static constexpr Spec spec =
            Spec("F_{4}", "FLOP/s/chip", "peak dense FP4 compute", "data sheet")
                .positive()
                .otherwise<peak_flops_bf16>();
    };
    struct peak_flops_in_format
    {
        static constexpr Spec spec = Spec("F_f", "FLOP/s/chip", "peak dense compute in the compute format", "R1.8");
        template <class T> static constexpr T formula(
            in<compute_format, T> f,
            in<peak_flops_bf16, T> F_16,
            in<peak_flops_fp8, T> F_8,
            in<peak_flops_int8, T> F_i8,
            in<peak_flops_fp4, T> F_4)
        { return by_peak<T, plain_formats>(f, 0, F_16, F_8, F_i8, F_4); }
    };
    struct peak_flops
    {
        static constexpr Spec spec =
            Spec("F", "FLOP/s/chip", "peak compute per chip, a multiply-add counts as 2 FLOP", "R1.2")
                .positive()
                .otherwise<peak_flops_in_format>();
    };
    struct hbm_bandwidth
    { static constexpr Spec spec = Spec("m", "byte/s/chip", "HBM bandwidth per chip", "R1.3").positive(); };
    struct hbm_capacity
    { static constexpr Spec spec = Spec("h", "byte/chip", "HBM capacity per chip", "R1.12").positive(); };
    struct owned_chip_price;
    struct chip_price
    {
        static constexpr Spec spec =
            Spec("p", "USD/s/chip", "rental price per chip", "R1.5").range(0).otherwise<owned_chip_price>();
    };
    struct chip_power
    { static constexpr Spec spec = Spec("w_c", "J/s/chip", "electric power per chip", "Q9").range(0); };

    // --- links, per chip and direction ---

    struct scale_up_bandwidth
    {
        static constexpr Spec spec =
            Spec("u", "byte/s/chip", "scale-up bandwidth per chip, each direction", "R2.5").positive(infinite);
    };
    struct scale_out_bandwidth
    {
        static constexpr Spec spec =
            Spec("u_o", "byte/s/chip", "scale-out bandwidth per chip, each direction", "R2.5").positive(infinite);
    };
    struct scale_up_domain
    { static constexpr Spec spec = Spec("G_u", "chip", "scale-up domain size (NVLink domain)", "R2.6").range(1); };

    // --- how a replica is laid out ---

    struct chips
    { static constexpr Spec spec = Spec("G", "chip", "chips of a replica, all pipeline stages", "R1.2").range(1); };
    struct pipeline_stages
    {
        static constexpr Spec spec =
            Spec("P", "1", "pipeline parallelism (PP), number of stages", "R3.2").range(1).by_default(1);
    };
    struct microbatches
    {
        static constexpr Spec spec =
            Spec("n_\\mu", "1", "micro-batches in flight", "R3.2").range(1).otherwise<pipeline_stages>();
    };
    struct tensor_parallel;
    struct attention_data_parallel;
    struct context_parallel;
    struct expert_tensor_parallel;
    struct layout
    {
        static constexpr Spec spec =
            Spec("\\lambda_G", "1", "chip layout of a replica (pool as one chip, parallel with copies)", "R3.6")
                .one_of("pool", "parallel")
                .by_default(0)
                .implied_by_any<tensor_parallel, attention_data_parallel, context_parallel, expert_tensor_parallel>(1);
    };
    struct attention_data_parallel
    {
        static constexpr Spec spec =
            Spec("G_d", "1", "attention data-parallel degree (DP attention)", "R3.8").range(1).by_default(1);
    };

    struct context_parallel
    {
        static constexpr Spec spec =
            Spec("G_c", "1", "context parallelism (CP), parts of each sequence", "definition").range(1).by_default(1);
    };

    // --- efficiencies: 1 is an ideal machine ---

    struct compute_efficiency
    {
        static constexpr Spec spec =
            Spec("\\eta_c", "1", "achieved fraction of peak compute", "Q12").positive(1).by_default(1).ideal(1);
    };
    struct bandwidth_efficiency
    {
        static constexpr Spec spec =
            Spec("\\eta_m", "1", "achieved fraction of HBM bandwidth", "Q12").positive(1).by_default(1).ideal(1);
    };

    // --- the chips of a replica ---

    struct chips_per_stage
    {
        static constexpr Spec spec = Spec("G_P", "chip", "chips per pipeline stage", "R3.6");
        template <class T> static constexpr T formula(in<chips, T> G, in<pipeline_stages, T> P) { return G / P; }
    };
    struct expert_parallel
    {
        static constexpr Spec spec =
            Spec("G_e", "chip", "expert parallelism (EP), chips splitting the experts of a layer", "R2.2")
                .range(1)
                .otherwise<chips_per_stage>();
    };
    struct tensor_parallel
    {
        static constexpr Spec spec =
            Spec("G_t", "chip", "tensor parallelism (TP), chips splitting each matrix", "R3.8").range(1);
        template <class T> static constexpr T formula(in<chips_per_stage, T> G_P, in<attention_data_parallel, T> G_d)
        { return G_P / G_d; }
    };
    struct stage_flops
    {
        static constexpr Spec spec = Spec("2C", "FLOP/s", "achievable compute of a pipeline stage", "R1.2");
        template <class T> static constexpr T formula(
            in<chips_per_stage, T> G_P,
            in<peak_flops, T> F,
            in<compute_efficiency, T> eta)
        { return G_P * (F * eta); }
    };
    struct stage_bandwidth
    {
        static constexpr Spec spec = Spec("M", "byte/s", "achievable HBM bandwidth of a pipeline stage", "R1.3");
        template <class T> static constexpr T formula(
            in<chips_per_stage, T> G_P,
            in<hbm_bandwidth, T> m,
            in<bandwidth_efficiency, T> eta)
        { return G_P * (m * eta); }
    };
    struct replica_hbm_capacity
    {
        static constexpr Spec spec = Spec("H", "byte", "HBM capacity of a replica", "R1.12");
        template <class T> static constexpr T formula(in<chips, T> G, in<hbm_capacity, T> h) { return G * h; }
    };
    struct replica_price
    {
        static constexpr Spec spec = Spec("p_G", "USD/s", "rental price of a replica, all chips", "R1.5");
        template <class T> static constexpr T formula(in<chips, T> G, in<chip_price, T> p) { return G * p; }
    };
    struct hbm_drain_time
    {
        static constexpr Spec spec = Spec("T_\\mathrm{drain}", "s", "HBM drain time, capacity / bandwidth", "R1.12");
        template <class T> static constexpr T formula(in<hbm_capacity, T> h, in<hbm_bandwidth, T> m) { return h / m; }
    };
    struct ridge_point
    {
        static constexpr Spec spec =
            Spec("F/m", "FLOP/byte", "ridge point, peak compute relative to HBM bandwidth", "R1.7");
        template <class T> static constexpr T formula(
            in<peak_flops, T> F,
            in<compute_efficiency, T> eta_c,
            in<hbm_bandwidth, T> m,
            in<bandwidth_efficiency, T> eta_m)
        { return (F * eta_c) / (m * eta_m); }
    };
    struct price_per_flop
    {
        static constexpr Spec spec =
            Spec("p/F", "USD/FLOP", "rental price per FLOP at the achieved fraction of peak compute", "R1.5");
        template <class T> static constexpr T formula(
            in<chip_price, T> p,
            in<peak_flops, T> F,
            in<compute_efficiency, T> eta_c)
        { return p / (F * eta_c); }
    };

    struct arithmetic_intensity
    {
        static constexpr Spec spec =
            Spec("I", "FLOP/byte", "arithmetic intensity, compute relative to memory traffic", "R1.1").range(0);
    };
    struct attainable_flops
    {
        static constexpr Spec spec =
            Spec("F(I)", "FLOP/s/chip", "attainable compute per chip at an arithmetic intensity (roofline)", "R1.1");
        template <class T> static constexpr T formula(
            in<arithmetic_intensity, T> I,
            in<peak_flops, T> F,
            in<compute_efficiency, T> eta_c,
            in<hbm_bandwidth, T> m,
            in<bandwidth_efficiency, T> eta_m)
        { return min(F * eta_c, I * (m * eta_m)); }
    };

    using hardware = list<
        weight_format,
        compute_format,
        peak_flops_bf16,
        peak_flops_fp8,
        peak_flops_int8,
        peak_flops_fp4,
        peak_flops_in_format,
        peak_flops,
        hbm_bandwidth,
        hbm_capacity,
        chip_price,
        chip_power,
        scale_up_bandwidth,
        scale_out_bandwidth,
        scale_up_domain,
        chips,
        pipeline_stages,
        microbatches,
        layout,
        attention_data_parallel,
        context_parallel,
        compute_efficiency,
        bandwidth_efficiency,
        chips_per_stage,
        expert_parallel,
        tensor_parallel,
        stage_flops,
        stage_bandwidth,
        replica_hbm_capacity,
        replica_price,
        hbm_drain_time,
        ridge_point,
        price_per_flop,
        arithmetic_intensity,
        attainable_flops>;
}
