#include "roofslate/graph/closure.hpp"
#include "roofslate/language/error.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace roofslate
{
    namespace
    {
        // Takes off again what was put on a stack, even where an input is missing.
        class Restored
        {
        public:
            explicit Restored(std::vector<int>& stack) : stack_(stack), size_(stack.size()) {}
            Restored(const Restored&) = delete;
            Restored& operator=(const Restored&) = delete;
            ~Restored() { stack_.resize(size_); }

        private:
            std::vector<int>& stack_;
            std::size_t size_;
        };
    }

    Closure::Closure(const Registry& registry, Graph& graph, const std::vector<Supplied>& supplied, Visits visits)
        : registry_(registry),
          graph_(graph),
          node_of_(std::size_t(registry.size()), -1),
          used_(std::size_t(registry.size()), 0),
          supplied_((std::size_t(registry.size()) + 63) / 64),
          visits_all_(visits == Visits::all)
    {
        positions_.reserve(256), path_.reserve(32), visited_.reserve(64);
        for (const Supplied& s : supplied)
        {
            differentiated_ = differentiated_ || s.variable;
            insert(supplied_, s.quantity);
            node_of_[std::size_t(s.quantity)] =
                s.variable && !s.view.axes ? graph_.variable(*s.view.data) : graph_.leaf(s.view);
            given_.emplace_back(s.quantity, node_of_[std::size_t(s.quantity)]);
        }
    }
    // Nodes are shared through the graph, in which equal operations are one.
    Closure::Closure(const Closure& outer, int changed, int node)
        : registry_(outer.registry_),
          graph_(outer.graph_),
          node_of_(std::size_t(outer.registry_.size()), -1),
          used_(std::size_t(outer.registry_.size()), 0),
          supplied_(outer.supplied_),
          visits_all_(outer.visits_all_),
          given_(outer.given_),
          changed_(outer.changed_),
          differentiated_(outer.differentiated_)
    {
        positions_.reserve(256), path_.reserve(32), visited_.reserve(64);
        given_.erase(
            std::remove_if(given_.begin(), given_.end(), [&](const auto& g) { return g.first == changed; }),
            given_.end());
        given_.emplace_back(changed, node);
        changed_.push_back(changed);
        insert(supplied_, changed);
        for (const auto& [quantity, its_node] : given_)
            node_of_[std::size_t(quantity)] = its_node;
    }
    // A quantity's value after a change of another one: a separate closure on the same graph.
    int Closure::elsewhere(const Entry& e)
    {
        if (std::find(changed_.begin(), changed_.end(), e.changed) != changed_.end())
            throw std::logic_error("the quantity " + std::string(e.name) + " needs itself");
        const int to = e.needs.size() > 1 ? node(e.needs[1]) : graph_.constant(e.spec->changed_value);
        Closure inside(*this, e.changed, to);
        const int result = inside.node(e.needs[0]);
        for (int quantity = 0; quantity < registry_.size(); ++quantity)
            if (quantity != e.changed && inside.used_[std::size_t(quantity)])
                used_[std::size_t(quantity)] = 1;
        for (const int quantity : inside.visited_)
            if (const Entry& q = registry_[quantity]; !q.computed() && q.fallback < 0 && !q.spec->is_choice())
                node(quantity); // a number that it takes by default, and that may be differentiated by
        turns_.insert(turns_.end(), inside.turns_.begin(), inside.turns_.end());
        return result;
    }
    int Closure::node(int quantity)
    {
        used_[std::size_t(quantity)] = 1;
        if (const int known = node_of_[std::size_t(quantity)]; known >= 0)
            return known;
        const Entry& e = registry_[quantity];
        if (std::find(path_.begin(), path_.end(), quantity) != path_.end())
            missing_one_of_circle(quantity);
        const bool follows = e.computed() || e.fallback >= 0;
        if (follows && !visits_all_ && !differentiated_ && registry_.is_built_in(quantity))
            if (const ByDefault* const known = by_default(quantity); known && known->holds_beside(supplied_))
                return node_of_[std::size_t(quantity)] = graph_.constant(known->value);
        const Restored path(path_);
        path_.push_back(quantity);
        int result;
        if (e.is_replaced([this](int q) { return contains(supplied_, q); }))
            result = node(e.replaced_by);
        else if (e.changed >= 0)
            result = elsewhere(e);
        else if (e.computed())
        {
            const Restored positions(positions_);
            const std::size_t first = positions_.size();
            positions_.resize(first + e.tape.operations.size(), -1);
            result = instantiate(e, first, e.root);
        }
        else if (e.fallback >= 0)
            result = node(e.fallback);
        else if (e.spec->has_default)
            result = graph_.constant(default_of(e));
        else
            missing();
        visited_.push_back(quantity);
        return node_of_[std::size_t(quantity)] = result;
    }
    double Closure::default_of(const Entry& e)
    {
        for (std::size_t k = 0; k < e.implied_by.size(); ++k)
            if (contains(supplied_, e.implied_by[k]))
            {
                used_[std::size_t(e.implied_by[k])] = 1;
                return e.spec->implied_value[k];
            }
        return e.spec->default_value;
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
                result = spent(at[0], instantiate(e, first, o.argument[1]), instantiate(e, first, o.argument[2]));
            else if (o.op == Op::select && graph_[at[0]].is_constant())
            {
                const int chosen = o.argument[graph_[at[0]].value != 0 ? 1 : 2];
                result = instantiate(e, first, chosen);
                if (differentiated_ && e.tape.operations[std::size_t(chosen)].op == Op::input)
                    // a separate node, as for a varying choice: adjoints add up in the same order
                    result = graph_.operation(Op::max, result, result);
            }
            else
            {
                for (std::size_t k = 1; k < 3 && o.argument[k] >= 0; ++k)
                    at[k] = instantiate(e, first, o.argument[k]);
                if (const int term = without_neutral(o.op, at[0], at[1]); term >= 0)
                    return positions_[first + std::size_t(position)] = term;
                result = graph_.operation(o.op, at[0], at[1], at[2], o.routine);
                if ((o.op == Op::max || o.op == Op::min || o.op == Op::sqrt) && !graph_[result].is_literal())
                    turns_.push_back({result, &e, position});
            }
        }
        return positions_[first + std::size_t(position)] = result;
    }
    // The operand that remains of x - 0, 1 x, x / 1, or min(x, inf), otherwise -1. Not of x + 0, which loses the sign
    // of -0. Adjoints would add up in another order than with a varying constant.
    int Closure::without_neutral(Op op, int first, int second) const
    {
        const auto is_literal = [&](int i, double x) {
            return graph_[i].is_literal() && graph_[i].value == x && !std::signbit(graph_[i].value);
        };
        const bool commutes = op == Op::min || op == Op::mul;
        if (differentiated_ || (!commutes && op != Op::sub && op != Op::div))
            return -1;
        const double neutral = op == Op::min ? std::numeric_limits<double>::infinity() : op == Op::sub ? 0 : 1;
        if (commutes && is_literal(first, neutral))
            return second;
        return is_literal(second, neutral) ? first : -1;
    }
    // rate == 0 ? 0 : rate * amount, or with a sum before it, or rate == 0 ? sum : sum + rate, of a rate that something
    // is differentiated by: at zero the slope is the amount.
    bool Closure::is_spend_of_variable(const Entry& e, std::size_t first, const Operation& select) const
    {
        const auto at = [&](int position) -> const Operation& { return e.tape.operations[std::size_t(position)]; };
        const auto is_zero = [&](int position) { return at(position).op == Op::constant && at(position).value == 0; };
        const Operation& condition = at(select.argument[0]);
        int spent = select.argument[2];
        const bool is_beside = at(spent).op == Op::add && at(spent).argument[0] == select.argument[1];
        if (is_beside)
            spent = at(spent).argument[1];
        else if (!is_zero(select.argument[1]) || at(spent).op != Op::mul)
            return false;
        if (at(spent).op == Op::mul && !(is_beside && spent == condition.argument[0]))
            spent = at(spent).argument[0];
        if (condition.op != Op::equal || condition.argument[0] != spent || !is_zero(condition.argument[1]))
            return false;
        const int rate = positions_[first + std::size_t(spent)];
        return rate >= 0 && !graph_[rate].is_literal();
    }
    // No part of an infinite or undefined value counts, as the root's derivative is unbounded.
    int Closure::spent(int is_zero, int nothing, int product)
    {
        if (graph_[is_zero].is_constant() && graph_[is_zero].value == 0)
            return product;
        const int undefined =
            graph_.operation(Op::equal, graph_.operation(Op::equal, product, product, -1), graph_.constant(0), -1);
        const int rate = graph_[is_zero].argument[0];
        if (rate < 0 || (graph_[undefined].is_constant() && graph_[undefined].value == 0))
            return product;
        const int root = graph_.operation(Op::add, nothing, graph_.operation(Op::sqrt, rate, -1, -1), -1);
        return graph_.operation(Op::select, graph_.operation(Op::both, is_zero, undefined, -1), root, product);
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
    void Closure::missing() const
    {
        // An input that may follow from others is what a caller would give, or one of them down to the missing one.
        const auto is_input = [this](int q) { return !registry_[q].computed(); };
        const auto given = std::find_if(path_.begin(), path_.end() - 1, is_input);
        std::string text = "missing input " + described(registry_[*given]);
        for (auto q = given + 1; q < path_.end(); ++q)
            if (is_input(*q))
                text += " or " + described(registry_[*q]);
        throw missing_input(text + chain_of(registry_, path_.begin(), given) + advice());
    }
    // Of the quantity nearest to the missing input.
    std::string Closure::advice() const
    {
        for (auto q = path_.rbegin(); q != path_.rend(); ++q)
            if (const char* const text = registry_[*q].spec->missing_advice)
                return std::string("; ") + text;
        return "";
    }
    // Quantities in a circle. The ones with a declared range are intended as inputs.
    void Closure::missing_one_of_circle(int quantity) const
    {
        const auto first = std::find(path_.begin(), path_.end(), quantity);
        std::string alternatives;
        for (auto q = first; q != path_.end(); ++q)
            if (registry_[*q].spec->declares_range())
                alternatives += (alternatives.empty() ? "" : " or ") + described(registry_[*q]);
        if (alternatives.empty())
            throw std::logic_error("the quantity " + std::string(registry_[quantity].name) + " needs itself");
        throw missing_input("missing input " + alternatives + chain_of(registry_, path_.begin(), first) + advice());
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
