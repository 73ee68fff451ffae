// Hand-written search for the best batch of this question only: slow factors hoisted, batches outside, contexts in
// the vector. Compiled by the benchmark for its machine (-O3 -march=native), separately from the engine: the
// reference for folds that visit every point.
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

namespace
{
    struct Axes
    {
        const double *total_parameters, *active_parameters, *kv_bytes_per_token; // of models
        const double *peak_flops, *hbm_bandwidth, *hbm_capacity, *chip_price; // of chips
        const double *batch_size, *context_length;
        std::int64_t models, chips, batches, contexts;
    };

    void search(
        const Axes& x,
        std::int64_t model,
        std::int64_t chip,
        double number,
        double limit,
        double* least,
        double* best_index)
    {
        const double *const L = x.context_length, bandwidth = number * x.hbm_bandwidth[chip],
                            room = x.hbm_capacity[chip];
        const double weights = x.total_parameters[model] / bandwidth, held = x.total_parameters[model] / number;
        const std::int64_t contexts = x.contexts;
        for (std::int64_t c = 0; c < contexts; ++c)
            least[c] = HUGE_VAL, best_index[c] = -1;
        for (std::int64_t b = 0; b < x.batches; ++b)
        {
            const double B = x.batch_size[b],
                         compute = B * (2 * x.active_parameters[model] / (number * x.peak_flops[chip]));
            const double fetch = B * (x.kv_bytes_per_token[model] / bandwidth),
                         kept = B * (x.kv_bytes_per_token[model] / number);
            const double price = number * x.chip_price[chip] / B, at = double(b);
            for (std::int64_t c = 0; c < contexts; ++c)
            {
                const double memory = weights + L[c] * fetch, time = compute > memory ? compute : memory,
                             cost = time * price;
                const bool better = (time <= limit) & (held + L[c] * kept <= room) & (cost < least[c]);
                least[c] = better ? cost : least[c];
                best_index[c] = better ? at : best_index[c];
            }
        }
    }
}

// Least cost of a token and the place of its batch, -1 for none, for each model, chip and context.
extern "C" void best_batches(
    const double* const* axes,
    const std::int64_t* lengths,
    double chips,
    double limit,
    int threads,
    double* least,
    double* best_index)
{
    const Axes x{
        axes[0],
        axes[1],
        axes[2],
        axes[3],
        axes[4],
        axes[5],
        axes[6],
        axes[7],
        axes[8],
        lengths[0],
        lengths[1],
        lengths[2],
        lengths[3]};
    const auto part = [&](std::int64_t first) {
        for (std::int64_t r = first; r < x.models * x.chips; r += threads)
            search(x, r / x.chips, r % x.chips, chips, limit, least + r * x.contexts, best_index + r * x.contexts);
    };
    std::vector<std::thread> helpers;
    for (int t = 1; t < threads; ++t)
        helpers.emplace_back(part, t);
    part(0);
    for (std::thread& t : helpers)
        t.join();
}
