// The binding of registries: which one a caller sees, definitions, formulas step by step.
#include "roofslate/python/grid.hpp"
#include <mutex>

namespace roofslate::binding
{
    namespace
    {
        struct Process // never destroyed: threads may look on while the process ends
        {
            PyObject* scope = nullptr; // a context variable: the registry of a context, None outside of all scopes
            std::mutex mutex;          // held for a moment, without a call into Python
            py::object registry = py::none();
        };
        Process& process()
        {
            static Process& p = *new Process;
            return p;
        }
        py::object current_object()
        {
            PyObject* found = nullptr;
            if (PyContextVar_Get(process().scope, nullptr, &found) < 0)
                throw py::error_already_set();
            py::object of_context = py::reinterpret_steal<py::object>(found);
            if (of_context && !of_context.is_none())
                return of_context;
            const std::lock_guard<std::mutex> lock(process().mutex);
            return process().registry;
        }
        // False if another one has come in between.
        bool exchange_registry(const py::object& expected, py::object wanted)
        {
            (void)py::cast<const Registry&>(wanted);
            const std::lock_guard<std::mutex> lock(process().mutex);
            if (!process().registry.is(expected))
                return false;
            std::swap(process().registry, wanted); // the old one is let go after the lock
            return true;
        }

        const std::pair<const char*, Op> named_operations[]{
            {"add", Op::add},
            {"sub", Op::sub},
            {"mul", Op::mul},
            {"div", Op::div},
            {"neg", Op::neg},
            {"min", Op::min},
            {"max", Op::max},
            {"pow", Op::pow},
            {"exp", Op::exp},
            {"log", Op::log},
            {"sqrt", Op::sqrt},
            {"ceil", Op::ceil},
            {"floor", Op::floor},
            {"less", Op::less},
            {"less_equal", Op::less_equal},
            {"equal", Op::equal},
            {"both", Op::both},
            {"either", Op::either},
            {"select", Op::select}};
        Operation operation_called(const Registry& registry, const std::string& name)
        {
            for (const auto& [known, op] : named_operations)
                if (name == known)
                    return {op};
            const Routine* const routine = registry.routine(name);
            if (!routine)
                throw unknown_name("unknown operation '" + name + "'");
            Operation o{Op::routine};
            o.routine = routine;
            return o;
        }
        std::string name_of(const Operation& o)
        {
            for (const auto& [name, op] : named_operations)
                if (op == o.op)
                    return name;
            return o.routine->name;
        }
        int arity_of(const Operation& o)
        {
            switch (o.op)
            {
            case Op::neg:
            case Op::exp:
            case Op::log:
            case Op::sqrt:
            case Op::ceil:
            case Op::floor: return 1;
            case Op::select: return 3;
            case Op::routine: return o.routine->arity;
            default: return 2;
            }
        }

        py::dict described(const Registry& registry, const Entry& e)
        {
            const auto name_or_none = [&](int i) {
                return i < 0
                    ? py::object(py::none())
                    : py::object(py::str(registry[i].name.data(), registry[i].name.size()));
            };
            py::list choices, needs;
            for (const char* c : e.spec->choices)
                if (c)
                    choices.append(c);
            for (const int n : e.needs)
                needs.append(name_or_none(n));
            py::dict d;
            d["name"] = std::string(e.name), d["theme"] = std::string(e.theme);
            d["symbol"] = e.spec->symbol, d["unit"] = e.spec->unit, d["brief"] = e.spec->brief,
            d["source"] = e.spec->source;
            d["computed"] = e.computed(), d["low"] = e.spec->low, d["high"] = e.spec->high,
            d["above_low"] = e.spec->above_low;
            d["default"] = e.spec->has_default ? py::object(py::float_(e.spec->default_value)) : py::object(py::none());
            d["choices"] = py::tuple(choices), d["needs"] = py::tuple(needs);
            d["fallback"] = name_or_none(e.fallback), d["bound"] = name_or_none(e.bound);
            d["formula"] = formula_of_entry(registry, e, Notation::text),
            d["latex"] = formula_of_entry(registry, e, Notation::latex);
            return d;
        }
        py::list describe(const Registry& registry, int first)
        {
            py::list all;
            for (int i = first; i < registry.size(); ++i)
                all.append(described(registry, registry[i]));
            return all;
        }

