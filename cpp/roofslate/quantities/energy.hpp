// Questions 9 and 10: the electricity of a token, and the share of memory in what the machines cost.
#pragma once
#include "roofslate/quantities/requests.hpp"

namespace roofslate::quantities
{
    // --- electricity ---

    struct replica_power
    {
        static constexpr Spec spec = Spec("P_G", "J/s", "electric power of all chips of the replica", "Q9");
        template <class T> static constexpr T formula(in<chips, T> G, in<chip_power, T> w) { return G * w; }
    };
    struct power_usage_effectiveness
    {
        static constexpr Spec spec =
            Spec("\\mathrm{PUE}", "1", "power of the site over that of its machines", "Q9").range(1).by_default(1);
    };
    struct electricity_price
    { static constexpr Spec spec = Spec("p_e", "USD/J", "price of electric energy", "Q9").range(0); };
    struct site_power
    {
        static constexpr Spec spec = Spec("P_s", "J/s", "power that the site draws for the replica", "Q9");
        template <class T> static constexpr T formula(in<replica_power, T> P, in<power_usage_effectiveness, T> pue)
        { return P * pue; }
    };
    struct energy_per_token
    {
        static constexpr Spec spec = Spec("\\epsilon_t", "J/token", "electric energy of a token", "Q9");
        template <class T> static constexpr T formula(in<site_power, T> P, in<replica_throughput, T> R)
        { return P / R; }
    };
    struct energy_per_request
    {
        static constexpr Spec spec =
            Spec("\\epsilon_r", "J/sequence", "electric energy of a request, prompts included", "Q9");
        template <class T> static constexpr T formula(
            in<site_power, T> P,
            in<prefill_load, T> r,
            in<request_throughput, T> rate)
        { return P * (1.0 + r) / rate; }
    };
    struct electricity_cost_per_token
    {
        static constexpr Spec spec = Spec("c_\\epsilon", "USD/token", "price of a token's electric energy", "Q9");
        template <class T> static constexpr T formula(in<energy_per_token, T> e, in<electricity_price, T> p)
        { return e * p; }
    };
    struct electricity_cost_rate
    {
        static constexpr Spec spec =
            Spec("p_e P_s", "USD/s", "price of the electric energy of a second of the replica", "Q9");
        template <class T> static constexpr T formula(in<site_power, T> P, in<electricity_price, T> p) { return P * p; }
    };
    struct replica_capital_cost
    { static constexpr Spec spec = Spec("K_G", "USD", "purchase price of the replica's machines", "Q9").range(0); };
    struct depreciation_time
    {
        static constexpr Spec spec =
            Spec("T_K", "s", "time in which the purchase price is written off", "Q9").positive();
    };
    struct capital_cost_rate
    {
        static constexpr Spec spec =
            Spec("K_G/T_K", "USD/s", "purchase price over the time in which it is written off", "Q9");
        template <class T> static constexpr T formula(in<replica_capital_cost, T> K, in<depreciation_time, T> T_K)
        { return K / T_K; }
    };
    struct electricity_share
    {
        static constexpr Spec spec =
            Spec("p_e P_s/p_G", "1", "price of the electric energy over the price of the replica", "Q9");
        template <class T> static constexpr T formula(in<electricity_cost_rate, T> e, in<replica_price, T> p)
        { return e / p; }
    };

    // --- the share of HBM ---

    struct hbm_price
    { static constexpr Spec spec = Spec("p_h", "USD/byte", "price of high-bandwidth memory", "Q10").range(0); };
    struct hbm_cost
    {
        static constexpr Spec spec =
            Spec("k_h", "USD/chip", "what the chip's maker pays for its memory", "Q10").range(0);
        template <class T> static constexpr T formula(in<hbm_capacity, T> h, in<hbm_price, T> p) { return h * p; }
    };
    struct hbm_markup
    {
        static constexpr Spec spec =
            Spec("\\mu_h", "1", "what the buyer of the chip pays for its memory over what the chip's maker paid", "Q10")
                .positive()
                .by_default(1);
    };
    struct bill_of_materials
    {
        static constexpr Spec spec =
            Spec("k_b", "USD/chip", "what the parts of a chip cost its maker", "Q10").positive();
    };
    struct chip_capital
    {
        static constexpr Spec spec =
            Spec("k_c", "USD/chip", "what the buyer pays for a chip, with all that is counted to it", "Q10").positive();
    };
    struct hbm_share_of_materials
    {
        static constexpr Spec spec = Spec("k_h/k_b", "1", "share of the memory in the parts of a chip", "Q10");
        template <class T> static constexpr T formula(in<hbm_cost, T> k_h, in<bill_of_materials, T> k_b)
        { return k_h / k_b; }
    };
    struct hbm_share
    {
        static constexpr Spec spec = Spec("\\phi_h", "1", "share of the memory in what the buyer pays", "Q10").range(0);
        template <class T> static constexpr T formula(in<hbm_cost, T> k_h, in<hbm_markup, T> m, in<chip_capital, T> k_c)
        { return k_h * m / k_c; }
    };
    struct capital_spending
    { static constexpr Spec spec = Spec("K", "USD", "what is spent on machines", "Q10").range(0); };
    struct hbm_spending
    {
        static constexpr Spec spec = Spec("\\phi_h K", "USD", "what is spent on memory", "Q10");
        template <class T> static constexpr T formula(in<hbm_share, T> share, in<capital_spending, T> K)
        { return share * K; }
    };
    struct earlier_shipments
    { static constexpr Spec spec = Spec("n_1", "1", "devices shipped in an earlier year", "Q10").positive(); };
    struct later_shipments
    { static constexpr Spec spec = Spec("n_2", "1", "devices shipped in a later year", "Q10").range(0); };
    struct shipment_change
    {
        static constexpr Spec spec = Spec("n_2/n_1 - 1", "1", "change from the earlier year to the later", "Q10");
        template <class T> static constexpr T formula(in<later_shipments, T> n_2, in<earlier_shipments, T> n_1)
        { return n_2 / n_1 - 1.0; }
    };

    using energy = list<
        replica_power,
        power_usage_effectiveness,
        electricity_price,
        site_power,
        energy_per_token,
        energy_per_request,
        electricity_cost_per_token,
        electricity_cost_rate,
        replica_capital_cost,
        depreciation_time,
        capital_cost_rate,
        electricity_share,
        hbm_price,
        hbm_cost,
        hbm_markup,
        bill_of_materials,
        chip_capital,
        hbm_share_of_materials,
        hbm_share,
        capital_spending,
        hbm_spending,
        earlier_shipments,
        later_shipments,
        shipment_change>;
}
