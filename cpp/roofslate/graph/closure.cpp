#include "roofslate/graph/closure.hpp"
#include "roofslate/language/error.hpp"

namespace roofslate
{
    Closure::Closure(const Registry& registry, Graph& graph, const std::vector<Supplied>& supplied)
        : registry_(registry),
          graph_(graph),
          node_of_(std::size_t(registry.size()), -1),
          used_(std::size_t(registry.size()), 0)
    {
        positions_.reserve(256), path_.reserve(32), visited_.reserve(64);
        for (const Supplied& s : supplied)
        {
            differentiated_ = differentiated_ || s.variable;
            node_of_[std::size_t(s.quantity)] =
                s.variable && !s.view.axes ? graph_.variable(*s.view.data) : graph_.leaf(s.view);
        }
    }
    int Closure::node(int quantity)
    {
        used_[std::size_t(quantity)] = 1;
        if (const int known = node_of_[std::size_t(quantity)]; known >= 0)
            return known;
        const Entry& e = registry_[quantity];
        for (const int q : path_)
            if (q == quantity)
                throw std::logic_error("the quantity " + std::string(e.name) + " needs itself");
        path_.push_back(quantity);
        int result;
        if (e.computed())
        {
            const std::size_t first = positions_.size();
            positions_.resize(first + e.tape.operations.size(), -1);
            result = instantiate(e, first, e.root);
            positions_.resize(first);
        }
        else if (e.fallback >= 0)
            result = node(e.fallback);
        else if (e.spec->has_default)
            result = graph_.constant(e.spec->default_value);
        else
            missing(quantity);
        path_.pop_back();
        visited_.push_back(quantity);
        return node_of_[std::size_t(quantity)] = result;
    }
    // The operation at a position of the quantity's tape. Only what a decided choice leaves is visited, so that nothing
    // else need be supplied.
    int Closure::instantiate(const Entry& e, std::size_t first, int position)
    {
        if (const int done = positions_[first + std::size_t(position)]; done >= 0)
            return done;
        const Operation& o = e.tape.operations[std::size_t(position)];
        int result;
        if (o.op == Op::input)
            result = node(e.needs[std::size_t(o.argument[0])]);
        else if (o.op == Op::constant)
            result = graph_.constant(o.value);
        else
        {
            std::array<int, 3> at{-1, -1, -1};
            at[0] = instantiate(e, first, o.argument[0]);
            if (o.op == Op::select && graph_[at[0]].is_constant())
            {
                const int chosen = o.argument[graph_[at[0]].value != 0 ? 1 : 2];
                result = instantiate(e, first, chosen);
                if (differentiated_ && e.tape.operations[std::size_t(chosen)].op == Op::input)
                    // a node of its own, as where the choice varies: adjoints add up in the same order
                    result = graph_.operation(Op::max, result, result);
            }
            else
            {
                for (std::size_t k = 1; k < 3 && o.argument[k] >= 0; ++k)
                    at[k] = instantiate(e, first, o.argument[k]);
                result = graph_.operation(o.op, at[0], at[1], at[2], o.routine);
                if ((o.op == Op::max || o.op == Op::min) && !graph_[result].is_literal())
                    turns_.push_back({result, &e, position});
            }
        }
        return positions_[first + std::size_t(position)] = result;
    }
    void Closure::missing(int quantity) const
    {
        std::string chain;
        for (auto q = path_.rbegin(); q != path_.rend(); ++q)
            chain += (chain.empty() ? "" : " <- ") + std::string(registry_[*q].name);
        const Entry& e = registry_[quantity];
        std::string text = "missing input '" + std::string(e.name) + "' (" + e.spec->brief;
        text += std::string(e.spec->unit) == "1" ? ")" : std::string(", in ") + e.spec->unit + ")";
        if (path_.size() > 1)
            text += "; needed by " + chain.substr(chain.find(" <- ") + 4);
        throw missing_input(text);
    }
    std::vector<int> numbers_taken(
        const Registry& registry,
        const Closure& closure,
        const std::vector<Supplied>& supplied)
    {
        std::vector<int> numbers;
        const auto add = [&](int quantity) {
            if (!registry[quantity].spec->is_choice())
                numbers.push_back(quantity);
        };
        for (const Supplied& s : supplied)
            if (closure.was_used(s.quantity))
                add(s.quantity);
        for (const int quantity : closure.visited())
            if (!registry[quantity].computed() && registry[quantity].fallback < 0)
                add(quantity);
        return numbers;
    }
}
