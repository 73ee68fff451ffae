// The binding of the folds.
#include "roofslate/folds/folds.hpp"
#include "roofslate/python/asked.hpp"

namespace roofslate::binding
{
    namespace
    {
        py::tuple best_of(
            const Formula& objective,
            bool maximize,
            const std::vector<Condition>& conditions,
            const CallTuple& fold)
        {
            const FoldCall call(fold);
            Asked asked(call.shape, call.inputs);
            int node = asked.node(objective);
            if (maximize)
                node = asked.graph().operation(Op::neg, node);
            const Question question{asked.graph(), {node}, asked.requirements(conditions), set_of(call.folded)};
            Optima optima = running(call.progress, call.threads, [&](const Options& options) {
                return best(question, options, call.prune);
            });
            if (maximize)
                for (double& value : optima.values)
                    value = -value;
            return py::make_tuple(
                array_of(std::move(optima.values)),
                array_of(std::move(optima.where)),
                asked.axes(question.kept()));
        }
        py::array pareto_of(
            const std::vector<Formula>& objectives,
            const std::vector<bool>& maximize,
            const std::vector<Condition>& conditions,
            const CallTuple& fold)
        {
            const FoldCall call(fold);
            if (objectives.empty() || objectives.size() > most_objectives)
                throw Error(
                    "ValueRangeError",
                    "pareto takes one to " + std::to_string(most_objectives) + " objectives, "
                        + std::to_string(objectives.size()) + " were given");
            Asked asked(call.shape, call.inputs);
            Question question{asked.graph(), {}, asked.requirements(conditions), set_of(call.folded)};
            for (std::size_t k = 0; k < objectives.size(); ++k)
            {
                const int node = asked.node(objectives[k]);
                question.values.push_back(maximize[k] ? asked.graph().operation(Op::neg, node) : node);
            }
            return array_of(running(call.progress, call.threads, [&](const Options& options) {
                return pareto(question, options, call.prune);
            }));
        }
        py::tuple count_of(const std::vector<Condition>& conditions, const CallTuple& fold)
        {
            const FoldCall call(fold);
            Asked asked(call.shape, call.inputs);
            const Question question{asked.graph(), {}, asked.requirements(conditions), set_of(call.folded)};
            auto counts = running(call.progress, call.threads, [&](const Options& options) {
                return count(question, options, call.prune);
            });
            return py::make_tuple(array_of(std::move(counts)), asked.axes(question.kept()));
        }
        py::tuple histogram_of(const Formula& value, const std::vector<double>& edges, const CallTuple& fold)
        {
            const FoldCall call(fold);
            Asked asked(call.shape, call.inputs);
            const Question question{asked.graph(), {asked.node(value)}, {}, set_of(call.folded)};
            auto counts = running(call.progress, call.threads, [&](const Options& options) {
                return histogram(question, edges, options, call.prune);
            });
            return py::make_tuple(array_of(std::move(counts)), asked.axes(question.kept()));
        }
        py::tuple extent_of(const Formula& value, const CallTuple& fold)
        {
            const FoldCall call(fold);
            Asked asked(call.shape, call.inputs);
            const Question question{asked.graph(), {asked.node(value)}, {}, set_of(call.folded)};
            const Range r = running(call.progress, call.threads, [&](const Options& options) {
                return finite_extent(question, options);
            });
            return py::make_tuple(r.low, r.high);
        }
        py::tuple quantiles_of(const Formula& value, const std::vector<double>& q, const CallTuple& fold)
        {
            const FoldCall call(fold);
            Asked asked(call.shape, call.inputs);
            const Question question{asked.graph(), {asked.node(value)}, {}, set_of(call.folded)};
            auto found = running(call.progress, call.threads, [&](const Options& options) {
                return quantiles(question, q, options);
            });
            return py::make_tuple(array_of(std::move(found)), asked.axes(question.kept()));
        }
        py::tuple bounds_of(
            const Formula& value,
            const std::vector<std::size_t>& shape,
            const std::vector<Input>& inputs)
        {
            Asked asked(shape, inputs);
            const int node = asked.node(value);
            const Range r = ranges(asked.graph(), std::pmr::get_default_resource(), std::size_t(-1))[std::size_t(node)];
            return py::make_tuple(r.low, r.high);
        }
    }

    void bind_folds(py::module_& m)
    {
        m.def(
            "best",
            &best_of,
            py::arg("objective"),
            py::arg("maximize"),
            py::arg("conditions"),
            py::arg("fold"),
            "The smallest or largest of a formula, where it is: indices over the folded axes, -1 for nowhere, and the "
            "axes they vary along.");
        m.def(
            "pareto",
            &pareto_of,
            py::arg("objectives"),
            py::arg("maximize"),
            py::arg("conditions"),
            py::arg("fold"),
            "Indices of the points that no other point beats.");
        m.def(
            "count",
            &count_of,
            py::arg("conditions"),
            py::arg("fold"),
            "How many points meet conditions, and the axes that this varies along.");
        m.def(
            "histogram",
            &histogram_of,
            py::arg("value"),
            py::arg("edges"),
            py::arg("fold"),
            "Counts below, in each bin, above, and of NaN, and the axes that they vary along.");
        m.def(
            "finite_extent",
            &extent_of,
            py::arg("value"),
            py::arg("fold"),
            "The smallest and the largest finite value of a formula.");
        m.def(
            "quantiles",
            &quantiles_of,
            py::arg("value"),
            py::arg("q"),
            py::arg("fold"),
            "For each quantile the sorted values before and after it and how far it lies between; and the axes that "
            "they vary along.");
        m.def(
            "bounds",
            &bounds_of,
            py::arg("value"),
            py::arg("shape"),
            py::arg("inputs"),
            "Bounds of a formula over a grid; NaN: anything.");
    }
}
