// Questions 9 and 10: the electricity and the carbon of a token, the capital in machines, the share of memory in it.
#pragma once
#include "roofslate/quantities/requests.hpp"

namespace roofslate::quantities
{
    // --- electricity ---

    struct host_power
    {
        static constexpr Spec spec =
            Spec("w_h", "J/s/chip", "host power per chip (CPUs, network cards, switches, fans)", "Q9")
                .range(0)
                .by_default(0);
    };
    struct system_power
    {
        static constexpr Spec spec = Spec("w", "J/s/chip", "system power per chip, chip plus host", "Q9").range(0);
        template <class T> static constexpr T formula(in<chip_power, T> w_c, in<host_power, T> w_h)
        { return w_c + w_h; }
    };
    struct replica_power
    {
        static constexpr Spec spec = Spec("P_G", "J/s", "rated power of a replica", "Q9");
        template <class T> static constexpr T formula(in<chips, T> G, in<system_power, T> w) { return G * w; }
    };
    struct power_draw_share
    {
        static constexpr Spec spec =
            Spec("d", "1", "power draw in use relative to rated power", "Q9").positive(1).by_default(1);
    };
    struct chip_utilization
    {
        static constexpr Spec spec =
            Spec("u", "1", "chip utilization, fraction of owned time in use or sold", "Q9").positive(1).by_default(1);
    };
    struct idle_power_share
    {
        static constexpr Spec spec =
            Spec("d_0", "1", "idle power relative to power in use", "Q9").range(0, 1).by_default(0);
    };
    struct idle_energy_factor
    {
        static constexpr Spec spec = Spec("e_0", "1", "energy with idle time relative to energy in use", "Q9");
        template <class T> static constexpr T formula(in<idle_power_share, T> idle, in<chip_utilization, T> u)
        { return 1.0 + idle * (1.0 / u - 1.0); }
    };
    struct power_usage_effectiveness
    {
        static constexpr Spec spec =
            Spec("\\mathrm{PUE}", "1", "power usage effectiveness (PUE), site relative to machine power", "Q9")
                .range(1)
                .by_default(1);
    };
    struct electricity_price
    { static constexpr Spec spec = Spec("p_e", "USD/J", "electricity price", "Q9").range(0); };
    struct site_power
    {
        static constexpr Spec spec = Spec("P_s", "J/s", "site power per replica, idle energy included", "Q9");
        template <class T> static constexpr T formula(
            in<replica_power, T> P,
            in<power_usage_effectiveness, T> pue,
            in<power_draw_share, T> draw,
            in<idle_energy_factor, T> idle)
        { return P * (pue * (draw * idle)); }
    };
    struct energy_per_token
    {
        static constexpr Spec spec = Spec("\\epsilon_t", "J/token", "electric energy per generated token", "Q9");
        template <class T> static constexpr T formula(in<site_power, T> P, in<replica_throughput, T> R)
        { return P / R; }
    };
    struct energy_per_request
    {
        static constexpr Spec spec =
            Spec("\\epsilon_r", "J/sequence", "electric energy per request, prompts included", "Q9");
        template <class T> static constexpr T formula(
            in<site_power, T> P,
            in<prefill_load, T> r,
            in<request_throughput, T> rate)
        { return P * (1.0 + r) / rate; }
    };
    struct electricity_cost_per_token
    {
        static constexpr Spec spec = Spec("c_\\epsilon", "USD/token", "electricity cost per generated token", "Q9");
        template <class T> static constexpr T formula(in<energy_per_token, T> e, in<electricity_price, T> p)
        { return e * p; }
    };
    struct electricity_cost_rate
    {
        static constexpr Spec spec = Spec("p_e P_s", "USD/s", "electricity cost of a replica per time", "Q9");
        template <class T> static constexpr T formula(in<site_power, T> P, in<electricity_price, T> p) { return P * p; }
    };
    struct throughput_per_power
    {
        static constexpr Spec spec =
            Spec("R/P_s", "token/J", "replica throughput relative to site power", "InferenceX");
        template <class T> static constexpr T formula(in<energy_per_token, T> e) { return 1.0 / e; }
    };

