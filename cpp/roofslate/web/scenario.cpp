#include "roofslate/web/scenario.hpp"
#include "roofslate/derivatives/describe.hpp"
#include "roofslate/language/error.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

namespace roofslate::web
{
    namespace
    {
        template <class... Numbers> std::string formatted(const char* format, Numbers... numbers)
        {
            char text[128];
            std::snprintf(text, sizeof text, format, numbers...);
            return text;
        }
        std::string name_of(int quantity) { return std::string(registry()[quantity].name); }
        std::string in_unit(const Spec& spec)
        { return spec.unit == std::string_view("1") ? "" : std::string(", in ") + spec.unit; }
        // "> 0 and <= 1 and finite, in byte"
        std::string expected(const Spec& spec)
        {
            std::string text;
            if (spec.is_choice())
            {
                for (int k = 0; k <= int(spec.high); ++k)
                    text +=
                        (k ? ", " : "a position: ") + std::to_string(k) + " ('" + spec.choices[std::size_t(k)] + "')";
                return text;
            }
            if (spec.low > -1e300)
                text = formatted(spec.above_low ? "> %g" : ">= %g", spec.low);
            if (spec.high < 1e300)
                return text + formatted(text.empty() ? "<= %g" : " and <= %g", spec.high) + in_unit(spec);
            if (text.empty())
                text = "any number";
            return text + (std::isinf(spec.high) ? "" : " and finite") + in_unit(spec);
        }
        Error range_error(const std::string& message) { return Error("ValueRangeError", message); }
        Error type_error(const std::string& message) { return Error("InputTypeError", message); }

        Formula formula_of_quantity(int quantity)
        {
            Formula formula;
            formula.needs.push_back(name_of(quantity));
            Operation o{Op::input};
            o.argument[0] = 0;
            formula.tape.push(o);
            return formula;
        }
        Formula formula_of_number(double value)
        {
            Formula formula;
            Operation o{Op::constant};
            o.value = value;
            formula.tape.push(o);
            return formula;
        }
        Condition condition_of(const Comparison& comparison)
        {
            using Kind = Condition::Kind;
            Formula quantity = formula_of_quantity(comparison.quantity), number = formula_of_number(comparison.value);
            const std::string_view relation = comparison.relation;
            if (relation == "<")
                return {std::move(quantity), Kind::less, std::move(number)};
            if (relation == "<=")
                return {std::move(quantity), Kind::less_equal, std::move(number)};
            if (relation == ">")
                return {std::move(number), Kind::less, std::move(quantity)};
            if (relation == ">=")
                return {std::move(number), Kind::less_equal, std::move(quantity)};
            if (relation == "==")
                return {std::move(quantity), Kind::equal, std::move(number)};
            if (relation == "!=")
                return {std::move(quantity), Kind::not_equal, std::move(number)};
            throw type_error("unknown operator '" + std::string(relation) + "', expected <, <=, ==, !=, >= or >");
        }
        void check_value(const Comparison& comparison)
        {
            if (std::isnan(comparison.value))
                throw range_error(name_of(comparison.quantity) + " is compared with NaN, expected a number");
        }
        // The last axis fastest.
        std::array<std::ptrdiff_t, most_axes> strides_in_order(const Graph& graph, AxisSet axes)
        {
            std::array<std::ptrdiff_t, most_axes> strides{};
            std::ptrdiff_t next = 1;
            for (std::size_t a = graph.shape().size(); a-- > 0;)
                if (axes >> a & 1)
                    strides[a] = next, next *= std::ptrdiff_t(graph.shape()[a]);
            return strides;
        }
        bool holds_word(const std::string& text, std::string_view word)
        {
            const auto in_name = [&](std::size_t k) {
                return k < text.size() && (std::isalnum(static_cast<unsigned char>(text[k])) || text[k] == '_');
            };
            for (std::size_t k = text.find(word); k != std::string::npos; k = text.find(word, k + 1))
                if (!in_name(k + word.size()) && (k == 0 || !in_name(k - 1)))
                    return true;
            return false;
        }
        std::string joined(const std::vector<std::string>& texts, const char* between)
        {
            std::string text;
            for (const std::string& one : texts)
                text += (text.empty() ? "" : between) + one;
            return text;
        }
    }

