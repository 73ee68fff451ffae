#include "roofslate/simulation/service.hpp"
#include "roofslate/run/parallel.hpp"
#include "roofslate/simulation/earliest.hpp"
#include "roofslate/simulation/prefix_cache.hpp"
#include "roofslate/simulation/random.hpp"
#include "roofslate/simulation/replica.hpp"
#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <queue>

namespace roofslate::simulation
{
    double StepTimes::at(double running) const
    {
        if (sequences.size() < 2)
            return seconds.empty() ? 0 : seconds[0];
        std::size_t k = 1;
        while (k + 1 < sequences.size() && sequences[k] < running)
            ++k;
        const double slope = (seconds[k] - seconds[k - 1]) / (sequences[k] - sequences[k - 1]);
        return seconds[k - 1] + slope * (running - sequences[k - 1]);
    }

    std::size_t measured(const RequestCounts& counts, std::size_t replication)
    {
        const std::size_t remainder = counts.requests % counts.replications;
        return counts.requests / counts.replications + (replication < remainder ? 1 : 0);
    }

    namespace
    {
        class Replication
        {
        public:
            Replication(
                const Replicas& service,
                const Load& load,
                const RequestCounts& counts,
                std::size_t number,
                std::size_t first_row,
                const Requests& rows,
                Progress& progress)
                : service_(service),
                  load_(load),
                  rows_(rows),
                  progress_(progress),
                  arrivals_(counts.seed, number, 1),
                  lengths_(counts.seed, number, 2),
                  routes_(counts.seed, number, 3),
                  gaps_(
                      (load.sessions.turns > 0 ? load.sessions.turns : 1) / (load.rate > 0 ? load.rate : 1),
                      load.arrival_variation),
                  turns_(load.sessions.turns),
                  pauses_(load.sessions.pause, load.sessions.pause_variation),
                  input_(load.input.mean, load.input.variation),
                  output_(load.output.mean, load.output.variation),
                  input_steps_(load.input.mean),
                  output_steps_(load.output.mean),
                  from_trace_(!load.trace.arrival.empty()),
                  drain_(counts.drain || from_trace_),
                  rows_left_(std::int64_t(measured(counts, number))),
                  first_row_(std::int64_t(first_row)),
                  warm_up_(std::int64_t(counts.warm_up)),
                  last_(warm_up_ + rows_left_),
                  most_((drain_ ? 1 : 2) * last_),
                  replicas_(service.count),
                  events_(service.count)
            {
                for (std::size_t k = 0; k < (service.prefill_replicas ? 1 : service.count); ++k)
                    caches_.emplace_back(pool_tiers());
                for (std::size_t k = 0; k < service.prefill_replicas; ++k)
                    prefill_free_.push(0);
                external_ = next_external(0);
            }

            Totals run()
            {
                for (std::int64_t events = 0; rows_left_ > 0 || drain_; ++events)
                {
                    if ((events & 4095) == 0)
                    {
                        progress_.tell();
                        if (progress_.stopped())
                            break;
                    }
                    double due = unlimited;
                    if (!due_.empty())
                        due = due_.top().time;
                    const double arrival = std::min(external_, due);
                    if (events_.time() < arrival) // what arrives as a step ends is there for the next
                        finish_step(events_.index(), events_.time());
                    else if (arrival == unlimited)
                        break;
                    else if (due <= external_)
                    {
                        const Due next = due_.top();
                        due_.pop();
                        if (next.what == Late::reached)
                            route(next.index, next.time);
                        else if (next.what == Late::read)
                            finish_reading(next.index, next.time);
                        else if (arrived_ < most_)
                            arrive(next.time, next.index);
                    }
                    else
                        arrive(arrival, nobody);
                }
                progress_.add(std::size_t(reported_rows_));
                totals_.values[Totals::end] = now_;
                totals_.values[Totals::window] = window_end_ < unlimited ? window_end_ - window_start_ : 0;
                return std::move(totals_);
            }

        private:
            using Column = Requests::Column;

            std::vector<double> pool_tiers() const // of the replicas that read prompts, taken together
            {
                std::vector<double> tiers = service_.cache_tiers;
                for (double& tier : tiers)
                    tier *= double(std::max<std::size_t>(service_.prefill_replicas, 1));
                return tiers;
            }

