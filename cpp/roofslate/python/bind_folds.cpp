// The binding of the folds: a constructor each, and one call that runs them over a grid.
#include "roofslate/folds/front.hpp"
#include "roofslate/python/grid.hpp"
#include "roofslate/sampling/sample.hpp"
#include <memory>
#include <optional>

namespace roofslate::binding
{
    namespace
    {
        std::vector<Formula> formulas_of(const std::vector<Steps>& all)
        {
            const Current current;
            std::vector<Formula> formulas;
            for (const Steps& steps : all)
                formulas.push_back(formula_of(current.registry, steps));
            return formulas;
        }
        Formula formula_of_current(const Steps& steps) { return std::move(formulas_of({steps}).front()); }
        std::vector<Condition> conditions_of(const std::vector<ConditionSteps>& all)
        {
            const Current current;
            std::vector<Condition> conditions;
            for (const ConditionSteps& condition : all)
                conditions.push_back(condition_of(current.registry, condition));
            return conditions;
        }

        // Which inputs are drawn, and along which axis.
        struct Drawn
        {
            const Sampler& sampler;
            std::vector<std::string> names;
            std::size_t axis;
        };
        py::tuple folded(
            Grid& grid,
            const Fold& fold,
            const std::vector<std::size_t>& axes,
            int threads,
            const py::object& progress,
            bool prune,
            const Drawn* drawn)
        {
            grid.check_size();
            const AxisSet set = set_of(axes);
            Question question = fold.ask(grid.scope(), set);
            std::optional<Sample> sample;
            if (drawn)
            {
                std::vector<int> quantities;
                for (const std::string& name : drawn->names)
                    quantities.push_back(grid.registry().at(name));
                sample.emplace(grid.registry(), drawn->sampler, quantities, drawn->axis, grid.shape(), grid.supplied());
                if (!sample->matters(question))
                    sample.reset(), prune = false;
            }
            Answer answer = running(progress, threads, [&](const Options& options) {
                return sample ? fold.over(*sample, question, options) : fold.over(question, options, prune);
            });
            return py::make_tuple(
                array_of(std::move(answer.numbers)),
                array_of(std::move(answer.counts)),
                grid.axes(question.kept()));
        }
        // The points of a list that no other one beats: their values, and which they are.
        py::tuple front_of(
            const py::array_t<double, py::array::c_style>& values,
            const py::array_t<std::int64_t>& where)
        {
            if (values.ndim() != 2 || where.ndim() != 1 || where.shape(0) != values.shape(0) || values.shape(1) < 1
                || std::size_t(values.shape(1)) > most_objectives)
                throw axis_error("a front has a row of one to four values for each point");
            const std::size_t n = std::size_t(values.shape(1));
            Front front(n);
            for (py::ssize_t i = 0; i < where.shape(0); ++i)
            {
                Member one;
                std::copy_n(values.data(i, 0), n, one.value.begin());
                one.where = where.at(i);
                front.add(one);
            }
            std::vector<double> numbers;
            std::vector<std::int64_t> places;
            for (const Member& m : front.members())
                numbers.insert(numbers.end(), m.value.begin(), m.value.begin() + std::ptrdiff_t(n)),
                    places.push_back(m.where);
            const py::ssize_t points = py::ssize_t(places.size());
            return py::make_tuple(
                array_of(std::move(numbers)).reshape({points, py::ssize_t(n)}),
                array_of(std::move(places)));
        }
        py::tuple bounds_of(Grid& grid, const Steps& value)
        {
            grid.check_size();
            const int node = grid.node(value);
            const Range r = ranges(grid.graph(), std::pmr::get_default_resource(), std::size_t(-1))[std::size_t(node)];
            return py::make_tuple(r.low, r.high);
        }
    }

    void add_folds(py::module_& m, GridClass& grid)
    {
        [[maybe_unused]] const py::class_<Fold> fold_class(m, "Fold", "A reduction of a grid.");
        py::class_<Best, Fold>(
            m,
            "Best",
            "The smallest or largest of a formula, and where: numbers, and positions over the folded axes, -1 for "
            "nowhere.")
            .def(
                py::init([](const Steps& objective, bool maximize, const std::vector<ConditionSteps>& conditions) {
                    return Best(formula_of_current(objective), maximize, conditions_of(conditions));
                }),
                py::arg("objective"),
                py::arg("maximize"),
                py::arg("conditions"));
        py::class_<Pareto, Fold>(m, "Pareto", "Positions of the points that no other point dominates.")
            .def(
                py::init([](const std::vector<Steps>& objectives,
                            const std::vector<bool>& maximize,
                            const std::vector<ConditionSteps>& conditions) {
                    return Pareto(formulas_of(objectives), maximize, conditions_of(conditions));
                }),
                py::arg("objectives"),
                py::arg("maximize"),
                py::arg("conditions"));
        py::class_<Count, Fold>(m, "Count", "How many points meet conditions.")
            .def(
                py::init([](const std::vector<ConditionSteps>& conditions) {
                    return Count(conditions_of(conditions));
                }),
                py::arg("conditions"));
        py::class_<Histogram, Fold>(m, "Histogram", "Counts below, in each bin, above, and of NaN.")
            .def(
                py::init([](const Steps& value, std::vector<double> edges) {
                    return Histogram(formula_of_current(value), std::move(edges));
                }),
                py::arg("value"),
                py::arg("edges"));
        py::class_<Extent, Fold>(m, "Extent", "The smallest and the largest finite value of a formula.")
            .def(py::init([](const Steps& value) { return Extent(formula_of_current(value)); }), py::arg("value"));
        py::class_<Quantiles, Fold>(
            m,
            "Quantiles",
            "For each quantile the sorted values before and after it, and how far it lies between.")
            .def(
                py::init([](const Steps& value, std::vector<double> q) {
                    return Quantiles(formula_of_current(value), std::move(q));
                }),
                py::arg("value"),
                py::arg("q"));
        m.def(
            "front",
            &front_of,
            py::arg("values"),
            py::arg("where"),
            "The points that no other beats, in the order of their values: the values, and where they are.");
        py::class_<Drawn>(m, "Drawn", "Inputs that are drawn along an axis.")
            .def(
                py::init([](const Sampler& sampler, std::vector<std::string> names, std::size_t axis) {
                    return Drawn{sampler, std::move(names), axis};
                }),
                py::arg("sampler"),
                py::arg("names"),
                py::arg("axis"),
                py::keep_alive<1, 2>());
        grid.def(
                "fold",
                &folded,
                py::arg("fold"),
                py::arg("axes"),
                py::arg("threads"),
                py::arg("progress"),
                py::arg("prune") = true,
                py::arg("drawn") = nullptr,
                "What a fold over some axes gives: its numbers, its counts, and the axes that both vary along.")
            .def(
                "axes_of",
                [](Grid& self, const Fold& fold) { return self.axes(fold.ask(self.scope(), 0).axes()); },
                py::arg("fold"),
                "The axes that what a fold asks varies along.")
            .def("bounds", &bounds_of, py::arg("value"), "Bounds of a formula over the grid; NaN: anything.");
    }
}