    struct Scenario::Grid
    {
        Grid(std::vector<std::size_t> shape, std::vector<Supplied> inputs)
            : graph(std::move(shape)),
              supplied(std::move(inputs)),
              closure(registry(), graph, supplied, Closure::Visits::all)
        {
        }
        Scope scope() { return {registry(), graph, closure}; }

        Graph graph;
        std::vector<Supplied> supplied;
        Closure closure;
    };

    // --- inputs ---

    void Scenario::check(int quantity, const double* values, std::size_t size) const
    {
        const Spec& spec = *registry()[quantity].spec;
        for (std::size_t k = 0; k < size; ++k)
            if (!spec.admits(values[k]) || (spec.is_choice() && values[k] != std::floor(values[k])))
                throw range_error(
                    name_of(quantity) + " must be " + expected(spec) + ", got " + formatted("%.9g", values[k])
                    + (size == 1 ? "" : " among its " + std::to_string(size) + " values"));
    }
    Scenario::Input& Scenario::input(int quantity)
    {
        for (Input& i : inputs_)
            if (i.quantity == quantity)
                return i;
        inputs_.push_back({quantity, {}, false});
        return inputs_.back();
    }
    const Scenario::Input* Scenario::find(int quantity) const
    {
        for (const Input& i : inputs_)
            if (i.quantity == quantity)
                return &i;
        return nullptr;
    }
    void Scenario::set(int quantity, double value)
    {
        check(quantity, &value, 1);
        Input& i = input(quantity);
        i.values.assign(1, value), i.is_axis = false;
    }
    void Scenario::set_axis(int quantity, const double* values, std::size_t size)
    {
        if (size == 0)
            throw Error("AxisError", "the axis " + name_of(quantity) + " has no values, expected one or more");
        check(quantity, values, size);
        const std::vector<const Input*> known = axis_inputs();
        const bool is_new =
            std::none_of(known.begin(), known.end(), [&](const Input* i) { return i->quantity == quantity; });
        if (is_new && known.size() + 1 == most_axes) // the solver takes one more
            throw axis_error("a scenario has at most " + std::to_string(most_axes - 1) + " axes");
        if (is_new) // it may have been a number, further ahead
            inputs_.erase(
                std::remove_if(inputs_.begin(), inputs_.end(), [&](const Input& i) { return i.quantity == quantity; }),
                inputs_.end());
        Input& i = input(quantity);
        i.values.assign(values, values + size), i.is_axis = true;
    }
    std::vector<const Scenario::Input*> Scenario::axis_inputs() const
    {
        std::vector<const Input*> all;
        for (const Input& i : inputs_)
            if (i.is_axis)
                all.push_back(&i);
        return all;
    }
    std::vector<int> Scenario::axes() const
    {
        std::vector<int> quantities;
        for (const Input* const i : axis_inputs())
            quantities.push_back(i->quantity);
        return quantities;
    }
    std::size_t Scenario::size_of_axis(std::size_t axis) const { return axis_inputs()[axis]->values.size(); }
    std::vector<std::size_t> Scenario::shape() const
    {
        std::vector<std::size_t> sizes;
        for (const Input* const i : axis_inputs())
            sizes.push_back(i->values.size());
        return sizes;
    }
    std::vector<Supplied> Scenario::supplied() const
    {
        std::vector<Supplied> all;
        std::size_t axis = 0;
        for (const Input& i : inputs_)
        {
            View view;
            view.data = i.values.data();
            if (i.is_axis)
            {
                view.axes = AxisSet(1) << axis;
                view.stride[axis++] = i.values.size() > 1 ? 1 : 0;
            }
            all.push_back({i.quantity, view, false});
        }
        return all;
    }
    void Scenario::check_bounds(int except) const
    {
        for (const Input& i : inputs_)
        {
            const Input* const bound = find(registry()[i.quantity].bound);
            if (!bound || i.quantity == except || bound->quantity == except)
                continue;
            const double greatest = *std::max_element(i.values.begin(), i.values.end()),
                         limit = *std::min_element(bound->values.begin(), bound->values.end());
            if (greatest > limit)
                throw range_error(
                    name_of(i.quantity) + " must not exceed " + name_of(bound->quantity) + ", got "
                    + formatted("%g and %g", greatest, limit));
        }
    }
    std::vector<int> Scenario::nodes(Grid& grid, const std::vector<int>& outputs) const
    {
        try
        {
            std::vector<int> all;
            for (const int output : outputs)
                all.push_back(grid.closure.node(output));
            return all;
        }
        catch (const Error& error)
        {
            if (std::string_view(error.kind()) != "MissingInput")
                throw;
        }
        // Each missing input gets values that decide nothing, so that the next one comes up.
        constexpr std::size_t most = 20;
        static const double any_values[2] = {0, 1};
        std::vector<std::size_t> sizes = shape();
        sizes.push_back(2);
        std::vector<Supplied> inputs = supplied();
        View view;
        view.data = any_values, view.axes = AxisSet(1) << (sizes.size() - 1), view.stride[sizes.size() - 1] = 1;
        std::vector<std::string> messages;
        while (messages.size() < most)
            try
            {
                Grid all(sizes, inputs);
                for (const int output : outputs)
                    all.closure.node(output);
                break;
            }
            catch (const Error& error)
            {
                const std::string message = error.what();
                messages.push_back(message);
                const std::size_t begin = message.find('\'') + 1, end = message.find('\'', begin);
                const int missing = end == std::string::npos ? -1 : registry().find(message.substr(begin, end - begin));
                if (missing < 0)
                    break;
                inputs.push_back({missing, view, false});
            }
        throw missing_input(joined(messages, "\n"));
    }

