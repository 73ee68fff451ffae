// The binding of the simulation of a service.
#include "roofslate/python/grid.hpp"
#include "roofslate/simulation/service.hpp"

namespace roofslate::binding
{
    namespace
    {
        using namespace roofslate::simulation;
        constexpr const char* column_names[Requests::columns] = {
            "arrival",
            "queue",
            "time_to_first_token",
            "time_per_output_token",
            "request_latency",
            "input_tokens",
            "output_tokens",
            "hit_tokens",
            "preemptions"};
        constexpr const char* total_names[Totals::totals] = {
            "window",
            "running",
            "tokens",
            "gaps",
            "gap_time",
            "arrived",
            "answered",
            "lost",
            "time_in_system",
            "sojourn",
            "steps",
            "end"};

        // Members of a dict by name; one that is left out keeps its value.
        class Reader
        {
        public:
            explicit Reader(const py::dict& values) : values_(values) {}
            template <class T> void read(const char* name, T& to) const
            {
                if (values_.contains(name))
                    to = py::cast<T>(values_[name]);
            }
            template <class Choice> void choose(const char* name, const std::vector<std::string>& words, Choice& to)
                const
            {
                std::string word;
                read(name, word);
                const auto position = std::find(words.begin(), words.end(), word);
                if (position == words.end())
                    throw unknown_name(std::string(name) + " '" + word + "'");
                to = Choice(position - words.begin());
            }

        private:
            const py::dict& values_;
        };
        Replicas replicas_of(const py::dict& values)
        {
            const Reader reader(values);
            Replicas replicas;
            reader.read("batch_sizes", replicas.steps.sequences);
            reader.read("step_times", replicas.steps.seconds);
            reader.read("prompt_token_time", replicas.prompt_token_time);
            reader.read("prompt_fixed_time", replicas.prompt_fixed_time);
            reader.read("prompt_lag_time", replicas.prompt_lag_time);
            reader.read("prompt_fixed_lag_time", replicas.prompt_fixed_lag_time);
            reader.read("emitted", replicas.emitted);
            reader.read("seats", replicas.seats);
            reader.read("token_budget", replicas.token_budget);
            reader.read("queue_room", replicas.queue_room);
            reader.read("cache_room", replicas.cache_room);
            reader.read("time_out", replicas.time_out);
            reader.choose("policy", {"first", "chunked", "apart"}, replicas.policy);
            reader.read("replicas", replicas.count);
            reader.choose("router", {"random", "round_robin", "least_requests", "session"}, replicas.router);
            reader.read("prefill_replicas", replicas.prefill_replicas);
            reader.read("transfer_time", replicas.transfer_time);
            reader.read("transfer_token_time", replicas.transfer_token_time);
            reader.read("cache_tiers", replicas.cache_tiers);
            reader.read("tier_token_time", replicas.tier_token_time);
            if (replicas.steps.sequences.size() != replicas.steps.seconds.size() || replicas.steps.seconds.empty()
                || replicas.count < 1 || !(replicas.emitted >= 1) || !(replicas.seats >= 1)
                || !(replicas.token_budget >= 1))
                throw py::value_error("simulate_service: step times, at least one replica, seat and token of a step");
            return replicas;
        }
        Load load_of(const py::dict& values)
        {
            const Reader reader(values);
            Load load;
            reader.read("rate", load.rate);
            reader.read("arrival_cv", load.arrival_variation);
            reader.read("input_mean", load.input.mean);
            reader.read("input_cv", load.input.variation);
            reader.read("input_geometric", load.input.geometric);
            reader.read("output_mean", load.output.mean);
            reader.read("output_cv", load.output.variation);
            reader.read("output_geometric", load.output.geometric);
            reader.read("turns", load.sessions.turns);
            reader.read("turns_fixed", load.sessions.fixed);
            reader.read("first_prompt", load.sessions.first_prompt);
            reader.read("pause", load.sessions.pause);
            reader.read("pause_cv", load.sessions.pause_variation);
            reader.read("trace_arrival", load.trace.arrival);
            reader.read("trace_input", load.trace.input);
            reader.read("trace_output", load.trace.output);
            reader.read("trace_shared", load.trace.shared);
            reader.read("trace_session", load.trace.session);
            const std::size_t n = load.trace.arrival.size();
            const auto fits = [&](std::size_t size) { return size == 0 || size == n; };
            if (load.trace.input.size() != n || load.trace.output.size() != n || !fits(load.trace.shared.size())
                || !fits(load.trace.session.size()) || (n == 0 && !(load.rate > 0)))
                throw py::value_error("simulate_service: a rate, or a trace with columns of one length");
            return load;
        }
        py::dict simulated(
            const py::dict& service,
            const py::dict& load,
            std::size_t requests,
            std::size_t replications,
            std::size_t warm_up,
            bool drain,
            std::uint64_t seed,
            int threads,
            const py::object& progress)
        {
            const Replicas replicas = replicas_of(service);
            const Load arrivals = load_of(load);
            if (requests < 1 || replications < 1 || replications > requests
                || (!arrivals.trace.arrival.empty() && (replications > 1 || requests != arrivals.trace.arrival.size())))
                throw py::value_error("simulate_service: a request for each replication; a trace is one of them");
            const RequestCounts counts{requests, replications, warm_up, drain, seed};
            const double bytes = sizeof(double) * Requests::columns + sizeof(std::int32_t) + 2;
            promise_memory(double(requests) * bytes, "Simulate fewer requests");
            py::dict result;
            Requests rows;
            const auto column = [&](const char* name, auto zero) {
                using T = decltype(zero);
                const py::array_t<T> array = allocate<T>({py::ssize_t(requests)}, {1}, requests).array;
                T* const data = static_cast<T*>(py::cast<py::array>(array).mutable_data());
                std::fill_n(data, requests, T(-1)); // of a request that never left
                result[name] = array;
                return data;
            };
            for (std::size_t k = 0; k < Requests::columns; ++k)
                rows.values[k] = column(column_names[k], 0.0);
            rows.replica = column("replica", std::int32_t(0));
            rows.status = column("status", std::int8_t(0));
            rows.waited = column("waited", std::int8_t(0));
            std::vector<Totals> totals;
            running(progress, threads, [&](const Options& options) {
                totals = simulate(replicas, arrivals, counts, rows, options);
            });
            for (std::size_t k = 0; k < Totals::totals; ++k)
            {
                std::vector<double> values;
                for (const Totals& each : totals)
                    values.push_back(each.values[k]);
                result[py::str(std::string("total_") + total_names[k])] = array_of(std::move(values));
            }
            py::list histograms;
            for (Totals& each : totals)
                histograms.append(array_of(std::move(each.histogram)));
            result["gap_histograms"] = histograms;
            return result;
        }
    }

    void bind_simulation(py::module_& m)
    {
        m.attr("LEAST_GAP") = least_gap;
        m.attr("GAP_WIDTH") = gap_width;
        m.def(
            "simulate_service",
            &simulated,
            py::arg("service"),
            py::arg("load"),
            py::arg("requests"),
            py::arg("replications"),
            py::arg("warm_up"),
            py::arg("drain"),
            py::arg("seed"),
            py::arg("threads"),
            py::arg("progress"),
            "Simulates requests to a service: columns of them, and totals of each replication.");
    }
}
