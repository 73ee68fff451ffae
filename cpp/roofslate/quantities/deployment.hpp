// From the floor to a real server: clients that come back, chips that exchange, kernels that take a while to start,
// prompts between the answers. With ideal constants (efficiencies 1, times 0, links without end) a step is the pass of
// chapter 1.
#pragma once
#include "roofslate/quantities/attention.hpp"
#include "roofslate/quantities/reversible.hpp"

namespace roofslate::quantities
{
    // --- what is asked for ---

    struct serving_mode
    {
        static constexpr Spec spec =
            Spec(
                "\\sigma_m",
                "1",
                "where prompts are read: aggregated, on the chips that decode; disaggregated, on others",
                "Q13")
                .one_of("aggregated", "disaggregated")
                .by_default(0);
    };
    struct attention_arithmetic
    {
        static constexpr Spec spec =
            Spec("\\epsilon_a", "1", "arithmetic of attention: left out as on the board, or counted", "R6.11")
                .one_of("left_out", "counted")
                .by_default(0);
    };

    // --- weights: those outside of the experts may have a format of their own, and stand once in every group of chips
    // that attends ---

    struct dense_format
    {
        static constexpr Spec spec =
            Spec(
                "f_d",
                "1",
                "format of the weights outside of the routed experts: the same as theirs, or one of its own",
                "definition")
                .one_of("same", "bf16", "fp8", "int8", "fp4")
                .by_default(0);
    };
    struct dense_weight_bytes
    {
        static constexpr Spec spec =
            Spec("w_d", "byte/parameter", "bytes of a weight outside of the routed experts", "definition");
        template <class T> static constexpr T formula(
            in<dense_format, T> f,
            in<weight_bytes, T> w,
            in<bytes_per_weight_bit, T> eighth)
        { return choose(f, w, 16.0 * eighth, 8.0 * eighth, 8.0 * eighth, 4.0 * eighth); }
    };
    struct dense_peak_flops
    {
        static constexpr Spec spec = Spec(
            "F_d",
            "FLOP/s/chip",
            "dense peak arithmetic of a chip in the format of the weights outside of the routed experts",
            "R1.8");
        template <class T> static constexpr T formula(
            in<dense_format, T> f,
            in<peak_flops, T> F,
            in<peak_flops_bf16, T> F_16,
            in<peak_flops_fp8, T> F_8,
            in<peak_flops_int8, T> F_i8,
            in<peak_flops_fp4, T> F_4)
        { return choose(f, F, F_16, F_8, F_i8, F_4); }
    };
    struct visited_parameters
    {
        static constexpr Spec spec =
            Spec("N_k", "parameter", "weights of the routed experts that a token is multiplied with", "R1.4");
        template <class T> static constexpr T formula(
            in<total_parameters, T> N_t,
            in<dense_parameters, T> N_d,
            in<experts_per_token, T> k,
            in<experts, T> X)
        { return (N_t - N_d) * (k / X); }
    };
    struct common_parameters
    {
        static constexpr Spec spec = Spec(
            "N_c",
            "parameter",
            "weights that every token is multiplied with: all active ones but the routed",
            "R1.4");
        template <class T> static constexpr T formula(in<active_parameters, T> N_a, in<visited_parameters, T> N_k)
        { return N_a - N_k; }
    };
    struct deployed_bytes
    {
        static constexpr Spec spec = Spec("W_G", "byte", "weights in the memory of all chips, copies counted", "R3.6");
        template <class T> static constexpr T formula(
            in<total_parameters, T> N_t,
            in<dense_parameters, T> N_d,
            in<weight_bytes, T> w,
            in<dense_weight_bytes, T> w_d,
            in<attention_data_parallel, T> G_d)
        { return N_d * (w_d * G_d) + (N_t - N_d) * w; }
    };

    // --- caches: what a sequence has in memory, and how many find room ---

    struct cache_memory_share
    {
        static constexpr Spec spec =
            Spec("\\eta_h", "1", "share of the memory beside the weights that caches may fill", "Q12")
                .positive(1)
                .by_default(1);
    };
    struct cell_sequences
    {
        static constexpr Spec spec =
            Spec("B_G", "sequence", "sequences whose caches find room in all chips beside the weights", "R6.13");
        template <class T> static constexpr T formula(
            in<cache_memory_share, T> eta,
            in<cell_capacity, T> H,
            in<deployed_bytes, T> W,
            in<kv_cache_copies, T> copies,
            in<kv_stored_bytes, T> S)
        { return (eta / copies) * max(H - W, 0.0) / S; }
    };
    struct running_sequences
    {
        static constexpr Spec spec = Spec(
            "B_r",
            "sequence",
            "sequences that are being answered: all clients, or as many as memory holds",
            "R6.13");
        template <class T> static constexpr T formula(in<clients, T> n, in<cell_sequences, T> most)
        { return min(n, most); }
    };

