// Rent, own or call: the price of an hour of an owned chip, and the demand at which hosting costs less than an API.
#pragma once
#include "roofslate/quantities/goodput.hpp"
#include "roofslate/quantities/pricing.hpp"

namespace roofslate::quantities
{
    // --- own: capital, space, staff and electricity ---

    struct operating_cost_share
    {
        static constexpr Spec spec =
            Spec("o", "1/s", "operating cost (staff, maintenance) per purchase price and time", "definition")
                .range(0, 1e-6)
                .by_default(0);
    };
    struct colocation_price
    {
        static constexpr Spec spec =
            Spec("p_w", "USD/J", "colocation price (space, cooling) per rated power and time", "definition")
                .range(0)
                .by_default(0);
    };
    struct chip_capital_cost_rate
    {
        static constexpr Spec spec =
            Spec("a k_c/T_K", "USD/s/chip", "capital cost of an owned chip per time (annuity)", "definition");
        template <class T> static constexpr T formula(
            in<chip_capital, T> k,
            in<depreciation_time, T> T_K,
            in<annuity_factor, T> a)
        { return annuity<T>(k, T_K, a); }
    };
    struct chip_space_cost_rate
    {
        static constexpr Spec spec =
            Spec("p_w w", "USD/s/chip", "colocation cost of an owned chip per time", "definition");
        template <class T> static constexpr T formula(in<system_power, T> w, in<colocation_price, T> p)
        { return w * p; }
    };
    struct chip_fixed_cost_rate
    {
        static constexpr Spec spec =
            Spec("p_F", "USD/s/chip", "fixed cost of an owned chip per time, electricity excluded", "definition");
        template <class T> static constexpr T formula(
            in<chip_capital_cost_rate, T> capital,
            in<chip_capital, T> k,
            in<operating_cost_share, T> o,
            in<chip_space_cost_rate, T> space)
        { return capital + k * o + space; }
    };
    struct chip_electricity_cost_rate
    {
        static constexpr Spec spec =
            Spec("p_E", "USD/s/chip", "electricity cost of a chip per time in use, PUE included", "definition");
        template <class T> static constexpr T formula(
            in<system_power, T> w,
            in<power_usage_effectiveness, T> pue,
            in<power_draw_share, T> draw,
            in<electricity_price, T> p_e)
        { return w * (pue * draw) * p_e; }
    };
    struct owned_chip_price
    {
        static constexpr Spec spec =
            Spec("p_K", "USD/s/chip", "total cost of ownership (TCO) per chip and time in use", "definition");
        template <class T> static constexpr T formula(
            in<chip_fixed_cost_rate, T> fixed,
            in<chip_utilization, T> u,
            in<chip_electricity_cost_rate, T> electricity,
            in<idle_energy_factor, T> idle)
        { return fixed / u + electricity * idle; }
    };
    struct facility_cost_share
    {
        static constexpr Spec spec =
            Spec("f_w", "1", "fraction of owned-chip cost for colocation and electricity", "definition");
        template <class T> static constexpr T formula(
            in<chip_space_cost_rate, T> space,
            in<chip_utilization, T> u,
            in<chip_electricity_cost_rate, T> electricity,
            in<idle_energy_factor, T> idle,
            in<owned_chip_price, T> p)
        { return (space / u + electricity * idle) / p; }
    };

    // --- or rent ---

    struct chip_rent
    {
        static constexpr Spec spec =
            Spec("p_R", "USD/s/chip", "rental price per chip and time in use", "definition").positive();
    };
    struct rent_break_even_utilization
    {
        static constexpr Spec spec =
            Spec("u_R", "1", "break-even utilization of owning against renting, inf if never", "definition");
        template <class T> static constexpr T formula(
            in<chip_fixed_cost_rate, T> fixed,
            in<chip_electricity_cost_rate, T> electricity,
            in<idle_power_share, T> idle,
            in<chip_rent, T> rent)
        {
            const T saved = rent - electricity * (1.0 - idle);
            return select(saved > 0.0, (fixed + electricity * idle) / saved, T(infinite));
        }
    };

    // --- or call an API ---

