// The plan and what runs it: results in any layout are the bits of the operations on double.
#include "bytes.hpp"
#include "roofslate/language/error.hpp"

using namespace fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    Bytes bytes(data, size);
    const Using use(bytes.instruction_set());
    Options options;
    options.threads = bytes.byte() == 1 ? 3 : 1;
    const bool stop = bytes.byte() == 1;
    const unsigned layout = bytes.byte(), chosen = bytes.byte();
    const GraphRead r(bytes, 2100);
    const std::vector<std::size_t>& shape = r.graph.shape();

    std::vector<Output> outputs;
    std::vector<std::vector<double>> memory(3);
    std::vector<std::vector<float>> singles(3);
    for (std::size_t k = 0; k < 3; ++k)
    {
        Output o{r.nodes[r.nodes.size() - 1 - (chosen >> 2 * k & 3) % r.nodes.size()], nullptr, {}, bool(layout & 1)};
        std::ptrdiff_t next = layout & 2 ? 2 : 1, from = layout >> 4 & 1;
        for (std::size_t d = 0; d < shape.size(); ++d)
        {
            const std::size_t a = layout & 4 ? d : shape.size() - 1 - d;
            if (!(r.graph[o.node].axes >> a & 1))
                continue;
            o.stride[a] = layout & 8 ? -next : next;
            from += layout & 8 ? next * std::ptrdiff_t(shape[a] - 1) : 0;
            next *= std::ptrdiff_t(shape[a]);
        }
        if (layout & 32 && k)
        {
            singles[k].assign(std::size_t(next) + 1, -77);
            o.data = singles[k].data() + from, o.storage = Storage::float32;
        }
        else
            memory[k].assign(std::size_t(next) + 1, -77), o.data = memory[k].data() + from;
        outputs.push_back(o);
    }
    if (stop)
        options.report = [](std::size_t, std::size_t) { return false; };
    try
    {
        store(r.graph, outputs, options);
    }
    catch (const Interrupted&)
    {
        check(stop, "a call was stopped that nobody stopped");
        return 0;
    }
    std::vector<std::size_t> point(shape.size(), 0);
    std::vector<double> values;
    for (std::size_t round = 0; round < 12; ++round)
    {
        for (std::size_t a = 0; a < shape.size(); ++a)
            point[a] = round == 0 ? 0 : round == 1 ? shape[a] - 1 : round * 0x9e3779b97f4a7c15u / (a + 1) % shape[a];
        r.at_point(point, values);
        for (const Output& o : outputs)
        {
            const double expected = values[std::size_t(o.node)];
            const std::ptrdiff_t at = GraphRead::offset(o.stride, point);
            with_type(o.storage, [&](auto stored) {
                const auto* const results = static_cast<const typename decltype(stored)::type*>(o.data);
                check(same_bits(double(results[at]), double(stored.of(expected))), "a result");
            });
        }
    }
    return 0;
}
