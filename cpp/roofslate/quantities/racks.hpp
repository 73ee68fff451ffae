// Chapter 2: experts on the chips of a rack, the exchange between them, and how large a rack can be.
#pragma once
#include "roofslate/quantities/serving.hpp"

namespace roofslate::quantities
{
    // --- placement ---

    struct experts_per_chip
    {
        static constexpr Spec spec = Spec("X/G_e", "1/chip", "routed experts of a layer on a chip, on average", "R2.2");
        template <class T> static constexpr T formula(in<experts, T> X, in<expert_parallel, T> G_e) { return X / G_e; }
    };
    struct leftover_experts
    {
        static constexpr Spec spec = Spec(
            "X \\;\\mathrm{mod}\\; G_e",
            "1",
            "experts that remain when each chip has as many as any other; 0: the chips divide the experts",
            "R2.2");
        template <class T> static constexpr T formula(
            in<experts, T> X,
            in<expert_parallel, T> G_e,
            in<experts_per_chip, T> X_G)
        { return X - floor(X_G) * G_e; }
    };
    struct most_experts_per_chip
    {
        static constexpr Spec spec =
            Spec("X_\\mathrm{max}", "1/chip", "routed experts of a layer on the chip that has the most", "R2.2");
        template <class T> static constexpr T formula(in<experts_per_chip, T> X_G) { return ceil(X_G); }
    };
    struct placement_balance
    {
        static constexpr Spec spec =
            Spec("b_X", "1", "experts on an average chip over those on the fullest, which all others wait for", "R2.2");
        template <class T> static constexpr T formula(in<experts_per_chip, T> X_G, in<most_experts_per_chip, T> X_max)
        { return X_G / X_max; }
    };
    struct chips_contacted
    {
        static constexpr Spec spec = Spec(
            "G_k",
            "chip",
            "chips that a token is expected to reach in a layer when each of its experts is on any chip",
            "R2.3");
        template <class T> static constexpr T formula(in<expert_parallel, T> G_e, in<experts_per_token, T> k)
        { return G_e * (1.0 - pow(1.0 - 1.0 / count(G_e), k)); }
    };

    // --- the exchange of tokens between the chips of a layer, all to all ---

    struct dispatch_bytes_per_element
    {
        static constexpr Spec spec =
            Spec("w_d", "byte/token", "bytes of a token's element on the way to an expert", "R2.3").positive();
    };
    struct combine_bytes_per_element
    {
        static constexpr Spec spec =
            Spec("w_r", "byte/token", "bytes of a token's element on the way back from an expert", "R2.3").positive();
    };
    struct dispatch_bytes_per_layer
    {
        static constexpr Spec spec =
            Spec("k d w_d", "byte/token", "bytes of a token on the way to the experts of a layer", "R2.3");
        template <class T> static constexpr T formula(
            in<experts_per_token, T> k,
            in<hidden_size, T> d,
            in<dispatch_bytes_per_element, T> w)
        { return k * d * w; }
    };
    struct combine_bytes_per_layer
    {
        static constexpr Spec spec =
            Spec("k d w_r", "byte/token", "bytes of a token on the way back from the experts of a layer", "R2.3");
        template <class T> static constexpr T formula(
            in<experts_per_token, T> k,
            in<hidden_size, T> d,
            in<combine_bytes_per_element, T> w)
        { return k * d * w; }
    };
    struct exchange_bytes_per_layer
    {
        static constexpr Spec spec =
            Spec("v_1", "byte/token", "bytes that a token moves to the experts of a layer and back", "R2.3");
        template <class T> static constexpr T formula(
            in<dispatch_bytes_per_layer, T> there,
            in<combine_bytes_per_layer, T> back)
        { return there + back; }
    };
    struct exchange_bytes_per_token
    {
        static constexpr Spec spec =
            Spec("v", "byte/token", "bytes that a token moves to the experts of all layers and back", "R2.3");
        template <class T> static constexpr T formula(in<moe_layers, T> n_e, in<exchange_bytes_per_layer, T> v_1)
        { return n_e * v_1; }
    };
    struct exchange_bytes_per_chip
    {
        static constexpr Spec spec =
            Spec("V", "byte/chip", "bytes that a chip sends in the exchanges of a pass", "R2.3");
        template <class T> static constexpr T formula(
            in<pass_tokens, T> tokens,
            in<exchange_bytes_per_token, T> v,
            in<expert_parallel, T> G_e)
        { return tokens * (v / G_e); }
    };

