// The binding of sampling: draws, and folds over a sample that is never kept.
#include "roofslate/folds/order_statistics.hpp"
#include "roofslate/python/asked.hpp"
#include "roofslate/run/parallel.hpp"
#include "roofslate/sampling/sampler.hpp"
#include <memory>
#include <mutex>

namespace roofslate::binding
{
    namespace
    {
        template <class T> using Plain = py::array_t<T, py::array::c_style | py::array::forcecast>;

        InverseDistribution inverse_of(
            const Plain<std::uint32_t>& first,
            const Plain<double>& ends,
            const Plain<double>& pieces,
            double low,
            double high)
        {
            const std::size_t n = std::size_t(ends.size());
            if (std::size_t(first.size()) != cells_of_inverse + 1 || first.at(first.size() - 1) != n
                || std::size_t(pieces.size()) != n * words_of_piece)
                throw py::value_error(
                    "InverseDistribution: a first piece for each cell, and for each piece its end and eight words");
            return {
                {first.data(), first.data() + first.size()},
                {ends.data(), ends.data() + n},
                {pieces.data(), pieces.data() + pieces.size()},
                low,
                high};
        }
        Sampler sampler_of(
            const Plain<std::uint32_t>& directions,
            const std::vector<std::uint32_t>& shifts,
            const std::vector<InverseDistribution>& inverses,
            const InverseDistribution& normal,
            const std::vector<std::vector<double>>& correlation)
        {
            std::vector<Sampler::Directions> all(inverses.size());
            if (directions.ndim() != 2 || std::size_t(directions.shape(0)) != all.size()
                || std::size_t(directions.shape(1)) != bits_of_draw || shifts.size() != all.size()
                || !(correlation.empty() || correlation.size() == all.size()))
                throw py::value_error("Sampler: 32 direction numbers, a shift and a distribution for each input");
            for (std::size_t k = 0; k < correlation.size(); ++k)
                if (correlation[k].size() <= k)
                    throw py::value_error("Sampler: correlation is a lower triangle");
            for (std::size_t k = 0; k < all.size(); ++k)
                std::copy_n(directions.data(py::ssize_t(k), 0), bits_of_draw, all[k].begin());
            return {std::move(all), shifts, inverses, normal, correlation};
        }
        py::list draw(const Sampler& sampler, std::size_t n, int threads, const py::object& progress)
        {
            constexpr std::size_t at_once = 1 << 16;
            promise_memory(
                double(n) * double(sampler.inputs() * sizeof(double)),
                "Ask rs.quantiles, rs.histogram or rs.count with n= and seed=: they keep no sample");
            py::list columns;
            std::vector<double*> to;
            for (std::size_t k = 0; k < sampler.inputs(); ++k)
            {
                columns.append(allocate<double>({py::ssize_t(n)}, {1}, n).array);
                to.push_back(static_cast<double*>(py::cast<py::array>(columns[k]).mutable_data()));
            }
            const std::size_t chunks = (n + at_once - 1) / at_once;
            running(progress, threads, [&](const Options& options) {
                Progress done(options, n);
                in_parallel(
                    int(std::min<std::size_t>(std::size_t(std::max(threads, 1)), chunks)),
                    chunks,
                    done,
                    [&] { return std::vector<double*>(to.size()); },
                    [&](std::vector<double*>& at, std::size_t c) {
                        const std::size_t first = c * at_once, length = std::min(at_once, n - first);
                        std::transform(to.begin(), to.end(), at.begin(), [&](double* column) {
                            return column + first;
                        });
                        sampler.draw(first, length, at.data());
                        return length;
                    });
                return 0;
            });
            return columns;
        }

