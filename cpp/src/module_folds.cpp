// The binding of the folds.
#include "binding.hpp"
#include <roofslate/error.hpp>
#include <roofslate/folds.hpp>

namespace roofslate::binding
{
    namespace
    {
        // A formula over quantities: ("quantity", name), ("constant", value), or (operation, position, position) of earlier steps.
        using FormulaStep = std::tuple<std::string, py::object, py::object>;
        using Formula = std::vector<FormulaStep>;
        using Condition = std::tuple<Formula, std::string, Formula>; // relation: < <= == !=

        Op op_of(const std::string& name)
        {
            static const std::pair<const char*, Op> ops[]{{"add", Op::add}, {"sub", Op::sub}, {"mul", Op::mul}, {"div", Op::div}, {"neg", Op::neg}, {"min", Op::min}, {"max", Op::max}, {"pow", Op::pow}, {"exp", Op::exp}, {"log", Op::log}, {"sqrt", Op::sqrt}, {"ceil", Op::ceil}, {"floor", Op::floor}, {"less", Op::less}, {"less_equal", Op::less_equal}, {"equal", Op::equal}, {"both", Op::both}, {"either", Op::either}};
            for (const auto& [known, op] : ops)
                if (name == known)
                    return op;
            throw unknown_name("operation '" + name + "'");
        }

        // A question as Python asks it; lives as long as the arrays it was asked with.
        class Asked
        {
        public:
            Asked(const std::vector<std::size_t>& shape, const std::vector<Input>& inputs) : graph_(check(shape)), supplied_(supplied_by(inputs)), closure_(graph_, supplied_) {}
            Graph& graph() { return graph_; }
            int node(const Formula& formula)
            {
                std::vector<int> nodes;
                const auto at = [&](const py::object& position) { return position.is_none() ? -1 : nodes.at(py::cast<std::size_t>(position)); };
                for (const auto& [op, first, second] : formula)
                    if (op == "quantity")
                        nodes.push_back(closure_.node(registry().at(py::cast<std::string>(first))));
                    else if (op == "constant")
                        nodes.push_back(graph_.constant(py::cast<double>(first)));
                    else
                        nodes.push_back(graph_.operation(op_of(op), at(first), at(second)));
                return nodes.back();
            }
            std::vector<Requirement> requirements(const std::vector<Condition>& conditions)
            {
                std::vector<Requirement> all;
                for (const auto& [left, relation, right] : conditions)
                {
                    const int a = node(left), b = node(right), zero = graph_.constant(0);
                    if (relation == "==")
                        all.push_back({zero, graph_.operation(Op::equal, a, b), true});
                    else if (relation == "!=")
                        all.push_back({graph_.operation(Op::equal, a, b), zero, false});
                    else
                        all.push_back({a, b, relation == "<"});
                }
                return all;
            }
            std::vector<std::size_t> axes(AxisSet set) const
            {
                std::vector<std::size_t> all;
                for (std::size_t k = 0; k < graph_.shape().size(); ++k)
                    if (set >> k & 1)
                        all.push_back(k);
                return all;
            }

        private:
            static std::vector<std::size_t> check(const std::vector<std::size_t>& shape)
            {
                if (shape.size() > most_axes)
                    throw axis_error("a grid has at most " + std::to_string(most_axes) + " axes, " + std::to_string(shape.size()) + " were given");
                double points = 1;
                for (const std::size_t n : shape)
                {
                    points *= double(n);
                    if (n > UINT32_MAX)
                        throw axis_error("an axis has at most 4294967295 points, " + std::to_string(n) + " were given");
                }
                if (points > 9e18)
                    throw axis_error("a grid has at most 9e18 points");
                return shape;
            }
            Graph graph_;
            std::vector<Supplied> supplied_;
            Closure closure_;
        };
        AxisSet set_of(const std::vector<std::size_t>& axes)
        {
            AxisSet set = 0;
            for (const std::size_t k : axes)
                set |= AxisSet(1) << k;
            return set;
        }
        template <class Fold> auto running(const py::object& progress, int threads, const Fold& fold)
        {
            Reporter reporter(progress);
            const Options options{threads, std::ref(reporter), {}};
            try
            {
                const py::gil_scoped_release release;
                return fold(options);
            }
            catch (const Interrupted&)
            {
                reporter.rethrow();
                throw;
            }
        }
        template <class T> py::array_t<T> array_of(const std::vector<T>& values) { return py::array_t<T>(py::ssize_t(values.size()), values.data()); }

