#include "roofslate/run/evaluate.hpp"
#include "roofslate/graph/numbers.hpp"
#include "roofslate/language/error.hpp"
#include <algorithm>

namespace roofslate
{
    std::vector<Labelled> evaluate(
        const std::vector<std::string>& quantities,
        const Inputs& inputs,
        const Options& options)
    {
        std::vector<std::string> names;
        std::vector<std::size_t> shape;
        std::vector<Supplied> supplied;
        for (const auto& [name, input] : inputs)
        {
            if (input.values.dimension() != input.axes.size())
                throw axis_error(
                    name + ": an array with " + std::to_string(input.values.dimension()) + " axes was given "
                    + std::to_string(input.axes.size()) + " names");
            std::vector<std::size_t> axes;
            for (std::size_t d = 0; d < input.axes.size(); ++d)
            {
                if (input.values.shape()[d] == 0)
                    throw axis_error(name + ": the axis '" + input.axes[d] + "' is empty");
                const std::size_t at =
                    std::size_t(std::find(names.begin(), names.end(), input.axes[d]) - names.begin());
                if (at == names.size())
                    names.push_back(input.axes[d]), shape.push_back(input.values.shape()[d]);
                else if (shape[at] != input.values.shape()[d])
                    throw axis_error(
                        name + ": the axis '" + input.axes[d] + "' has " + std::to_string(input.values.shape()[d])
                        + " values, elsewhere " + std::to_string(shape[at]));
                if (std::find(axes.begin(), axes.end(), at) != axes.end())
                    throw axis_error(name + ": the axis '" + input.axes[d] + "' comes twice");
                axes.push_back(at);
            }
            if (shape.size() > most_axes)
                throw axis_error("a grid has at most " + std::to_string(most_axes) + " axes");
            supplied.push_back({registry().at(name), view_of(input.values, axes)});
        }
        Graph graph(shape);
        Closure closure(registry(), graph, supplied);
        std::vector<Output> outputs;
        std::vector<Labelled> results(quantities.size());
        for (std::size_t k = 0; k < quantities.size(); ++k)
        {
            const int node = closure.node(registry().at(quantities[k]));
            const AxisSet axes = graph[node].axes;
            std::vector<std::size_t> own_axes, own_shape;
            for (std::size_t a = 0; a < shape.size(); ++a)
                if (axes >> a & 1)
                    own_axes.push_back(a), own_shape.push_back(shape[a]), results[k].axes.push_back(names[a]);
            results[k].values.resize(own_shape);
            Output o{node, results[k].values.data(), {}, false};
            for (std::size_t d = 0; d < own_axes.size(); ++d)
                o.stride[own_axes[d]] = std::ptrdiff_t(results[k].values.strides()[d]);
            outputs.push_back(o);
        }
        store(graph, outputs, options);
        return results;
    }
    double value(const std::string& quantity, const std::map<std::string, double>& inputs)
    {
        std::vector<Given> given;
        for (const auto& [name, x] : inputs)
            given.push_back({registry().at(name), x});
        return Numbers(registry(), given)[registry().at(quantity)];
    }
}