        // A grid of which one axis is a sample: drawn and asked about block by block, each an ordinary grid with fewer
        // points on that axis.
        class Sample
        {
        public:
            Sample(
                const Sampler& sampler,
                const std::vector<std::string>& drawn,
                std::size_t axis,
                const FoldCall& call)
                : sampler_(sampler),
                  axis_(axis),
                  shape_(call.shape),
                  folded_(set_of(call.folded)),
                  supplied_(supplied_by(current_.registry, call.inputs))
            {
                for (const std::string& name : drawn)
                    for (std::size_t k = 0; k < supplied_.size(); ++k)
                        if (supplied_[k].quantity == current_.registry.at(name))
                            drawn_.push_back(k);
                for (std::size_t k = 0; k < shape_.size(); ++k)
                    others_ *= k == axis ? 1 : shape_[k];
                length_ = std::min(size(), std::max(fewest_draws, points_of_block / others_));
            }
            const Registry& registry() const { return current_.registry; }
            std::size_t size() const { return shape_[axis_]; }
            std::size_t axis() const { return axis_; }
            std::size_t length() const { return length_; } // of a block
            AxisSet folded() const { return folded_; }
            std::size_t points() const { return size() * others_; }
            bool matters(const Question& question) const { return question.axes() >> axis_ & 1; }

            // The first draws, by several threads: take(state, graph, closure) for each block, with a state that
            // make_state() gives each thread.
            template <class MakeState, class Take> void each_block(
                std::size_t draws,
                int threads,
                Progress& progress,
                const MakeState& make_state,
                const Take& take) const
            {
                const std::size_t blocks = (draws + length_ - 1) / length_;
                using State = decltype(make_state());
                struct Thread
                {
                    Block block;
                    State state;
                };
                in_parallel(
                    int(std::min<std::size_t>(std::size_t(std::max(threads, 1)), blocks)),
                    blocks,
                    progress,
                    [&] { return std::unique_ptr<Thread>(new Thread{Block(*this), make_state()}); },
                    [&](const std::unique_ptr<Thread>& thread, std::size_t b) {
                        const std::size_t first = b * length_, n = std::min(length_, draws - first);
                        thread->block.draw(*this, first, n);
                        Graph graph(thread->block.shape);
                        Closure closure(registry(), graph, thread->block.supplied);
                        take(thread->state, graph, closure);
                        return n * others_;
                    });
            }

        private:
            static constexpr std::size_t points_of_block = 1 << 14, fewest_draws = 16;
            struct Block // of one thread
            {
                explicit Block(const Sample& sample) : shape(sample.shape_), supplied(sample.supplied_)
                {
                    for (const std::size_t k : sample.drawn_)
                    {
                        columns.push_back(aligned_doubles(sample.length_ + widest_strip));
                        to.push_back(columns.back().get());
                        View& view = supplied[k].view;
                        view.data = to.back(), view.axes = AxisSet(1) << sample.axis_, view.stride = {},
                        view.stride[sample.axis_] = 1;
                    }
                }
                void draw(const Sample& sample, std::size_t first, std::size_t n)
                {
                    sample.sampler_.draw(first, n, to.data());
                    shape[sample.axis_] = n;
                }
                std::vector<std::size_t> shape;
                std::vector<Supplied> supplied;
                std::vector<Doubles> columns;
                std::vector<double*> to;
            };

            const Current current_;
            const Sampler& sampler_;
            std::size_t axis_;
            std::vector<std::size_t> shape_;
            AxisSet folded_;
            std::vector<Supplied> supplied_;
            std::vector<std::size_t> drawn_; // among what is supplied, in the order of the sampler's columns
            std::size_t others_ = 1, length_;
        };

        // Counts of all blocks, added up. `count_block(question)`: those of one.
        template <class Ask, class CountBlock> std::vector<std::int64_t> added_up(
            const Sample& sample,
            std::size_t n,
            const Options& options,
            const Ask& ask,
            const CountBlock& count_block)
        {
            std::vector<std::int64_t> all(n, 0);
            std::mutex mutex;
            Progress progress(options, sample.points());
            sample.each_block(
                sample.size(),
                options.threads,
                progress,
                [] { return 0; },
                [&](int, Graph& graph, Closure& closure) {
                    const std::vector<std::int64_t> counts = count_block(ask(graph, closure));
                    const std::lock_guard<std::mutex> lock(mutex);
                    std::transform(all.begin(), all.end(), counts.begin(), all.begin(), std::plus<>());
                });
            return all;
        }