    // --- questions ---

    std::vector<AxisSet> Scenario::axes_of(const std::vector<int>& outputs) const
    {
        Grid grid(shape(), supplied());
        std::vector<AxisSet> sets;
        for (const int node : nodes(grid, outputs))
            sets.push_back(grid.graph[node].axes);
        return sets;
    }
    void Scenario::evaluate(const std::vector<int>& outputs, const std::vector<double*>& results) const
    {
        check_bounds();
        Grid grid(shape(), supplied());
        const std::vector<int> all = nodes(grid, outputs);
        std::vector<Output> targets;
        for (std::size_t k = 0; k < outputs.size(); ++k)
        {
            const AxisSet axes = grid.graph[all[k]].axes;
            targets.push_back({all[k], results[k], strides_in_order(grid.graph, axes), true});
        }
        store(grid.graph, targets, {});
    }
    Optimum Scenario::best(int output, bool maximize, const std::vector<Comparison>& where) const
    {
        check_numbers(output);
        check_bounds();
        Grid grid(shape(), supplied());
        std::vector<int> compared{output};
        std::vector<Condition> conditions;
        for (const Comparison& one : where)
        {
            check_value(one);
            compared.push_back(one.quantity);
            conditions.push_back(condition_of(one));
        }
        nodes(grid, compared);
        const Best fold(formula_of_quantity(output), maximize, std::move(conditions));
        const std::vector<std::size_t>& sizes = grid.graph.shape();
        const Question question = fold.ask(grid.scope(), (AxisSet(1) << sizes.size()) - 1);
        const Answer answer = fold.over(question, {}, true);
        if (answer.counts[0] == nowhere)
            return {false, answer.numbers[0], {}};
        std::vector<std::int64_t> position(sizes.size());
        std::int64_t index = answer.counts[0];
        for (std::size_t a = sizes.size(); a-- > 0; index /= std::int64_t(sizes[a]))
            position[a] = index % std::int64_t(sizes[a]);
        return {true, answer.numbers[0], std::move(position)};
    }
    Solution Scenario::solve(int input, const Comparison& condition, Which which) const
    {
        static const char* const words[]{"", "never", "always", "undefined", "undecided", "many"};
        const Spec& spec = *registry()[input].spec;
        if (spec.is_choice())
            throw type_error(name_of(input) + " is a choice, expected a quantity that is a number");
        if (find(input))
            throw type_error(name_of(input) + " is the unknown, but was given. Leave it out.");
        check_numbers(condition.quantity);
        check_value(condition);
        if (condition.relation == "!=")
            throw type_error("an inequation has no boundary. Use ==, <, <=, > or >=.");
        check_bounds(input);

        // The unknown is the last axis, with a number that the solver replaces.
        const double stand_in = spec.above_low ? least_magnitude : spec.low;
        std::vector<std::size_t> sizes = shape();
        View view;
        view.data = &stand_in, view.axes = AxisSet(1) << sizes.size();
        sizes.push_back(1);
        std::vector<Supplied> inputs = supplied();
        inputs.push_back({input, view, false});
        Grid grid(std::move(sizes), std::move(inputs));
        try
        {
            grid.closure.node(condition.quantity);
        }
        catch (const Error&)
        {
            Scenario with_unknown = *this;
            with_unknown.inputs_.push_back({input, {stand_in}, true});
            Grid other(with_unknown.shape(), with_unknown.supplied());
            with_unknown.nodes(other, {condition.quantity});
            throw;
        }
        const roofslate::Comparison comparison =
            comparison_of(condition_of(condition), input, grid.supplied, registry(), grid.graph, grid.closure);
        Roots roots = roofslate::solve(comparison, which, {});
        Solution solution{{}, roots.each, {}, comparison.axes()};
        solution.values.assign(roots.values.get(), roots.values.get() + roots.size);
        std::size_t point = 0;
        for (const Outcome outcome : roots.outcomes)
        {
            std::string reason = words[std::size_t(outcome)];
            if (!roots.unsearched.empty() && (outcome == Outcome::undecided || outcome == Outcome::many))
            {
                const Range& unsearched = roots.unsearched[point];
                reason += outcome == Outcome::many ? ": the first are given, the search ended" : ": the search gave up";
                reason += formatted(" between %.6g and %.6g", unsearched.low, unsearched.high)
                    + (spec.unit == std::string_view("1") ? "" : std::string(" ") + spec.unit);
            }
            ++point;
            solution.reasons.push_back(std::move(reason));
        }
        return solution;
    }
    void Scenario::check_numbers(int output) const
    {
        if (registry()[output].spec->is_choice())
            throw type_error(name_of(output) + " is a choice, expected a quantity that is a number");
    }
    Slopes Scenario::differentiate(int output, const std::vector<int>& inputs) const
    {
        check_numbers(output);
        check_bounds();
        Scenario with_defaults = *this;
        for (const int input : inputs)
        {
            const Entry& e = registry()[input];
            if (e.spec->is_choice())
                throw type_error(name_of(input) + " is a choice, expected a quantity that is a number");
            if (find(input))
                continue;
            if (e.spec->has_default)
                with_defaults.set(input, e.spec->default_value);
            else if (e.computed() || e.fallback >= 0)
                throw missing_input(name_of(input) + " follows from others. Give its value to differentiate by it.");
        }
        std::vector<Supplied> supply = with_defaults.supplied();
        for (Supplied& s : supply)
            s.variable = std::find(inputs.begin(), inputs.end(), s.quantity) != inputs.end();
        Grid grid(shape(), std::move(supply));
        const int node = with_defaults.nodes(grid, {output})[0];
        std::vector<int> variables;
        for (const int input : inputs)
            variables.push_back(grid.closure.was_used(input) ? grid.closure.node(input) : -1);
        const AxisSet axes = grid.graph[node].axes;
        const std::size_t points = grid.graph.points(axes);
        const std::array<std::ptrdiff_t, most_axes> stride = strides_in_order(grid.graph, axes);
        Slopes slopes{std::vector<double>(inputs.size() * points), axes};
        double* const results = slopes.values.data();
        try
        {
            for (const bool at_limits : {false, true})
            {
                const Derivatives derivatives = roofslate::differentiate(
                    grid.graph,
                    node,
                    variables,
                    Derivative::slope,
                    Side::above,
                    {},
                    at_limits);
                std::vector<Output> targets;
                for (std::size_t k = 0; k < inputs.size(); ++k)
                    targets.push_back({derivatives.nodes[k], results + k * points, stride, true});
                store(grid.graph, targets, {});
                const bool finite =
                    derivatives.finite || std::all_of(results, results + inputs.size() * points, [](double x) {
                        return std::isfinite(x);
                    });
                if (finite)
                    break;
            }
            return slopes;
        }
        catch (const NoPartial& refused)
        {
            std::vector<std::string> names;
            for (const int input : inputs)
                names.push_back(name_of(input));
            throw no_derivative(refused, names);
        }
    }

