#include "roofslate/language/registry.hpp"
#include "roofslate/language/error.hpp"
#include <map>
#include <sstream>

namespace roofslate
{
#define ROOFSLATE_APPEND(theme) void append_##theme(std::vector<Entry>& to);
    ROOFSLATE_THEMES(ROOFSLATE_APPEND)
#undef ROOFSLATE_APPEND

    Registry::Registry()
    {
        const auto all = std::make_shared<std::vector<Entry>>();
#define ROOFSLATE_APPEND(theme) append_##theme(*all);
        ROOFSLATE_THEMES(ROOFSLATE_APPEND)
#undef ROOFSLATE_APPEND
        for (const Entry& e : *all)
            append({all, &e});
        built_in_ = size();
        for (Entry& e : *all)
        {
            const auto all_at = [this](const auto& names, auto& to) {
                for (const std::string_view name : names)
                    if (!name.empty())
                        to.push_back(at(name));
            };
            const auto one_at = [this](std::string_view name, int& to) {
                if (!name.empty())
                    to = at(name);
            };
            all_at(e.need_names, e.needs);
            all_at(e.spec->implied_by, e.implied_by);
            all_at(e.spec->replaced_where, e.replaced_where);
            all_at(e.spec->replaced_unless, e.replaced_unless);
            one_at(e.spec->fallback, e.fallback);
            one_at(e.spec->bound, e.bound);
            one_at(e.spec->replaced_by, e.replaced_by);
            one_at(e.spec->changed, e.changed);
            if (!e.spec->target.empty() && std::string_view(e.spec->unit) != (*this)[e.needs[0]].spec->unit)
                throw std::logic_error(std::string(e.name) + " has another unit than " + std::string(e.spec->target));
        }
    }
    namespace
    {
        struct Defined // an entry and what it points to
        {
            explicit Defined(Definition d)
                : definition(std::move(d)),
                  spec(
                      definition.symbol.c_str(),
                      definition.unit.c_str(),
                      definition.brief.c_str(),
                      definition.source.c_str())
            {
                entry.name = definition.name, entry.theme = "defined", entry.spec = &spec;
                entry.need_names.assign(definition.needs.begin(), definition.needs.end());
                entry.tape = std::move(definition.tape), entry.root = definition.root;
            }
            Definition definition;
            Spec spec;
            Entry entry;
        };
    }
    Registry::Registry(const Registry& base, std::vector<Definition> definitions)
        : entries_(base.entries_), built_in_(base.built_in_), index_(base.index_), routines_(base.routines_)
    {
        for (Definition& d : definitions)
        {
            const auto defined = std::make_shared<Defined>(std::move(d));
            for (const std::string_view need : defined->entry.need_names)
                defined->entry.needs.push_back(at(need));
            append({defined, &defined->entry});
        }
    }
    Registry::Registry(const Registry& base, std::shared_ptr<const Entry> other)
        : Registry(base, std::vector<Definition>())
    { entries_[std::size_t(at(other->name))] = std::move(other), built_in_ = 0; }
    void Registry::append(std::shared_ptr<const Entry> entry)
    {
        if (!index_.emplace(entry->name, size()).second)
            throw std::logic_error("two quantities are called " + std::string(entry->name));
        for (const Operation& o : entry->tape.operations)
            if (o.routine)
                routines_.emplace(o.routine->name, o.routine);
        entries_.push_back(std::move(entry));
    }
    int Registry::find(std::string_view name) const
    {
        const auto it = index_.find(name);
        return it == index_.end() ? -1 : it->second;
    }
    int Registry::at(std::string_view name) const
    {
        const int i = find(name);
        if (i < 0)
            throw unknown_name("unknown quantity '" + std::string(name) + "'");
        return i;
    }
    const Routine* Registry::routine(std::string_view name) const
    {
        const auto it = routines_.find(name);
        return it == routines_.end() ? nullptr : it->second;
    }
    const Registry& registry()
    {
        static const Registry r;
        return r;
    }
    Registry changed(const Registry& base, std::string_view name, const Change& change)
    {
        struct Changed // an entry and what it points to
        {
            Spec spec;
            Entry entry;
        };
        const Entry& original = base[base.at(name)];
        const auto result = std::make_shared<Changed>(Changed{*original.spec, original});
        Entry& entry = result->entry;
        Spec& spec = result->spec;
        entry.spec = &spec, entry.formula = nullptr;
        if (!change.tape.operations.empty())
        {
            entry.tape = change.tape, entry.root = int(entry.tape.operations.size()) - 1;
            entry.needs.clear(), entry.need_names.clear();
            for (const std::string& need : change.needs)
                entry.needs.push_back(base.at(need)), entry.need_names.push_back(base[entry.needs.back()].name);
        }
        spec.low = change.low.value_or(spec.low), spec.high = change.high.value_or(spec.high);
        spec.above_low = change.above_low.value_or(spec.above_low);
        if (change.default_value)
            spec.has_default = change.default_value->has_value(),
            spec.default_value = change.default_value->value_or(0);
        const auto position = [&](const std::string& other) { return other.empty() ? -1 : base.at(other); };
        if (change.fallback)
            entry.fallback = position(*change.fallback);
        if (change.bound)
            entry.bound = position(*change.bound);
        return {base, std::shared_ptr<const Entry>(result, &entry)};
    }
    namespace
    {
        Inscription inscribed(const Registry& registry, const Entry& entry, const std::vector<std::string>& symbols)
        {
            Inscription inputs{symbols, {}, entry.spec->is_choice() ? &entry.spec->choices : nullptr};
            for (const int need : entry.needs)
            {
                const Spec& spec = *registry[need].spec;
                inputs.words.push_back(spec.is_choice() ? &spec.choices : nullptr);
            }
            return inputs;
        }
    }
    namespace
    {
        // "round_time where batch_size = full_batch"
        std::string elsewhere(
            const Registry& registry,
            const Entry& entry,
            const std::vector<std::string>& symbols,
            Notation notation)
        {
            const Entry& changed = registry[entry.changed];
            const bool latex = notation == Notation::latex;
            std::ostringstream number;
            number << entry.spec->changed_value;
            const std::string to = symbols.size() > 1 ? symbols[1] : number.str();
            const std::string name = latex ? changed.spec->symbol : std::string(changed.name);
            return latex ? symbols[0] + "(" + name + " = " + to + ")" : symbols[0] + " where " + name + " = " + to;
        }
    }
    std::string formula_of_entry(const Registry& registry, const Entry& entry, Notation notation)
    {
        if (!entry.computed())
            return "";
        std::vector<std::string> symbols;
        for (const int need : entry.needs)
            symbols.emplace_back(
                notation == Notation::latex ? registry[need].spec->symbol : std::string(registry[need].name));
        const Inscription inputs = inscribed(registry, entry, symbols);
        if (entry.changed >= 0)
            return std::string(notation == Notation::latex ? entry.spec->symbol : std::string(entry.name)) + " = "
                + elsewhere(registry, entry, symbols, notation);
        const std::string lhs = notation == Notation::latex ? entry.spec->symbol : std::string(entry.name);
        return lhs + " = " + print(entry.tape, entry.root, inputs, notation);
    }

