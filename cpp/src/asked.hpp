// What Python asks of the engine beside quantities by their names: formulas, conditions, long calls that report.
#pragma once
#include "binding.hpp"
#include <roofslate/error.hpp>
#include <roofslate/folds.hpp>

namespace roofslate::binding
{
    // A formula over quantities, step by step: ("quantity", name), ("constant", value), or (operation, position, ...) of earlier steps.
    using Formula = std::vector<py::tuple>;
    using Condition = std::tuple<Formula, std::string, Formula>; // relation: < <= == !=

    inline Op op_of(const std::string& name)
    {
        static const std::pair<const char*, Op> ops[]{{"add", Op::add}, {"sub", Op::sub}, {"mul", Op::mul}, {"div", Op::div}, {"neg", Op::neg}, {"min", Op::min}, {"max", Op::max}, {"pow", Op::pow}, {"exp", Op::exp}, {"log", Op::log}, {"sqrt", Op::sqrt}, {"ceil", Op::ceil}, {"floor", Op::floor}, {"less", Op::less}, {"less_equal", Op::less_equal}, {"equal", Op::equal}, {"both", Op::both}, {"either", Op::either}, {"select", Op::select}};
        for (const auto& [known, op] : ops)
            if (name == known)
                return op;
        throw unknown_name("operation '" + name + "'");
    }

    // A question as Python asks it; lives as long as the arrays it was asked with.
    class Asked
    {
    public:
        Asked(const std::vector<std::size_t>& shape, const std::vector<Input>& inputs, bool differentiated = false) : graph_(check(shape)), supplied_(supplied_by(inputs, differentiated)), closure_(graph_, supplied_) {}
        Graph& graph() { return graph_; }
        Closure& closure() { return closure_; }
        int node(const Formula& formula)
        {
            std::vector<int> nodes;
            for (const py::tuple& step : formula)
            {
                const std::string op = py::cast<std::string>(step[0]);
                const auto at = [&](std::size_t k) { return k < step.size() ? nodes.at(py::cast<std::size_t>(step[k])) : -1; };
                if (op == "quantity")
                    nodes.push_back(closure_.node(registry().at(py::cast<std::string>(step[1]))));
                else if (op == "constant")
                    nodes.push_back(graph_.constant(py::cast<double>(step[1])));
                else
                    nodes.push_back(graph_.operation(op_of(op), at(1), at(2), at(3)));
            }
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
    template <class Call> auto running(const py::object& progress, int threads, const Call& call)
    {
        Reporter reporter(progress);
        const Options options{threads, std::ref(reporter), {}};
        try
        {
            const py::gil_scoped_release release;
            return call(options);
        }
        catch (const Interrupted&)
        {
            reporter.rethrow();
            throw;
        }
    }
    // Takes the vector over: it lives as long as the array.
    template <class T> py::array_t<T> array_of(std::vector<T> values)
    {
        auto* const owned = new std::vector<T>(std::move(values));
        const py::capsule owner(owned, [](void* p) { delete static_cast<std::vector<T>*>(p); });
        return py::array_t<T>(py::ssize_t(owned->size()), owned->data(), owner);
    }
}
