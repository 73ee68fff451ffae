// The simulation of a service: short schedules worked out by hand, random numbers, prefix caches, the order of events.
#include "roofslate/language/error.hpp"
#include "roofslate/simulation/earliest.hpp"
#include "roofslate/simulation/prefix_cache.hpp"
#include "roofslate/simulation/random.hpp"
#include "roofslate/simulation/service.hpp"
#include <gtest/gtest.h>
#include <cmath>

namespace
{
    using namespace roofslate;
    using namespace roofslate::simulation;

    struct Outcome
    {
        std::array<std::vector<double>, Requests::columns> values{};
        std::vector<std::int32_t> replica{};
        std::vector<std::int8_t> status{}, waited{};
        std::vector<Totals> totals{};
        double operator()(Requests::Column column, std::size_t row) const { return values[column][row]; }
    };
    Outcome run(const Replicas& replicas, const Load& load, const RequestCounts& counts, const Options& options = {})
    {
        Outcome outcome;
        Requests rows;
        for (std::size_t k = 0; k < Requests::columns; ++k)
        {
            outcome.values[k].assign(counts.requests, -1);
            rows.values[k] = outcome.values[k].data();
        }
        outcome.replica.assign(counts.requests, -1);
        outcome.status.assign(counts.requests, -1);
        outcome.waited.assign(counts.requests, -1);
        rows.replica = outcome.replica.data();
        rows.status = outcome.status.data();
        rows.waited = outcome.waited.data();
        outcome.totals = simulate(replicas, load, counts, rows, options);
        return outcome;
    }
    Outcome run_trace(const Replicas& replicas, const Trace& trace)
    {
        Load load;
        load.trace = trace;
        return run(replicas, load, {trace.arrival.size(), 1, 0, true, 0});
    }
    // A step takes 10 s and 1 s a sequence, a prompt 0.1 s a token plus 2 s.
    Replicas slow(PromptPolicy policy)
    {
        Replicas replicas;
        replicas.steps = {{0, 1}, {10, 11}};
        replicas.prompt_token_time = 0.1;
        replicas.prompt_fixed_time = 2;
        replicas.policy = policy;
        return replicas;
    }
    const Trace two{{0, 5}, {20, 20}, {3, 2}, {}, {}};