            // --- arrivals ---

            double next_external(double time)
            {
                if (from_trace_)
                {
                    const std::vector<double>& recorded = load_.trace.arrival;
                    if (std::size_t(external_count_) < recorded.size())
                        return recorded[std::size_t(external_count_)];
                    return unlimited;
                }
                return arrived_ < most_ ? time + gaps_.draw(arrivals_) : unlimited;
            }
            static double tokens_of(
                const Lengths& lengths,
                const Lognormal& spread,
                const Geometric& steps,
                Generator& r)
            {
                if (lengths.geometric)
                    return steps.draw(r);
                return math::max(math::floor(spread.draw(r) + 0.5), 1.0);
            }
            std::int32_t new_request()
            {
                if (free_.empty())
                {
                    requests_.emplace_back();
                    return std::int32_t(requests_.size() - 1);
                }
                const std::int32_t index = free_.back();
                free_.pop_back();
                const std::uint32_t epoch = requests_[std::size_t(index)].epoch + 1;
                requests_[std::size_t(index)] = Request{};
                requests_[std::size_t(index)].epoch = epoch;
                return index;
            }
            Request& at(std::int32_t index) { return requests_[std::size_t(index)]; }

            void pass_time(double time) // the requests in the service change at this time
            {
                totals_.values[Totals::time_in_system] += present_ * (time - now_);
                now_ = std::max(now_, time);
            }
            void arrive(double time, std::int32_t turn_of)
            {
                const bool external = turn_of == nobody;
                const std::int32_t index = new_request();
                Request& request = at(index);
                request.arrival = time;
                if (arrived_ >= warm_up_ && arrived_ < last_)
                    request.row = first_row_ + arrived_ - warm_up_;
                if (arrived_ == warm_up_)
                    window_start_ = time;
                if (arrived_ == last_ - 1)
                    window_end_ = time;
                if (from_trace_)
                    read_row(request, std::size_t(external_count_));
                else
                    draw_lengths(request, turn_of, external);
                ++arrived_;
                if (external)
                {
                    ++external_count_;
                    external_ = next_external(time);
                }
                if (arrived_ >= most_)
                    external_ = unlimited;
                pass_time(time);
                ++present_;
                totals_.values[Totals::arrived] += 1;
                request.context = request.unread = request.input;
                request.steps = 1 + math::ceil((request.output - 1) / service_.emitted);
                if (service_.policy == PromptPolicy::apart)
                    read_apart(index, time);
                else
                    route(index, time);
            }
            void read_row(Request& request, std::size_t row) const
            {
                request.input = load_.trace.input[row];
                request.output = load_.trace.output[row];
                request.session = load_.trace.session.empty() ? no_session : load_.trace.session[row];
                request.hit = unlimited; // at most
                if (!load_.trace.shared.empty())
                    request.hit = load_.trace.shared[row];
            }
            void draw_lengths(Request& request, std::int32_t turn_of, bool external)
            {
                request.input = tokens_of(load_.input, input_, input_steps_, lengths_);
                request.output = tokens_of(load_.output, output_, output_steps_, lengths_);
                request.hit = unlimited;
                if (load_.sessions.turns <= 0)
                    return;
                if (external)
                {
                    turn_of = std::int32_t(sessions_.size());
                    sessions_.push_back(
                        {load_.sessions.fixed ? math::max(math::floor(load_.sessions.turns + 0.5), 1.0)
                                              : turns_.draw(lengths_),
                         load_.sessions.first_prompt});
                }
                Session& session = sessions_[std::size_t(turn_of)];
                session.turns -= 1;
                request.session = turn_of;
                request.input += session.context;
                session.context = request.input + request.output;
            }
            // The pool of replicas that read prompts: first come, first served, one prompt at a time each.
            void read_apart(std::int32_t index, double time)
            {
                Request& request = at(index);
                double ready = time;
                if (service_.prefill_replicas > 0)
                {
                    while (!prefill_starts_.empty() && prefill_starts_.front() <= time)
                        prefill_starts_.pop_front();
                    const double start = std::max(time, prefill_free_.top());
                    if (start > time && double(prefill_starts_.size()) >= service_.queue_room)
                        return leave(index, time, refused);
                    if (start - time > service_.time_out)
                        return leave(index, time, timed_out);
                    const double late = late_prefix(request, caches_[0]);
                    look_up(request, caches_[0]);
                    prefill_free_.pop();
                    ready = start + service_.prompt_fixed_time + service_.prompt_token_time * request.unread;
                    prefill_free_.push(ready);
                    ready += lag_of(request.unread) + late;
                    if (start > time)
                        prefill_starts_.push_back(start);
                    request.start = start;
                    request.waited = start > time;
                    ready += service_.transfer_time + service_.transfer_token_time * request.input;
                }
                request.unread = 0;
                if (ready > time)
                    due_.push({ready, due_count_++, index, Late::reached});
                else
                    route(index, time);
            }
            // From when a replica has time for the next prompt until this one is read.
            double lag_of(double tokens) const
            {
                const bool fixed = service_.policy != PromptPolicy::chunked;
                return service_.prompt_lag_time * tokens + (fixed ? service_.prompt_fixed_lag_time : 0);
            }
            // Tokens of a prompt that are in the prefix cache. Its last one is read again: it makes the first of the
            // answer.
            double hit_of(const Request& request, const PrefixCache& cache) const
            {
                if (request.session == no_session || service_.cache_tiers.empty())
                    return 0;
                return std::min({cache.find(request.session).tokens, request.hit, request.input - 1});
            }
            void look_up(Request& request, PrefixCache& cache) const
            {
                const double hit = hit_of(request, cache);
                request.hit = hit;
                request.unread -= hit;
                cache.take(request.session);
            }
            // Layers come from a tier while those before them are computed. Only the time beyond the prompt's is
            // exposed.
            double late_prefix(const Request& request, const PrefixCache& cache) const
            {
                const double hit = hit_of(request, cache);
                const std::size_t tier = hit > 0 ? cache.find(request.session).tier : service_.tier_token_time.size();
                if (tier >= service_.tier_token_time.size())
                    return 0;
                const double computed =
                    (service_.prompt_token_time + service_.prompt_lag_time) * (request.unread - hit);
                return math::max(hit * service_.tier_token_time[tier] - computed, 0.0);
            }
            std::size_t chosen_replica(const Request& request)
            {
                if (request.is_loaded)
                    return std::size_t(request.replica);
                const std::size_t n = replicas_.size();
                if (n == 1)
                    return 0;
                if (service_.router == Router::session && request.session != no_session)
                    return scatter(std::uint64_t(request.session)) % n;
                if (service_.router == Router::random || service_.router == Router::session)
                    return routes_.bits() % n;
                const std::size_t first = turn_++ % n;
                if (service_.router == Router::round_robin)
                    return first;
                std::size_t best = first;
                for (std::size_t k = 1; k < n; ++k) // equal ones in turn
                {
                    const std::size_t other = first + k < n ? first + k : first + k - n;
                    if (replicas_[other].present() < replicas_[best].present())
                        best = other;
                }
                return best;
            }
            void route(std::int32_t index, double time)
            {
                Request& request = at(index);
                const std::size_t chosen = chosen_replica(request);
                request.replica = std::int32_t(chosen);
                request.reached = time;
                if (!request.is_loaded && service_.prefill_replicas == 0 && request.unread > 0)
                {
                    request.is_loaded = true;
                    const double late = late_prefix(request, caches_[chosen]);
                    if (late > 0)
                        return due_.push({time + late, due_count_++, index, Late::reached});
                }
                Replica& replica = replicas_[chosen];
                if (request.input + request.output > service_.cache_room)
                    return leave(index, time, too_long);
                drop_expired(replica, time);
                const bool seat_free = replica.present() < service_.seats,
                           room_free = replica.waiting.empty()
                    && replica.used + request.context + 1 <= service_.cache_room;
                if (service_.prefill_replicas == 0 && service_.queue_room < unlimited)
                {
                    const double ahead = !seat_free ? replica.present() - service_.seats
                        : room_free || service_.cache_room == unlimited
                        ? not_yet
                        : double(replica.waiting.size());
                    if (ahead >= service_.queue_room)
                        return leave(index, time, refused);
                }
                const bool first_in_line = replica.waiting.empty();
                replica.waiting.push_back(index);
                replica.was_full |= service_.cache_room < unlimited && !room_free;
                if (replica.step == Step::idle || (first_in_line && seat_free && room_free))
                    cut_short(chosen, time);
            }
            // Ends the decoding steps under way with the next one, and lets an idle replica begin.
            void cut_short(std::size_t k, double time)
            {
                Replica& replica = replicas_[k];
                if (replica.step == Step::idle)
                    events_.set(k, time);
                else if (replica.step == Step::decode)
                {
                    double steps = math::floor((time - replica.start) / replica.seconds) + 1;
                    if (replica.start + steps * replica.seconds <= time)
                        steps += 1;
                    if (steps < replica.planned)
                    {
                        replica.planned = steps;
                        events_.set(k, replica.start + steps * replica.seconds);
                    }
                }
            }