        // What all folds are asked with: shape, inputs, folded axes, threads, progress, prune.
        using CallTuple = std::tuple<std::vector<std::size_t>, std::vector<Input>, std::vector<std::size_t>, int, py::object, bool>;
        struct Call
        {
            explicit Call(const CallTuple& t) : shape(std::get<0>(t)), inputs(std::get<1>(t)), folded(std::get<2>(t)), threads(std::get<3>(t)), progress(std::get<4>(t)), prune(std::get<5>(t)) {}
            const std::vector<std::size_t>& shape;
            const std::vector<Input>& inputs;
            const std::vector<std::size_t>& folded;
            int threads;
            const py::object& progress;
            bool prune;
        };
        py::tuple best_of(const Formula& objective, bool maximize, const std::vector<Condition>& conditions, const CallTuple& fold)
        {
            const Call call(fold);
            Asked asked(call.shape, call.inputs);
            int node = asked.node(objective);
            if (maximize)
                node = asked.graph().operation(Op::neg, node);
            const Question question{asked.graph(), {node}, asked.requirements(conditions), set_of(call.folded)};
            const auto where = running(call.progress, call.threads, [&](const Options& options) { return best(question, options, call.prune); });
            return py::make_tuple(array_of(where), asked.axes(question.kept()));
        }
        py::array pareto_of(const std::vector<Formula>& objectives, const std::vector<bool>& maximize, const std::vector<Condition>& conditions, const CallTuple& fold)
        {
            const Call call(fold);
            if (objectives.empty() || objectives.size() > most_objectives)
                throw Error("ValueRangeError", "pareto takes one to " + std::to_string(most_objectives) + " objectives, " + std::to_string(objectives.size()) + " were given");
            Asked asked(call.shape, call.inputs);
            Question question{asked.graph(), {}, asked.requirements(conditions), set_of(call.folded)};
            for (std::size_t k = 0; k < objectives.size(); ++k)
            {
                const int node = asked.node(objectives[k]);
                question.values.push_back(maximize[k] ? asked.graph().operation(Op::neg, node) : node);
            }
            return array_of(running(call.progress, call.threads, [&](const Options& options) { return pareto(question, options, call.prune); }));
        }
        py::tuple count_of(const std::vector<Condition>& conditions, const CallTuple& fold)
        {
            const Call call(fold);
            Asked asked(call.shape, call.inputs);
            const Question question{asked.graph(), {}, asked.requirements(conditions), set_of(call.folded)};
            const auto counts = running(call.progress, call.threads, [&](const Options& options) { return count(question, options, call.prune); });
            return py::make_tuple(array_of(counts), asked.axes(question.kept()));
        }
        py::tuple histogram_of(const Formula& value, const std::vector<double>& edges, const CallTuple& fold)
        {
            const Call call(fold);
            Asked asked(call.shape, call.inputs);
            const Question question{asked.graph(), {asked.node(value)}, {}, set_of(call.folded)};
            const auto counts = running(call.progress, call.threads, [&](const Options& options) { return histogram(question, edges, options, call.prune); });
            return py::make_tuple(array_of(counts), asked.axes(question.kept()));
        }
        py::tuple extent_of(const Formula& value, const CallTuple& fold)
        {
            const Call call(fold);
            Asked asked(call.shape, call.inputs);
            const Question question{asked.graph(), {asked.node(value)}, {}, set_of(call.folded)};
            const Range r = running(call.progress, call.threads, [&](const Options& options) { return finite_extent(question, options); });
            return py::make_tuple(r.low, r.high);
        }
        py::tuple quantiles_of(const Formula& value, const std::vector<double>& q, const CallTuple& fold)
        {
            const Call call(fold);
            Asked asked(call.shape, call.inputs);
            const Question question{asked.graph(), {asked.node(value)}, {}, set_of(call.folded)};
            const auto found = running(call.progress, call.threads, [&](const Options& options) { return quantiles(question, q, options); });
            return py::make_tuple(array_of(found), asked.axes(question.kept()));
        }
        py::tuple bounds_of(const Formula& value, const std::vector<std::size_t>& shape, const std::vector<Input>& inputs)
        {
            Asked asked(shape, inputs);
            const int node = asked.node(value);
            const Range r = ranges(asked.graph(), std::pmr::get_default_resource(), std::size_t(-1))[std::size_t(node)];
            return py::make_tuple(r.low, r.high);
        }
    }

    void bind_folds(py::module_& m)
    {
        m.def("best", &best_of, py::arg("objective"), py::arg("maximize"), py::arg("conditions"), py::arg("fold"), "Where a formula is smallest or largest: indices over the folded axes, -1 for nowhere, and the axes they vary along.");
        m.def("pareto", &pareto_of, py::arg("objectives"), py::arg("maximize"), py::arg("conditions"), py::arg("fold"), "Indices of the points that no other point beats.");
        m.def("count", &count_of, py::arg("conditions"), py::arg("fold"), "How many points meet conditions, and the axes that this varies along.");
        m.def("histogram", &histogram_of, py::arg("value"), py::arg("edges"), py::arg("fold"), "Counts below, in each bin, above, and of NaN, and the axes that they vary along.");
        m.def("finite_extent", &extent_of, py::arg("value"), py::arg("fold"), "The smallest and the largest finite value of a formula.");
        m.def("quantiles", &quantiles_of, py::arg("value"), py::arg("q"), py::arg("fold"), "For each quantile the sorted values before and after it and how far it lies between; and the axes that they vary along.");
        m.def("bounds", &bounds_of, py::arg("value"), py::arg("shape"), py::arg("inputs"), "Bounds of a formula over a grid; NaN: anything.");
    }
}
