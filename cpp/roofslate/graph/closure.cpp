#include "roofslate/graph/closure.hpp"
#include "roofslate/language/error.hpp"
#include <algorithm>
#include <cmath>

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
        if (std::find(path_.begin(), path_.end(), quantity) != path_.end())
            missing_one_of_circle(quantity);
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
            if (differentiated_ && o.op == Op::select && is_spend_of_variable(e, first, o))
                result = instantiate(e, first, o.argument[2]);
            else if (o.op == Op::select && graph_[at[0]].is_constant())
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
                if (const int term = without_zero(o.op, at[0], at[1]); term >= 0)
                    return positions_[first + std::size_t(position)] = term;
                result = graph_.operation(o.op, at[0], at[1], at[2], o.routine);
                if ((o.op == Op::max || o.op == Op::min) && !graph_[result].is_literal())
                    turns_.push_back({result, &e, position});
            }
        }
        return positions_[first + std::size_t(position)] = result;
    }
    // What a difference with a constant 0 leaves, or -1. A sum would lose the sign of -0, and adjoints would add up in
    // another order than where the 0 varies.
    int Closure::without_zero(Op op, int first, int second) const
    {
        if (op != Op::sub || differentiated_ || !graph_[second].is_literal())
            return -1;
        const double value = graph_[second].value;
        return value == 0 && !std::signbit(value) ? first : -1;
    }
    // rate == 0 ? 0 : rate * amount of a rate that something is differentiated by: at zero the slope is the amount.
    bool Closure::is_spend_of_variable(const Entry& e, std::size_t first, const Operation& select) const
    {
        const auto at = [&](int position) -> const Operation& { return e.tape.operations[std::size_t(position)]; };
        const auto is_zero = [&](int position) { return at(position).op == Op::constant && at(position).value == 0; };
        const Operation &condition = at(select.argument[0]), &spent = at(select.argument[2]);
        if (condition.op != Op::equal || spent.op != Op::mul || condition.argument[0] != spent.argument[0]
            || !is_zero(condition.argument[1]) || !is_zero(select.argument[1]))
            return false;
        const int rate = positions_[first + std::size_t(spent.argument[0])];
        return rate >= 0 && !graph_[rate].is_literal();
    }
    namespace
    {
        std::string described(const Entry& e)
        {
            const std::string text = "'" + std::string(e.name) + "' (" + e.spec->brief;
            return text + (std::string(e.spec->unit) == "1" ? ")" : std::string(", in ") + e.spec->unit + ")");
        }
        // From the last quantity of a path to its first.
        std::string chain_of(
            const Registry& registry,
            std::vector<int>::const_iterator from,
            std::vector<int>::const_iterator to)
        {
            std::string chain;
            while (to != from)
                chain += (chain.empty() ? "" : " <- ") + std::string(registry[*--to].name);
            return chain.empty() ? "" : "; needed by " + chain;
        }
    }
    void Closure::missing(int quantity) const
    {
        std::string advice; // of the quantity nearest to the input
        for (auto q = path_.rbegin(); advice.empty() && q != path_.rend(); ++q)
            if (const char* const text = registry_[*q].spec->missing_advice)
                advice = std::string("; ") + text;
        throw missing_input(
            "missing input " + described(registry_[quantity]) + chain_of(registry_, path_.begin(), path_.end() - 1)
            + advice);
    }
    // Quantities that follow from each other: those of them that declare a range are meant to be given.
    void Closure::missing_one_of_circle(int quantity) const
    {
        const auto first = std::find(path_.begin(), path_.end(), quantity);
        std::string alternatives;
        for (auto q = first; q != path_.end(); ++q)
            if (registry_[*q].spec->declares_range())
                alternatives += (alternatives.empty() ? "" : " or ") + described(registry_[*q]);
        if (alternatives.empty())
            throw std::logic_error("the quantity " + std::string(registry_[quantity].name) + " needs itself");
        throw missing_input("missing input " + alternatives + chain_of(registry_, path_.begin(), first));
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