            // --- steps ---

            double step_time(std::size_t running)
            {
                while (step_seconds_.size() <= running)
                {
                    step_seconds_.push_back(service_.steps.at(double(step_seconds_.size())));
                    step_bins_.push_back(bin_of(step_seconds_.back()));
                }
                return step_seconds_[running];
            }
            static std::size_t bin_of(double gap)
            {
                const double bin = math::floor(math::log(std::max(gap, least_gap) / least_gap) / gap_width);
                return std::min(std::size_t(bin), gap_bins - 1);
            }
            void drop_expired(Replica& replica, double time) // requests that have waited too long
            {
                while (service_.time_out < unlimited && !replica.waiting.empty())
                {
                    const std::int32_t index = replica.waiting.front();
                    if (at(index).start != not_yet || time - at(index).arrival <= service_.time_out)
                        return;
                    replica.waiting.pop_front();
                    leave(index, time, timed_out);
                }
            }
            // Takes the first that waits into the replica if there is a batch slot, memory for its context and, for a
            // prompt that is prefilled in one step, a token budget.
            std::int32_t admit(Replica& replica, double time, double budget)
            {
                drop_expired(replica, time);
                if (replica.waiting.empty() || replica.seats_taken() >= service_.seats)
                    return nobody;
                const std::int32_t index = replica.waiting.front();
                Request& request = at(index);
                if (replica.used + request.context + 1 > service_.cache_room)
                    return nobody;
                PrefixCache& cache = caches_[service_.prefill_replicas ? 0 : std::size_t(request.replica)];
                const bool fresh = request.start == not_yet;
                const double unread = request.unread - (fresh && request.unread > 0 ? hit_of(request, cache) : 0);
                if (service_.policy != PromptPolicy::chunked && budget < service_.token_budget && unread > budget)
                    return nobody;
                if (fresh)
                {
                    if (request.unread > 0)
                        look_up(request, cache);
                    request.start = time;
                }
                request.waited |= replica.was_full && request.reached < time - replica.seconds;
                request.read = request.unread;
                replica.waiting.pop_front();
                replica.used += request.context;
                return index;
            }
            void join(Replica& replica, std::int32_t index)
            {
                Request& request = at(index);
                request.joined = replica.count;
                request.end_count = replica.count + request.steps;
                replica.ends.push_back({request.end_count, index, request.epoch});
                std::push_heap(replica.ends.begin(), replica.ends.end(), std::greater<>());
                ++replica.decoding;
                if (service_.cache_room == unlimited)
                    return;
                replica.order.push_back({request.end_count, index, request.epoch});
                if (replica.order.size() > 2 * replica.decoding + 64)
                    replica.order.erase(
                        std::remove_if(
                            replica.order.begin(),
                            replica.order.end(),
                            [&](const End& end) { return is_void(end); }),
                        replica.order.end());
            }
            bool is_void(const End& end) { return at(end.request).epoch != end.epoch; }
            void preempt_youngest(Replica& replica)
            {
                while (is_void(replica.order.back()))
                    replica.order.pop_back();
                const std::int32_t index = replica.order.back().request;
                replica.order.pop_back();
                Request& request = at(index);
                const double generated = (replica.count - request.joined) * service_.emitted;
                replica.used -= request.context + generated;
                request.steps = request.end_count - replica.count;
                request.context += generated;
                request.unread = request.context;
                ++request.preemptions;
                ++request.epoch;
                --replica.decoding;
                if (!replica.joined.empty() && replica.joined.back() == index)
                    replica.joined.pop_back();
                replica.waiting.push_front(index);
            }
            void begin_step(std::size_t k, double time)
            {
                Replica& replica = replicas_[k];
                if (replica.decoding + replica.lagging + replica.reading.size() == 0)
                    replica.used = 0;
                for (const Ready& ready : replica.ready)
                {
                    join(replica, ready.request);
                    replica.groups.push_back({ready.time, 1});
                }
                replica.ready.clear();
                replica.chunk = 0;
                replica.fresh = 0;
                if (service_.policy == PromptPolicy::chunked)
                    take_chunks(replica, time);
                else
                    take_prompts(replica, time);
                replica.was_full = replica.seats_taken() >= service_.seats;
                replica.start = time;
                replica.planned = 1;
                if (service_.policy != PromptPolicy::chunked && replica.chunk > 0)
                {
                    replica.step = Step::prompts;
                    replica.seconds = service_.prompt_token_time * replica.chunk
                        + service_.prompt_fixed_time
                            * math::max(math::ceil(replica.chunk / service_.token_budget), 1.0);
                }
                else
                    plan_decoding(replica);
                events_.set(k, replica.step == Step::idle ? unlimited : time + replica.planned * replica.seconds);
            }
            void plan_decoding(Replica& replica)
            {
                while (replica.decoding > 0
                       && double(replica.decoding) * service_.emitted > service_.cache_room - replica.used)
                    preempt_youngest(replica);
                replica.step = replica.chunk > 0 ? Step::mixed : replica.decoding > 0 ? Step::decode : Step::idle;
                replica.seconds = step_time(replica.decoding) + service_.prompt_token_time * replica.chunk;
                if (replica.step == Step::decode)
                {
                    while (is_void(replica.ends.front()))
                        pop_end(replica);
                    replica.planned = replica.ends.front().count - replica.count;
                    if (service_.cache_room < unlimited)
                        replica.planned = std::min(
                            replica.planned,
                            math::floor(
                                (service_.cache_room - replica.used) / (double(replica.decoding) * service_.emitted)));
                }
                for (const std::int32_t index : replica.joined)
                    if (at(index).first_token == not_yet)
                    {
                        at(index).first_token = replica.start + replica.seconds;
                        replica.fresh += 1;
                    }
                replica.joined.clear();
            }
            static void pop_end(Replica& replica)
            {
                std::pop_heap(replica.ends.begin(), replica.ends.end(), std::greater<>());
                replica.ends.pop_back();
            }
            void take_prompts(Replica& replica, double time)
            {
                double budget = service_.token_budget;
                while (budget > 0)
                {
                    const std::int32_t index = admit(replica, time, budget);
                    if (index == nobody)
                        break;
                    const Request& request = at(index);
                    if (request.unread > 0)
                    {
                        replica.finishing.push_back(index);
                        replica.chunk += request.unread;
                        budget -= request.unread;
                    }
                    else
                    {
                        join(replica, index);
                        replica.joined.push_back(index);
                    }
                }
            }
            void take_chunks(Replica& replica, double time)
            {
                double budget = service_.token_budget - double(replica.decoding);
                const auto read = [&](std::int32_t index) {
                    Request& request = at(index);
                    const double tokens = std::min(request.unread, budget);
                    budget -= tokens;
                    request.unread -= tokens;
                    replica.chunk += tokens;
                    return request.unread <= 0;
                };
                while (budget > 0 && !replica.reading.empty() && read(replica.reading.front()))
                {
                    replica.finishing.push_back(replica.reading.front());
                    replica.reading.pop_front();
                }
                while (budget > 0)
                {
                    const std::int32_t index = admit(replica, time, budget);
                    if (index == nobody)
                        break;
                    if (read(index))
                        replica.finishing.push_back(index);
                    else
                        replica.reading.push_back(index);
                }
            }
            void finish_step(std::size_t k, double time)
            {
                Replica& replica = replicas_[k];
                if (replica.step == Step::idle)
                    return begin_step(k, time);
                const double inside =
                    math::max(std::min(time, window_end_) - std::max(replica.start, window_start_), 0.0);
                totals_.values[Totals::running] += double(replica.decoding) * inside;
                totals_.values[Totals::steps] += replica.planned;
                if (replica.step != Step::prompts && replica.decoding > 0)
                {
                    replica.count += replica.planned;
                    replica.used += double(replica.decoding) * replica.planned * service_.emitted;
                    totals_.values[Totals::tokens] += double(replica.decoding) * replica.planned * service_.emitted
                        * (inside / (replica.planned * replica.seconds));
                    if (inside > 0 || drain_)
                        count_gaps(replica);
                    replica.groups.clear();
                }
                else if (replica.step == Step::prompts)
                {
                    double older_sequences = double(replica.decoding);
                    for (const Group& group : replica.groups)
                        older_sequences -= group.sequences;
                    if (older_sequences > 0)
                        replica.groups.push_back({replica.start, older_sequences});
                }
                pass_time(time);
                while (!replica.ends.empty()
                       && (is_void(replica.ends.front()) || replica.ends.front().count <= replica.count))
                {
                    const End end = replica.ends.front();
                    pop_end(replica);
                    if (is_void(end))
                        continue;
                    --replica.decoding;
                    replica.used -=
                        at(end.request).context + (replica.count - at(end.request).joined) * service_.emitted;
                    leave(end.request, time, answered);
                }
                finish_prompts(replica, time);
                begin_step(k, time);
            }
            void finish_prompts(Replica& replica, double time)
            {
                double joining = 0;
                for (const std::int32_t index : replica.finishing)
                {
                    Request& request = at(index);
                    const double lag = lag_of(request.read);
                    request.unread = 0;
                    if (lag > 0)
                    {
                        ++replica.lagging;
                        due_.push({time + lag, due_count_++, index, Late::read});
                    }
                    else if (make_token(replica, index, time))
                    {
                        join(replica, index);
                        joining += 1;
                    }
                }
                replica.finishing.clear();
                if (replica.step == Step::prompts && joining > 0)
                    replica.groups.push_back({time, joining});
            }
            // The end of a prompt makes a token; whether more follow.
            bool make_token(Replica& replica, std::int32_t index, double time)
            {
                Request& request = at(index);
                request.steps -= 1;
                if (request.first_token == not_yet)
                    request.first_token = time;
                if (request.steps <= 0)
                {
                    replica.used -= request.context;
                    leave(index, time, answered);
                    return false;
                }
                request.context += 1;
                replica.used += 1;
                return true;
            }
            void finish_reading(std::int32_t index, double time)
            {
                const std::size_t k = std::size_t(at(index).replica);
                Replica& replica = replicas_[k];
                --replica.lagging;
                if (make_token(replica, index, time))
                    replica.ready.push_back({time, index});
                cut_short(k, time);
            }
            void count_gaps(Replica& replica)
            {
                const auto add = [&](double gap, double number, std::size_t bin) {
                    totals_.values[Totals::gaps] += number;
                    totals_.values[Totals::gap_time] += gap * number;
                    totals_.histogram[bin] += std::int64_t(number);
                };
                const double number = double(replica.decoding) * replica.planned - replica.fresh;
                const std::size_t bin = replica.chunk > 0 ? bin_of(replica.seconds) : step_bins_[replica.decoding];
                if (replica.groups.empty())
                    return add(replica.seconds, number, bin);
                double delayed = 0;
                for (const Group& group : replica.groups) // the first of the steps follows prompts
                {
                    const double gap = replica.start + replica.seconds - group.time;
                    add(gap, group.sequences, bin_of(gap));
                    delayed += group.sequences;
                }
                add(replica.seconds, math::max(number - delayed, 0.0), bin);
            }

