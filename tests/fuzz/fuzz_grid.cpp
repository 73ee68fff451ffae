// Arrays with named axes: what can be computed is at each point the value of that point, all else is an error of the
// core.
#include "bytes.hpp"
#include "roofslate/language/error.hpp"
#include "roofslate/run/evaluate.hpp"
#include <numeric>

using namespace fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const char* const names[] = {
        "batch_size",        "context_length",
        "bytes_per_weight",  "total_parameters",
        "active_parameters", "peak_flops",
        "hbm_bandwidth",     "chips",
        "chip_price",        "kv_bytes_per_token",
        "experts",           "experts_per_token",
        "dense_parameters",  "overlap",
        "expert_reads",      "pass_length",
        "batch_slots",       "slot_utilization",
        "output_tokens",     "batch_interval",
        "memory_time",       "pass_time",
        "pipeline_stages",   "unheard_of"};
    static const char* const wanted[] = {
        "pass_time",
        "cost_per_token",
        "bottleneck",
        "expert_coverage",
        "mean_queue_wait",
        "batch_size",
        "fetched_weight_bytes",
        "unheard_of"};

    Bytes bytes(data, size);
    const Using use(bytes.instruction_set());
    const unsigned outputs = bytes.byte(), lengths = bytes.byte();
    std::vector<std::string> quantities{wanted[outputs & 7]};
    if (outputs & 8)
        quantities.emplace_back(wanted[outputs >> 4 & 7]);

    Inputs inputs;
    if (bytes.flag()) // enough for a pass
        for (const std::size_t k : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
            inputs.push_back({names[k], {xt::xarray<double>(double(k + 1)), {}}});
    for (int k = 0; k < 12 && bytes.left(); ++k)
    {
        const std::string name = names[bytes.below(int(std::size(names)))];
        Labelled input;
        std::vector<std::size_t> shape;
        for (int axes = bytes.below(16) - 8; axes > 0; --axes) // none most often
        {
            const unsigned axis = bytes.byte();
            input.axes.emplace_back(1, char('a' + axis % 24));
            shape.push_back(
                axis >= 240 ? 7
                    : axis % 24 == 23
                    ? 0
                    : 1 + (lengths >> axis % 8 & 1) * (axis % 24 < 3 ? 12 : 1));
        }
        if (bytes.byte() == 255)
            input.axes.emplace_back("a");
        const double first = bytes.number(), step = bytes.number();
        if (std::accumulate(
                shape.begin(),
                shape.end(),
                1.0,
                [](double all, std::size_t n) { return all * double(std::max<std::size_t>(n, 1)); })
            > 5000)
            return 0;
        input.values.resize(shape);
        for (std::size_t i = 0; i < input.values.size(); ++i)
            input.values.data()[i] = first + step * double(i);
        inputs.emplace_back(name, std::move(input));
    }
    double points = 1;
    std::map<std::string, std::size_t> grid;
    for (const auto& [name, input] : inputs)
        for (std::size_t d = 0; d < std::min(input.axes.size(), input.values.dimension()); ++d)
            if (grid.emplace(input.axes[d], input.values.shape()[d]).second)
                points *= double(std::max<std::size_t>(input.values.shape()[d], 1));
    if (points > 20000)
        return 0;

    std::vector<Labelled> results;
    try
    {
        results = evaluate(quantities, inputs);
    }
    catch (const Error&)
    {
        return 0;
    }
    for (std::size_t k = 0; k < results.size(); ++k)
    {
        const Labelled& result = results[k];
        check(result.values.dimension() == result.axes.size(), "a result has an axis without a name");
        for (std::size_t round = 0; round < std::min<std::size_t>(result.values.size(), 4); ++round)
        {
            std::map<std::string, std::size_t> place;
            std::vector<std::size_t> at;
            for (std::size_t d = 0; d < result.axes.size(); ++d)
            {
                at.push_back(
                    (round == 1 ? result.values.shape()[d] - 1 : round * 5 / (d + 1)) % result.values.shape()[d]);
                place[result.axes[d]] = at.back();
            }
            std::map<std::string, double> numbers;
            for (const auto& [name, input] : inputs)
            {
                std::vector<std::size_t> own;
                for (const std::string& axis : input.axes)
                    own.push_back(place.count(axis) ? place[axis] : 0);
                if (input.values.size())
                    numbers[name] = input.values.element(own.begin(), own.end());
            }
            check(
                same_bits(result.values.element(at.begin(), at.end()), value(quantities[k], numbers)),
                "a point of a grid is not the value there");
        }
    }
    return 0;
}
