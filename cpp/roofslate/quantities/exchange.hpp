// Chapter 2: the exchange of tokens between the chips of a layer, inside a rack and between racks.
#pragma once
#include "roofslate/quantities/expert_load.hpp"
#include "roofslate/quantities/topology.hpp"

namespace roofslate::quantities
{
    struct chips_contacted
    {
        static constexpr Spec spec =
            Spec("G_k", "chip", "expected chips reached per token and layer, uniform routing", "R2.3");
        template <class T> static constexpr T formula(in<expert_parallel, T> G_e, in<experts_per_token, T> k)
        { return G_e * (1.0 - pow(1.0 - 1.0 / count(G_e), k)); }
    };

    // --- the exchange of tokens between the chips of a layer, all to all ---

    struct dispatch_bytes_per_element
    {
        static constexpr Spec spec =
            Spec("w_d", "byte/token", "bytes per activation element in the dispatch", "R2.3").positive().by_default(2);
    };
    struct combine_bytes_per_element
    {
        static constexpr Spec spec =
            Spec("w_r", "byte/token", "bytes per activation element in the combine", "R2.3").positive().by_default(2);
    };
    struct dispatch_bytes_per_layer
    {
        static constexpr Spec spec = Spec("k d w_d", "byte/token", "dispatch traffic per token and MoE layer", "R2.3");
        template <class T> static constexpr T formula(
            in<experts_per_token, T> k,
            in<hidden_size, T> d,
            in<dispatch_bytes_per_element, T> w)
        { return k * d * w; }
    };
    struct combine_bytes_per_layer
    {
        static constexpr Spec spec = Spec("k d w_r", "byte/token", "combine traffic per token and MoE layer", "R2.3");
        template <class T> static constexpr T formula(
            in<experts_per_token, T> k,
            in<hidden_size, T> d,
            in<combine_bytes_per_element, T> w)
        { return k * d * w; }
    };
    struct all_to_all_bytes_per_layer
    {
        static constexpr Spec spec =
            Spec("v_1", "byte/token", "all-to-all traffic per MoE layer, dispatch plus combine", "R2.3");
        template <class T> static constexpr T formula(
            in<dispatch_bytes_per_layer, T> dispatch,
            in<combine_bytes_per_layer, T> back)
        { return dispatch + back; }
    };
    struct all_to_all_bytes_per_token
    {
        static constexpr Spec spec = Spec("v", "byte/token", "all-to-all traffic per token, all MoE layers", "R2.3");
        template <class T> static constexpr T formula(in<moe_layers, T> n_e, in<all_to_all_bytes_per_layer, T> v_1)
        { return n_e * v_1; }
    };
    // Share of a token's copies that go to other chips: in a pool all of them.
    template <class T> constexpr T leaving_share(in<layout, T> l, in<expert_parallel, T> G_e)
    { return choose(l, T(1.0), 1.0 - 1.0 / count(G_e)); }
    // Bytes that a chip sends for a token, of whose copies a share goes over links.
    template <class T> constexpr T chip_all_to_all_bytes(
        in<all_to_all_bytes_per_token, T> v,
        in<chips_per_stage, T> G_P,
        const T& share,
        in<expert_parallel, T> G_e)
    { return select(count(G_e) == T(1.0), T(0.0), (v / G_P) * share); }
    struct all_to_all_bytes_per_chip
    {
        static constexpr Spec spec = Spec("V", "byte/chip", "all-to-all traffic sent per chip and pass", "R2.3");
        template <class T> static constexpr T formula(
            in<pass_tokens, T> tokens,
            in<all_to_all_bytes_per_token, T> v,
            in<chips_per_stage, T> G_P,
            in<layout, T> l,
            in<expert_parallel, T> G_e)
        { return tokens * chip_all_to_all_bytes<T>(v, G_P, leaving_share<T>(l, G_e), G_e); }
    };

    // --- between racks: beta is how much faster the links inside are, R how many racks share the experts ---