    // --- the least that a deployment must hold ---

    struct least_group_batch
    {
        static constexpr Spec spec =
            Spec("B_1", "sequence", "sequences of a batch that a group of chips has at least", "definition")
                .positive()
                .by_default(1);
    };
    struct least_clients
    {
        static constexpr Spec spec =
            Spec("n_1", "sequence", "clients with which no group of chips is idle in any batch in flight", "R3.2");
        template <class T> static constexpr T formula(
            in<attention_data_parallel, T> G_d,
            in<microbatches, T> n,
            in<least_group_batch, T> B_1)
        { return G_d * n * B_1; }
    };
    struct least_deployed_bytes
    {
        static constexpr Spec spec = Spec(
            "W_1",
            "byte",
            "memory of all chips that the weights and the caches of the least clients ask for",
            "R3.6");
        template <class T> static constexpr T formula(
            in<deployed_bytes, T> W,
            in<kv_cache_copies, T> copies,
            in<kv_stored_bytes, T> S,
            in<least_clients, T> n_1,
            in<cache_memory_share, T> eta)
        { return W + copies * S * n_1 / eta; }
    };

    // --- the roofline of a step: a token for each sequence of a batch ---

    struct step_batch
    {
        static constexpr Spec spec = Spec(
            "B_s",
            "sequence",
            "sequences of a step: those that are being answered, over the batches in flight",
            "R3.2");
        template <class T> static constexpr T formula(in<running_sequences, T> B, in<microbatches, T> n)
        { return B / n; }
    };
    struct step_tokens
    {
        static constexpr Spec spec = Spec("B_s \\ell", "token", "new tokens of a step, drafted ones counted", "R6.5");
        template <class T> static constexpr T formula(in<step_batch, T> B, in<pass_length, T> l) { return B * l; }
    };
    struct step_coverage
    {
        // It grows with the tokens, so that the least of two batches has the least of their coverages: each power stays
        // on its own axes.
        static constexpr Spec spec =
            Spec("\\gamma_s", "1", "share of the routed experts that a step is expected to touch", "R1.4");
        template <class T> static constexpr T formula(
            in<experts, T> X,
            in<experts_per_token, T> k,
            in<clients, T> n,
            in<cell_sequences, T> most,
            in<pass_length, T> l,
            in<microbatches, T> n_mu)
        {
            return min(
                expert_coverage::formula<T>(X, k, as<pass_tokens>(n * (l / n_mu))),
                expert_coverage::formula<T>(X, k, as<pass_tokens>(most * (l / n_mu))));
        }
    };
    struct step_weight_bytes
    {
        static constexpr Spec spec = Spec(
            "W_s",
            "byte",
            "weights that the chips fetch in a step: all, or those that its tokens are expected to be multiplied with",
            "R1.4");
        template <class T> static constexpr T formula(
            in<expert_reads, T> which,
            in<deployed_bytes, T> all,
            in<common_parameters, T> N_c,
            in<dense_weight_bytes, T> w_d,
            in<attention_data_parallel, T> G_d,
            in<total_parameters, T> N_t,
            in<dense_parameters, T> N_d,
            in<weight_bytes, T> w,
            in<step_coverage, T> g)
        { return choose(which, all, N_c * (w_d * G_d) + (N_t - N_d) * w * g); }
    };
    struct step_weight_fetch_time
    {
        static constexpr Spec spec = Spec("t_{ws}", "s", "time to fetch the weights of a step", "R1.3");
        template <class T> static constexpr T formula(in<step_weight_bytes, T> W, in<cell_bandwidth, T> M)
        { return W / M; }
    };
    struct step_kv_fetch_time
    {
        static constexpr Spec spec = Spec("t_{rs}", "s", "time to fetch the caches of a step, every copy", "R1.3");
        template <class T> static constexpr T formula(
            in<step_batch, T> B,
            in<kv_read_bytes, T> r,
            in<kv_cache_copies, T> copies,
            in<cell_bandwidth, T> M)
        { return B * (r * (copies / M)); }
    };
    struct step_compute_time
    {
        static constexpr Spec spec = Spec("t_{cs}", "s", "time of the arithmetic of a step", "R1.2");
        template <class T> static constexpr T formula(
            in<step_tokens, T> tokens,
            in<chips_per_stage, T> G_P,
            in<compute_efficiency, T> eta,
            in<flops_per_parameter_token, T> two,
            in<common_parameters, T> N_c,
            in<dense_peak_flops, T> F_d,
            in<visited_parameters, T> N_k,
            in<peak_flops, T> F,
            in<attention_arithmetic, T> counted,
            in<attention_flops_per_context_token, T> f_L,
            in<context_length, T> L,
            in<selected_tokens, T> K,
            in<peak_flops_bf16, T> F_16)
        {
            const T weights = two * (N_c / F_d + N_k / F);
            return tokens * (choose(counted, weights, weights + f_L * (min(L, K) / F_16)) / (G_P * eta));
        }
    };
    struct step_roofline_time
    {
        static constexpr Spec spec =
            Spec("t_s", "s", "time of a step that nothing but arithmetic and memory takes", "R1.1");
        template <class T> static constexpr T formula(
            in<overlap, T> o,
            in<step_compute_time, T> t_c,
            in<step_weight_fetch_time, T> t_w,
            in<step_kv_fetch_time, T> t_kv)
        {
            return pass_time::formula<T>(
                o,
                as<compute_time>(t_c),
                as<weight_fetch_time>(t_w),
                as<kv_fetch_time>(t_kv),
                as<memory_time>(t_w + t_kv));
        }
    };

