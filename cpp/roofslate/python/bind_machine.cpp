// The binding of the instruction set in use and of memory.
#include "roofslate/memory/available.hpp"
#include "roofslate/python/binding.hpp"

namespace roofslate::binding
{
    void bind_machine(py::module_& m)
    {
        m.def("instruction_set", [] { return instruction_set().name; }, "The instruction set in use.");
        m.def(
            "instruction_sets",
            [] {
                std::vector<std::string> names;
                for (const InstructionSet* set : instruction_sets())
                    names.emplace_back(set->name);
                return names;
            },
            "All instruction sets that were built and run on this machine, best first.");
        m.def(
            "use_instruction_set",
            [](const std::string& name) {
                const InstructionSet* const set = find_instruction_set(name.c_str());
                if (!set)
                    throw unknown_name("instruction set '" + name + "' was not built, or this machine lacks it");
                use_instruction_set(*set);
            },
            py::arg("name"),
            "Switches to another instruction set.");
        m.def("clear_pool", &clear_pool, "Gives the memory of freed results back to the system.");
        m.def("pool_bytes", &pool_bytes, "Bytes of freed results that are kept for the next ones.");
        m.def("available_memory", &available_memory, "Bytes that may still be taken.");
    }
}