            // --- ends ---

            void leave(std::int32_t index, double time, Status status)
            {
                Request& request = at(index);
                pass_time(time);
                --present_;
                totals_.values[Totals::sojourn] += time - request.arrival;
                totals_.values[status == answered ? Totals::completed : Totals::lost] += 1;
                if (request.row != no_row)
                    write(request, time, status);
                if (request.session != no_session && status == answered)
                {
                    PrefixCache& cache = caches_[service_.prefill_replicas ? 0 : std::size_t(request.replica)];
                    if (!service_.cache_tiers.empty())
                        cache.put(request.session, request.input + request.output);
                    if (!from_trace_ && sessions_[std::size_t(request.session)].turns > 0 && arrived_ < most_)
                        due_.push(
                            {time + pauses_.draw(lengths_), due_count_++, std::int32_t(request.session), Late::turn});
                }
                ++request.epoch;
                free_.push_back(index);
            }
            void write(const Request& request, double time, Status status)
            {
                const std::size_t row = std::size_t(request.row);
                const double nan = std::numeric_limits<double>::quiet_NaN();
                const bool done = status == answered;
                const auto set = [&](Column column, double value) { rows_.values[column][row] = value; };
                set(Column::arrival, request.arrival);
                set(Column::queue, request.start != not_yet ? request.start - request.arrival : nan);
                set(Column::first_token, done ? request.first_token - request.arrival : nan);
                set(Column::per_token,
                    done && request.output > 1 ? (time - request.first_token) / (request.output - 1) : nan);
                set(Column::latency, done ? time - request.arrival : nan);
                set(Column::input, request.input);
                set(Column::output, request.output);
                set(Column::hit, request.start != not_yet && request.hit < unlimited ? request.hit : 0);
                set(Column::preemptions, request.preemptions);
                rows_.replica[row] = request.replica;
                rows_.status[row] = std::int8_t(status);
                rows_.waited[row] = std::int8_t(request.waited);
                --rows_left_;
                if (++reported_rows_ == 4096)
                {
                    progress_.add(4096);
                    reported_rows_ = 0;
                }
            }