    struct link_bandwidth_ratio
    {
        static constexpr Spec spec =
            Spec("\\beta", "1", "ratio of scale-up to scale-out bandwidth per chip", "R2.5").positive(infinite);
        template <class T> static constexpr T formula(in<scale_up_bandwidth, T> u, in<scale_out_bandwidth, T> u_o)
        { return u / u_o; }
    };
    struct expert_racks
    {
        static constexpr Spec spec =
            Spec("R", "1", "racks (scale-up domains) spanned by the experts of a layer", "R2.4").range(1);
        template <class T> static constexpr T formula(in<expert_parallel, T> G_e, in<scale_up_domain, T> G_u)
        { return ceil(G_e / G_u); }
    };
    struct all_to_all_routing
    {
        static constexpr Spec spec =
            Spec("\\rho_x", "1", "all-to-all routing between racks (direct, hierarchical)", "Q3")
                .one_of("direct", "hierarchical")
                .by_default(0)
                .implied_by_any<tensor_parallel, attention_data_parallel>(1);
    };
    struct leaving_copies
    {
        static constexpr Spec spec =
            Spec("k_o", "1", "token copies leaving the rack per layer, direct routing", "R2.4");
        template <class T> static constexpr T formula(in<experts_per_token, T> k, in<expert_racks, T> R)
        { return k * ((R - 1.0) / R); }
    };
    struct direct_all_to_all_slowdown
    {
        static constexpr Spec spec =
            Spec("\\sigma_1", "1", "all-to-all time relative to a single rack, direct routing", "R2.4");
        // Rails only join chips of one position. A copy for another position changes it inside its rack.
        template <class T> static constexpr T formula(
            in<expert_racks, T> R,
            in<link_bandwidth_ratio, T> beta,
            in<scale_out_topology, T> which,
            in<expert_parallel, T> G_e)
        {
            const T leaving = (R - 1.0) / R, staying = 1.0 / R, moved = leaving * (1.0 - R / count(G_e));
            return max(beta * leaving, choose(which, staying, staying + moved));
        }
    };
    struct racks_per_token
    {
        static constexpr Spec spec =
            Spec("R_k", "1", "maximum other racks per token (router limit)", "Q3").range(1).otherwise<expert_racks>();
    };
    struct hierarchical_leaving_copies
    {
        static constexpr Spec spec =
            Spec("R_o", "1", "token copies leaving the rack per layer, hierarchical routing", "Q3");
        template <class T> static constexpr T formula(
            in<expert_racks, T> R,
            in<experts_per_token, T> k,
            in<racks_per_token, T> R_k)
        { return min((R - 1.0) * (1.0 - pow(1.0 - 1.0 / R, k)), R_k); }
    };
    struct hierarchical_outside_time
    {
        static constexpr Spec spec =
            Spec("\\beta R_o", "1", "scale-out time relative to one copy inside, hierarchical routing", "Q3");
        template <class T> static constexpr T formula(
            in<link_bandwidth_ratio, T> beta,
            in<hierarchical_leaving_copies, T> R_o)
        { return beta * R_o; }
    };
    struct hierarchical_all_to_all_slowdown
    {
        static constexpr Spec spec =
            Spec("\\sigma_2", "1", "all-to-all time relative to a single rack, hierarchical routing", "Q3");
        template <class T> static constexpr T formula(
            in<hierarchical_outside_time, T> outside,
            in<experts_per_token, T> k)
        { return max(outside / k, 1.0); }
    };
    struct all_to_all_slowdown
    {
        static constexpr Spec spec = Spec("\\sigma", "1", "all-to-all time relative to a single rack", "R2.4");
        template <class T> static constexpr T formula(
            in<all_to_all_routing, T> which,
            in<direct_all_to_all_slowdown, T> s_1,
            in<hierarchical_all_to_all_slowdown, T> s_2)
        { return choose(which, s_1, s_2); }
    };
    struct link_efficiency
    {
        static constexpr Spec spec =
            Spec("\\eta_u", "1", "achieved fraction of link bandwidth in collectives", "Q12")
                .positive(1)
                .by_default(1)
                .ideal(1);
    };
    struct all_to_all_time_per_token
    {
        static constexpr Spec spec =
            Spec("t_x/\\mathrm{token}", "s/token", "all-to-all time per token, all MoE layers", "R2.3");
        template <class T> static constexpr T formula(
            in<all_to_all_bytes_per_token, T> v,
            in<chips_per_stage, T> G_P,
            in<layout, T> l,
            in<expert_parallel, T> G_e,
            in<all_to_all_slowdown, T> s,
            in<scale_up_topology, T> which,
            in<mean_hops, T> hops,
            in<link_imbalance, T> uneven,
            in<expert_imbalance, T> mu,
            in<link_efficiency, T> eta,
            in<scale_up_bandwidth, T> u)
        {
            // Without a switch the mean counts a chip's own part too, at no hop.
            const T all(1.0), share = choose(which, leaving_share<T>(l, G_e), all, all);
            const T sent = chip_all_to_all_bytes<T>(v, G_P, share, G_e);
            return sent * (s * (hops * (uneven * mu)) / (u * eta));
        }
    };
    struct all_to_all_time
    {
        static constexpr Spec spec = Spec("t_x", "s", "all-to-all time of a pass (dispatch, combine)", "R2.3");
        template <class T> static constexpr T formula(in<pass_tokens, T> tokens, in<all_to_all_time_per_token, T> t)
        { return tokens * t; }
    };

    using exchange = list<
        chips_contacted,
        dispatch_bytes_per_element,
        combine_bytes_per_element,
        dispatch_bytes_per_layer,
        combine_bytes_per_layer,
        all_to_all_bytes_per_layer,
        all_to_all_bytes_per_token,
        all_to_all_bytes_per_chip,
        link_bandwidth_ratio,
        expert_racks,
        all_to_all_routing,
        leaving_copies,
        direct_all_to_all_slowdown,
        racks_per_token,
        hierarchical_leaving_copies,
        hierarchical_outside_time,
        hierarchical_all_to_all_slowdown,
        all_to_all_slowdown,
        link_efficiency,
        all_to_all_time_per_token,
        all_to_all_time>;
}
