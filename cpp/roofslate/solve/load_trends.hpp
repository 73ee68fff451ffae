// What goes one way with the load of a service: its forms have too many terms that nearly cancel for bounds to prove it
// in a reasonable time, so it is declared here. Where values along the load contradict it, the search is undecided.
#pragma once
#include "roofslate/quantities/latency.hpp"

namespace roofslate::quantities
{
    // Up with arrival_rate, and down with replicas.
    using grow_with_load = list<
        running_estimate,
        token_budget_load,
        service_load,
        loaded_running_sequences,
        running_sequences,
        slot_wait_probability,
        loaded_time_per_output_token,
        time_per_output_token,
        time_to_first_token,
        request_latency,
        time_to_first_token_quantile,
        time_per_output_token_quantile,
        inter_token_latency_quantile,
        request_latency_quantile,
        time_to_first_token_p50,
        time_to_first_token_p90,
        time_to_first_token_p95,
        time_to_first_token_p99,
        time_per_output_token_p50,
        time_per_output_token_p90,
        time_per_output_token_p95,
        time_per_output_token_p99,
        inter_token_latency_p50,
        inter_token_latency_p90,
        inter_token_latency_p95,
        inter_token_latency_p99,
        request_latency_p50,
        request_latency_p90,
        request_latency_p95,
        request_latency_p99>;
    using loads = list<arrival_rate, replicas>;

    template <class... Q> constexpr bool is_one_of(list<Q...>, std::string_view name)
    { return ((name_of<Q>() == name) || ...); }
    constexpr bool goes_one_way(std::string_view quantity, std::string_view input)
    { return is_one_of(grow_with_load{}, quantity) && is_one_of(loads{}, input); }
}