    // --- what a step takes besides ---

    struct kernels_per_step
    {
        // Counted on the kernels of a layer in serving engines: ten with grouped heads and one feed-forward layer.
        static constexpr Spec spec = Spec("n_K", "1", "kernels that run one after the other in a step", "counted");
        template <class T> static constexpr T formula(
            in<layers, T> n,
            in<kv_latent_size, T> d_c,
            in<selected_tokens, T> K,
            in<moe_layers, T> n_e,
            in<shared_experts, T> X_s)
        {
            const T latent = select(d_c > T(0.0), T(6.0), T(0.0)), index = select(K < T(infinite), T(5.0), T(0.0)),
                    shared = select(X_s > T(0.0), T(2.0), T(0.0));
            return n * (10.0 + latent + index) + n_e * (5.0 + shared);
        }
    };
    struct reference_kernel_time
    {
        static constexpr Spec spec =
            Spec(
                "\\tau_{K0}",
                "s",
                "time that a kernel takes whatever its work, on a chip of the reference's arithmetic",
                "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct reference_peak_flops
    {
        static constexpr Spec spec =
            Spec(
                "F_0",
                "FLOP/s/chip",
                "dense bf16 peak of the chip that the time of a kernel is stated for",
                "definition")
                .positive()
                .by_default(1e15);
    };
    struct kernel_time_exponent
    {
        static constexpr Spec spec =
            Spec(
                "\\gamma_K",
                "1",
                "how the time of a small kernel falls with the arithmetic of the chip: 0, not at all; 1, as its "
                "arithmetic",
                "calibration")
                .range(0, 1)
                .by_default(0);
    };
    struct kernel_time
    {
        static constexpr Spec spec = Spec("\\tau_K", "s", "time that a kernel takes whatever its work", "calibration");
        template <class T> static constexpr T formula(
            in<reference_kernel_time, T> t,
            in<reference_peak_flops, T> F_0,
            in<peak_flops_bf16, T> F_16,
            in<kernel_time_exponent, T> g)
        { return t * pow(F_0 / F_16, g); }
    };
    struct kernel_overhead
    {
        static constexpr Spec spec =
            Spec("t_K", "s", "time that the kernels of a step take whatever their work", "calibration");
        template <class T> static constexpr T formula(in<kernels_per_step, T> n, in<kernel_time, T> t) { return n * t; }
    };
    struct collective_step_latency
    {
        static constexpr Spec spec =
            Spec("\\lambda_s", "s", "latency of a collective each time that the chips it joins double", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct collective_latency
    {
        static constexpr Spec spec = Spec(
            "t_\\lambda",
            "s",
            "latency of all collectives of a step: after attention, among its chips; after the feed-forward layer, "
            "among all; and from stage to stage",
            "R3.8");
        template <class T> static constexpr T formula(
            in<collective_step_latency, T> l,
            in<layers, T> n,
            in<tensor_parallel, T> G_t,
            in<chips_per_stage, T> G_P,
            in<pipeline_stages, T> P)
        { return l * (n * (log(count(G_t)) + log(count(G_P))) / log(T(2.0)) + (P - 1.0)); }
    };
    struct link_efficiency
    {
        static constexpr Spec spec =
            Spec("\\eta_u", "1", "share of the link bandwidth that collectives reach", "Q12")
                .positive(1)
                .by_default(1)
                .ideal(1);
    };
    struct collective_bytes_per_element
    {
        static constexpr Spec spec =
            Spec(
                "w_u",
                "byte/token/chip",
                "bytes of a token's element that a chip adds up with those of others: bf16",
                "definition")
                .positive()
                .by_default(2);
    };
    // Time per byte to add up among n chips: inside the domain each passes on all but its part, twice; then the domains
    // add up part by part.
    template <class T> constexpr T all_reduce_time(
        const T& n,
        const T& domain,
        in<scale_up_bandwidth, T> u,
        in<scale_out_bandwidth, T> u_o)
    {
        const T inside = count(min(n, domain)), domains = ceil(n / domain);
        return 2.0 * ((1.0 - 1.0 / inside) / u + (1.0 - 1.0 / domains) / (inside * u_o));
    }
    // Time per byte to send what n chips share out evenly to k experts and back: a copy to each of them, but only one
    // to each other domain.
    template <class T> constexpr T exchange_time_per_byte(
        in<experts_per_token, T> k,
        in<chips_per_stage, T> n,
        in<scale_up_domain, T> domain,
        in<scale_up_bandwidth, T> u,
        in<scale_out_bandwidth, T> u_o)
    {
        const T domains = ceil(n / domain), leaving = (domains - 1.0) * (1.0 - pow(1.0 - 1.0 / domains, k));
        return 2.0 / count(n) * max(k * (1.0 - 1.0 / count(n)) / u, leaving / u_o);
    }
    struct attention_collective_time
    {
        static constexpr Spec spec = Spec(
            "t_{ua}",
            "s/token",
            "time on the links to add up what the chips that attend for a token have, in all layers, its share of the "
            "groups' time",
            "R3.8");
        template <class T>
        static constexpr T formula(
            in<layers, T> n,
            in<hidden_size, T> d,
            in<collective_bytes_per_element, T> w,
            in<link_efficiency, T> eta,
            in<tensor_parallel, T> G_t,
            in<attention_data_parallel, T> G_d,
            in<scale_up_domain, T> G_u,
            in<scale_up_bandwidth, T> u,
            in<scale_out_bandwidth, T> u_o)
        { return n * d * (w / eta) * (all_reduce_time<T>(G_t, G_u, u, u_o) / G_d); }
    };
    struct expert_collective_time
    {
        // Where the groups attend apart, copies to the experts alone may be fewer bytes than all tokens to all chips.
        static constexpr Spec spec = Spec(
            "t_{ue}",
            "s/token",
            "time on the links to add up what all chips of a stage have after the feed-forward layer, or to exchange "
            "tokens with experts where that is quicker",
            "R3.8");
        template <class T>
        static constexpr T formula(
            in<layers, T> n,
            in<hidden_size, T> d,
            in<collective_bytes_per_element, T> w,
            in<link_efficiency, T> eta,
            in<chips_per_stage, T> G_P,
            in<attention_data_parallel, T> G_d,
            in<experts, T> X,
            in<experts_per_token, T> k,
            in<scale_up_domain, T> G_u,
            in<scale_up_bandwidth, T> u,
            in<scale_out_bandwidth, T> u_o)
        {
            const T all = all_reduce_time<T>(G_P, G_u, u, u_o),
                    some = min(exchange_time_per_byte<T>(k, G_P, G_u, u, u_o), all);
            return n * d * (w / eta) * select(G_d > T(1.0), select(X > T(1.0), some, all), all);
        }
    };
    struct collective_time_per_token
    {
        static constexpr Spec spec = Spec(
            "t_u/\\mathrm{token}",
            "s/token",
            "time that a token's collectives in all layers take on the links",
            "R3.8");
        template <class T> static constexpr T formula(
            in<attention_collective_time, T> t_a,
            in<expert_collective_time, T> t_e)
        { return t_a + t_e; }
    };
    struct activation_transfers
    {
        static constexpr Spec spec =
            Spec(
                "c_a",
                "1",
                "times that the residual stream of a token goes through memory between kernels, in every layer, and "
                "for every routed expert that it visits unless expert_activation_transfers says otherwise",
                "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct expert_activation_transfers
    {
        static constexpr Spec spec =
            Spec(
                "c_k",
                "1",
                "times that the residual stream of a token goes through memory for a routed expert that it visits",
                "calibration")
                .range(0)
                .otherwise<activation_transfers>();
    };
    struct activation_time_per_token
    {
        static constexpr Spec spec = Spec(
            "t_a/\\mathrm{token}",
            "s/token",
            "time to move a token's activations through memory between the kernels of all layers",
            "calibration");
        template <class T> static constexpr T formula(
            in<activation_transfers, T> c,
            in<expert_activation_transfers, T> c_k,
            in<hidden_size, T> d,
            in<activation_bytes_per_element, T> w,
            in<layers, T> n,
            in<moe_layers, T> n_e,
            in<experts_per_token, T> k,
            in<cell_bandwidth, T> M)
        { return d * w * (c * n + c_k * (n_e * k)) / M; }
    };
    struct communication_overlap
    {
        static constexpr Spec spec =
            Spec(
                "o_u",
                "1",
                "what runs beside the links: none; two_batch, the work of one half of a batch beside the exchange of "
                "the other",
                "Q13")
                .one_of("none", "two_batch")
                .by_default(0);
    };
    struct step_collective_time
    {
        static constexpr Spec spec = Spec(
            "t_{us}",
            "s",
            "time that the collectives of a step add on the links to arithmetic, memory and activations",
            "R3.8");
        template <class T> static constexpr T formula(
            in<communication_overlap, T> o,
            in<step_tokens, T> tokens,
            in<collective_time_per_token, T> t_u,
            in<step_roofline_time, T> t,
            in<activation_time_per_token, T> t_a)
        { return choose(o, tokens * t_u, max(tokens * t_u - (t + tokens * t_a), 0.0)); }
    };
    struct sequence_time
    {
        static constexpr Spec spec =
            Spec(
                "\\tau_s",
                "s/sequence",
                "time that a group of chips takes in a step to schedule and sample for one sequence",
                "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct step_time
    {
        static constexpr Spec spec = Spec(
            "t_\\mathrm{step}",
            "s",
            "time of a step: arithmetic and memory, kernels, collectives, activations, scheduling",
            "R1.1");
        template <class T>
        static constexpr T formula(
            in<step_roofline_time, T> t,
            in<kernel_overhead, T> t_K,
            in<collective_latency, T> t_l,
            in<step_collective_time, T> t_u,
            in<step_tokens, T> tokens,
            in<activation_time_per_token, T> t_a,
            in<step_batch, T> B,
            in<sequence_time, T> each,
            in<attention_data_parallel, T> G_d)
        { return t + (t_K + t_l) + (t_u + tokens * t_a + B * (each / G_d)); }
    };

    // --- prompts ---

    struct prefill_compute_efficiency
    {
        static constexpr Spec spec =
            Spec("\\eta_p", "1", "share of the peak arithmetic that is reached while prompts are read", "Q12")
                .positive(1)
                .otherwise<compute_efficiency>();
    };
    struct weights_per_table_element
    {
        static constexpr Spec spec =
            Spec(
                "1",
                "parameter",
                "weights for each pair of residual element and token of the vocabulary",
                "definition")
                .positive()
                .by_default(1);
    };
    struct head_parameters
    {
        static constexpr Spec spec = Spec("N_h", "parameter", "weights of the output head", "R1.4");
        template <class T> static constexpr T formula(
            in<vocabulary_size, T> V,
            in<hidden_size, T> d,
            in<weights_per_table_element, T> one)
        { return V * d * one; }
    };
    struct prompt_common_time
    {
        static constexpr Spec spec = Spec(
            "t_{pc}",
            "s*chip/sequence",
            "time of one chip for the arithmetic of a prompt outside of the routed experts; the head works on its last "
            "token alone",
            "R6.6");
        template <class T> static constexpr T formula(
            in<input_tokens, T> I,
            in<prefill_compute_efficiency, T> eta,
            in<flops_per_parameter_token, T> two,
            in<common_parameters, T> N_c,
            in<head_parameters, T> N_h,
            in<dense_peak_flops, T> F_d,
            in<attention_arithmetic, T> counted,
            in<flops_per_head_element, T> two_a,
            in<global_attention_layers, T> n_g,
            in<attention_heads, T> n_h,
            in<head_size, T> d_h,
            in<latent_rotary_size, T> d_r,
            in<selected_tokens, T> K,
            in<peak_flops_bf16, T> F_16)
        {
            const T weights = two * ((N_c - N_h) / F_d);
            return I / eta
                * choose(
                       counted,
                       weights,
                       weights + two_a * (n_g * n_h * (2.0 * d_h - d_r)) * (min(I / 2.0, K) / F_16));
        }
    };
    struct prompt_expert_time
    {
        static constexpr Spec spec = Spec(
            "t_{pk}",
            "s*chip/sequence",
            "time of one chip for the arithmetic of a prompt in the routed experts",
            "R6.6");
        template <class T> static constexpr T formula(
            in<input_tokens, T> I,
            in<prefill_compute_efficiency, T> eta,
            in<flops_per_parameter_token, T> two,
            in<visited_parameters, T> N_k,
            in<peak_flops, T> F)
        { return I / eta * (two * (N_k / F)); }
    };
    struct prompt_batch
    {
        static constexpr Spec spec =
            Spec("B_p", "sequence", "prompts that a step reads together", "Q13").positive().by_default(1);
    };
    struct prompt_compute_time
    {
        static constexpr Spec spec =
            Spec("t_{pa}", "s/sequence", "time of the arithmetic of a prompt on all chips of a stage", "R6.6");
        template <class T> static constexpr T formula(
            in<prompt_common_time, T> t_c,
            in<prompt_expert_time, T> t_k,
            in<chips_per_stage, T> G_P)
        { return (t_c + t_k) / G_P; }
    };
    struct prompt_transfer_time
    {
        static constexpr Spec spec = Spec(
            "t_{pu}",
            "s/sequence",
            "time that a prompt takes on links and for activations beside its arithmetic",
            "R3.8");
        template <class T> static constexpr T formula(
            in<communication_overlap, T> o,
            in<input_tokens, T> I,
            in<collective_time_per_token, T> t_u,
            in<prompt_compute_time, T> t_c,
            in<activation_time_per_token, T> t_a)
        { return choose(o, I * (t_u + t_a), max(I * t_u - t_c, I * t_a)); }
    };
    struct prefill_time
    {
        static constexpr Spec spec = Spec("T_p", "s/sequence", "time in which a replica prefills one prompt", "Q13");
        template <class T> static constexpr T formula(
            in<prompt_compute_time, T> t_c,
            in<prompt_transfer_time, T> t_u,
            in<pipeline_stages, T> P)
        { return (t_c + t_u) / P; }
    };
    struct generated_length
    {
        static constexpr Spec spec =
            Spec(
                "e_s",
                "token/sequence",
                "tokens that a step adds to an answer: 1, or with drafts the emitted_length of their pass_length",
                "Q2")
                .positive()
                .by_default(1);
    };
    struct prompts_per_step
    {
        static constexpr Spec spec = Spec(
            "n_i",
            "sequence",
            "prompts that a step with prompts reads: those that come together, or as many as answers end in a step",
            "Q13");
        template <class T> static constexpr T formula(
            in<prompt_batch, T> B_p,
            in<step_batch, T> B,
            in<generated_length, T> e,
            in<output_tokens, T> O)
        { return max(B * (e / O), B_p); }
    };
    struct prompt_kernel_factor
    {
        static constexpr Spec spec =
            Spec(
                "f_K",
                "1",
                "time of a kernel in a step that reads prompts over that in a step that decodes, whose kernels engines "
                "replay from a recorded graph",
                "calibration")
                .range(1)
                .by_default(1)
                .ideal(1);
    };
    struct riding_prefill_time
    {
        static constexpr Spec spec = Spec(
            "T_{pr}",
            "s/sequence",
            "time that a prompt adds to steps that decode: its arithmetic uses what memory leaves idle in one of them",
            "Q13");
        template <class T>
        static constexpr T formula(
            in<overlap, T> o,
            in<step_compute_time, T> t_c,
            in<step_weight_fetch_time, T> t_w,
            in<step_kv_fetch_time, T> t_kv,
            in<step_roofline_time, T> t,
            in<prompts_per_step, T> n,
            in<kernel_overhead, T> t_K,
            in<prompt_kernel_factor, T> f,
            in<prompt_compute_time, T> t_p,
            in<prompt_transfer_time, T> t_u,
            in<pipeline_stages, T> P)
        {
            const T kernels = (f - 1.0) * t_K;
            const T with_prompts = pass_time::formula<T>(
                o,
                as<compute_time>(t_c + n * t_p),
                as<weight_fetch_time>(t_w),
                as<kv_fetch_time>(t_kv),
                as<memory_time>(t_w + t_kv));
            return ((with_prompts - t + kernels) / n + t_u) / P;
        }
    };

    // --- what a client sees ---

    struct prefill_interference
    {
        static constexpr Spec spec = Spec(
            "T_i",
            "s*sequence/token",
            "time that the prompts of others take between two tokens of an answer: for each answer that ends a prompt "
            "begins",
            "Q13");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<running_sequences, T> B,
            in<riding_prefill_time, T> T_p,
            in<output_tokens, T> O)
        { return choose(mode, B * (T_p / O), T(0.0)); }
    };
    struct token_time_factor
    {
        static constexpr Spec spec =
            Spec(
                "f_o",
                "1",
                "time between two tokens over what the terms add up to: what a few runs of one's own say",
                "calibration")
                .positive()
                .by_default(1)
                .ideal(1);
    };
    struct time_per_output_token
    {
        static constexpr Spec spec = Spec("T_o", "s*sequence/token", "time between two tokens of an answer", "R1.1");
        template <class T> static constexpr T formula(
            in<step_time, T> t,
            in<round_passes, T> r,
            in<generated_length, T> e,
            in<prefill_interference, T> T_i,
            in<token_time_factor, T> f)
        { return (t * (r / e) + T_i) * f; }
    };
    struct request_overhead
    {
        static constexpr Spec spec =
            Spec("\\tau_r", "s", "time that client, network and scheduler add to every request", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct prefill_chunk
    {
        static constexpr Spec spec =
            Spec("I_c", "token/sequence", "tokens of a prompt that one step reads; inf: all", "Q13")
                .positive(infinite)
                .by_default(infinite);
    };
    struct prompt_steps
    {
        static constexpr Spec spec = Spec("n_p", "1", "steps that read a prompt", "Q13");
        template <class T> static constexpr T formula(in<input_tokens, T> I, in<prefill_chunk, T> most)
        { return max(ceil(I / most), 1.0); }
    };
    struct prompt_time
    {
        static constexpr Spec spec = Spec(
            "t_p",
            "s",
            "time from the start of a prompt to its first token: arithmetic of the chips that attend for it, links, "
            "activations, and in each step the weights, kernels and latencies",
            "R6.6");
        template <class T>
        static constexpr T formula(
            in<prompt_batch, T> B_p,
            in<prompt_common_time, T> t_c,
            in<tensor_parallel, T> G_t,
            in<prompt_expert_time, T> t_k,
            in<chips_per_stage, T> G_P,
            in<prompt_transfer_time, T> t_u,
            in<prompt_steps, T> n,
            in<deployed_bytes, T> W,
            in<cell_bandwidth, T> M,
            in<kernel_overhead, T> t_K,
            in<prompt_kernel_factor, T> f,
            in<collective_latency, T> t_l)
        { return B_p * (t_c / G_t + t_k / G_P + t_u) + n * (W / M + (t_K * f + t_l)); }
    };
    struct arrival_burst
    {
        static constexpr Spec spec =
            Spec("\\beta_a", "1", "prompts ahead of one's own where one sequence is being answered", "calibration")
                .range(0)
                .by_default(0)
                .ideal(0);
    };
    struct arrival_exponent
    {
        static constexpr Spec spec =
            Spec(
                "\\gamma_a",
                "1",
                "how the prompts ahead grow with the sequences: 1/2 where requests come together by chance, 1 where "
                "all come at once",
                "calibration")
                .range(0, 1)
                .by_default(0.5);
    };
    struct prompts_ahead
    {
        static constexpr Spec spec =
            Spec("\\beta_a B_r^{\\gamma_a}", "1", "prompts that are read before one's own, in the mean", "calibration");
        template <class T> static constexpr T formula(
            in<arrival_burst, T> b,
            in<running_sequences, T> B,
            in<arrival_exponent, T> g)
        { return b * pow(max(count(B), 1.0), g); }
    };
    struct queue_time
    {
        static constexpr Spec spec = Spec(
            "T_q",
            "s",
            "wait for room in memory: the others' answers, as often as clients outnumber the room",
            "R6.13");
        template <class T> static constexpr T formula(
            in<clients, T> n,
            in<running_sequences, T> B,
            in<output_tokens, T> O,
            in<time_per_output_token, T> T_o)
        { return (n / B - 1.0) * (O * T_o); }
    };
    struct admission_steps
    {
        static constexpr Spec spec =
            Spec(
                "n_w",
                "1",
                "steps that pass between a request and its first token besides those that read prompts: the rest of "
                "the one under way, and those in which engines take requests in and give tokens out",
                "calibration")
                .range(0)
                .by_default(0.5);
    };
    struct first_token_time_factor
    {
        static constexpr Spec spec =
            Spec(
                "f_f",
                "1",
                "time to the first token over what the terms add up to: what a few runs of one's own say",
                "calibration")
                .positive()
                .by_default(1)
                .ideal(1);
    };
    struct time_to_first_token
    {
        static constexpr Spec spec = Spec(
            "T_f",
            "s",
            "time from a request to its first token: overhead, steps until it is taken in, prompts ahead and one's "
            "own, the wait for room",
            "R6.6");
        template <class T>
        static constexpr T formula(
            in<request_overhead, T> t_r,
            in<prompt_time, T> t_p,
            in<prompts_ahead, T> n,
            in<admission_steps, T> n_w,
            in<time_per_output_token, T> T_o,
            in<generated_length, T> e,
            in<queue_time, T> T_q,
            in<first_token_time_factor, T> f)
        { return (t_r + t_p * (1.0 + n) + T_o * (e * n_w) + T_q) * f; }
    };
    struct request_time
    {
        static constexpr Spec spec = Spec("T_r", "s", "time from a request to the end of its answer", "R6.6");
        template <class T> static constexpr T formula(
            in<time_to_first_token, T> T_f,
            in<output_tokens, T> O,
            in<generated_length, T> e,
            in<time_per_output_token, T> T_o)
        { return T_f + (O - e) * T_o; }
    };
    struct request_rate
    {
        static constexpr Spec spec =
            Spec("n_c/T_r", "sequence/s", "requests that the deployment answers in a second", "R1.14");
        template <class T> static constexpr T formula(in<clients, T> n, in<request_time, T> T_r) { return n / T_r; }
    };
    struct tokens_per_second_per_user
    {
        static constexpr Spec spec =
            Spec("1/T_o", "token/s/sequence", "tokens that a client gets in a second", "R1.14");
        template <class T> static constexpr T formula(in<time_per_output_token, T> T_o) { return 1.0 / T_o; }
    };
    struct tokens_per_second_per_chip
    {
        static constexpr Spec spec =
            Spec("B_r/(G T_o)", "token/s/chip", "tokens of answers that a chip makes in a second", "R1.14");
        template <class T> static constexpr T formula(
            in<running_sequences, T> B,
            in<chips, T> G,
            in<time_per_output_token, T> T_o)
        { return B / G / T_o; }
    };

    // --- what it costs ---

    struct prefill_load
    {
        static constexpr Spec spec = Spec(
            "\\rho_p",
            "1",
            "time that the prompts of a second take: the share of the chips' time, or apart the replicas that prefill "
            "for one that decodes",
            "Q13");
        template <class T> static constexpr T formula(
            in<running_sequences, T> B,
            in<prefill_time, T> T_p,
            in<output_tokens, T> O,
            in<time_per_output_token, T> T_o)
        { return B * (T_p / O) / T_o; }
    };
    struct cost_per_input_token
    {
        static constexpr Spec spec = Spec(
            "c_I",
            "USD/token",
            "price of the chips for the time of a prompt, over its tokens: on chips that decode what it adds to their "
            "steps, apart all of it",
            "R6.8");
        template <class T> static constexpr T formula(
            in<serving_mode, T> mode,
            in<riding_prefill_time, T> beside,
            in<prefill_time, T> apart,
            in<token_time_factor, T> f,
            in<cell_price, T> p,
            in<input_tokens, T> I)
        { return choose(mode, beside, apart) * (f * p / I); }
    };
    struct cost_per_output_token
    {
        static constexpr Spec spec = Spec(
            "c_O",
            "USD/token",
            "price of the chips for a step, over the tokens that it makes: prompts left out",
            "R1.5");
        template <class T> static constexpr T formula(
            in<cell_price, T> p,
            in<step_time, T> t,
            in<round_passes, T> r,
            in<generated_length, T> e,
            in<token_time_factor, T> f,
            in<running_sequences, T> B)
        { return t * (r * f * p / (e * B)); }
    };

    using deployment = list<
        serving_mode,
        attention_arithmetic,
        dense_format,
        dense_weight_bytes,
        dense_peak_flops,
        visited_parameters,
        common_parameters,
        deployed_bytes,
        cache_memory_share,
        cell_sequences,
        running_sequences,
        least_group_batch,
        least_clients,
        least_deployed_bytes,
        step_batch,
        step_tokens,
        step_coverage,
        step_weight_bytes,
        step_weight_fetch_time,
        step_kv_fetch_time,
        step_compute_time,
        step_roofline_time,
        kernels_per_step,
        reference_kernel_time,
        reference_peak_flops,
        kernel_time_exponent,
        kernel_time,
        kernel_overhead,
        collective_step_latency,
        collective_latency,
        link_efficiency,
        collective_bytes_per_element,
        attention_collective_time,
        expert_collective_time,
        collective_time_per_token,
        activation_transfers,
        expert_activation_transfers,
        activation_time_per_token,
        communication_overlap,
        step_collective_time,
        sequence_time,
        step_time,
        prefill_compute_efficiency,
        weights_per_table_element,
        head_parameters,
        prompt_common_time,
        prompt_expert_time,
        prompt_batch,
        prompt_compute_time,
        prompt_transfer_time,
        prefill_time,
        generated_length,
        prompts_per_step,
        riding_prefill_time,
        prefill_interference,
        token_time_factor,
        time_per_output_token,
        request_overhead,
        prefill_chunk,
        prompt_steps,
        prompt_kernel_factor,
        prompt_time,
        arrival_burst,
        arrival_exponent,
        prompts_ahead,
        queue_time,
        admission_steps,
        first_token_time_factor,
        time_to_first_token,
        request_time,
        request_rate,
        tokens_per_second_per_user,
        tokens_per_second_per_chip,
        prefill_load,
        cost_per_input_token,
        cost_per_output_token>;
}