    namespace
    {
        // Choices of max and min, and conditions of the formula, in words.
        void decide(Step& step, const Applied& applied, const std::vector<std::string>& choices)
        {
            std::vector<std::string> remarks;
            for (const Decision& d : applied.decisions)
            {
                if (d.winner_value == d.loser_value || !std::isfinite(d.loser_value))
                    continue;
                const double larger = std::max(d.winner_value, d.loser_value),
                             smaller = std::min(d.winner_value, d.loser_value);
                std::string remark = d.winner + (d.maximum ? " binds" : " limits");
                if (smaller > 0 && std::isfinite(larger))
                    remark += ", " + d.loser + formatted(" is %.3g times ", larger / smaller)
                        + (d.maximum ? "smaller" : "larger");
                remarks.push_back(std::move(remark));
                const int winner = registry().find(d.winner);
                if (step.condition < 0 && std::find(step.needs.begin(), step.needs.end(), winner) != step.needs.end())
                    step.condition = winner;
            }
            remarks.insert(remarks.end(), choices.begin(), choices.end());
            remarks.insert(remarks.end(), applied.conditions.begin(), applied.conditions.end());
            step.remark = joined(remarks, "; ");
        }

        // The values that the closure of an output reached, by quantity.
        struct Reached
        {
            std::vector<double> values;
            std::vector<char> known;