    struct electricity_share
    {
        static constexpr Spec spec = Spec("p_e P_s/p_G", "1", "ratio of electricity cost to replica price", "Q9");
        template <class T> static constexpr T formula(in<electricity_cost_rate, T> e, in<replica_price, T> p)
        { return e / p; }
    };

    // --- carbon ---

    struct carbon_intensity
    {
        static constexpr Spec spec =
            Spec("g_e", "gCO2/J", "carbon intensity of electricity (CO2 equivalents)", "definition").range(0);
    };
    struct carbon_per_token
    {
        static constexpr Spec spec =
            Spec("m_t", "gCO2/token", "carbon emissions per generated token, electricity only", "definition");
        template <class T> static constexpr T formula(in<energy_per_token, T> e, in<carbon_intensity, T> g)
        { return e * g; }
    };
    struct carbon_per_request
    {
        static constexpr Spec spec =
            Spec("m_r", "gCO2/sequence", "carbon emissions per request, electricity only", "definition");
        template <class T> static constexpr T formula(in<energy_per_request, T> e, in<carbon_intensity, T> g)
        { return e * g; }
    };

    // --- capital ---

    struct depreciation_time
    { static constexpr Spec spec = Spec("T_K", "s", "depreciation time of the purchase price", "Q9").positive(); };
    struct interest_rate
    {
        static constexpr Spec spec =
            Spec("i", "1/s", "interest rate, effective per compounding period", "definition")
                .range(0, 1e-6)
                .by_default(0);
    };
    struct compounding_period
    {
        static constexpr Spec spec =
            Spec("365\\,\\mathrm{d}", "s", "compounding period of the interest rate", "definition")
                .positive()
                .by_default(31536000);
    };
    struct continuous_interest_ratio
    {
        static constexpr Spec spec = Spec("c_i", "1", "ratio of continuous to effective interest rate", "definition");
        template <class T> static constexpr T formula(in<interest_rate, T> i, in<compounding_period, T> Y)
        {
            const T rate = i * Y, near = rate * rate, far = select(near < 1e-6, T(1.0), rate);
            const T series = 1.0 - rate / 2.0 + near / 3.0 - near * rate / 4.0; // of ln(1 + rate) / rate
            return select(near < 1e-6, series, log(1.0 + far) / far);
        }
    };
    struct annuity_factor
    {
        // i/(1 - (1 + i)^-n), the capital recovery factor, times n periods; 1 without interest
        static constexpr Spec spec = Spec("a", "1", "ratio of annuity to straight-line depreciation", "definition");
        template <class T> static constexpr T formula(
            in<depreciation_time, T> T_K,
            in<interest_rate, T> i,
            in<continuous_interest_ratio, T> c)
        {
            const T x = T_K * i * c, near = x * x, far = select(near < 1e-6, T(1.0), x);
            return select(near < 1e-6, 1.0 + x / 2.0 + near / 12.0, far / (1.0 - exp(0.0 - far))) / c;
        }
    };
    // A price that is paid back with interest in equal parts.
    template <class T> constexpr T annuity(const T& price, in<depreciation_time, T> T_K, in<annuity_factor, T> a)
    { return price / T_K * a; }
    // --- the share of HBM ---