    namespace
    {
        // Copies the remaining operations of a tape after choices, and notes the winners of max and min.
        class Application
        {
        public:
            Application(const Registry& registry, const Entry& entry, const std::vector<double>& needs)
                : registry_(registry), entry_(entry), needs_(needs)
            {
            }
            const Tape& tape() const { return tape_; }

            struct Part
            {
                int position;
                double value;
                bool decided; // follows only from choices
            };
            Part copy(int position)
            {
                const auto known = copied_.find(position);
                if (known != copied_.end())
                    return known->second;
                const Part part = new_copy(entry_.tape.operations[std::size_t(position)]);
                copied_.emplace(position, part);
                return part;
            }
            std::vector<std::string> conditions(const Inscription& inputs, Notation notation) const
            {
                Tape unnamed = tape_; // a condition is read without the formula
                for (Operation& o : unnamed.operations)
                    o.name = o.latex = nullptr;
                std::vector<std::string> result;
                for (const auto& [position, holds] : conditions_)
                {
                    const std::string condition = print(unnamed, position, inputs, notation);
                    const Op op = tape_.operations[static_cast<std::size_t>(position)].op;
                    const bool joined = op == Op::both || op == Op::either; // which "not" binds closer than
                    result.push_back(holds ? condition : joined ? "not (" + condition + ")" : "not " + condition);
                }
                return result;
            }
            std::vector<Decision> decisions(const Inscription& inputs, Notation notation) const
            {
                std::vector<Decision> result;
                for (const Compared& c : compared_)
                {
                    const bool first = c.maximum ? c.a_value >= c.b_value : c.a_value <= c.b_value;
                    const std::string a = print_part(tape_, c.a, inputs, notation);
                    const std::string b = print_part(tape_, c.b, inputs, notation);
                    result.push_back(
                        {c.maximum,
                         first ? a : b,
                         first ? b : a,
                         first ? c.a_value : c.b_value,
                         first ? c.b_value : c.a_value});
                }
                return result;
            }

