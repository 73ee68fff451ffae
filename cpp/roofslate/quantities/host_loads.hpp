// Reads from host memory outside of passes: missing adapters, and the KV cache of preempted sequences.
#pragma once
#include "roofslate/quantities/sessions.hpp"

namespace roofslate::quantities
{
    struct adapter_load_time
    {
        static constexpr Spec spec =
            Spec("T_L", "s", "mean load time of missing LoRA adapters from the host, per request", "S-LoRA");
        template <class T> static constexpr T formula(
            in<lora_adapters, T> n,
            in<resident_adapters, T> K,
            in<adapter_hit_rate, T> h,
            in<adapter_bytes, T> W_L,
            in<attention_data_parallel, T> G_d,
            in<replica_host_bandwidth, T> M)
        {
            const T misses = select(n == T(0.0) || K == T(infinite), T(0.0), 1.0 - h);
            return spend(misses, W_L * G_d / M);
        }
    };
    struct exposed_load_time
    {
        static constexpr Spec spec =
            Spec("T_{hx}", "s", "mean exposed load time per request, prefixes plus adapters", "S-LoRA");
        template <class T> static constexpr T formula(in<exposed_prefix_load_time, T> t, in<adapter_load_time, T> T_L)
        { return plus_optional(t, T_L); }
    };

    // --- a preempted sequence: swap its KV cache, or recompute it ---

    struct swap_time
    {
        static constexpr Spec spec =
            Spec("T_{sw}", "s", "KV-cache swap time per sequence, to host memory and back", "vLLM");
        template <class T> static constexpr T formula(
            in<kv_stored_bytes, T> S,
            in<kv_cache_copies, T> copies,
            in<single_sequence, T> one,
            in<attention_data_parallel, T> G_d,
            in<replica_host_bandwidth, T> M)
        { return 2.0 * (S * one * copies) * G_d / M; }
    };
    struct recomputed_tokens
    {
        static constexpr Spec spec =
            Spec("L - L_p", "token/sequence", "tokens recomputed after preemption, cached prefix excluded", "vLLM");
        template <class T> static constexpr T formula(in<context_length, T> L, in<prefix_length, T> L_p)
        { return max(L - L_p, 0.0); }
    };
    struct recompute_time
    {
        static constexpr Spec spec =
            Spec("T_{rc}", "s", "KV-cache recompute time per preempted sequence", "vLLM")
                .value_of<prefill_latency>()
                .where<fresh_input_tokens, recomputed_tokens>();
    };
    struct preemption_time
    {
        static constexpr Spec spec =
            Spec("T_{pe}", "s", "preemption time, the faster option (swap, recompute)", "vLLM");
        template <class T> static constexpr T formula(in<swap_time, T> swap, in<recompute_time, T> recompute)
        { return min(swap, recompute); }
    };
    struct break_even_host_bandwidth
    {
        static constexpr Spec spec =
            Spec("u_h^*", "byte/s/chip", "break-even host-link bandwidth, swap as fast as recompute", "vLLM");
        template <class T> static constexpr T formula(
            in<kv_stored_bytes, T> S,
            in<kv_cache_copies, T> copies,
            in<single_sequence, T> one,
            in<chips, T> G,
            in<attention_data_parallel, T> G_d,
            in<recompute_time, T> t)
        { return 2.0 * (S * one * copies) / (G / G_d * t); }
    };
    struct host_memory_used
    {
        static constexpr Spec spec =
            Spec("H_h", "byte", "host memory used (offloaded weights and KV cache, LoRA adapters)", "FlexGen");
        template <class T> static constexpr T formula(
            in<offloaded_weight_fraction, T> phi_w,
            in<deployed_weight_bytes, T> W,
            in<offloaded_kv_fraction, T> phi_kv,
            in<running_sequences, T> B,
            in<kv_stored_bytes, T> S,
            in<kv_cache_copies, T> copies,
            in<lora_adapters, T> n,
            in<adapter_bytes, T> W_L)
        { return plus_optional(plus_optional(spend(phi_w, W), spend(phi_kv, B * S * copies)), spend(n, W_L)); }
    };

    using host_loads = list<
        adapter_load_time,
        exposed_load_time,
        swap_time,
        recomputed_tokens,
        recompute_time,
        preemption_time,
        break_even_host_bandwidth,
        host_memory_used>;
}