    // --- between racks: beta is how much faster the links inside are, R how many racks share the experts ---

    struct link_bandwidth_ratio
    {
        static constexpr Spec spec =
            Spec(
                "\\beta",
                "1",
                "how much faster links inside a rack are than those between racks: the lecture's 8",
                "R2.5")
                .positive(infinite);
        template <class T> static constexpr T formula(in<scale_up_bandwidth, T> u, in<scale_out_bandwidth, T> u_o)
        { return u / u_o; }
    };
    struct exchange_racks
    {
        static constexpr Spec spec =
            Spec("R", "1", "racks (scale-up domains) that the experts of a layer are spread over, evenly", "R2.4")
                .range(1);
        template <class T> static constexpr T formula(in<expert_parallel, T> G_e, in<scale_up_domain, T> G_u)
        { return ceil(G_e / G_u); }
    };
    struct exchange_routing
    {
        static constexpr Spec spec =
            Spec(
                "\\rho_x",
                "1",
                "how a token reaches other racks: direct, a copy to each of its experts; hierarchical, a copy to each "
                "rack, spread there",
                "Q3")
                .one_of("direct", "hierarchical")
                .by_default(0);
    };
    struct leaving_copies
    {
        static constexpr Spec spec =
            Spec("k_o", "1", "copies of a token that leave the rack in a layer, one to each expert elsewhere", "R2.4");
        template <class T> static constexpr T formula(in<experts_per_token, T> k, in<exchange_racks, T> R)
        { return k * ((R - 1.0) / R); }
    };
    struct direct_exchange_slowdown
    {
        static constexpr Spec spec = Spec(
            "\\sigma_1",
            "1",
            "time of an exchange over several racks, a copy to each expert, over its time inside one",
            "R2.4");
        template <class T> static constexpr T formula(in<exchange_racks, T> R, in<link_bandwidth_ratio, T> beta)
        { return max(beta * ((R - 1.0) / R), 1.0 / R); }
    };
    struct racks_per_token
    {
        static constexpr Spec spec =
            Spec("R_k", "1", "other racks that the router lets a token reach, at most", "Q3")
                .range(1)
                .otherwise<exchange_racks>();
    };
    struct hierarchical_leaving_copies
    {
        static constexpr Spec spec = Spec(
            "R_o",
            "1",
            "copies of a token that leave the rack in a layer, one to each other rack that has an expert of it",
            "Q3");
        template <class T> static constexpr T formula(
            in<exchange_racks, T> R,
            in<experts_per_token, T> k,
            in<racks_per_token, T> R_k)
        { return min((R - 1.0) * (1.0 - pow(1.0 - 1.0 / R, k)), R_k); }
    };
    struct hierarchical_outside_time
    {
        static constexpr Spec spec =
            Spec("\\beta R_o", "1", "time that those copies take outside, in times of one copy inside", "Q3");
        template <class T> static constexpr T formula(
            in<link_bandwidth_ratio, T> beta,
            in<hierarchical_leaving_copies, T> R_o)
        { return beta * R_o; }
    };
    struct hierarchical_exchange_slowdown
    {
        static constexpr Spec spec = Spec(
            "\\sigma_2",
            "1",
            "time of an exchange over several racks, a copy to each rack that is spread there, over its time inside "
            "one",
            "Q3");
        template <class T> static constexpr T formula(
            in<hierarchical_outside_time, T> outside,
            in<experts_per_token, T> k)
        { return max(outside / k, 1.0); }
    };
    struct exchange_slowdown
    {
        static constexpr Spec spec =
            Spec("\\sigma", "1", "time of an exchange over several racks over its time inside one", "R2.4");
        template <class T> static constexpr T formula(
            in<exchange_routing, T> which,
            in<direct_exchange_slowdown, T> s_1,
            in<hierarchical_exchange_slowdown, T> s_2)
        { return choose(which, s_1, s_2); }
    };
    struct exchange_time
    {
        static constexpr Spec spec = Spec("t_x", "s", "time of the exchanges of a pass", "R2.3");
        template <class T> static constexpr T formula(
            in<exchange_bytes_per_chip, T> V,
            in<exchange_slowdown, T> s,
            in<scale_up_bandwidth, T> u)
        { return V * (s / u); }
    };

