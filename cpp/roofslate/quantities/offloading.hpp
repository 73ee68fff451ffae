// Weights and KV cache offloaded to host memory: the part resident in HBM, and the link that reads the rest.
#pragma once
#include "roofslate/quantities/adapters.hpp"
#include "roofslate/quantities/pages.hpp"

namespace roofslate::quantities
{
    struct host_bandwidth
    {
        static constexpr Spec spec =
            Spec("u_h", "byte/s/chip", "host-link bandwidth per chip, each direction", "data sheet").positive(infinite);
    };
    struct offloaded_weight_fraction
    {
        static constexpr Spec spec =
            Spec("\\phi_w", "1", "fraction of weights offloaded to host memory, streamed each pass", "FlexGen")
                .range(0, 1)
                .by_default(0);
    };
    struct offloaded_kv_fraction
    {
        static constexpr Spec spec =
            Spec("\\phi_{kv}", "1", "fraction of KV cache offloaded to host memory, read each pass", "FlexGen")
                .range(0, 1)
                .by_default(0);
    };
    struct replica_host_bandwidth
    {
        static constexpr Spec spec = Spec("G u_h", "byte/s", "host-link bandwidth per replica", "data sheet");
        template <class T> static constexpr T formula(in<chips, T> G, in<host_bandwidth, T> u) { return G * u; }
    };
    struct stage_host_bandwidth
    {
        static constexpr Spec spec = Spec("M_h", "byte/s", "host-link bandwidth per pipeline stage", "FlexGen");
        template <class T> static constexpr T formula(in<chips_per_stage, T> G_P, in<host_bandwidth, T> u)
        { return G_P * u; }
    };
    struct resident_weight_bytes
    {
        static constexpr Spec spec =
            Spec("W_r", "byte", "weights and adapters in HBM, all chips, offloaded part excluded", "FlexGen");
        template <class T> static constexpr T formula(
            in<deployed_weight_bytes, T> W,
            in<offloaded_weight_fraction, T> phi,
            in<resident_adapter_bytes, T> W_L)
        { return plus_optional(spend_beside(T(W), phi, -W), W_L); }
    };
    struct offloaded_weight_time
    {
        static constexpr Spec spec =
            Spec("t_{hw}", "s", "read time of all offloaded weights from host memory, once", "FlexGen");
        template <class T> static constexpr T formula(
            in<offloaded_weight_fraction, T> phi,
            in<deployed_weight_bytes, T> W,
            in<stage_host_bandwidth, T> M_h)
        { return spend(phi, W / M_h); }
    };
    struct resident_kv_bytes
    {
        static constexpr Spec spec =
            Spec("S_r", "byte/sequence", "KV cache per sequence in HBM, offloaded part excluded", "FlexGen");
        template <class T> static constexpr T formula(in<allocated_kv_bytes, T> S, in<offloaded_kv_fraction, T> phi)
        { return spend_beside(T(S), phi, -S); }
    };

    using offloading = list<
        host_bandwidth,
        offloaded_weight_fraction,
        offloaded_kv_fraction,
        replica_host_bandwidth,
        stage_host_bandwidth,
        resident_weight_bytes,
        offloaded_weight_time,
        resident_kv_bytes>;
}
