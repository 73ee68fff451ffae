// What Python asks of the engine beside quantities by their names: formulas, conditions, long calls that report.
#pragma once
#include "roofslate/folds/folds.hpp"
#include "roofslate/language/error.hpp"
#include "roofslate/python/binding.hpp"

namespace roofslate::binding
{
    // A formula over quantities, step by step: ("quantity", name), ("constant", value), or (operation, position, ...)
    // of earlier steps; an operation may be the name of a routine. The last step is the value.
    using Formula = std::vector<py::tuple>;
    using Condition = std::tuple<Formula, std::string, Formula>; // relation: < <= == !=

    // Such a formula as operations; input k is the quantity needs[k].
    struct Written
    {
        Tape tape;
        std::vector<std::string> needs;
    };
    Written written(const Registry& registry, const Formula& formula);
    // The other way round, without operations that the root does not take.
    Formula steps_of(const Registry& registry, const Entry& entry);

    // Its last step in a graph.
    inline int node_of(const Written& formula, const Registry& registry, Graph& graph, Closure& closure)
    {
        std::vector<int> nodes;
        const auto at = [&](int position) { return position < 0 ? -1 : nodes[std::size_t(position)]; };
        for (const Operation& o : formula.tape.operations)
            if (o.op == Op::input)
                nodes.push_back(closure.node(registry.at(formula.needs[std::size_t(o.argument[0])])));
            else if (o.op == Op::constant)
                nodes.push_back(graph.constant(o.value));
            else
                nodes.push_back(
                    graph.operation(o.op, at(o.argument[0]), at(o.argument[1]), at(o.argument[2]), o.routine));
        return nodes.back();
    }
    inline Requirement requirement_of(Graph& graph, int left, const std::string& relation, int right)
    {
        const int zero = graph.constant(0);
        if (relation == "==")
            return {zero, graph.operation(Op::equal, left, right), true};
        if (relation == "!=")
            return {graph.operation(Op::equal, left, right), zero, false};
        return {left, right, relation == "<"};
    }

    // A question as Python asks it; lives as long as the arrays it was asked with.
    class Asked
    {
    public:
        Asked(const std::vector<std::size_t>& shape, const std::vector<Input>& inputs, bool differentiated = false)
            : graph_(check(shape)),
              supplied_(supplied_by(current_.registry, inputs, differentiated)),
              closure_(current_.registry, graph_, supplied_)
        {
        }
        const Registry& registry() const { return current_.registry; }
        Graph& graph() { return graph_; }
        Closure& closure() { return closure_; }
        int node(const Formula& formula)
        { return node_of(written(current_.registry, formula), current_.registry, graph_, closure_); }
        std::vector<Requirement> requirements(const std::vector<Condition>& conditions)
        {
            std::vector<Requirement> all;
            for (const auto& [left, relation, right] : conditions)
            {
                const int a = node(left), b = node(right);
                all.push_back(requirement_of(graph_, a, relation, b));
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
                throw axis_error(
                    "a grid has at most " + std::to_string(most_axes) + " axes, " + std::to_string(shape.size())
                    + " were given");
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
        Current current_;
        Graph graph_;
        std::vector<Supplied> supplied_;
        Closure closure_;
    };
    inline AxisSet set_of(const std::vector<std::size_t>& axes)
    {
        AxisSet set = 0;
        for (const std::size_t k : axes)
            set |= AxisSet(1) << k;
        return set;
    }
    // What all folds are asked with: shape, inputs, folded axes, threads, progress, prune.
    using CallTuple =
        std::tuple<std::vector<std::size_t>, std::vector<Input>, std::vector<std::size_t>, int, py::object, bool>;
    struct FoldCall
    {
        explicit FoldCall(const CallTuple& t)
            : shape(std::get<0>(t)),
              inputs(std::get<1>(t)),
              folded(std::get<2>(t)),
              threads(std::get<3>(t)),
              progress(std::get<4>(t)),
              prune(std::get<5>(t))
        {
        }
        const std::vector<std::size_t>& shape;
        const std::vector<Input>& inputs;
        const std::vector<std::size_t>& folded;
        int threads;
        const py::object& progress;
        bool prune;
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