    // --- the size of a rack ---

    struct domain_capacity
    {
        static constexpr Spec spec = Spec("G_u h", "byte", "memory of a scale-up domain", "R2.7");
        template <class T> static constexpr T formula(in<scale_up_domain, T> G_u, in<hbm_capacity, T> h)
        { return G_u * h; }
    };
    struct largest_total_parameters
    {
        static constexpr Spec spec =
            Spec("N_\\mathrm{max}", "parameter", "weights that the memory holds beside the caches in flight", "R2.7");
        template <class T> static constexpr T formula(
            in<cell_capacity, T> H,
            in<microbatches, T> n,
            in<kv_bytes, T> K,
            in<weight_bytes, T> w)
        { return max(H - n * K, 0.0) / w; }
    };

    struct earlier_scale_up_domain
    { static constexpr Spec spec = Spec("G_u'", "chip", "scale-up domain of the generation before", "R2.6").range(1); };
    struct earlier_hbm_bandwidth
    {
        static constexpr Spec spec =
            Spec("m'", "byte/s/chip", "memory bandwidth of a chip of the generation before", "R3.7").positive();
    };
    struct dies_per_chip
    { static constexpr Spec spec = Spec("\\delta", "1/chip", "dies in the package of a chip", "R2.6").range(1); };
    struct earlier_dies_per_chip
    {
        static constexpr Spec spec =
            Spec("\\delta'", "1/chip", "dies in the package of a chip of the generation before", "R2.6").range(1);
    };
    struct scale_up_domain_growth
    {
        static constexpr Spec spec =
            Spec("G_u/G_u'", "1", "chips (packages) of a scale-up domain over those of the generation before", "R2.6");
        template <class T> static constexpr T formula(
            in<scale_up_domain, T> G_u,
            in<earlier_scale_up_domain, T> earlier)
        { return G_u / earlier; }
    };
    struct scale_up_dies
    {
        static constexpr Spec spec = Spec("G_u \\delta", "1", "dies of a scale-up domain", "R2.6");
        template <class T> static constexpr T formula(in<scale_up_domain, T> G_u, in<dies_per_chip, T> d)
        { return G_u * d; }
    };
    struct scale_up_die_growth
    {
        static constexpr Spec spec =
            Spec("\\gamma_\\delta", "1", "dies of a scale-up domain over those of the generation before", "R2.6");
        template <class T> static constexpr T formula(
            in<scale_up_domain_growth, T> growth,
            in<dies_per_chip, T> d,
            in<earlier_dies_per_chip, T> earlier)
        { return growth * (d / earlier); }
    };
    struct hbm_bandwidth_growth
    {
        static constexpr Spec spec =
            Spec("m/m'", "1", "memory bandwidth of a chip over that of the generation before", "R3.7");
        template <class T> static constexpr T formula(in<hbm_bandwidth, T> m, in<earlier_hbm_bandwidth, T> earlier)
        { return m / earlier; }
    };
    struct domain_bandwidth_growth
    {
        static constexpr Spec spec = Spec(
            "\\gamma_M",
            "1",
            "memory bandwidth of a scale-up domain over that of the generation before: how far the latency floor falls",
            "R3.7");
        template <class T> static constexpr T formula(
            in<scale_up_domain_growth, T> wider,
            in<hbm_bandwidth_growth, T> each)
        { return wider * each; }
    };

    // --- what keeps it from being larger ---