        private:
            struct Compared
            {
                bool maximum;
                int a, b;
                double a_value, b_value;
            };
            Part new_copy(const Operation& o)
            {
                if (o.op == Op::input)
                {
                    const std::size_t k = std::size_t(o.argument[0]);
                    return {tape_.push(o), needs_[k], registry_[entry_.needs[k]].spec->is_choice()};
                }
                if (o.op == Op::constant)
                    return {tape_.push(o), o.value, true};
                if (o.op == Op::select)
                {
                    const Part condition = copy(o.argument[0]);
                    const bool holds = condition.value != 0;
                    if (!condition.decided && !entry_.spec->is_choice())
                        conditions_.push_back({condition.position, holds});
                    if (condition.decided || !entry_.spec->is_choice())
                        return branch(o, holds);
                }
                Operation copied = o;
                double values[3] = {};
                bool decided = true;
                for (std::size_t k = 0; k < 3 && o.argument[k] >= 0; ++k)
                {
                    const Part p = copy(o.argument[k]);
                    copied.argument[k] = p.position, values[k] = p.value;
                    decided = decided && p.decided;
                }
                if (o.op == Op::max || o.op == Op::min)
                    compared_.push_back(
                        {o.op == Op::max, copied.argument[0], copied.argument[1], values[0], values[1]});
                return {tape_.push(copied), evaluate(o.op, o.routine, values), decided};
            }
            // A branch takes the name of the choice that it is of.
            Part branch(const Operation& o, bool holds)
            {
                const Part part = copy(o.argument[holds ? 1 : 2]);
                Operation& chosen = tape_.operations[std::size_t(part.position)];
                if (o.name && !chosen.name && chosen.op != Op::input && chosen.op != Op::constant)
                    chosen.name = o.name, chosen.latex = o.latex;
                return part;
            }
            const Registry& registry_;
            const Entry& entry_;
            const std::vector<double>& needs_;
            Tape tape_;
            std::map<int, Part> copied_; // by position in the whole formula
            std::vector<Compared> compared_;
            std::vector<std::pair<int, bool>> conditions_;
        };
    }
    Applied apply_formula(
        const Registry& registry,
        const Entry& entry,
        const std::vector<double>& needs,
        const std::vector<std::string>& symbols,
        Notation notation)
    {
        Application application(registry, entry, needs);
        if (entry.changed >= 0)
            return {elsewhere(registry, entry, symbols, notation), {}, {}};
        const int root = application.copy(entry.root).position;
        const Inscription inputs = inscribed(registry, entry, symbols);
        return {
            print(application.tape(), root, inputs, notation),
            application.decisions(inputs, notation),
            application.conditions(inputs, notation)};
    }
}