        using DefinitionTuple =
            std::tuple<std::string, std::string, std::string, std::string, std::string, Steps>; // name, symbol, unit,
                                                                                                // brief, source, steps
        Registry extended(const py::object& base, const std::vector<DefinitionTuple>& given)
        {
            const Registry& known = base.is_none() ? registry() : py::cast<const Registry&>(base);
            std::vector<Definition> definitions;
            for (const auto& [name, symbol, unit, brief, source, steps] : given)
            {
                auto [tape, needs] = formula_of(known, steps);
                const int root = int(tape.operations.size()) - 1;
                definitions.push_back({name, symbol, unit, brief, source, std::move(needs), std::move(tape), root});
            }
            return {known, std::move(definitions)};
        }
        // A built-in quantity with another formula (none: its own), or with other facts under the names by which
        // `describe` tells them.
        Registry mutated(const Registry& base, const std::string& name, const Steps& steps, const py::dict& facts)
        {
            struct Mutant
            {
                Spec spec;
                Entry entry;
            };
            const Entry& original = base[base.at(name)];
            const auto mutant = std::make_shared<Mutant>(Mutant{*original.spec, original});
            Entry& entry = mutant->entry;
            Spec& spec = mutant->spec;
            entry.spec = &spec, entry.formula = nullptr;
            if (!steps.empty())
            {
                auto [tape, needs] = formula_of(base, steps);
                entry.tape = std::move(tape), entry.root = int(entry.tape.operations.size()) - 1;
                entry.needs.clear(), entry.need_names.clear();
                for (const std::string& need : needs)
                    entry.needs.push_back(base.at(need)), entry.need_names.push_back(base[entry.needs.back()].name);
            }
            for (const auto& [key, value] : facts)
            {
                const std::string fact = py::cast<std::string>(key);
                const auto position = [&, value = value] {
                    return value.is_none() ? -1 : base.at(py::cast<std::string>(value));
                };
                if (fact == "low")
                    spec.low = py::cast<double>(value);
                else if (fact == "high")
                    spec.high = py::cast<double>(value);
                else if (fact == "above_low")
                    spec.above_low = py::cast<bool>(value);
                else if (fact == "default")
                    spec.has_default = !value.is_none(),
                    spec.default_value = value.is_none() ? 0 : py::cast<double>(value);
                else if (fact == "fallback")
                    entry.fallback = position();
                else if (fact == "bound")
                    entry.bound = position();
                else
                    throw py::value_error("a quantity has no fact '" + fact + "' that can be another");
            }
            return {base, std::shared_ptr<const Entry>(mutant, &entry)};
        }
        std::string text_of(const Steps& steps)
        {
            const Current current;
            const auto [tape, needs] = formula_of(current.registry, steps);
            Inscription inputs;
            for (const std::string& need : needs)
            {
                const Spec& spec = *current.registry[current.registry.at(need)].spec;
                inputs.symbols.push_back(need), inputs.words.push_back(spec.is_choice() ? &spec.choices : nullptr);
            }
            return print(tape, int(tape.operations.size()) - 1, inputs, Notation::text);
        }
        double call_routine(const std::string& name, const std::vector<double>& arguments)
        {
            const Operation o = operation_called(registry(), name);
            if (o.op != Op::routine || arguments.size() != std::size_t(o.routine->arity))
                throw py::value_error("call_routine: the name of a routine and as many numbers as it takes");
            return o.routine->value(arguments.data());
        }
    }

    Current::Current()
        : object(current_object()),
          registry(object.is_none() ? roofslate::registry() : py::cast<const Registry&>(object))
    {
    }