        // A question about one value.
        struct Valued
        {
            Valued(
                const Formula& value,
                const Sampler& sampler,
                const std::vector<std::string>& drawn,
                std::size_t axis,
                const CallTuple& fold)
                : call(fold),
                  sample(sampler, drawn, axis, call),
                  formula(written(sample.registry(), value)),
                  asked(call.shape, call.inputs),
                  whole{asked.graph(), {asked.node(value)}, {}, sample.folded()}
            {
            }
            Question operator()(Graph& graph, Closure& closure) const
            { return {graph, {node_of(formula, sample.registry(), graph, closure)}, {}, sample.folded()}; }
            std::size_t kept() const { return whole.graph.points(whole.kept()); }

            FoldCall call;
            Sample sample;
            Written formula;
            Asked asked;
            Question whole;
        };
        py::tuple histogram_sample(
            const Formula& value,
            const std::vector<double>& edges,
            const Sampler& sampler,
            const std::vector<std::string>& drawn,
            std::size_t axis,
            const CallTuple& fold)
        {
            Valued ask(value, sampler, drawn, axis, fold);
            auto counts = running(ask.call.progress, ask.call.threads, [&](const Options& options) {
                if (!ask.sample.matters(ask.whole))
                    return histogram(ask.whole, edges, options, false);
                return added_up(
                    ask.sample,
                    ask.kept() * (edges.size() + 2),
                    options,
                    ask,
                    [&](const Question& question) { return histogram(question, edges, {}, false); });
            });
            return py::make_tuple(array_of(std::move(counts)), ask.asked.axes(ask.whole.kept()));
        }
        py::tuple extent_of_sample(
            const Formula& value,
            const Sampler& sampler,
            const std::vector<std::string>& drawn,
            std::size_t axis,
            const CallTuple& fold)
        {
            Valued ask(value, sampler, drawn, axis, fold);
            const Range all = running(ask.call.progress, ask.call.threads, [&](const Options& options) {
                if (!ask.sample.matters(ask.whole))
                    return finite_extent(ask.whole, options);
                Range found{HUGE_VAL, -HUGE_VAL};
                std::mutex mutex;
                Progress progress(options, ask.sample.points());
                ask.sample.each_block(
                    ask.sample.size(),
                    options.threads,
                    progress,
                    [] { return 0; },
                    [&](int, Graph& graph, Closure& closure) {
                        const Range r = finite_extent(ask(graph, closure), {});
                        const std::lock_guard<std::mutex> lock(mutex);
                        found = {std::min(found.low, r.low), std::max(found.high, r.high)};
                    });
                return found;
            });
            return py::make_tuple(all.low, all.high);
        }

        // Values of blocks in memory of their own, those of a kept point together.
        class Values
        {
        public:
            Values(const Question& whole, const Sample& sample) : rows_(whole.graph.points(whole.kept()))
            {
                for (std::size_t k = 0; k < whole.graph.shape().size(); ++k)
                    if (whole.kept() >> k & 1)
                        kept_.push_back(k);
                    else if (whole.axes() >> k & 1)
                        // the sample is the row of the engine
                        folded_.insert(k == sample.axis() ? folded_.begin() : folded_.end(), k);
                for (const std::size_t k : folded_)
                    others_ *= k == sample.axis() ? 1 : whole.graph.shape()[k];
                memory_ = aligned_doubles(rows_ * others_ * sample.length() + widest_strip);
            }
            std::size_t of_draw() const { return others_; } // for each kept point
            // take(kept point, values, n)
            template <class Take> void compute(const Question& question, const Take& take)
            {
                const std::vector<std::size_t>& shape = question.graph.shape();
                Output output{question.values.front(), memory_.get(), {}, true};
                std::ptrdiff_t n = 1;
                for (const std::size_t k : folded_)
                    output.stride[k] = n, n *= std::ptrdiff_t(shape[k]);
                std::ptrdiff_t place = n;
                for (auto k = kept_.rbegin(); k != kept_.rend(); ++k)
                    output.stride[*k] = place, place *= std::ptrdiff_t(shape[*k]);
                store(question.graph, {output}, {});
                for (std::size_t row = 0; row < rows_; ++row)
                    take(row, memory_.get() + std::ptrdiff_t(row) * n, std::size_t(n));
            }