    struct full_use_cost_per_request
    {
        static constexpr Spec spec =
            Spec("c_{R1}", "USD/sequence", "cost per request at a constant load (load factor 1)", "R1.5");
        template <class T> static constexpr T formula(in<cost_per_request, T> c, in<load_factor, T> share)
        { return c * share; }
    };
    struct replica_time_per_request
    {
        static constexpr Spec spec = Spec("t_R", "s/sequence", "replica time per request at a constant load", "R1.5");
        template <class T> static constexpr T formula(in<full_use_cost_per_request, T> c, in<replica_price, T> p)
        { return c / p; }
    };
    struct api_break_even_utilization
    {
        static constexpr Spec spec =
            Spec("u_A", "1", "break-even utilization of hosting against an API, above 1 if never", "definition");
        template <class T> static constexpr T formula(in<full_use_cost_per_request, T> c, in<request_price, T> p)
        { return c / p; }
    };
    struct monthly_demand
    {
        static constexpr Spec spec =
            Spec("D_u", "token", "monthly demand, input plus output tokens", "definition").positive();
    };
    struct monthly_requests
    {
        static constexpr Spec spec = Spec("n_u", "sequence", "requests per month", "definition");
        template <class T> static constexpr T formula(
            in<monthly_demand, T> D,
            in<input_tokens, T> I,
            in<output_tokens, T> O)
        { return D / (I + O); }
    };
    struct replica_monthly_tokens
    {
        static constexpr Spec spec =
            Spec("D_G", "token", "monthly capacity of a replica, input plus output tokens", "definition");
        template <class T> static constexpr T formula(
            in<input_tokens, T> I,
            in<output_tokens, T> O,
            in<month, T> m,
            in<replica_time_per_request, T> t)
        { return (I + O) * (m / t); }
    };
    struct hosted_replicas
    {
        static constexpr Spec spec =
            Spec("n_G", "1", "replicas for the monthly demand, sized for the daily peak", "definition");
        template <class T> static constexpr T formula(
            in<monthly_demand, T> D,
            in<fixed_fleet_cost_factor, T> peak,
            in<replica_monthly_tokens, T> capacity)
        { return ceil(D * (peak / capacity)); }
    };
    struct hosted_monthly_cost
    {
        static constexpr Spec spec =
            Spec("C_G", "USD", "monthly cost of hosting on owned or rented chips", "definition");
        template <class T> static constexpr T formula(in<hosted_replicas, T> n, in<replica_price, T> p, in<month, T> m)
        { return n * (p * m); }
    };
    struct hosted_cost_per_token
    {
        static constexpr Spec spec =
            Spec("c_G", "USD/token", "hosting cost per token at the monthly demand", "definition");
        template <class T> static constexpr T formula(in<hosted_monthly_cost, T> C, in<monthly_demand, T> D)
        { return C / D; }
    };
    struct api_monthly_cost
    {
        static constexpr Spec spec = Spec("C_A", "USD", "monthly list price of the demand at an API", "definition");
        template <class T> static constexpr T formula(in<monthly_requests, T> n, in<request_price, T> p)
        { return n * p; }
    };
    struct break_even_demand
    {
        // Of one replica; if a full one costs more than the API, so do many.
        static constexpr Spec spec =
            Spec("D_A", "token", "break-even monthly demand, hosting against an API, inf if never", "definition");
        template <class T> static constexpr T formula(
            in<api_break_even_utilization, T> u,
            in<fixed_fleet_cost_factor, T> peak,
            in<replica_price, T> p_G,
            in<month, T> m,
            in<blended_price, T> p_b)
        { return select(u * peak <= 1.0, p_G * m / p_b, T(infinite)); }
    };

    using ownership = list<
        operating_cost_share,
        colocation_price,
        chip_capital_cost_rate,
        chip_space_cost_rate,
        chip_fixed_cost_rate,
        chip_electricity_cost_rate,
        owned_chip_price,
        facility_cost_share,
        chip_rent,
        rent_break_even_utilization,
        full_use_cost_per_request,
        replica_time_per_request,
        api_break_even_utilization,
        monthly_demand,
        monthly_requests,
        replica_monthly_tokens,
        hosted_replicas,
        hosted_monthly_cost,
        hosted_cost_per_token,
        api_monthly_cost,
        break_even_demand>;
}