    TEST(Service, reads_prompts_first)
    {
        const Outcome outcome = run_trace(slow(PromptPolicy::first), two);
        // 0-4 the first prompt, 4-15 a token, 15-19 the second prompt, 19-31 a token of both
        EXPECT_DOUBLE_EQ(outcome(Requests::first_token, 0), 4);
        EXPECT_DOUBLE_EQ(outcome(Requests::latency, 0), 31);
        EXPECT_DOUBLE_EQ(outcome(Requests::per_token, 0), 13.5);
        EXPECT_DOUBLE_EQ(outcome(Requests::queue, 1), 10);
        EXPECT_DOUBLE_EQ(outcome(Requests::first_token, 1), 14);
        EXPECT_DOUBLE_EQ(outcome(Requests::latency, 1), 26);
        const auto& totals = outcome.totals[0].values;
        EXPECT_DOUBLE_EQ(totals[Totals::gaps], 3);
        EXPECT_DOUBLE_EQ(totals[Totals::gap_time], 11 + 16 + 12);
        EXPECT_DOUBLE_EQ(totals[Totals::time_in_system], 31 + 26);
        EXPECT_DOUBLE_EQ(totals[Totals::running], 1); // in 0-5
        EXPECT_DOUBLE_EQ(totals[Totals::end], 31);
    }
    TEST(Service, reads_prompts_in_chunks)
    {
        Replicas replicas = slow(PromptPolicy::chunked);
        replicas.token_budget = 15;
        const Outcome outcome = run_trace(replicas, two);
        // 0-11.5: 15 tokens; -23: 5 and 10 of the second; -35: a token and 10 of the second; -47: both
        EXPECT_DOUBLE_EQ(outcome(Requests::first_token, 0), 23);
        EXPECT_DOUBLE_EQ(outcome(Requests::latency, 0), 47);
        EXPECT_DOUBLE_EQ(outcome(Requests::queue, 1), 6.5);
        EXPECT_DOUBLE_EQ(outcome(Requests::first_token, 1), 30);
        EXPECT_DOUBLE_EQ(outcome(Requests::latency, 1), 42);
    }
    TEST(Service, decodes_what_is_read_apart)
    {
        const Outcome outcome = run_trace(slow(PromptPolicy::apart), two);
        // 0-11, then two steps of 12
        EXPECT_DOUBLE_EQ(outcome(Requests::first_token, 0), 11);
        EXPECT_DOUBLE_EQ(outcome(Requests::latency, 0), 35);
        EXPECT_DOUBLE_EQ(outcome(Requests::first_token, 1), 18);
        EXPECT_DOUBLE_EQ(outcome(Requests::latency, 1), 30);
        EXPECT_DOUBLE_EQ(outcome.totals[0].values[Totals::gaps], 3);
        EXPECT_DOUBLE_EQ(outcome.totals[0].values[Totals::gap_time], 36);
        EXPECT_DOUBLE_EQ(outcome.totals[0].values[Totals::steps], 3);
    }
    TEST(Service, reads_prompts_in_a_pool)
    {
        Replicas replicas = slow(PromptPolicy::apart);
        replicas.prefill_replicas = 1;
        replicas.transfer_time = 1;
        replicas.transfer_token_time = 0.05;
        const Outcome outcome = run_trace(replicas, {{0, 1}, {20, 20}, {1, 1}, {}, {}});
        // prompts 0-4 and 4-8, then 2 s on the link and a step
        EXPECT_DOUBLE_EQ(outcome(Requests::first_token, 0), 4 + 2 + 11);
        EXPECT_DOUBLE_EQ(outcome(Requests::queue, 1), 3);
        EXPECT_DOUBLE_EQ(outcome(Requests::first_token, 1), 17 + 11 - 1);
    }
    TEST(Service, keeps_requests_waiting_for_a_seat)
    {
        Replicas replicas = slow(PromptPolicy::apart);
        replicas.seats = 1;
        const Outcome outcome = run_trace(replicas, {{0, 5, 6}, {1, 1, 1}, {3, 1, 1}, {}, {}});
        EXPECT_DOUBLE_EQ(outcome(Requests::queue, 1), 28);
        EXPECT_DOUBLE_EQ(outcome(Requests::queue, 2), 38);
        EXPECT_EQ(outcome.waited, (std::vector<std::int8_t>{0, 1, 1}));
        replicas.queue_room = 1;
        EXPECT_EQ(
            run_trace(replicas, {{0, 5, 6}, {1, 1, 1}, {3, 1, 1}, {}, {}}).status,
            (std::vector<std::int8_t>{answered, answered, refused}));
        replicas.queue_room = unlimited;
        replicas.time_out = 20;
        EXPECT_EQ(
            run_trace(replicas, {{0, 5, 14}, {1, 1, 1}, {3, 1, 1}, {}, {}}).status,
            (std::vector<std::int8_t>{answered, timed_out, answered}));
    }
    TEST(Service, preempts_the_youngest_where_the_cache_is_full)
    {
        Replicas replicas = slow(PromptPolicy::chunked);
        replicas.cache_room = 12;
        const Outcome outcome = run_trace(replicas, {{0, 0, 0}, {4, 4, 9}, {5, 5, 4}, {}, {}});
        // 0-10.8: both prompts, 5 + 5 tokens; -22.8: 12 tokens; the second leaves with 6; -33.8, -44.8 and -55.8 the
        // first by itself, whose 7 + 6 + 1 tokens leave no room for it before its end
        EXPECT_EQ(outcome.status, (std::vector<std::int8_t>{answered, answered, too_long}));
        EXPECT_DOUBLE_EQ(outcome(Requests::first_token, 0), 10.8);
        EXPECT_DOUBLE_EQ(outcome(Requests::first_token, 1), 10.8);
        EXPECT_DOUBLE_EQ(outcome(Requests::latency, 0), 55.8);
        EXPECT_DOUBLE_EQ(outcome(Requests::preemptions, 0), 0);
        EXPECT_DOUBLE_EQ(outcome(Requests::preemptions, 1), 1);
        // -66.4: its 6 tokens are read anew, which makes its third; then two steps of 11
        EXPECT_DOUBLE_EQ(outcome(Requests::latency, 1), 55.8 + 10.6 + 22);
    }
    TEST(Service, reads_what_a_session_has_not_in_the_cache)
    {
        Replicas replicas = slow(PromptPolicy::first);
        const Trace turns{{0, 110, 200}, {20, 50, 60}, {10, 5, 5}, {unlimited, unlimited, 12}, {7, 7, 7}};
        EXPECT_EQ(run_trace(replicas, turns).values[Requests::hit], (std::vector<double>{0, 0, 0}));
        replicas.cache_tiers = {10, 1000};
        replicas.tier_token_time = {0, 0.2};
        const Outcome outcome = run_trace(replicas, turns);
        EXPECT_EQ(outcome.values[Requests::hit], (std::vector<double>{0, 30, 12}));
        // the first turn ends at 4 + 9 * 11 = 103; of the second 20 tokens are read while 30 are fetched
        EXPECT_DOUBLE_EQ(outcome(Requests::first_token, 1), 2 + 20 * 0.1 + (30 * 0.2 - 20 * 0.1));
    }
    TEST(Service, is_the_same_for_any_number_of_threads)
    {
        Load load;
        load.rate = 0.2;
        load.arrival_variation = 1.5;
        load.input = {20, 1, false};
        load.output = {5, 0.5, true};
        Replicas replicas = slow(PromptPolicy::first);
        replicas.count = 5;
        replicas.router = Router::random;
        const RequestCounts counts{1003, 7, 20, false, 11};
        const Outcome one = run(replicas, load, counts), many = run(replicas, load, counts, {4, {}, {}});
        EXPECT_EQ(one.values[Requests::latency], many.values[Requests::latency]);
        EXPECT_EQ(one.replica, many.replica);
        RequestCounts other = counts;
        other.seed = 12;
        EXPECT_NE(one.values[Requests::latency], run(replicas, load, other).values[Requests::latency]);
    }
    TEST(Service, loses_no_request)
    {
        for (const PromptPolicy policy : {PromptPolicy::first, PromptPolicy::chunked, PromptPolicy::apart})
            for (const double capacity : {unlimited, 60.0})
                for (const bool drain : {false, true})
                {
                    Load load;
                    load.rate = 0.2;
                    load.input = {10, 1, false};
                    load.output = {5, 1, false};
                    Replicas replicas = slow(policy);
                    replicas.cache_room = capacity;
                    replicas.seats = 20;
                    replicas.count = 3;
                    const Outcome outcome = run(replicas, load, {5000, 2, 100, drain, 3});
                    for (const std::int8_t status : outcome.status)
                        EXPECT_TRUE(status == answered || (status == too_long && capacity < unlimited));
                    for (const Totals& totals : outcome.totals)
                        if (drain)
                        {
                            EXPECT_EQ(
                                totals.values[Totals::arrived],
                                totals.values[Totals::completed] + totals.values[Totals::lost]);
                            EXPECT_EQ(totals.values[Totals::arrived], 2600);
                            EXPECT_NEAR(
                                totals.values[Totals::time_in_system] / totals.values[Totals::sojourn],
                                1,
                                1e-9);
                        }
                }
    }
    TEST(Service, stops_where_it_is_asked_to)
    {
        Load load;
        load.rate = 0.1;
        load.output = {5, 0, false};
        std::size_t calls = 0;
        const Options options{
            1,
            [&](std::size_t done, std::size_t total) {
                EXPECT_LE(done, total);
                return ++calls < 2;
            },
            {}};
        EXPECT_THROW(run(slow(PromptPolicy::apart), load, {2'000'000, 1, 0, false, 1}, options), Interrupted);
        EXPECT_EQ(calls, 2);
    }
    TEST(Service, step_times_are_linear_between_and_beyond)
    {
        const StepTimes steps{{0, 2, 10}, {1, 2, 10}};
        EXPECT_DOUBLE_EQ(steps.at(0), 1);
        EXPECT_DOUBLE_EQ(steps.at(1), 1.5);
        EXPECT_DOUBLE_EQ(steps.at(2), 2);
        EXPECT_DOUBLE_EQ(steps.at(6), 6);
        EXPECT_DOUBLE_EQ(steps.at(20), 20);
        EXPECT_DOUBLE_EQ((StepTimes{{1}, {3}}.at(5)), 3);
    }
    TEST(Random, distributions_have_their_moments)
    {
        Generator random(5, 0, 0);
        constexpr int draws = 400'000;
        const auto moments = [&](const auto& draw) {
            double sum = 0, squares = 0;
            for (int k = 0; k < draws; ++k)
            {
                const double x = draw();
                sum += x, squares += x * x;
            }
            const double mean = sum / draws;
            return std::array<double, 2>{mean, std::sqrt(squares / draws - mean * mean) / mean};
        };
        for (const double variation : {0.0, 0.5, 1.0, 2.0})
        {
            const auto gaps = moments([&, g = Gaps(3, variation)] { return g.draw(random); });
            EXPECT_NEAR(gaps[0], 3, 0.03 * (1 + variation));
            EXPECT_NEAR(gaps[1], variation, 0.03);
            const auto lengths = moments([&, l = Lognormal(3, variation)] { return l.draw(random); });
            EXPECT_NEAR(lengths[0], 3, 0.03 * (1 + variation));
            EXPECT_NEAR(lengths[1], variation, 0.02 * (1 + variation * variation * variation));
        }
        const auto steps = moments([&, g = Geometric(5)] { return g.draw(random); });
        EXPECT_NEAR(steps[0], 5, 0.03);
        EXPECT_NEAR(steps[1], std::sqrt(0.8), 0.01);
        EXPECT_EQ(Geometric(1).draw(random), 1);
    }
    TEST(PrefixCache, moves_the_least_recently_used_down_and_out)
    {
        PrefixCache cache({100, 50});
        cache.put(1, 60);
        cache.put(2, 30);
        EXPECT_EQ(cache.find(1).tier, 0);
        cache.put(3, 20); // 110 tokens: session 1 has no room in the second tier either
        EXPECT_EQ(cache.find(1).tokens, 0);
        EXPECT_EQ(cache.find(3).tokens, 20);
        cache.put(2, 30);
        cache.put(4, 60); // 110: session 3 goes down
        EXPECT_EQ(cache.find(3).tier, 1);
        EXPECT_EQ(cache.find(2).tier, 0);
        cache.put(5, 101); // larger than any tier
        EXPECT_EQ(cache.find(5).tokens, 0);
        cache.take(3);
        EXPECT_EQ(cache.find(3).tokens, 0);
        PrefixCache none({});
        none.put(1, 1);
        EXPECT_EQ(none.find(1).tokens, 0);
    }
    TEST(Earliest, is_the_least_of_all)
    {
        for (const std::size_t n : {1, 2, 3, 8, 13})
        {
            Earliest events(n);
            EXPECT_EQ(events.time(), unlimited);
            std::vector<double> times(n, unlimited);
            Generator random(n, 0, 0);
            for (int k = 0; k < 500; ++k)
            {
                const std::size_t i = random.bits() % n;
                times[i] = random.uniform() < 0.1 ? unlimited : random.uniform();
                events.set(i, times[i]);
                EXPECT_EQ(events.time(), *std::min_element(times.begin(), times.end()));
                EXPECT_EQ(times[events.index()], events.time());
            }
        }
    }
}
