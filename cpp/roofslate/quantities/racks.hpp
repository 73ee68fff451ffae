// Chapter 2: experts on the chips of a rack, the exchange between them, and how large a rack can be.
#pragma once
#include "roofslate/quantities/serving.hpp"

namespace roofslate::quantities
{
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
            in<replica_hbm_capacity, T> H,
            in<microbatches, T> n,
            in<kv_bytes, T> K,
            in<bytes_per_weight, T> w)
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