        private:
            std::size_t rows_, others_ = 1;
            std::vector<std::size_t> kept_, folded_;
            Doubles memory_;
        };
        py::tuple count_sample(
            const std::vector<Condition>& conditions,
            const Sampler& sampler,
            const std::vector<std::string>& drawn,
            std::size_t axis,
            const CallTuple& fold)
        {
            const FoldCall call(fold);
            const Sample sample(sampler, drawn, axis, call);
            Asked asked(call.shape, call.inputs);
            std::vector<std::tuple<Written, std::string, Written>> sides;
            for (const auto& [left, relation, right] : conditions)
                sides.emplace_back(written(sample.registry(), left), relation, written(sample.registry(), right));
            const auto ask = [&](Graph& graph, Closure& closure) {
                int met = graph.constant(1);
                for (const auto& [left, relation, right] : sides)
                {
                    const int a = node_of(left, sample.registry(), graph, closure),
                              b = node_of(right, sample.registry(), graph, closure);
                    const Requirement r = requirement_of(graph, a, relation, b);
                    met = graph.operation(
                        Op::both,
                        met,
                        graph.operation(r.strict ? Op::less : Op::less_equal, r.left, r.right));
                }
                return Question{graph, {met}, {}, sample.folded()};
            };
            const Question whole = ask(asked.graph(), asked.closure());
            auto counts = running(call.progress, call.threads, [&](const Options& options) {
                if (!sample.matters(whole))
                {
                    std::vector<std::int64_t> all = histogram(whole, {0.5, 1.5}, options, false), met;
                    for (std::size_t k = 1; k < all.size(); k += 4)
                        met.push_back(all[k]);
                    return met;
                }
                std::vector<std::int64_t> all(whole.graph.points(whole.kept()), 0);
                std::mutex mutex;
                Progress progress(options, sample.points());
                sample.each_block(
                    sample.size(),
                    options.threads,
                    progress,
                    [&] { return Values(whole, sample); },
                    [&](Values& values, Graph& graph, Closure& closure) {
                        values.compute(ask(graph, closure), [&](std::size_t row, const double* x, std::size_t n) {
                            const std::int64_t met =
                                std::int64_t(n - instruction_set().below(x, n, 0.5)) * whole.repeats();
                            const std::lock_guard<std::mutex> lock(mutex);
                            all[row] += met;
                        });
                    });
                return all;
            });
            return py::make_tuple(array_of(std::move(counts)), asked.axes(whole.kept()));
        }
        std::vector<double> quantiles_in_blocks(const Valued& ask, const std::vector<double>& q, const Options& options)
        {
            constexpr std::size_t most_hints = 1 << 16, most_hint_values = 1 << 21, fewest_hints = 64;
            const Sample& sample = ask.sample;
            const std::size_t rows = ask.kept(), of_draw = Values(ask.whole, sample).of_draw();
            promise_memory(
                double(options.threads) * double(rows * of_draw * sample.length() * sizeof(double)),
                "Keep fewer axes, or fold fewer at a time");
            std::size_t hints = most_hints;
            while (hints > fewest_hints && hints * rows * of_draw > most_hint_values)
                hints /= 2;
            hints = std::min(hints, sample.size());
            Progress progress(options, sample.points());
            OrderStatistics statistics(rows, q, ask.whole.repeats());
            std::vector<std::vector<double>> some(rows);
            std::mutex mutex;
            sample.each_block(
                hints,
                options.threads,
                progress,
                [&] { return Values(ask.whole, sample); },
                [&](Values& values, Graph& graph, Closure& closure) {
                    values.compute(ask(graph, closure), [&](std::size_t row, const double* x, std::size_t n) {
                        const std::lock_guard<std::mutex> lock(mutex);
                        some[row].insert(some[row].end(), x, x + n);
                    });
                });
            for (std::size_t row = 0; row < rows; ++row)
                statistics.hint(row, std::move(some[row]), double(hints), std::int64_t(sample.size() * of_draw));
            for (statistics.begin(); statistics.open();)
            {
                struct Thread
                {
                    Values values;
                    OrderStatistics::Tally* tally;
                };
                std::vector<std::unique_ptr<OrderStatistics::Tally>> tallies;
                const auto make_state = [&] {
                    auto tally = std::make_unique<OrderStatistics::Tally>(statistics);
                    Thread thread{Values(ask.whole, sample), tally.get()};
                    const std::lock_guard<std::mutex> lock(mutex);
                    tallies.push_back(std::move(tally));
                    return thread;
                };
                sample.each_block(
                    sample.size(),
                    options.threads,
                    progress,
                    make_state,
                    [&](Thread& thread, Graph& graph, Closure& closure) {
                        thread.values.compute(
                            ask(graph, closure),
                            [&](std::size_t row, const double* x, std::size_t n) { thread.tally->take(row, x, n); });
                    });
                std::vector<OrderStatistics::Tally*> all;
                for (const auto& tally : tallies)
                    all.push_back(tally.get());
                statistics.end_pass(all);
            }
            return statistics.found();
        }
        py::tuple quantiles_of_sample(
            const Formula& value,
            const std::vector<double>& q,
            const Sampler& sampler,
            const std::vector<std::string>& drawn,
            std::size_t axis,
            const CallTuple& fold)
        {
            Valued ask(value, sampler, drawn, axis, fold);
            auto found = running(ask.call.progress, ask.call.threads, [&](const Options& options) {
                return ask.sample.matters(ask.whole)
                    ? quantiles_in_blocks(ask, q, options)
                    : quantiles(ask.whole, q, options);
            });
            return py::make_tuple(array_of(std::move(found)), ask.asked.axes(ask.whole.kept()));
        }
    }