            const Replicas& service_;
            const Load& load_;
            const Requests& rows_;
            Progress& progress_;
            Generator arrivals_, lengths_, routes_;
            Gaps gaps_;
            Geometric turns_;
            Lognormal pauses_, input_, output_;
            Geometric input_steps_, output_steps_;
            bool from_trace_, drain_;
            std::int64_t rows_left_, first_row_, warm_up_, last_, most_; // requests
            std::int64_t arrived_ = 0, external_count_ = 0, due_count_ = 0, reported_rows_ = 0;
            double external_ = unlimited, now_ = 0, present_ = 0;
            double window_start_ = unlimited, window_end_ = unlimited;
            std::size_t turn_ = 0;
            std::vector<Replica> replicas_;
            Earliest events_;
            std::vector<PrefixCache> caches_{};
            std::vector<Request> requests_{};
            std::vector<std::int32_t> free_{};
            std::vector<Session> sessions_{};
            std::priority_queue<Due, std::vector<Due>, std::greater<>> due_{};
            std::priority_queue<double, std::vector<double>, std::greater<>> prefill_free_{};
            std::deque<double> prefill_starts_{};
            std::vector<double> step_seconds_{};
            std::vector<std::size_t> step_bins_{};
            Totals totals_{};
        };
    }

    std::vector<Totals> simulate(
        const Replicas& replicas,
        const Load& load,
        const RequestCounts& counts,
        const Requests& rows,
        const Options& options)
    {
        std::vector<Totals> totals(counts.replications);
        std::vector<std::size_t> first(counts.replications);
        for (std::size_t k = 1; k < counts.replications; ++k)
            first[k] = first[k - 1] + measured(counts, k - 1);
        Progress progress(options, counts.requests);
        in_parallel(
            int(std::min<std::size_t>(std::size_t(std::max(options.threads, 1)), counts.replications)),
            counts.replications,
            progress,
            [] { return 0; },
            [&](int, std::size_t k) {
                totals[k] = Replication(replicas, load, counts, k, first[k], rows, progress).run();
                return std::size_t(0);
            });
        return totals;
    }
}
