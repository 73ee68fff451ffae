// Chapter 2: experts on the chips of a rack, the exchange between them, and how large a rack can be.
#pragma once
#include "roofslate/quantities/serving.hpp"

namespace roofslate::quantities
{
    // --- the size of a rack ---

    struct domain_capacity
    {
        static constexpr Spec spec = Spec("G_u h", "byte", "HBM capacity of a scale-up domain", "R2.7");
        template <class T> static constexpr T formula(in<scale_up_domain, T> G_u, in<hbm_capacity, T> h)
        { return G_u * h; }
    };
    struct largest_total_parameters
    {
        static constexpr Spec spec =
            Spec("N_\\mathrm{max}", "parameter", "maximum total parameters in HBM after KV caches in flight", "R2.7");
        template <class T> static constexpr T formula(
            in<replica_hbm_capacity, T> H,
            in<microbatches, T> n,
            in<kv_bytes, T> K,
            in<bytes_per_weight, T> w)
        { return max(H - n * K, 0.0) / w; }
    };

    struct earlier_scale_up_domain
    {
        static constexpr Spec spec = Spec("G_u'", "chip", "scale-up domain size, previous generation", "R2.6").range(1);
    };
    struct earlier_hbm_bandwidth
    {
        static constexpr Spec spec =
            Spec("m'", "byte/s/chip", "HBM bandwidth per chip, previous generation", "R3.7").positive();
    };
    struct dies_per_chip
    { static constexpr Spec spec = Spec("\\delta", "1/chip", "dies per chip package", "R2.6").range(1); };
    struct earlier_dies_per_chip
    {
        static constexpr Spec spec =
            Spec("\\delta'", "1/chip", "dies per chip package, previous generation", "R2.6").range(1);
    };
    struct scale_up_domain_growth
    {
        static constexpr Spec spec =
            Spec("G_u/G_u'", "1", "scale-up domain size relative to the previous generation", "R2.6");
        template <class T> static constexpr T formula(
            in<scale_up_domain, T> G_u,
            in<earlier_scale_up_domain, T> earlier)
        { return G_u / earlier; }
    };
    struct scale_up_dies
    {
        static constexpr Spec spec = Spec("G_u \\delta", "1", "dies per scale-up domain", "R2.6");
        template <class T> static constexpr T formula(in<scale_up_domain, T> G_u, in<dies_per_chip, T> d)
        { return G_u * d; }
    };
    struct scale_up_die_growth
    {
        static constexpr Spec spec =
            Spec("\\gamma_\\delta", "1", "dies per scale-up domain relative to the previous generation", "R2.6");
        template <class T> static constexpr T formula(
            in<scale_up_domain_growth, T> growth,
            in<dies_per_chip, T> d,
            in<earlier_dies_per_chip, T> earlier)
        { return growth * (d / earlier); }
    };
    struct hbm_bandwidth_growth
    {
        static constexpr Spec spec =
            Spec("m/m'", "1", "HBM bandwidth per chip relative to the previous generation", "R3.7");
        template <class T> static constexpr T formula(in<hbm_bandwidth, T> m, in<earlier_hbm_bandwidth, T> earlier)
        { return m / earlier; }
    };
    struct domain_bandwidth_growth
    {
        static constexpr Spec spec =
            Spec("\\gamma_M", "1", "HBM bandwidth per scale-up domain relative to the previous generation", "R3.7");
        template <class T> static constexpr T formula(
            in<scale_up_domain_growth, T> wider,
            in<hbm_bandwidth_growth, T> each)
        { return wider * each; }
    };

    // --- limits of its size ---

