// A service under load, request by request: arrivals, routers, replicas with continuous batching, prefix caches.
#pragma once
#include "roofslate/run/options.hpp"
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace roofslate::simulation
{
    constexpr double unlimited = std::numeric_limits<double>::infinity();

    enum class PromptPolicy
    {
        first,   // steps of prompts only, while decoding pauses
        chunked, // a step decodes and reads a part of the prompts
        apart    // prompts are read elsewhere
    };
    enum class Router
    {
        random,
        round_robin,
        least_requests,
        session
    };

    // Time of a step that decodes, at numbers of sequences: linear between them and beyond.
    struct StepTimes
    {
        std::vector<double> sequences{}, seconds{};
        double at(double running) const;
    };

    struct Replicas
    {
        StepTimes steps{};
        double prompt_token_time = 0, prompt_fixed_time = 0;
        double prompt_lag_time = 0; // of a token: its own group takes longer than the replica gives for it
        double prompt_fixed_lag_time = 0; // of a prompt outside of mixed steps: later stages
        double emitted = 1; // tokens of an answer that a step makes
        double seats = unlimited, token_budget = unlimited;
        double queue_room = unlimited; // requests that may wait for a seat; more are refused
        double cache_room = unlimited; // tokens
        double time_out = unlimited;   // seconds that a request waits for a seat at most
        PromptPolicy policy = PromptPolicy::chunked;
        std::size_t count = 1;
        Router router = Router::least_requests;
        std::size_t prefill_replicas = 0; // if prefill is disaggregated. 0: prefill takes no time
        double transfer_time = 0, transfer_token_time = 0;
        std::vector<double> cache_tiers{}, tier_token_time{}; // of sessions: tokens, seconds to fetch one
    };
    struct Lengths
    {
        double mean = 1, variation = 0;
        bool geometric = false; // lognormal otherwise
    };
    struct Sessions
    {
        double turns = 0; // mean; 0: there are none
        bool fixed = false; // geometric otherwise
        double first_prompt = 0; // tokens before the first turn's
        double pause = 0, pause_variation = 0;
    };
    // Requests as they were recorded, in the order of their arrival.
    struct Trace
    {
        std::vector<double> arrival{}, input{}, output{}, shared{}; // shared: tokens that a session may reuse
        std::vector<std::int64_t> session{}; // empty or negative: none
    };
    struct Load
    {
        double rate = 0, arrival_variation = 1;
        Lengths input{}, output{};
        Sessions sessions{};
        Trace trace{}; // in place of all others where it has rows
    };
    // How much is simulated: `requests` are measured in all, `warm_up` before them in each replication. Arrivals go on
    // until the last one that is measured has its answer, unless `drain`: then the service empties.
    struct RequestCounts
    {
        std::size_t requests = 0, replications = 1, warm_up = 0;
        bool drain = false;
        std::uint64_t seed = 0;
    };

    enum Status
    {
        answered,
        refused,   // no room in the queue
        timed_out, // before a seat was free
        too_long   // for the KV cache of a replica
    };
    // A row for each request that is measured, in the order of arrival within each replication.
    struct Requests
    {
        enum Column
        {
            arrival,
            queue,
            first_token,
            per_token,
            latency,
            input,
            output,
            hit,
            preemptions,
            columns
        };
        std::array<double*, columns> values{};
        std::int32_t* replica = nullptr;
        std::int8_t* status = nullptr;
        std::int8_t* waited = nullptr; // for a seat, longer than the step under way
    };
    constexpr double least_gap = 1e-9, gap_width = 0.002; // of the bins of gaps between tokens, in ln
    constexpr std::size_t gap_bins = 16384;
    struct Totals // of a replication
    {
        enum Total
        {
            window,          // seconds from the first request that is measured to the last
            running,         // seconds of decoding sequences within
            tokens,          // of answers within
            gaps,            // between tokens within, of a service that empties all: their number and sum
            gap_time,
            arrived,         // all requests, from the first to the last
            completed,
            lost,            // refused, timed out or too long
            time_in_system,  // integral of the requests in the service
            sojourn,         // sum of their times in it
            steps,
            end,             // of the last event
            totals
        };
        std::array<double, totals> values{};
        std::vector<std::int64_t> histogram = std::vector<std::int64_t>(gap_bins);
    };

    std::size_t measured(const RequestCounts& counts, std::size_t replication); // requests of it
    std::vector<Totals> simulate(
        const Replicas& replicas,
        const Load& load,
        const RequestCounts& counts,
        const Requests& rows,
        const Options& options);
}
