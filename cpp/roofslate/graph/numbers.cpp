#include "roofslate/graph/numbers.hpp"
#include "roofslate/language/math.hpp"
#include <algorithm>
#include <limits>
#include <stdexcept>

namespace roofslate
{
    namespace
    {
        // No operation gives this NaN; one that did would only be computed twice.
        const std::uint64_t not_yet = 0x7ff8'6e6f'7420'7965;
    }

    Numbers::Numbers(const Registry& registry, const std::vector<Given>& given)
        : registry_(registry),
          given_(given),
          supplied_((std::size_t(registry.size()) + 63) / 64),
          state_(std::size_t(registry.size()), State::unknown),
          value_(new double[std::size_t(registry.size())])
    {
        results_.reserve(256);
        for (const Given& g : given)
        {
            insert(supplied_, g.quantity);
            state_[std::size_t(g.quantity)] = State::given;
            value_[std::size_t(g.quantity)] = g.value;
        }
    }
    double Numbers::operator[](int quantity)
    {
        if (const std::optional<double> value = find(quantity))
            return *value;
        std::vector<Supplied> supplied;
        for (const Given& g : given_)
            supplied.push_back({g.quantity, {&g.value, 0, {}}});
        Graph graph({});
        Closure closure(registry_, graph, supplied, Closure::Visits::all);
        return graph[closure.node(quantity)].value; // its error names the missing input, and its user
    }
    std::optional<double> Numbers::find(int quantity)
    {
        try
        {
            return value_of(quantity);
        }
        catch (const Missing&)
        {
            for (State& s : state_)
                if (s == State::in_work)
                    s = State::unknown;
            results_.clear();
            return {};
        }
    }
    double Numbers::value_of(int quantity)
    {
        State& state = state_[std::size_t(quantity)];
        double& value = value_[std::size_t(quantity)];
        if (state == State::known || state == State::given)
        {
            state = State::known;
            return value;
        }
        if (state == State::in_work) // quantities that follow from each other
            throw Missing();
        state = State::in_work;
        const Entry& e = registry_[quantity];
        const ByDefault* default_value = nullptr;
        if ((e.computed() || e.fallback >= 0) && registry_.is_built_in(quantity))
            default_value = by_default(quantity);
        if (default_value && default_value->holds_beside(supplied_))
            value = default_value->value;
        else if (e.is_replaced([this](int q) { return contains(supplied_, q); }))
            value = value_of(e.replaced_by);
        else if (e.changed >= 0)
            value = elsewhere(e);
        else if (e.computed())
            value = compute(e);
        else if (e.fallback >= 0)
            value = value_of(e.fallback);
        else if (e.spec->has_default)
        {
            value = e.spec->default_value;
            for (std::size_t k = 0; k < e.implied_by.size(); ++k)
                if (contains(supplied_, e.implied_by[k]))
                {
                    state_[std::size_t(e.implied_by[k])] = State::known;
                    value = e.spec->implied_value[k];
                    break;
                }
        }
        else
            throw Missing();
        state = State::known;
        return value;
    }
    // As in a closure: separate numbers, from the same supply except for one.
    double Numbers::elsewhere(const Entry& e)
    {
        if (std::find(changed_.begin(), changed_.end(), e.changed) != changed_.end())
            throw std::logic_error("the quantity " + std::string(e.name) + " needs itself");
        const double to = e.needs.size() > 1 ? value_of(e.needs[1]) : e.spec->changed_value;
        std::vector<Given> changed;
        changed.reserve(given_.size() + 1);
        for (const Given& g : given_)
            if (g.quantity != e.changed)
                changed.push_back(g);
        changed.push_back({e.changed, to});
        Numbers inside(registry_, changed);
        inside.changed_ = changed_;
        inside.changed_.push_back(e.changed);
        const double result = inside.value_of(e.needs[0]);
        for (const Given& g : given_)
            if (g.quantity != e.changed && inside.was_used(g.quantity)
                && state_[std::size_t(g.quantity)] == State::given)
                state_[std::size_t(g.quantity)] = State::known;
        return result;
    }
    double Numbers::compute(const Entry& e)
    {
        const std::size_t first = results_.size();
        results_.resize(first + e.tape.operations.size(), math::from_bits(not_yet));
        const double result = result_of(e, first, e.root);
        results_.resize(first);
        return result;
    }
    // Only what a choice leaves is computed, so that nothing else need be supplied.
    double Numbers::result_of(const Entry& e, std::size_t first, int position)
    {
        const Operation& o = e.tape.operations[std::size_t(position)];
        if (o.op == Op::constant)
            return o.value;
        if (o.op == Op::input)
            return value_of(e.needs[std::size_t(o.argument[0])]);
        if (const double known = results_[first + std::size_t(position)]; math::bits(known) != not_yet)
            return known;
        double result;
        const double a = result_of(e, first, o.argument[0]);
        if (o.op == Op::select)
            result = result_of(e, first, o.argument[a != 0 ? 1 : 2]);
        else
        {
            const double x[3] = {
                a,
                o.argument[1] < 0 ? 0 : result_of(e, first, o.argument[1]),
                o.argument[2] < 0 ? 0 : result_of(e, first, o.argument[2])};
            constexpr double inf = std::numeric_limits<double>::infinity();
            if (o.op == Op::min && (x[0] == inf || x[1] == inf))
                result = x[0] == inf ? x[1] : x[0]; // as a graph folds it, NaN too
            else
                result = evaluate(o.op, o.routine, x);
        }
        return results_[first + std::size_t(position)] = result;
    }
}