    struct cables_per_chip
    {
        static constexpr Spec spec =
            Spec("\\kappa", "1/chip", "cables from a chip to the switches in its rack", "R2.6").positive();
    };
    // Cables run along the rack behind its trays, from both ends to the switches between them.
    struct cable_channel_width
    {
        static constexpr Spec spec =
            Spec("b_\\kappa", "m", "width of the cable channel behind the trays, inf for no limit", "R2.6")
                .positive(infinite)
                .by_default(infinite);
    };
    struct cable_channel_depth
    {
        static constexpr Spec spec =
            Spec("d_\\kappa", "m", "depth of the cable channel behind the trays", "R2.6").positive();
    };
    struct cable_diameter
    { static constexpr Spec spec = Spec("\\delta_\\kappa", "m", "outer cable diameter", "R2.6").positive(); };
    struct bend_radius_ratio
    {
        static constexpr Spec spec =
            Spec("r_\\kappa/\\delta_\\kappa", "1", "ratio of cable bend radius to diameter", "R2.6").range(0);
    };
    struct cable_packing
    {
        // Round cables in hexagonal order fill 0.907 of a cross-section, in square order 0.785.
        static constexpr Spec spec =
            Spec("\\phi_\\kappa", "1", "cable packing, filled fraction of the channel cross-section", "geometry")
                .positive(1)
                .by_default(0.785);
    };
    struct cable_directions
    {
        static constexpr Spec spec =
            Spec("n_\\kappa", "1", "sides from which cables reach the rack switches", "R2.6").range(1).by_default(2);
    };
    struct cable_limit
    {
        static constexpr Spec spec =
            Spec("\\kappa_\\mathrm{max}", "1", "maximum cables per rack, by channel space and bend radius", "R2.6")
                .positive(infinite);
        // A cable bends from its tray into the channel: the bend takes its radius of the depth.
        template <class T> static constexpr T formula(
            in<cable_channel_width, T> b,
            in<cable_channel_depth, T> depth,
            in<cable_diameter, T> delta,
            in<bend_radius_ratio, T> r,
            in<cable_packing, T> phi,
            in<cable_directions, T> n)
        {
            const T clear = max(depth - r * delta, 0.0), cable = 0.78539816339744831 * delta * delta;
            return select(b == T(infinite), T(infinite), floor(n * (phi * (b * clear) / cable)));
        }
    };
    struct rack_power
    {
        static constexpr Spec spec =
            Spec("w_R", "J/s", "electric power supply of a rack, inf for no limit", "R2.6")
                .positive(infinite)
                .by_default(infinite);
    };
    struct rack_fixed_power
    {
        static constexpr Spec spec =
            Spec("w_0", "J/s", "fixed power of a rack (switches, fans, pumps)", "R2.6").range(0).by_default(0);
    };
    struct rack_power_per_chip
    {
        static constexpr Spec spec =
            Spec("w_r", "J/s/chip", "rack power per chip, CPUs and network included", "R2.6")
                .positive()
                .otherwise<chip_power>();
    };
    struct rack_power_draw
    {
        static constexpr Spec spec = Spec("w_0 + w_r G_u", "J/s", "rack power draw at full load", "R2.6");
        template <class T> static constexpr T formula(
            in<rack_fixed_power, T> w_0,
            in<rack_power_per_chip, T> w,
            in<scale_up_domain, T> G_u)
        { return w_0 + w * G_u; }
    };
    struct rack_power_utilization
    {
        static constexpr Spec spec = Spec("\\rho_w", "1", "rack power draw relative to its supply", "R2.6");
        template <class T> static constexpr T formula(in<rack_power_draw, T> drawn, in<rack_power, T> w)
        { return select(w == T(infinite), T(0.0), drawn / w); }
    };
    struct power_limited_domain
    {
        static constexpr Spec spec =
            Spec("G_p", "chip", "largest scale-up domain by rack power supply", "R2.6").positive(infinite);
        template <class T> static constexpr T formula(
            in<rack_power, T> w,
            in<rack_fixed_power, T> w_0,
            in<rack_power_per_chip, T> each)
        { return select(w == T(infinite), T(infinite), max(floor((w - w_0) / each), 0.0)); }
    };
    // Cold plates take a share of the heat to the liquid, the rest goes to the air.
    struct liquid_cooled_share
    {
        static constexpr Spec spec =
            Spec("\\lambda_q", "1", "fraction of rack heat removed by liquid", "R2.6").range(0, 1).by_default(0);
    };
    struct liquid_cooling
    {
        static constexpr Spec spec =
            Spec("q_l", "J/s", "liquid cooling capacity of a rack, inf for no limit", "R2.6")
                .range(0, infinite)
                .by_default(infinite);
    };
    struct air_cooling
    {
        static constexpr Spec spec =
            Spec("q_a", "J/s", "air cooling capacity of a rack, inf for no limit", "R2.6")
                .range(0, infinite)
                .by_default(infinite);
    };
    struct rack_cooling
    {
        static constexpr Spec spec =
            Spec("q_R", "J/s", "rack cooling capacity at the given liquid fraction", "R2.6").range(0, infinite);
        template <class T> static constexpr T formula(
            in<liquid_cooled_share, T> share,
            in<liquid_cooling, T> liquid,
            in<air_cooling, T> air)
        {
            return min(
                select(share > T(0.0), liquid / share, T(infinite)),
                select(share < T(1.0), air / (1.0 - share), T(infinite)));
        }
    };
    struct rack_cooling_utilization
    {
        static constexpr Spec spec = Spec("\\rho_q", "1", "rack heat relative to its cooling capacity", "R2.6");
        template <class T> static constexpr T formula(in<rack_power_draw, T> drawn, in<rack_cooling, T> q)
        { return select(q == T(infinite), T(0.0), drawn / q); }
    };
    struct cooling_limited_domain
    {
        static constexpr Spec spec =
            Spec("G_q", "chip", "largest scale-up domain by rack cooling", "R2.6").positive(infinite);
        // All power becomes heat.
        template <class T> static constexpr T formula(
            in<rack_cooling, T> q,
            in<rack_fixed_power, T> w_0,
            in<rack_power_per_chip, T> each)
        {
            return select(
                q == T(infinite),
                T(infinite),
                power_limited_domain::formula<T>(as<rack_power>(q), w_0, each));
        }
    };
    struct rack_weight_limit
    {
        static constexpr Spec spec =
            Spec("M_R", "kg", "weight limit of rack and floor, inf for no limit", "R2.6")
                .positive(infinite)
                .by_default(infinite);
    };
    struct rack_fixed_weight
    {
        static constexpr Spec spec =
            Spec("M_0", "kg", "rack weight without compute trays", "R2.6").range(0).by_default(0);
    };
    struct tray_weight
    { static constexpr Spec spec = Spec("M_t", "kg", "compute tray weight", "R2.6").positive(); };
    struct chips_per_tray
    { static constexpr Spec spec = Spec("G_t'", "chip", "chips per compute tray", "R2.6").range(1); };
    struct rack_weight
    {
        static constexpr Spec spec = Spec("M", "kg", "rack weight, compute trays included", "R2.6");
        template <class T> static constexpr T formula(
            in<rack_fixed_weight, T> M_0,
            in<tray_weight, T> M_t,
            in<chips_per_tray, T> each,
            in<scale_up_domain, T> G_u)
        { return M_0 + M_t * ceil(G_u / each); }
    };
    struct rack_weight_utilization
    {
        static constexpr Spec spec = Spec("\\rho_M", "1", "rack weight relative to its limit", "R2.6");
        template <class T> static constexpr T formula(in<rack_weight_limit, T> M_R, in<rack_weight, T> M)
        { return select(M_R == T(infinite), T(0.0), M / M_R); }
    };
    struct weight_limited_domain
    {
        static constexpr Spec spec =
            Spec("G_g", "chip", "largest scale-up domain by rack weight, whole trays", "R2.6").positive(infinite);
        template <class T> static constexpr T formula(
            in<rack_weight_limit, T> M_R,
            in<rack_fixed_weight, T> M_0,
            in<tray_weight, T> M_t,
            in<chips_per_tray, T> each)
        { return select(M_R == T(infinite), T(infinite), max(floor((M_R - M_0) / M_t), 0.0) * each); }
    };
    struct rack_cables
    {
        static constexpr Spec spec = Spec("\\kappa G_u", "1", "cables between chips and switches in a rack", "R2.6");
        template <class T> static constexpr T formula(in<cables_per_chip, T> kappa, in<scale_up_domain, T> G_u)
        { return kappa * G_u; }
    };
    struct cable_density
    {
        static constexpr Spec spec =
            Spec("\\kappa G_u/\\kappa_\\mathrm{max}", "1", "rack cables relative to the maximum", "R2.6");
        template <class T> static constexpr T formula(in<rack_cables, T> cables, in<cable_limit, T> most)
        { return cables / most; }
    };
    struct cable_limited_domain
    {
        static constexpr Spec spec = Spec("G_\\kappa", "chip", "largest scale-up domain by cable space", "R2.6");
        template <class T> static constexpr T formula(in<cable_limit, T> most, in<cables_per_chip, T> kappa)
        { return floor(most / kappa); }
    };
    struct largest_scale_up_domain
    {
        static constexpr Spec spec =
            Spec("G_\\mathrm{max}", "chip", "largest scale-up domain by cables, power, cooling, and weight", "R2.6");
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
            Spec("\\beta_G", "1", "limit of scale-up domain size (cables, power, cooling, weight)", "R2.6")
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
        cable_channel_width,
        cable_channel_depth,
        cable_diameter,
        bend_radius_ratio,
        cable_packing,
        cable_directions,
        cable_limit,
        rack_power,
        rack_fixed_power,
        rack_power_per_chip,
        rack_power_draw,
        rack_power_utilization,
        power_limited_domain,
        liquid_cooled_share,
        liquid_cooling,
        air_cooling,
        rack_cooling,
        rack_cooling_utilization,
        cooling_limited_domain,
        rack_weight_limit,
        rack_fixed_weight,
        tray_weight,
        chips_per_tray,
        rack_weight,
        rack_weight_utilization,
        weight_limited_domain,
        rack_cables,
        cable_density,
        cable_limited_domain,
        largest_scale_up_domain,
        scale_up_limit>;
}