            void add(int quantity, double value)
            { values[std::size_t(quantity)] = value, known[std::size_t(quantity)] = 1; }
            bool has(int quantity) const { return quantity >= 0 && known[std::size_t(quantity)]; }
            double operator[](int quantity) const { return values[std::size_t(quantity)]; }
        };

        void apply(Step& step, const Entry& e, const Reached& reached)
        {
            std::vector<double> numbers;
            std::vector<std::string> names, choices;
            for (const int need : e.needs)
                numbers.push_back(reached[need]), names.push_back(name_of(need));
            const Applied applied = apply_formula(registry(), e, numbers, names, Notation::text);
            step.text = applied.formula;
            const std::string texts = applied.formula + " " + joined(applied.conditions, " ");
            for (std::size_t k = 0; k < e.needs.size(); ++k)
            {
                const Spec& spec = *registry()[e.needs[k]].spec;
                if (!reached.has(e.needs[k]))
                    continue;
                if (spec.is_choice())
                    choices.push_back(names[k] + " = '" + spec.choices[std::size_t(numbers[k])] + "'");
                if (spec.is_choice() || holds_word(texts, names[k]))
                    step.needs.push_back(e.needs[k]);
            }
            decide(step, applied, choices);
        }

        Step step_of(int quantity, bool given, const Reached& reached)
        {
            const Entry& e = registry()[quantity];
            Step step{quantity, reached[quantity], Origin::given};
            if (given)
                return step;
            const bool replaced = reached.has(e.replaced_by);
            if (e.computed() && !replaced)
            {
                step.origin = Origin::formula, step.formula = quantity;
                apply(step, e, reached);
                return step;
            }
            const int source = replaced ? e.replaced_by : e.fallback;
            step.origin = reached.has(source) ? Origin::other_quantity : Origin::by_default;
            if (reached.has(source))
                step.formula = source, step.needs = {source}, step.text = name_of(source);
            return step;
        }
    }
    std::vector<Step> Scenario::explain(int output) const
    {
        if (!axis_inputs().empty())
            throw axis_error(
                "explain is about one point, but " + name_of(axis_inputs()[0]->quantity)
                + " is an axis. Set a number.");
        check_bounds();
        Grid grid({}, supplied());
        nodes(grid, {output});
        const std::size_t count = std::size_t(registry().size());
        Reached reached{std::vector<double>(count, std::nan("")), std::vector<char>(count, 0)};
        for (const int q : grid.closure.visited())
            reached.add(q, grid.graph[grid.closure.node(q)].value);
        for (const Input& i : inputs_)
            if (grid.closure.was_used(i.quantity))
                reached.add(i.quantity, i.values[0]);

        std::vector<Step> by_quantity(count);
        std::vector<int> order; // each after its needs
        std::vector<char> placed(count, 0);
        // From the output down, without recursion: long formulas are chains.
        std::vector<std::pair<int, std::size_t>> path;
        const auto enter = [&](int q) {
            if (placed[std::size_t(q)])
                return;
            placed[std::size_t(q)] = 1;
            by_quantity[std::size_t(q)] = step_of(q, find(q) != nullptr, reached);
            path.emplace_back(q, by_quantity[std::size_t(q)].needs.size());
        };
        enter(output);
        while (!path.empty())
        {
            auto& [q, remaining] = path.back();
            if (remaining == 0)
            {
                order.push_back(q);
                path.pop_back();
            }
            else
                enter(by_quantity[std::size_t(q)].needs[--remaining]);
        }
        std::vector<Step> steps;
        for (auto q = order.rbegin(); q != order.rend(); ++q)
            steps.push_back(std::move(by_quantity[std::size_t(*q)]));
        return steps;
    }
}