    Formula formula_of(const Registry& registry, const Steps& steps)
    {
        Formula w;
        for (const py::tuple& step : steps)
        {
            const std::string name = step.empty() ? "" : py::cast<std::string>(step[0]);
            const bool leaf = name == "quantity" || name == "constant";
            Operation o =
                leaf ? Operation{name == "quantity" ? Op::input : Op::constant} : operation_called(registry, name);
            if (step.size() != std::size_t(leaf ? 1 : arity_of(o)) + 1)
                throw py::value_error("a step of a formula has as many arguments as its operation takes");
            if (o.op == Op::input)
            {
                const std::string need = py::cast<std::string>(step[1]);
                o.argument[0] = int(std::find(w.needs.begin(), w.needs.end(), need) - w.needs.begin());
                if (o.argument[0] == int(w.needs.size()))
                    w.needs.push_back(need);
            }
            else if (o.op == Op::constant)
                o.value = py::cast<double>(step[1]);
            else
                for (int k = 0; k < arity_of(o); ++k)
                {
                    o.argument[k] = py::cast<int>(step[std::size_t(k) + 1]);
                    if (o.argument[k] < 0 || o.argument[k] >= int(w.tape.operations.size()))
                        throw py::value_error("a step of a formula takes steps before it");
                }
            w.tape.push(o);
        }
        if (steps.empty())
            throw py::value_error("a formula has a step at least");
        return w;
    }
    Condition condition_of(const Registry& registry, const ConditionSteps& condition)
    {
        using Kind = Condition::Kind;
        static const std::pair<const char*, Kind>
            relations[]{{"<", Kind::less}, {"<=", Kind::less_equal}, {"==", Kind::equal}, {"!=", Kind::not_equal}};
        const auto& [left, relation, right] = condition;
        for (const auto& [text, kind] : relations)
            if (relation == text)
                return {formula_of(registry, left), kind, formula_of(registry, right)};
        throw py::value_error("unknown relation '" + relation + "'");
    }
    Steps steps_of(const Registry& registry, const Entry& entry)
    {
        const std::vector<Operation>& operations = entry.tape.operations;
        std::vector<int> position(operations.size(), -1);
        if (entry.computed())
            position[std::size_t(entry.root)] = 0;
        const auto arity = [](const Operation& o) {
            return o.op == Op::input || o.op == Op::constant ? 0 : arity_of(o);
        };
        for (std::size_t i = operations.size(); i-- > 0;) // what is taken
            for (int k = 0; position[i] >= 0 && k < arity(operations[i]); ++k)
                position[std::size_t(operations[i].argument[k])] = 0;
        Steps steps;
        for (std::size_t i = 0; i < operations.size(); ++i)
        {
            if (position[i] < 0)
                continue;
            position[i] = int(steps.size());
            const Operation& o = operations[i];
            const auto at = [&](int k) { return position[std::size_t(o.argument[k])]; };
            if (o.op == Op::input)
                steps.push_back(
                    py::make_tuple("quantity", std::string(registry[entry.needs[std::size_t(o.argument[0])]].name)));
            else if (o.op == Op::constant)
                steps.push_back(py::make_tuple("constant", o.value));
            else if (arity(o) == 1)
                steps.push_back(py::make_tuple(name_of(o), at(0)));
            else if (arity(o) == 2)
                steps.push_back(py::make_tuple(name_of(o), at(0), at(1)));
            else
                steps.push_back(py::make_tuple(name_of(o), at(0), at(1), at(2)));
        }
        return steps;
    }

    void bind_definitions(py::module_& m)
    {
        process().scope = PyContextVar_New("roofslate_registry", Py_None);
        if (!process().scope)
            throw py::error_already_set();
        m.attr("SCOPE") = py::reinterpret_borrow<py::object>(process().scope);
        py::class_<Registry>(
            m,
            "Registry",
            "Quantities by name: those of `base`, or the built-in ones, and definitions on top: name, symbol, unit, "
            "brief, source, steps.")
            .def(py::init(&extended), py::arg("base"), py::arg("definitions"));
        m.def("current_registry", &current_object, "The registry that the caller sees; None: the built-in quantities.");
        m.def(
            "exchange_registry",
            &exchange_registry,
            py::arg("expected"),
            py::arg("wanted"),
            "Makes another registry that of the process; False where it is not the expected one any more.");
        m.def(
            "mutated",
            &mutated,
            py::arg("base"),
            py::arg("quantity"),
            py::arg("steps"),
            py::arg("facts"),
            "A registry with one built-in quantity changed, for tests of the tests: its formula, step by step, or "
            "facts such as its default.");
        m.def(
            "describe",
            &describe,
            py::arg("registry"),
            py::arg("first"),
            "Quantities of a registry from a position on, described.");
        m.def(
            "steps",
            [](const std::string& name) {
                const Current current;
                return steps_of(current.registry, current.registry[current.registry.at(name)]);
            },
            py::arg("quantity"),
            "The formula of a quantity, step by step; empty for an input.");
        m.def("formula_text", &text_of, py::arg("steps"), "A formula as text.");
        m.def("call_routine", &call_routine, py::arg("name"), py::arg("arguments"), "The value of a routine.");
        m.def(
            "apply_formula",
            [](const std::string& name,
               const std::vector<double>& needs,
               const std::vector<std::string>& symbols,
               bool latex) {
                const Current current;
                const Entry& e = current.registry[current.registry.at(name)];
                if (!e.computed() || needs.size() != e.needs.size() || symbols.size() != e.needs.size())
                    throw py::value_error("apply_formula: a value and a symbol for each need of a computed quantity");
                const Applied applied =
                    apply_formula(current.registry, e, needs, symbols, latex ? Notation::latex : Notation::text);
                py::list decisions;
                for (const Decision& d : applied.decisions)
                    decisions.append(py::make_tuple(d.maximum, d.winner, d.winner_value, d.loser, d.loser_value));
                return py::make_tuple(applied.formula, decisions, applied.conditions);
            },
            py::arg("quantity"),
            py::arg("needs"),
            py::arg("symbols"),
            py::arg("latex"),
            "What choices leave of a formula, with given symbols; what its max and min chose: (maximum, winner, its "
            "value, loser, its value); conditions that hold.");
    }
}
