// Folds over a sample that is never kept.
#include "roofslate/folds/fold.hpp"
#include "roofslate/folds/order_statistics.hpp"
#include "roofslate/memory/promise.hpp"
#include "roofslate/sampling/sample.hpp"
#include <cmath>
#include <mutex>

namespace roofslate
{
    namespace
    {
        // Runs merge(answer of a block) for each block, one at a time.
        template <class Merge>
        void each_answer(
            const Fold& fold,
            const Sample& sample,
            const Question& full_question,
            const Options& options,
            const Merge& merge)
        {
            std::mutex mutex;
            Progress progress(options, sample.points());
            sample.each_block(
                sample.size(),
                options.threads,
                progress,
                [] { return 0; },
                [&](int, Graph& graph, Closure& closure) {
                    const Question question = fold.ask({sample.registry(), graph, closure}, full_question.folded);
                    const Answer answer = fold.over(question, {}, false);
                    const std::lock_guard<std::mutex> lock(mutex);
                    merge(answer);
                });
        }
    }

    Answer Histogram::over(const Sample& sample, const Question& full_question, const Options& options) const
    {
        std::vector<std::int64_t> all(full_question.graph.points(full_question.kept()) * (edges_.size() + 2), 0);
        each_answer(*this, sample, full_question, options, [&](const Answer& part) {
            std::transform(all.begin(), all.end(), part.counts.begin(), all.begin(), std::plus<>());
        });
        return {{}, std::move(all)};
    }

    Answer Extent::over(const Sample& sample, const Question& full_question, const Options& options) const
    {
        double low = HUGE_VAL, high = -HUGE_VAL;
        each_answer(*this, sample, full_question, options, [&](const Answer& part) {
            low = std::min(low, part.numbers[0]), high = std::max(high, part.numbers[1]);
        });
        return {{low, high}, {}};
    }

    Answer Count::over(const Sample& sample, const Question& full_question, const Options& options) const
    {
        std::vector<std::int64_t> all(full_question.graph.points(full_question.kept()), 0);
        std::mutex mutex;
        Progress progress(options, sample.points());
        sample.each_block(
            sample.size(),
            options.threads,
            progress,
            [&] { return SampledValues(full_question, sample); },
            [&](SampledValues& values, Graph& graph, Closure& closure) {
                const Question met = ask_met({sample.registry(), graph, closure}, full_question.folded);
                values.compute(met, [&](std::size_t row, const double* x, std::size_t n) {
                    const std::int64_t count =
                        std::int64_t(n - instruction_set().below(x, n, 0.5)) * full_question.repeats();
                    const std::lock_guard<std::mutex> lock(mutex);
                    all[row] += count;
                });
            });
        return {{}, std::move(all)};
    }

    Answer Quantiles::over(const Sample& sample, const Question& full_question, const Options& options) const
    {
        constexpr std::size_t most_hints = 1 << 16, most_hint_values = 1 << 21, fewest_hints = 64;
        const std::size_t rows = full_question.graph.points(full_question.kept());
        const std::size_t of_draw = SampledValues(full_question, sample).of_draw();
        promise_memory(
            double(options.threads) * double(rows * of_draw * sample.length() * sizeof(double)),
            "Keep fewer axes, or fold fewer at a time");
        std::size_t hints = most_hints;
        while (hints > fewest_hints && hints * rows * of_draw > most_hint_values)
            hints /= 2;
        hints = std::min(hints, sample.size());
        Progress progress(options, sample.points());
        OrderStatistics statistics(rows, q_, full_question.repeats());
        std::vector<std::vector<double>> some(rows);
        std::mutex mutex;
        const auto formula_nodes = [&](Graph& graph, Closure& closure) {
            return ask({sample.registry(), graph, closure}, full_question.folded);
        };
        sample.each_block(
            hints,
            options.threads,
            progress,
            [&] { return SampledValues(full_question, sample); },
            [&](SampledValues& values, Graph& graph, Closure& closure) {
                values.compute(formula_nodes(graph, closure), [&](std::size_t row, const double* x, std::size_t n) {
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
                SampledValues values;
                OrderStatistics::Tally* tally;
            };
            std::vector<std::unique_ptr<OrderStatistics::Tally>> tallies;
            const auto make_state = [&] {
                auto tally = std::make_unique<OrderStatistics::Tally>(statistics);
                Thread thread{SampledValues(full_question, sample), tally.get()};
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
                        formula_nodes(graph, closure),
                        [&](std::size_t row, const double* x, std::size_t n) { thread.tally->take(row, x, n); });
                });
            std::vector<OrderStatistics::Tally*> all;
            for (const auto& tally : tallies)
                all.push_back(tally.get());
            statistics.end_pass(all);
        }
        return {statistics.found(), {}};
    }
}