    struct hbm_price
    {
        static constexpr Spec spec =
            Spec("p_h", "USD/byte", "HBM price per capacity, paid by the chip maker", "Q10").range(0);
    };
    struct hbm_cost
    {
        static constexpr Spec spec =
            Spec("k_h", "USD/chip", "HBM cost per chip, paid by the chip maker", "Q10").range(0);
        template <class T> static constexpr T formula(in<hbm_capacity, T> h, in<hbm_price, T> p) { return h * p; }
    };
    struct hbm_markup
    {
        static constexpr Spec spec =
            Spec("\\mu_h", "1", "HBM markup, buyer price relative to chip-maker cost", "Q10").positive().by_default(1);
    };
    struct bill_of_materials
    { static constexpr Spec spec = Spec("k_b", "USD/chip", "bill of materials (BOM) per chip", "Q10").positive(); };
    struct server_capital
    {
        static constexpr Spec spec =
            Spec("k_v", "USD/chip", "server capital cost per chip, HBM excluded", "Q10").range(0);
    };
    struct network_capital
    {
        static constexpr Spec spec =
            Spec("k_n", "USD/chip", "network capital cost per chip", "Q10").range(0).by_default(0);
    };
    struct chip_capital_from_parts
    {
        static constexpr Spec spec =
            Spec("k_p", "USD/chip", "capital cost per chip from parts (server, network, HBM)", "Q10");
        template <class T> static constexpr T formula(
            in<server_capital, T> k_v,
            in<network_capital, T> k_n,
            in<hbm_cost, T> k_h,
            in<hbm_markup, T> m)
        { return k_v + k_n + k_h * m; }
    };
    struct chip_capital
    {
        static constexpr Spec spec =
            Spec("k_c", "USD/chip", "capital cost per chip, server and network included", "Q10")
                .positive()
                .otherwise<chip_capital_from_parts>();
    };
    struct replica_capital_cost
    {
        static constexpr Spec spec = Spec("K_G", "USD", "capital cost of a replica", "Q9").range(0);
        template <class T> static constexpr T formula(in<chips, T> G, in<chip_capital, T> k) { return G * k; }
    };
    struct capital_cost_rate
    {
        static constexpr Spec spec = Spec("a K_G/T_K", "USD/s", "capital cost of a replica per time (annuity)", "Q9");
        template <class T> static constexpr T formula(
            in<replica_capital_cost, T> K,
            in<depreciation_time, T> T_K,
            in<annuity_factor, T> a)
        { return annuity<T>(K, T_K, a); }
    };
    struct hbm_share_of_materials
    {
        static constexpr Spec spec = Spec("k_h/k_b", "1", "HBM fraction of chip parts cost (BOM)", "Q10");
        template <class T> static constexpr T formula(in<hbm_cost, T> k_h, in<bill_of_materials, T> k_b)
        { return k_h / k_b; }
    };
    struct hbm_share
    {
        static constexpr Spec spec = Spec("\\phi_h", "1", "HBM fraction of the capital cost per chip", "Q10").range(0);
        template <class T> static constexpr T formula(in<hbm_cost, T> k_h, in<hbm_markup, T> m, in<chip_capital, T> k_c)
        { return k_h * m / k_c; }
    };
    struct capital_spending
    { static constexpr Spec spec = Spec("K", "USD", "capital spending on machines", "Q10").range(0); };
    struct hbm_spending
    {
        static constexpr Spec spec = Spec("\\phi_h K", "USD", "capital spending on HBM", "Q10");
        template <class T> static constexpr T formula(in<hbm_share, T> share, in<capital_spending, T> K)
        { return share * K; }
    };
    struct earlier_shipments
    { static constexpr Spec spec = Spec("n_1", "1", "devices shipped in the earlier year", "Q10").positive(); };
    struct later_shipments
    { static constexpr Spec spec = Spec("n_2", "1", "devices shipped in the later year", "Q10").range(0); };
    struct shipment_change
    {
        static constexpr Spec spec =
            Spec("n_2/n_1 - 1", "1", "relative change in shipments from the earlier to the later year", "Q10");
        template <class T> static constexpr T formula(in<later_shipments, T> n_2, in<earlier_shipments, T> n_1)
        { return n_2 / n_1 - 1.0; }
    };

    using energy = list<
        host_power,
        system_power,
        replica_power,
        power_draw_share,
        chip_utilization,
        idle_power_share,
        idle_energy_factor,
        power_usage_effectiveness,
        electricity_price,
        site_power,
        energy_per_token,
        energy_per_request,
        electricity_cost_per_token,
        electricity_cost_rate,
        throughput_per_power,
        electricity_share,
        carbon_intensity,
        carbon_per_token,
        carbon_per_request,
        depreciation_time,
        interest_rate,
        compounding_period,
        continuous_interest_ratio,
        annuity_factor,
        hbm_price,
        hbm_cost,
        hbm_markup,
        bill_of_materials,
        server_capital,
        network_capital,
        chip_capital_from_parts,
        chip_capital,
        replica_capital_cost,
        capital_cost_rate,
        hbm_share_of_materials,
        hbm_share,
        capital_spending,
        hbm_spending,
        earlier_shipments,
        later_shipments,
        shipment_change>;
}