    void bind_sampling(py::module_& m)
    {
        py::class_<InverseDistribution>(
            m,
            "InverseDistribution",
            "The inverse of a distribution function as polynomials, piece by piece.")
            .def(
                py::init(&inverse_of),
                py::arg("first"),
                py::arg("ends"),
                py::arg("pieces"),
                py::arg("low"),
                py::arg("high"));
        py::class_<Sampler>(m, "Sampler", "Draws of several inputs together.")
            .def(
                py::init(&sampler_of),
                py::arg("directions"),
                py::arg("shifts"),
                py::arg("inverses"),
                py::arg("normal"),
                py::arg("correlation"));
        m.def(
            "draw",
            &draw,
            py::arg("sampler"),
            py::arg("n"),
            py::arg("threads"),
            py::arg("progress"),
            "The first draws of a sampler: an array for each of its inputs.");
        m.def(
            "sampled_count",
            &count_sample,
            py::arg("conditions"),
            py::arg("sampler"),
            py::arg("drawn"),
            py::arg("axis"),
            py::arg("fold"),
            "As count, with an axis along which inputs are drawn.");
        m.def(
            "sampled_histogram",
            &histogram_sample,
            py::arg("value"),
            py::arg("edges"),
            py::arg("sampler"),
            py::arg("drawn"),
            py::arg("axis"),
            py::arg("fold"),
            "As histogram, with an axis along which inputs are drawn.");
        m.def(
            "sampled_finite_extent",
            &extent_of_sample,
            py::arg("value"),
            py::arg("sampler"),
            py::arg("drawn"),
            py::arg("axis"),
            py::arg("fold"),
            "As finite_extent, with an axis along which inputs are drawn.");
        m.def(
            "sampled_quantiles",
            &quantiles_of_sample,
            py::arg("value"),
            py::arg("q"),
            py::arg("sampler"),
            py::arg("drawn"),
            py::arg("axis"),
            py::arg("fold"),
            "As quantiles, with an axis along which inputs are drawn.");
    }
}