    struct cables_per_chip
    {
        static constexpr Spec spec =
            Spec("\\kappa", "1/chip", "cables from a chip to the switches of its rack", "R2.6").positive();
    };
    struct cable_limit
    {
        static constexpr Spec spec =
            Spec(
                "\\kappa_\\mathrm{max}",
                "1",
                "cables that connectors and bend radius leave room for in a rack",
                "R2.6")
                .positive(infinite);
    };
    struct power_limited_domain
    {
        static constexpr Spec spec =
            Spec("G_p", "chip", "chips that the rack's supply feeds; inf: no limit", "R2.6")
                .positive(infinite)
                .by_default(infinite);
    };
    struct cooling_limited_domain
    {
        static constexpr Spec spec =
            Spec("G_q", "chip", "chips that the rack's cooling keeps up with; inf: no limit", "R2.6")
                .positive(infinite)
                .by_default(infinite);
    };
    struct weight_limited_domain
    {
        static constexpr Spec spec =
            Spec("G_g", "chip", "chips that the rack and the floor carry; inf: no limit", "R2.6")
                .positive(infinite)
                .by_default(infinite);
    };
    struct rack_cables
    {
        static constexpr Spec spec =
            Spec("\\kappa G_u", "1", "cables between the chips of a rack and its switches", "R2.6");
        template <class T> static constexpr T formula(in<cables_per_chip, T> kappa, in<scale_up_domain, T> G_u)
        { return kappa * G_u; }
    };
    struct cable_density
    {
        static constexpr Spec spec =
            Spec("\\kappa G_u/\\kappa_\\mathrm{max}", "1", "cables of a rack over those that it has room for", "R2.6");
        template <class T> static constexpr T formula(in<rack_cables, T> cables, in<cable_limit, T> most)
        { return cables / most; }
    };
    struct cable_limited_domain
    {
        static constexpr Spec spec = Spec("G_\\kappa", "chip", "chips whose cables have room in a rack", "R2.6");
        template <class T> static constexpr T formula(in<cable_limit, T> most, in<cables_per_chip, T> kappa)
        { return floor(most / kappa); }
    };
    struct largest_scale_up_domain
    {
        static constexpr Spec spec = Spec(
            "G_\\mathrm{max}",
            "chip",
            "chips of the largest rack that cables, power, cooling and weight allow",
            "R2.6");
        template <class T> static constexpr T formula(
            in<cable_limited_domain, T> cables,
            in<power_limited_domain, T> power,
            in<cooling_limited_domain, T> cooling,
            in<weight_limited_domain, T> weight)
        { return min(min(cables, power), min(cooling, weight)); }
    };
    struct scale_up_limit
    {
        static constexpr Spec spec =
            Spec("\\beta_G", "1", "what keeps a rack from being larger", "R2.6")
                .one_of("cables", "power", "cooling", "weight");
        template <class T> static constexpr T formula(
            in<largest_scale_up_domain, T> most,
            in<cable_limited_domain, T> cables,
            in<power_limited_domain, T> power,
            in<cooling_limited_domain, T> cooling)
        {
            return select(
                cables == most,
                T(0.0),
                select(power == most, T(1.0), select(cooling == most, T(2.0), T(3.0))));
        }
    };

    using racks = list<
        experts_per_chip,
        leftover_experts,
        most_experts_per_chip,
        placement_balance,
        chips_contacted,
        dispatch_bytes_per_element,
        combine_bytes_per_element,
        dispatch_bytes_per_layer,
        combine_bytes_per_layer,
        exchange_bytes_per_layer,
        exchange_bytes_per_token,
        exchange_bytes_per_chip,
        link_bandwidth_ratio,
        exchange_racks,
        exchange_routing,
        leaving_copies,
        direct_exchange_slowdown,
        racks_per_token,
        hierarchical_leaving_copies,
        hierarchical_outside_time,
        hierarchical_exchange_slowdown,
        exchange_slowdown,
        exchange_time,
        domain_capacity,
        largest_total_parameters,
        earlier_scale_up_domain,
        earlier_hbm_bandwidth,
        dies_per_chip,
        earlier_dies_per_chip,
        scale_up_domain_growth,
        scale_up_dies,
        scale_up_die_growth,
        hbm_bandwidth_growth,
        domain_bandwidth_growth,
        cables_per_chip,
        cable_limit,
        power_limited_domain,
        cooling_limited_domain,
        weight_limited_domain,
        rack_cables,
        cable_density,
        cable_limited_domain,
        largest_scale_up_domain,
        scale_up_limit>;
}
